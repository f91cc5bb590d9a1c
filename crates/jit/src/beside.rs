//! What is done beside the launches, on a thread of its own.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;

type Job = Box<dyn FnOnce() + Send>;

/// See the module. The thread begins with the first job, and ends when nobody has this any more.
#[derive(Debug)]
pub(crate) struct Beside {
    thread: &'static str,
    queue: Mutex<Option<Sender<Job>>>,
}

impl Beside {
    /// With a thread of that name.
    pub(crate) fn new(thread: &'static str) -> Self {
        Self { thread, queue: Mutex::default() }
    }

    /// Does something some time, after what was submitted before. If there cannot be a thread, never.
    pub(crate) fn submit(&self, job: Job) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = queue.get_or_insert_with(|| start(self.thread)).send(job);
    }
}

fn start(thread: &str) -> Sender<Job> {
    let (sender, receiver) = channel::<Job>();
    let work = move || receiver.iter().for_each(|job| job());
    if let Err(error) = Builder::new().name(thread.to_owned()).spawn(work) {
        log::warn!("no thread to compile kernels on: {error}");
    }
    sender
}
