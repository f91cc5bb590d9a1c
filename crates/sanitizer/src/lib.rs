//! Finds data races, memory errors, reads of unwritten memory and misused barriers in kernels that the machine runs.
//!
//! ```text
//! machine --events--> Watch --detector--> what threads know (clock, state) x who accessed what (shadow) --> Report
//! ```
//!
//! A race is what the manual says it is (PTX ISA, "Memory Consistency Model"): two accesses that conflict, that are not
//! ordered by causality, and that are not morally strong. Causality comes from the program: barriers, releases that were
//! read from, fences, completed copies. So the verdict does not depend on who happened to run first, only on which values
//! were read.
//!
//! | file | what it alone knows |
//! | --- | --- |
//! | `clock`, `knowledge` | what a thread knows of others, folded along the launch hierarchy |
//! | `release` | what a location carries for those who acquire, by scope |
//! | `observed` | which strong writes were observed, for later accesses of their location |
//! | `polls` | strong reads that say nothing new |
//! | `site` | what an instruction is to the memory model |
//! | `runs` | which lanes access memory one after the other |
//! | `shadow`, `pool`, `row`, `words`, `readers`, `half_rows`, `reads`, `global` | who accessed every byte last |
//! | `state` | threads, CTAs, launches |
//! | `accessor`, `check`, `race` | who accesses; rows, cells and bytes; whether an access races, and what is remembered of it |
//! | `detector`, `weak`, `scattered`, `strong`, `counters` | accesses of warps; those without an order, the usual ones with one |
//! | `order` | fences, barriers, mbarriers |
//! | `copies` | asynchronous copies |
//! | `locks`, `guarded`, `predict` | locks and critical sections; accesses of who holds some; what follows for other orders |
//! | `queue` | the same on a host thread of its own |
//! | `heap` | allocations, use after free, leaks |
//! | `diagnose`, `litmus`, `trail`, `report`, `suppress` | what people are told |
//!
//! The definitions are those of the `memory-model` crate, whose text says which operations are strong, release, acquire, and
//! have scopes that meet ([`memory_model::definitions`]); its axioms judge the litmus tests that reports come with.

mod accessor;
mod check;
mod clock;
mod copies;
mod counters;
mod detector;
mod diagnose;
mod global;
mod guarded;
mod half_rows;
mod heap;
mod knowledge;
mod litmus;
mod locks;
mod observed;
mod order;
mod polls;
mod pool;
mod predict;
mod queue;
mod race;
mod readers;
mod reads;
mod release;
mod report;
mod row;
mod runs;
mod scattered;
mod shadow;
mod site;
mod state;
mod strong;
mod suppress;
mod trail;
mod weak;
mod words;

pub use report::{Actor, Allocation, Checks, Report, Seen};
pub use suppress::Suppressions;

use detector::Detector;
use knowledge::Knowledge;
use machine::fault::Access;
use machine::observe::{Happening, Issue, Observer};
use machine::{Fault, SchedulerKind};
use ptx::module::{Checked, FuncId, Module};
use queue::Queue;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A run that is watched: all launches of a process, or of one command.
#[derive(Default)]
pub struct Sanitizer {
    detectors: Arc<Mutex<Detectors>>,
    queue: Option<Queue>,
}

/// Who is told of everything that happens.
#[derive(Default)]
struct Detectors {
    /// What this run shows; and all reports.
    of_run: Detector,
    /// What locks show of other orders, if that is asked for: they have the same launches.
    of_locks: Option<Box<Detector>>,
}

impl Detectors {
    fn each(&mut self, mut tell: impl FnMut(&mut Detector)) {
        tell(&mut self.of_run);
        if let Some(of_locks) = &mut self.of_locks {
            tell(of_locks);
        }
    }

    fn issue(&mut self, launch: usize, issue: &Issue<'_>) {
        self.each(|detector| {
            if !detector.copies.is_empty() {
                detector.finish_copy(launch, None);
            }
            detector.issue(launch, issue);
        });
    }

