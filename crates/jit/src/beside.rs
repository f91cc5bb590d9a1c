//! Compiling beside the launches, on a thread of its own.

use crate::compiler::Compiler;
use machine::compiled::{Background, Request};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;

/// Warp instructions of a kernel that are interpreted first: a few milliseconds of a host thread's, about as long as it takes to
/// open LLVM and compile an ordinary kernel.
const THRESHOLD: u64 = 1 << 20;

/// See the module. The thread ends when nobody has this any more.
#[derive(Debug)]
pub(crate) struct Beside {
    compiler: Arc<Compiler>,
    queue: Mutex<Option<Sender<Request>>>,
}

impl Beside {
    pub(crate) fn new(compiler: &Arc<Compiler>) -> Self {
        Self { compiler: Arc::clone(compiler), queue: Mutex::default() }
    }

    /// Starts the thread. If there cannot be one, requests are dropped, and their kernels interpreted.
    fn start(compiler: Arc<Compiler>) -> Sender<Request> {
        let (sender, receiver) = channel::<Request>();
        let work = move || receiver.iter().for_each(|request| request.carry_out(&*compiler));
        if let Err(error) = Builder::new().name("warploom-beside".to_owned()).spawn(work) {
            log::warn!("no thread to compile kernels on: {error}");
        }
        sender
    }
}

impl Background for Beside {
    fn threshold(&self) -> u64 {
        THRESHOLD
    }

    fn submit(&self, request: Request) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let queue = queue.get_or_insert_with(|| Self::start(Arc::clone(&self.compiler)));
        let _ = queue.send(request);
    }
}
