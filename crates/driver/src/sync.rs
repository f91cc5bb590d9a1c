//! What [`stream`](crate::stream) waits and counts with: the standard library's, or those of `shuttle`, a scheduler for
//! tests that tries out many orders of threads.

#[cfg(feature = "shuttle")]
pub(crate) use shuttle::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicU64},
    sync::{Condvar, Mutex, MutexGuard},
    thread,
};
#[cfg(not(feature = "shuttle"))]
pub(crate) use std::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicU64},
    sync::{Condvar, Mutex, MutexGuard},
    thread,
};

/// How often a thread looks for a change before it sleeps: some microseconds.
pub(crate) const LOOKS: u32 = if cfg!(feature = "shuttle") { 1 } else { 500 };

/// Locks what stays consistent between statements, so that a panic elsewhere does not spread.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
