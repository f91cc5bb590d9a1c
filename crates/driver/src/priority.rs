//! Which kernels begin first.
//!
//! Streams run at the same time, each on a thread of its own, and share the host's processors. A kernel does not begin
//! while one of a more urgent stream runs on its device; but it waits no longer than [`PATIENCE`], because kernels may
//! wait for one another through memory, which CUDA does not promise to work but devices do.

use crate::lock;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The least urgent priority, which streams have unless they are made with another.
pub const LEAST: i32 = 0;
/// The most urgent.
pub const GREATEST: i32 = -5;
/// How long a kernel lets others go first.
const PATIENCE: Duration = Duration::from_millis(50);

/// The kernels of a device that run, by their priority.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    /// Whether there are streams of more than one priority.
    used: AtomicBool,
    running: Mutex<BTreeMap<i32, usize>>,
    ended: Condvar,
}

/// A kernel that runs.
pub(crate) struct Pass<'a>(Option<(&'a Gate, i32)>);

impl Gate {
    /// A stream of this priority is there.
    pub(crate) fn announce(&self, priority: i32) {
        if priority != LEAST {
            self.used.store(true, Ordering::Relaxed);
        }
    }

    /// Lets a kernel begin, after more urgent ones.
    pub(crate) fn enter(&self, priority: i32) -> Pass<'_> {
        if !self.used.load(Ordering::Relaxed) {
            return Pass(None);
        }
        let until = Instant::now() + PATIENCE;
        let mut running = lock(&self.running);
        while running.range(..priority).next().is_some() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            running = self.ended.wait_timeout(running, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        *running.entry(priority).or_default() += 1;
        Pass(Some((self, priority)))
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let Some((gate, priority)) = self.0 else { return };
        let mut running = lock(&gate.running);
        if let Some(count) = running.get_mut(&priority) {
            *count -= 1;
            if *count == 0 {
                running.remove(&priority);
            }
        }
        gate.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn the_less_urgent_waits_and_not_for_ever() {
        let gate = Gate::default();
        gate.announce(GREATEST);
        let order = AtomicUsize::new(0);
        let first = gate.enter(GREATEST);
        std::thread::scope(|scope| {
            let late = scope.spawn(|| {
                let _pass = gate.enter(LEAST);
                order.fetch_add(1, Ordering::SeqCst)
            });
            std::thread::sleep(PATIENCE / 5);
            assert_eq!(order.fetch_add(1, Ordering::SeqCst), 0);
            drop(first);
            assert_eq!(late.join().unwrap(), 1);
        });
        // One that is never done keeps nobody out.
        let _endless = gate.enter(GREATEST);
        drop(gate.enter(LEAST));
        assert_eq!(lock(&gate.running).len(), 1);
    }
}
