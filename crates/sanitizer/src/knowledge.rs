//! What threads know: a clock for each proxy, and where locks are looked into what is known only because critical sections
//! came in the order in which they did.

use crate::clock::{Clock, Line, Time, join, join_in_line};
use std::sync::Arc;

/// What is known for accesses through the generic proxy, and for those through the async proxy: of the latter only what
/// a `fence.proxy.async` has passed on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Knowledge {
    pub(crate) generic: Arc<Clock>,
    pub(crate) proxied: Arc<Clock>,
    /// What is known by locks besides; if there is nothing, all clocks of the generic proxy are one.
    pub(crate) by_locks: Option<ByLocks>,
}

/// What a thread knows of others by the [locks](crate::locks) that it has taken; each has what `generic` has.
#[derive(Clone, Debug)]
pub(crate) struct ByLocks {
    /// What comes before in whatever order the critical sections come, as long as everything read stays what it is.
    pub(crate) forced: Arc<Clock>,
    /// What comes before in this run.
    pub(crate) happened: Arc<Clock>,
}

impl Knowledge {
    /// Everything until a time, through every proxy.
    pub(crate) fn all_until(time: Time) -> Self {
        let clock = Arc::new(Clock::all_until(time));
        Self { generic: Arc::clone(&clock), proxied: clock, by_locks: None }
    }

    pub(crate) fn join(&mut self, other: &Self) {
        if self.by_locks.is_some() || other.by_locks.is_some() {
            let ByLocks { forced, happened } = self.by_locks();
            join(forced, other.forced());
            join(happened, other.happened());
        }
        join(&mut self.generic, &other.generic);
        join(&mut self.proxied, &other.proxied);
    }

    /// Whether it is what a location carries that has carried another one, as far as that is told fast.
    pub(crate) fn continues(&self, other: &Self) -> bool {
        let by_locks = self.by_locks.is_some() || other.by_locks.is_some();
        !by_locks
            && Arc::ptr_eq(&self.proxied, &other.proxied)
            && self.generic.covers_in_line(&other.generic) == Some(true)
    }

    /// The same of what a location carries and of what is released to it.
    pub(crate) fn join_in_line(&mut self, other: &mut Self, line: &mut Option<Arc<Line>>) {
        match (&self.by_locks, &other.by_locks) {
            (None, None) => {
                join_in_line(&mut self.generic, &mut other.generic, line);
                join(&mut self.proxied, &other.proxied);
            }
            _ => self.join(other),
        }
    }

    /// Learns what lanes of a warp, or of an agent, have done until a time.
    pub(crate) fn learn(&mut self, cta: u32, warp: u16, mask: u32, time: Time) {
        self.each_clock(|clock| clock.learn(cta, warp, mask, time));
    }

    /// Learns what all threads of a CTA have done until a time.
    pub(crate) fn learn_cta(&mut self, cta: u32, time: Time) {
        self.each_clock(|clock| clock.learn_cta(cta, time));
    }

    /// Changes all clocks of the generic proxy.
    fn each_clock(&mut self, change: impl Fn(&mut Clock)) {
        change(Arc::make_mut(&mut self.generic));
        if let Some(ByLocks { forced, happened }) = &mut self.by_locks {
            [forced, happened].into_iter().for_each(|clock| change(Arc::make_mut(clock)));
        }
    }

    /// Whether both are the very same.
    pub(crate) fn same(&self, other: &Self) -> bool {
        let by_locks = match (&self.by_locks, &other.by_locks) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(&a.forced, &b.forced) && Arc::ptr_eq(&a.happened, &b.happened),
            _ => false,
        };
        by_locks && Arc::ptr_eq(&self.generic, &other.generic) && Arc::ptr_eq(&self.proxied, &other.proxied)
    }

    /// What is known by locks, made if there is nothing yet.
    pub(crate) fn by_locks(&mut self) -> &mut ByLocks {
        let generic = &self.generic;
        self.by_locks
            .get_or_insert_with(|| ByLocks { forced: Arc::clone(generic), happened: Arc::clone(generic) })
    }

    /// See [`ByLocks::forced`].
    pub(crate) fn forced(&self) -> &Arc<Clock> {
        self.by_locks.as_ref().map_or(&self.generic, |by_locks| &by_locks.forced)
    }

    /// See [`ByLocks::happened`].
    pub(crate) fn happened(&self) -> &Arc<Clock> {
        self.by_locks.as_ref().map_or(&self.generic, |by_locks| &by_locks.happened)
    }

    /// The same for who must come after all of this: whatever happened before is known.
    pub(crate) fn of_all_that_happened(&self) -> Self {
        Self { generic: Arc::clone(self.happened()), proxied: Arc::clone(&self.proxied), by_locks: None }
    }
}
