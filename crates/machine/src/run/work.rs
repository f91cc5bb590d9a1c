//! What all host threads of a running grid share besides it: what was issued, and why it stops.

use crate::exec::{Grid, LaneTrap};
use crate::schedule::SchedulerKind;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// How a grid is to be run.
pub(crate) struct Plan<'a> {
    pub(crate) threads: usize,
    /// CTAs that the device holds at a time.
    pub(crate) resident: usize,
    pub(crate) scheduler: SchedulerKind,
    /// The first cluster that is to run.
    pub(crate) first_cluster: u64,
    /// Warp instructions that the launch may issue.
    pub(crate) budget: Option<u64>,
    pub(crate) observer: Option<&'a dyn crate::observe::Observer>,
    pub(crate) cancel: Option<&'a AtomicBool>,
    /// Set when another grid of its family has failed.
    pub(crate) stopped: Option<&'a AtomicBool>,
    /// Called with the number of finished CTAs.
    pub(crate) progress: Option<&'a (dyn Fn(u64) + Sync)>,
}

/// Why a grid stopped early.
pub(crate) enum Stop {
    Trap {
        cta: [u32; 3],
        thread: Option<[u32; 3]>,
        trap: LaneTrap,
        pc: u32,
    },
    /// And what some thread was waiting for.
    Budget {
        awaited: Option<String>,
    },
    Cancelled,
}

/// See the module.
pub(crate) struct Work<'a> {
    pub(crate) grid: &'a Grid<'a>,
    pub(crate) plan: &'a Plan<'a>,
    /// CTAs of a cluster.
    pub(crate) cluster: u32,
    /// Finished CTAs.
    done: AtomicU64,
    issued: AtomicU64,
    /// Compiled CTAs that may be waiting for others, and the host threads that are there for their sake.
    pub(crate) waiting: AtomicUsize,
    pub(crate) helpers: AtomicUsize,
    stopped: AtomicBool,
    stop: Mutex<Option<Stop>>,
}

impl<'a> Work<'a> {
    pub(crate) fn new(grid: &'a Grid<'a>, plan: &'a Plan<'a>) -> Self {
        Self {
            grid,
            plan,
            cluster: grid.cluster.iter().product(),
            done: AtomicU64::new(0),
            issued: AtomicU64::new(0),
            waiting: AtomicUsize::new(0),
            helpers: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
            stop: Mutex::new(None),
        }
    }

    /// Warp instructions that the budget has left.
    pub(crate) fn budget_left(&self) -> Option<u64> {
        self.plan.budget.map(|budget| budget.saturating_sub(self.issued.load(Relaxed)))
    }

    /// Accounts for warp instructions; whether the budget is not exhausted.
    pub(crate) fn account(&self, instructions: u64) -> bool {
        let issued = self.issued.fetch_add(instructions, Relaxed) + instructions;
        self.plan.budget.is_none_or(|budget| issued <= budget)
    }

    /// CTAs have finished.
    pub(crate) fn finish(&self, ctas: u64) {
        if let Some(progress) = self.plan.progress {
            let cancelled = self.grid.unclaimed.cancelled() * u64::from(self.cluster);
            progress(self.done.fetch_add(ctas, Relaxed) + ctas + cancelled);
        }
    }

    /// Whether the grid stops, after a look at whether somebody else says so.
    pub(crate) fn must_stop(&self) -> bool {
        let is_set = |flag: Option<&AtomicBool>| flag.is_some_and(|flag| flag.load(Relaxed));
        let gives_up = || self.plan.observer.is_some_and(|observer| observer.gives_up());
        if is_set(self.plan.cancel) || is_set(self.plan.stopped) || gives_up() {
            self.stop_with(Stop::Cancelled);
        }
        self.stopped.load(Relaxed)
    }

    /// Whether the grid stops.
    pub(crate) fn stops(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    /// The first reason counts.
    pub(crate) fn stop_with(&self, stop: Stop) {
        let mut reason = self.stop.lock().unwrap_or_else(PoisonError::into_inner);
        reason.get_or_insert(stop);
        self.stopped.store(true, Relaxed);
    }

    /// The warp instructions issued, or why the grid stopped.
    pub(crate) fn result(self) -> Result<u64, Box<Stop>> {
        let stop = self.stop.into_inner().unwrap_or_else(PoisonError::into_inner);
        stop.map_or(Ok(self.issued.into_inner()), |stop| Err(Box::new(stop)))
    }
}
