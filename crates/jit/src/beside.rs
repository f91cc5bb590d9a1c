//! What is done beside the launches, on a thread of its own.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;

type Job = Box<dyn FnOnce() + Send>;

/// See the module. The thread begins with the first job, and ends when nobody has this any more.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    queue: Mutex<Option<Sender<Job>>>,
}

impl Beside {
    /// Does something some time, after what was submitted before. If there cannot be a thread, never.
    pub(crate) fn submit(&self, job: Job) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = queue.get_or_insert_with(start).send(job);
    }
}

fn start() -> Sender<Job> {
    let (sender, receiver) = channel::<Job>();
    let work = move || receiver.iter().for_each(|job| job());
    if let Err(error) = Builder::new().name("warploom-beside".to_owned()).spawn(work) {
        log::warn!("no thread to compile kernels on: {error}");
    }
    sender
}
