//! Host threads that work in rounds: all of them at once, then one of them alone.
//!
//! A round takes some microseconds, so whoever waits for one looks again and again, and lets other threads have the processor in between. Who has
//! looked for long sleeps: where one thread has work alone, the others leave the processor to whoever else is on the host.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

/// Looks before a thread that waits lets others have the processor, and before it sleeps.
const LOOKS: u32 = 200;
const MANY_LOOKS: u32 = 400;

/// The threads, and the rounds that they have been called for.
pub(crate) struct Crew<'w> {
    /// What each of them does in a round: it is told its number.
    work: &'w (dyn Fn(usize) + Sync),
    members: usize,
    rounds: AtomicUsize,
    /// Members that are still at the last one.
    busy: AtomicUsize,
    is_over: AtomicBool,
    /// Members that sleep, or are about to.
    asleep: AtomicUsize,
    bed: Mutex<()>,
    bell: Condvar,
}

/// Tells the crew that there is no further round, however the last one ended.
struct Over<'c>(&'c Crew<'c>);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::SeqCst);
        self.0.wake();
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
        asleep: AtomicUsize::new(0),
        bed: Mutex::new(()),
        bell: Condvar::new(),
    };
    thread::scope(|scope| {
        let crew = &crew;
        (1..=members).for_each(|number| drop(scope.spawn(move || crew.serve(number))));
        let _over = Over(crew);
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
        self.rounds.fetch_add(1, Ordering::SeqCst);
        self.wake();
        (self.work)(0);
        let mut looks = 0;
        while self.busy.load(Ordering::Acquire) != 0 {
            look(&mut looks);
        }
    }

    /// Wakes those who sleep. A member says that it is about to before it looks for the last time, and what it looks for is there before this
    /// asks who sleeps: one of both sees the other.
    fn wake(&self) {
        if self.asleep.load(Ordering::SeqCst) > 0 {
            drop(self.bed.lock().unwrap_or_else(PoisonError::into_inner));
            self.bell.notify_all();
        }
    }

    /// Waits until there is a round that a member has not served, or none any more.
    fn wait(&self, served: usize) {
        let is_so = || self.rounds.load(Ordering::SeqCst) != served || self.is_over.load(Ordering::SeqCst);
        let mut looks = 0;
        while !is_so() {
            if looks < MANY_LOOKS {
                look(&mut looks);
                continue;
            }
            self.asleep.fetch_add(1, Ordering::SeqCst);
            let mut bed = self.bed.lock().unwrap_or_else(PoisonError::into_inner);
            while !is_so() {
                bed = self.bell.wait(bed).unwrap_or_else(PoisonError::into_inner);
            }
            drop(bed);
            self.asleep.fetch_sub(1, Ordering::SeqCst);
        }
    }

    fn serve(&self, number: usize) {
        let mut served = 0;
        loop {
            self.wait(served);
            if self.is_over.load(Ordering::Acquire) {
                return;
            }
            served += 1;
            let _done = Done(&self.busy);
            (self.work)(number);
        }
    }
}

/// Lets some time pass before the next look.
fn look(looks: &mut u32) {
    *looks += 1;
    if *looks < LOOKS {
        std::hint::spin_loop();
    } else {
        thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::with;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    #[test]
    fn each_thread_works_once_a_round() {
        let sums = [const { AtomicU64::new(0) }; 3];
        let work = |number: usize| {
            sums[number].fetch_add(1, Ordering::Relaxed);
        };
        with(3, &work, |crew| {
            for round in 1..=100 {
                if round % 10 == 0 {
                    // By then all others sleep.
                    while crew.asleep.load(Ordering::SeqCst) < 2 {
                        thread::yield_now();
                    }
                }
                crew.round();
                assert!(sums.iter().all(|sum| sum.load(Ordering::Relaxed) == round));
            }
        });
    }
}
