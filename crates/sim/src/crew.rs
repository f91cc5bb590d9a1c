//! Host threads that work in rounds: all of them at once, then one of them alone.
//!
//! A round takes some microseconds, so whoever waits for one looks again and again, and lets other threads have the processor in between.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Looks before a thread that waits lets others have the processor.
const LOOKS: u32 = 200;

/// The threads, and the rounds that they have been called for.
pub(crate) struct Crew<'w> {
    /// What each of them does in a round: it is told its number.
    work: &'w (dyn Fn(usize) + Sync),
    members: usize,
    rounds: AtomicUsize,
    /// Members that are still at the last one.
    busy: AtomicUsize,
    is_over: AtomicBool,
}

/// Tells the crew that there is no further round, however the last one ended.
struct Over<'c>(&'c AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Tells that a member has done its part, even if it panicked.
struct Done<'c>(&'c AtomicUsize);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// Calls a function that may call so many threads, its own among them, for rounds of work.
pub(crate) fn with<R>(threads: usize, work: &(dyn Fn(usize) + Sync), main: impl FnOnce(&Crew<'_>) -> R) -> R {
    let members = threads.saturating_sub(1);
    let crew = Crew {
        work,
        members,
        rounds: AtomicUsize::new(0),
        busy: AtomicUsize::new(0),
        is_over: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        let crew = &crew;
        (1..=members).for_each(|number| drop(scope.spawn(move || crew.serve(number))));
        let _over = Over(&crew.is_over);
        main(crew)
    })
}

impl Crew<'_> {
    /// Threads in all.
    pub(crate) fn threads(&self) -> usize {
        self.members + 1
    }

    /// A round of all threads; what they have written is there when it is over.
    pub(crate) fn round(&self) {
        self.busy.store(self.members, Ordering::Relaxed);
        self.rounds.fetch_add(1, Ordering::Release);
        (self.work)(0);
        wait(|| self.busy.load(Ordering::Acquire) == 0);
    }

    fn serve(&self, number: usize) {
        let mut served = 0;
        loop {
            wait(|| self.rounds.load(Ordering::Acquire) != served || self.is_over.load(Ordering::Acquire));
            if self.is_over.load(Ordering::Acquire) {
                return;
            }
            served += 1;
            let _done = Done(&self.busy);
            (self.work)(number);
        }
    }
}

fn wait(mut is_so: impl FnMut() -> bool) {
    let mut looks = 0;
    while !is_so() {
        looks += 1;
        if looks < LOOKS {
            std::hint::spin_loop();
        } else {
            thread::yield_now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::with;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn each_thread_works_once_a_round() {
        let sums = [const { AtomicU64::new(0) }; 3];
        let work = |number: usize| {
            sums[number].fetch_add(1, Ordering::Relaxed);
        };
        with(3, &work, |crew| {
            for round in 1..=100 {
                crew.round();
                assert!(sums.iter().all(|sum| sum.load(Ordering::Relaxed) == round));
            }
        });
    }
}
