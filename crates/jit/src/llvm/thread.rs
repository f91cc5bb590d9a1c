//! The threads that LLVM runs on, and the end of the process.
//!
//! LLVM recurses deeply, and ends the process when it is at its wits' end: both would be the program's whose kernel is
//! compiled. So it runs on threads of ours, with a stack of ours; where it gives up, [`gave_up`] hands its words to who
//! waits, and the thread is left where it is.
//!
//! When a process ends, its libraries' destructors run while its threads go on, and LLVM would find its tables destroyed. So an end
//! of the process waits for the threads that compile, and none begins to after that. A process that was forked off has
//! none of the threads, and compiles nothing.

use super::library::Llvm;
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::Builder;

/// Bytes of stack: of address space, most of which is never touched.
const STACK: usize = 64 << 20;

/// Threads that compile.
static COMPILING: Mutex<usize> = Mutex::new(0);
static LESS: Condvar = Condvar::new();
/// Set at the end of the process, or when LLVM has given up.
static ENDED: AtomicBool = AtomicBool::new(false);
/// The process that has opened LLVM.
static PROCESS: AtomicU32 = AtomicU32::new(0);

type Answer = Result<Vec<u8>, String>;

thread_local! {
    /// Who waits for this thread.
    static WAITING: RefCell<Option<Sender<Answer>>> = const { RefCell::new(None) };
}

/// A thread that compiles, counted.
struct Counted;

impl Counted {
    fn new() -> Result<Self, String> {
        let mut compiling = COMPILING.lock().unwrap_or_else(PoisonError::into_inner);
        if ENDED.load(Ordering::SeqCst) {
            return Err("LLVM has given up, or the process ends".to_owned());
        }
        *compiling += 1;
        Ok(Self)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        *COMPILING.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        LESS.notify_all();
    }
}

/// Runs something that calls LLVM on a thread of its own, to its end.
pub(super) fn run(work: impl FnOnce() -> Answer + Send + 'static) -> Answer {
    if PROCESS.load(Ordering::SeqCst) != std::process::id() {
        return Err("the process was forked off".to_owned());
    }
    let counted = Counted::new()?;
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
    if !ENDED.load(Ordering::SeqCst) || answer.as_ref().is_ok_and(Result::is_ok) {
        let _ = thread.join();
    }
    drop(counted);
    answer.unwrap_or_else(|_| Err("LLVM ended without an answer".to_owned()))
}

/// LLVM has been opened by this process.
pub(super) fn opened(llvm: &Llvm) {
    unsafe extern "C" {
        fn atexit(handler: extern "C" fn()) -> c_int;
    }
    PROCESS.store(std::process::id(), Ordering::SeqCst);
    // SAFETY: C and LLVM declare the functions so, and the handlers do what they may at any time. Handlers run in the reverse
    // order in which they were given: this one before the destructors of LLVM, which is loaded already.
    unsafe {
        let _ = atexit(at_exit);
        (llvm.LLVMInstallFatalErrorHandler)(gave_up);
    }
}

/// Waits for the threads that compile, unless they are another process's.
extern "C" fn at_exit() {
    let by_llvm = WAITING.try_with(|waiting| waiting.borrow().is_some()).unwrap_or(false);
    if by_llvm || PROCESS.load(Ordering::SeqCst) != std::process::id() {
        return;
    }
    let mut compiling = COMPILING.lock().unwrap_or_else(PoisonError::into_inner);
    ENDED.store(true, Ordering::SeqCst);
    while *compiling > 0 {
        compiling = LESS.wait(compiling).unwrap_or_else(PoisonError::into_inner);
    }
}

/// LLVM ends the process when this returns.
unsafe extern "C" fn gave_up(reason: *const c_char) {
    let Some(sender) = WAITING.take() else { return };
    // SAFETY: LLVM gives a text that ends with a zero.
    let reason = unsafe { CStr::from_ptr(reason) }.to_string_lossy().into_owned();
    ENDED.store(true, Ordering::SeqCst);
    let _ = sender.send(Err(reason));
    loop {
        std::thread::park();
    }
}
