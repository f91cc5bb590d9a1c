//! What each host thread has of its own, and keeps until its very end.
//!
//! A program calls the driver from static destructors, from handlers of `atexit` and from destructors of thread-local
//! objects, where Rust has destroyed a thread's values that need destruction and its own handle of the thread. So what is
//! kept here needs none: a thread that ends leaves its stack's few bytes behind.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// What tells a thread from all others that there have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ThreadNumber(u64);

static NEXT: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static NUMBER: Cell<u64> = const { Cell::new(0) };
}

/// The calling thread.
pub(crate) fn number() -> ThreadNumber {
    if NUMBER.get() == 0 {
        NUMBER.set(NEXT.fetch_add(1, Ordering::Relaxed));
    }
    ThreadNumber(NUMBER.get())
}