    fn happening(&mut self, launch: usize, happening: &Happening<'_>) {
        let continues = matches!(happening, Happening::BulkAccess { .. } | Happening::Mbarrier { .. });
        self.each(|detector| {
            if !continues {
                detector.finish_copy(launch, None);
            }
            detector.happening(launch, happening);
        });
    }

    fn begin(&mut self, module: &Arc<Checked<Module>>, shape: Shape<'_>, after: &Moment) -> (usize, u32) {
        let begun = begin(&mut self.of_run, module, shape, &after.of_run);
        if let Some(of_locks) = &mut self.of_locks {
            begin(of_locks, module, shape, &after.of_locks);
        }
        begun
    }

    fn moment(&mut self, mut of: impl FnMut(&mut Detector, bool) -> Knowledge) -> Moment {
        let of_locks = self.of_locks.as_deref_mut().map(|detector| of(detector, true));
        Moment { of_run: of(&mut self.of_run, false), of_locks: of_locks.unwrap_or_default() }
    }

    fn end(&mut self, launch: usize) -> Moment {
        self.each(|detector| {
            detector.finish_copy(launch, None);
            detector.end(launch);
        });
        if let Some(of_locks) = &mut self.of_locks {
            for (sites, count, report) in of_locks.foreseen(launch) {
                self.of_run.reports.add_foreseen(sites, count, report);
            }
        }
        self.moment(|detector, _| detector.after_launch(launch))
    }
}

fn begin(
    detector: &mut Detector,
    module: &Arc<Checked<Module>>,
    shape: Shape<'_>,
    after: &Knowledge,
) -> (usize, u32) {
    let known = detector.modules.iter().position(|known| Arc::ptr_eq(known, module));
    let number = match known {
        Some(number) => number as u32,
        None => {
            detector.modules.push(Arc::clone(module));
            detector.sites.add(module)
        }
    };
    let first = detector.next_cta();
    let launch = detector.begin(state::Launch {
        kernel: shape.kernel.to_owned(),
        module: number,
        grid: shape.grid,
        threads: shape.block.iter().product(),
        block: shape.block,
        cluster: shape.cluster,
        first,
        knowledge: after.clone(),
        ended: None,
    });
    (launch, number)
}

impl std::fmt::Debug for Sanitizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sanitizer").finish_non_exhaustive()
    }
}

/// The shape of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Shape<'a> {
    /// The kernel's name.
    pub kernel: &'a str,
    /// CTAs in each dimension.
    pub grid: [u32; 3],
    /// Threads of a CTA in each dimension.
    pub block: [u32; 3],
    /// CTAs of a cluster in each dimension; ones if there are none.
    pub cluster: [u32; 3],
}

/// What happens before a launch: a point in the order of launches, streams, events and the host.
#[derive(Clone, Debug, Default)]
pub struct Moment {
    of_run: Knowledge,
    of_locks: Knowledge,
}

/// One launch, as an observer of the machine. Run it on one host thread.
#[derive(Debug)]
pub struct Watch<'a> {
    sanitizer: &'a Sanitizer,
    launch: usize,
    module: u32,
}

impl Sanitizer {
    /// Nothing has been found yet.
    pub fn new(checks: Checks, suppressions: Suppressions) -> Self {
        let mut of_run = Detector::new(checks);
        of_run.reports.suppressions = suppressions;
        let of_locks = (checks.locks || checks.predict).then(|| Box::new(Detector::of_locks(checks)));
        Self { detectors: Arc::new(Mutex::new(Detectors { of_run, of_locks })), queue: None }
    }

    /// The same that judges on a host thread of its own, if there is more than one: what is found while a launch runs is
    /// found later. An analysis of locks has to look at memory at once.
    #[must_use]
    pub fn in_background(self) -> Self {
        let alone = self.detectors().of_locks.is_none();
        let queue = if alone { Queue::new(Arc::clone(&self.detectors)) } else { None };
        Self { queue, ..self }
    }

