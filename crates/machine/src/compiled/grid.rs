//! The CTAs of a launch on host threads, each run to its end by compiled code.

use super::cta::Cta;
use super::{Code, Stopped};
use crate::exec::{Grid, LaneTrap};
use crate::fault::Trap;
use crate::image::Origin;
use crate::lanes::LANES;
use crate::run::grid::{Plan, Stop};
use ptx::module::FuncId;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// CTAs that a host thread takes up at a time at most, and the part of its share of what is left.
const BATCH: u64 = 64;
const PART: u64 = 8;

/// What all host threads of a launch share.
struct Work<'a> {
    plan: &'a Plan<'a>,
    next: AtomicU64,
    total: u64,
    done: AtomicU64,
    issued: AtomicU64,
    stopped: AtomicBool,
    stop: Mutex<Option<Stop>>,
}

/// Runs a grid by compiled code to its end; the warp instructions that it accounts for.
pub(crate) fn run(grid: &Grid<'_>, plan: &Plan<'_>, code: &dyn Code) -> Result<u64, Box<Stop>> {
    let total = grid.grid.iter().map(|&extent| u64::from(extent)).product();
    let work = Work {
        plan,
        next: AtomicU64::new(0),
        total,
        done: AtomicU64::new(0),
        issued: AtomicU64::new(0),
        stopped: AtomicBool::new(false),
        stop: Mutex::new(None),
    };
    let threads = plan.threads.max(1).min(total.try_into().unwrap_or(usize::MAX));
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| work.run(grid, code, threads as u64));
        }
        work.run(grid, code, threads as u64);
    });
    let stop = work.stop.into_inner().unwrap_or_else(PoisonError::into_inner);
    stop.map_or(Ok(work.issued.into_inner()), |stop| Err(Box::new(stop)))
}

impl Work<'_> {
    fn run(&self, grid: &Grid<'_>, code: &dyn Code, threads: u64) {
        let spend = |instructions| self.spend(instructions);
        let mut cta = Cta::new(grid, &spend);
        let mut scratch = Vec::new();
        while !self.stopped.load(Relaxed) {
            let left = self.total.saturating_sub(self.next.load(Relaxed));
            let claim = (left / (threads * PART)).clamp(1, BATCH);
            let first = self.next.fetch_add(claim, Relaxed);
            if first >= self.total {
                break;
            }
            for index in first..(first + claim).min(self.total) {
                if !self.spend(0) {
                    return;
                }
                cta.begin(index);
                match code.run(&mut cta, &mut scratch) {
                    Ok(()) => {
                        grid.dependents.exit(cta.ctaid());
                        let done = self.done.fetch_add(1, Relaxed) + 1;
                        self.plan.progress.into_iter().for_each(|progress| progress(done));
                    }
                    Err(Stopped::Told) => return,
                    Err(Stopped::Trap { trap, thread, place }) => {
                        self.stop_with(fault(grid, cta.ctaid(), trap, thread, place));
                        return;
                    }
                }
            }
        }
    }

    /// Accounts for warp instructions; whether the launch goes on.
    fn spend(&self, instructions: u64) -> bool {
        let issued = self.issued.fetch_add(instructions, Relaxed) + instructions;
        let is_set = |flag: Option<&AtomicBool>| flag.is_some_and(|flag| flag.load(Relaxed));
        if is_set(self.plan.cancel) || is_set(self.plan.stopped) {
            self.stop_with(Stop::Cancelled);
        }
        if self.plan.budget.is_some_and(|budget| issued > budget) {
            self.stop_with(Stop::Budget { awaited: None });
        }
        !self.stopped.load(Relaxed)
    }

    /// The first reason counts.
    fn stop_with(&self, stop: Stop) {
        let mut reason = self.stop.lock().unwrap_or_else(PoisonError::into_inner);
        reason.get_or_insert(stop);
        self.stopped.store(true, Relaxed);
    }
}

fn fault(
    grid: &Grid<'_>,
    cta: [u32; 3],
    trap: Trap,
    thread: Option<u32>,
    (function, instruction): (FuncId, u32),
) -> Stop {
    let origin = Origin { function, instruction };
    let pc = grid.image.origins.iter().position(|&known| known == origin).unwrap_or(0) as u32;
    let thread = thread.map(|thread| {
        let (warp, lane) = (thread as usize / LANES, thread as usize % LANES);
        [0, 1, 2].map(|axis: usize| grid.tid[axis][warp][lane])
    });
    Stop::Trap { cta, thread, trap: LaneTrap { trap, lane: None }, pc }
}
