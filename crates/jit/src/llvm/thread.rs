//! The threads that LLVM runs on.
//!
//! LLVM recurses deeply, and ends the process when it is at its wits' end: both would be the program's whose kernel is
//! compiled. So it runs on threads of ours, with a stack of ours; where it gives up, [`gave_up`] hands its words to who
//! waits, and the thread is left where it is.

use super::ending::{self, Compiling};
use super::library::Llvm;
use std::cell::RefCell;
use std::ffi::{CStr, c_char};
use std::sync::mpsc::{Sender, channel};
use std::thread::Builder;

/// Bytes of stack: of address space, most of which is never touched.
const STACK: usize = 64 << 20;

type Answer = Result<Vec<u8>, String>;

thread_local! {
    /// Who waits for this thread.
    static WAITING: RefCell<Option<Sender<Answer>>> = const { RefCell::new(None) };
}

/// Runs something that calls LLVM on a thread of its own, to its end.
pub(super) fn run(work: impl FnOnce() -> Answer + Send + 'static) -> Answer {
    if ending::is_anothers() {
        return Err("the process was forked off".to_owned());
    }
    let compiling = Compiling::begin()?;
    let (sender, receiver) = channel();
    let body = move || {
        WAITING.set(Some(sender));
        let answer = work();
        // What LLVM keeps for the thread goes after this; only then has it ended for good.
        if let Some(sender) = WAITING.take() {
            let _ = sender.send(answer);
        }
    };
    let thread = Builder::new().name("warploom-llvm".to_owned()).stack_size(STACK).spawn(body);
    let thread = thread.map_err(|error| format!("no thread to compile on: {error}"))?;
    let answer = receiver.recv();
    if !ending::has_ended() || answer.as_ref().is_ok_and(Result::is_ok) {
        let _ = thread.join();
    }
    drop(compiling);
    answer.unwrap_or_else(|_| Err("LLVM ended without an answer".to_owned()))
}

/// Whether this thread is LLVM's.
pub(super) fn is_llvms() -> bool {
    WAITING.try_with(|waiting| waiting.borrow().is_some()).unwrap_or(false)
}

/// Lets LLVM give up without an end of the process.
pub(super) fn may_give_up(llvm: &Llvm) {
    // SAFETY: LLVM declares the function so.
    unsafe { (llvm.LLVMInstallFatalErrorHandler)(gave_up) };
}

/// LLVM ends the process when this returns.
unsafe extern "C" fn gave_up(reason: *const c_char) {
    let Some(sender) = WAITING.take() else { return };
    // SAFETY: LLVM gives a text that ends with a zero.
    let reason = unsafe { CStr::from_ptr(reason) }.to_string_lossy().into_owned();
    ending::end();
    let _ = sender.send(Err(reason));
    loop {
        std::thread::park();
    }
}
