//! LLVM and the end of the process.
//!
//! When a process ends, its libraries' destructors run while its threads go on. LLVM registers its own one by one: most while it is opened,
//! others when something is first compiled. If it is at work then, its tables are changed and destroyed at once. So an end of
//! the process waits for that work, and none begins after it. A process that was forked off has none of the threads, and does nothing with LLVM.
//!
//! A handler for the end is not enough, since handlers run in the reverse order of their registration: ours comes after those
//! that LLVM registers later. But before all handlers glibc destroys the variables of the thread that ends the process (`__run_exit_handlers`
//! calls `__call_tls_dtors`). Threads that use the engine have such a [variable](User). What it waits for depends on the thread: the main
//! one ends with the process; of another it is not known, and it only waits until LLVM is open and the handler there.
//!
//! What is left is a thread other than the main one that ends the process: if it has never used an engine, or while something is compiled for the first time.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

static WORK: Mutex<Work> = Mutex::new(Work { opening: false, compiling: 0 });
static LESS: Condvar = Condvar::new();
/// Set at the end of the process, or when LLVM has given up.
static ENDED: AtomicBool = AtomicBool::new(false);
/// The process that has opened LLVM, or is about to.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// What LLVM is at.
struct Work {
    opening: bool,
    /// Threads that compile.
    compiling: usize,
}

/// Whether LLVM is another process's, which has forked this one off.
pub(super) fn is_anothers() -> bool {
    !matches!(PROCESS.load(Ordering::SeqCst), 0) && !is_ours()
}

fn is_ours() -> bool {
    PROCESS.load(Ordering::SeqCst) == std::process::id()
}

/// Nothing begins any more.
pub(super) fn end() {
    ENDED.store(true, Ordering::SeqCst);
}

pub(super) fn has_ended() -> bool {
    ENDED.load(Ordering::SeqCst)
}

fn change(change: impl FnOnce(&mut Work)) {
    change(&mut WORK.lock().unwrap_or_else(PoisonError::into_inner));
    LESS.notify_all();
}

/// Changes what LLVM is at, unless it is to begin nothing.
fn begin(begun: impl FnOnce(&mut Work)) -> Result<(), String> {
    let mut work = WORK.lock().unwrap_or_else(PoisonError::into_inner);
    if has_ended() {
        return Err("LLVM has given up, or the process ends".to_owned());
    }
    begun(&mut work);
    Ok(())
}

/// Waits until LLVM is at nothing that counts.
fn wait(counts: impl Fn(&Work) -> bool) {
    if !is_ours() {
        return;
    }
    let mut work = WORK.lock().unwrap_or_else(PoisonError::into_inner);
    while counts(&work) {
        work = LESS.wait(work).unwrap_or_else(PoisonError::into_inner);
    }
}

/// LLVM is being opened.
pub(super) struct Opening(());

impl Opening {
    pub(super) fn begin() -> Result<Self, String> {
        begin(|work| {
            PROCESS.store(std::process::id(), Ordering::SeqCst);
            work.opening = true;
        })?;
        Ok(Self(()))
    }

    /// It is open.
    pub(super) fn done(self) {
        unsafe extern "C" {
            fn atexit(handler: extern "C" fn()) -> c_int;
        }
        // SAFETY: C declares the function so, and the handler does what it may at any time.
        let _ = unsafe { atexit(at_exit) };
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        change(|work| work.opening = false);
    }
}

/// Something is being compiled.
pub(super) struct Compiling(());

impl Compiling {
    pub(super) fn begin() -> Result<Self, String> {
        begin(|work| work.compiling += 1)?;
        Ok(Self(()))
    }
}

impl Drop for Compiling {
    fn drop(&mut self) {
        change(|work| work.compiling -= 1);
    }
}

/// What a thread that uses the engine has until it ends.
struct User;

impl Drop for User {
    fn drop(&mut self) {
        let is_main = rustix::thread::gettid() == rustix::process::getpid();
        if is_main {
            end();
        }
        wait(|work| work.opening || is_main && work.compiling > 0);
    }
}

/// This thread uses the engine.
pub(crate) fn used_here() {
    thread_local! {
        static USER: User = const { User };
    }
    let _ = USER.try_with(|_| ());
}

extern "C" fn at_exit() {
    // LLVM itself may end the process, and then waits for nothing.
    if is_ours() && !super::thread::is_llvms() {
        end();
        wait(|work| work.compiling > 0);
    }
}