    /// Everybody, who have judged everything that was told.
    fn detectors(&self) -> MutexGuard<'_, Detectors> {
        if let Some(queue) = &self.queue {
            queue.settle();
        }
        self.detectors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A launch begins, after everything that has happened so far.
    pub fn begin(&self, module: &Arc<Checked<Module>>, shape: Shape<'_>) -> Watch<'_> {
        self.begin_after(module, shape, &self.now())
    }

    /// A launch begins, after a moment.
    pub fn begin_after(&self, module: &Arc<Checked<Module>>, shape: Shape<'_>, after: &Moment) -> Watch<'_> {
        let (launch, module) = self.detectors().begin(module, shape, after);
        Watch { sanitizer: self, launch, module }
    }

    /// Now: after everything that has happened so far.
    pub fn now(&self) -> Moment {
        self.detectors().moment(|detector, _| detector.after_everything())
    }

    /// The host has allocated memory, which nobody has written.
    pub fn allocated(&self, address: u64, bytes: u64) {
        self.detectors().each(|detector| detector.allocated(address, bytes, false));
    }

    /// The host has freed memory.
    pub fn freed(&self, address: u64) {
        self.detectors().each(|detector| detector.freed(address));
    }

    /// A copy or a fill that the program asked for reads and writes memory, after a moment. What comes after it.
    pub fn copied(&self, name: &str, ranges: &[(u64, u64, Access)], after: &Moment) -> Moment {
        self.detectors().moment(|detector, of_locks| {
            let after = if of_locks { &after.of_locks } else { &after.of_run };
            detector.driver_copied(name, ranges, after)
        })
    }

    /// Memory was written by means that are not followed.
    pub fn written(&self, address: u64, bytes: u64) {
        self.detectors().each(|detector| detector.written(address, bytes));
    }

    /// How what is found from now on is seen.
    pub fn seeing(&self, seen: Seen) {
        self.detectors().of_run.reports.seen = seen;
    }

    /// A launch ended with a fault: what more is known about it.
    pub fn fault(&self, fault: &Fault) {
        self.detectors().of_run.fault(fault);
    }

    /// The run is over: what is still allocated has leaked.
    pub fn finish(&self) {
        self.detectors().of_run.leaks();
    }

    /// How much was found so far: the number only grows.
    pub fn found(&self) -> usize {
        self.detectors().of_run.reports.pairs()
    }

    /// What was found last, at the pair of instructions where that was.
    pub fn latest(&self) -> Option<Report> {
        self.detectors().of_run.reports.latest().cloned()
    }

    /// What was found so far.
    pub fn reports(&self) -> Vec<Report> {
        self.detectors().of_run.reports.all()
    }
}

/// The schedulers that launches run under besides their own, if they are to run under so many in all: that which starves whoever
/// it can, and random ones.
pub fn other_schedules(all: u32) -> impl Iterator<Item = SchedulerKind> {
    let of = |number| match number {
        0 => SchedulerKind::Adversarial,
        seed => SchedulerKind::Random { seed: u64::from(seed) },
    };
    (0..all.saturating_sub(1)).map(of)
}

impl Watch<'_> {
    /// The launch is over. What comes after it is after this moment, if it is ordered after the launch.
    pub fn end(self) -> Moment {
        self.sanitizer.detectors().end(self.launch)
    }
}

impl Moment {
    /// What is after both.
    pub fn join(&mut self, other: &Self) {
        self.of_run.join(&other.of_run);
        self.of_locks.join(&other.of_locks);
    }
}

impl Observer for Watch<'_> {
    fn issue(&self, issue: &Issue<'_>) {
        if issue.masks.iter().any(|mask| *mask != 0) {
            match &self.sanitizer.queue {
                Some(queue) => queue.issue(self.launch, issue),
                None => self.sanitizer.detectors().issue(self.launch, issue),
            }
        }
    }

    fn watches(&self, function: FuncId, instruction: u32) -> bool {
        let sites = &self.sanitizer.detectors().of_run.sites;
        let site = sites.get(sites.id(self.module, function, instruction));
        site.action != site::Action::None
    }

    fn happening(&self, happening: &Happening<'_>) {
        let queue = self.sanitizer.queue.as_ref();
        if !queue.is_some_and(|queue| queue.happening(self.launch, happening)) {
            self.sanitizer.detectors().happening(self.launch, happening);
        }
    }
}
