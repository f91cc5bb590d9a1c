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
//! | `clock` | what a thread knows of others, folded along the launch hierarchy |
//! | `release` | what a location carries for those who acquire, by scope |
//! | `observed` | which strong writes were observed, for later accesses of their location |
//! | `polls` | strong reads that say nothing new |
//! | `site` | what an instruction is to the memory model |
//! | `runs` | which lanes access memory one after the other |
//! | `shadow`, `pool`, `row`, `words`, `half_rows`, `reads`, `global` | who accessed every byte last |
//! | `state` | threads, CTAs, launches |
//! | `accessor`, `check`, `race` | who accesses; rows, cells and bytes; whether an access races, and what is remembered of it |
//! | `detector`, `weak`, `scattered`, `strong`, `counters` | accesses of warps; those without an order, the usual ones with one |
//! | `order` | fences, barriers, mbarriers |
//! | `copies`, `products` | asynchronous copies; registers of `wgmma` |
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
mod half_rows;
mod heap;
mod litmus;
mod observed;
mod order;
mod polls;
mod pool;
mod products;
mod race;
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

use clock::Knowledge;
use detector::Detector;
use machine::fault::Access;
use machine::observe::{Happening, Issue, Observer};
use machine::{Fault, SchedulerKind};
use ptx::module::{Checked, FuncId, Module};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A run that is watched: all launches of a process, or of one command.
#[derive(Default)]
pub struct Sanitizer {
    detector: Mutex<Detector>,
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
pub struct Moment(Knowledge);

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
        let mut detector = Detector::new(checks);
        detector.reports.suppressions = suppressions;
        Self { detector: Mutex::new(detector) }
    }

    fn detector(&self) -> MutexGuard<'_, Detector> {
        self.detector.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A launch begins, after everything that has happened so far.
    pub fn begin(&self, module: &Arc<Checked<Module>>, shape: Shape<'_>) -> Watch<'_> {
        let moment = Moment(self.detector().after_everything());
        self.begin_after(module, shape, &moment)
    }

    /// A launch begins, after a moment.
    pub fn begin_after(&self, module: &Arc<Checked<Module>>, shape: Shape<'_>, after: &Moment) -> Watch<'_> {
        let mut detector = self.detector();
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
            knowledge: after.0.clone(),
            ended: None,
        });
        Watch { sanitizer: self, launch, module: number }
    }

    /// Now: after everything that has happened so far.
    pub fn now(&self) -> Moment {
        Moment(self.detector().after_everything())
    }

    /// The host has allocated memory, which nobody has written.
    pub fn allocated(&self, address: u64, bytes: u64) {
        self.detector().allocated(address, bytes, false);
    }

    /// The host has freed memory.
    pub fn freed(&self, address: u64) {
        self.detector().freed(address);
    }

    /// A copy or a fill that the program asked for reads and writes memory, after a moment. What comes after it.
    pub fn copied(&self, name: &str, ranges: &[(u64, u64, Access)], after: &Moment) -> Moment {
        Moment(self.detector().driver_copied(name, ranges, &after.0))
    }

    /// Memory was written by means that are not followed.
    pub fn written(&self, address: u64, bytes: u64) {
        self.detector().written(address, bytes);
    }

    /// How what is found from now on is seen.
    pub fn seeing(&self, seen: Seen) {
        self.detector().reports.seen = seen;
    }

    /// A launch ended with a fault: what more is known about it.
    pub fn fault(&self, fault: &Fault) {
        self.detector().fault(fault);
    }

    /// The run is over: what is still allocated has leaked.
    pub fn finish(&self) {
        self.detector().leaks();
    }

    /// How much was found so far: the number only grows.
    pub fn found(&self) -> usize {
        self.detector().reports.pairs()
    }

    /// What was found last, at the pair of instructions where that was.
    pub fn latest(&self) -> Option<Report> {
        self.detector().reports.latest().cloned()
    }

    /// What was found so far.
    pub fn reports(&self) -> Vec<Report> {
        self.detector().reports.all()
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
        let mut detector = self.sanitizer.detector();
        detector.finish_copy(self.launch, None);
        detector.end(self.launch);
        Moment(detector.after_launch(self.launch))
    }
}

impl Moment {
    /// What is after both.
    pub fn join(&mut self, other: &Self) {
        self.0.join(&other.0);
    }
}

impl Observer for Watch<'_> {
    fn issue(&self, issue: &Issue<'_>) {
        if issue.masks.iter().any(|mask| *mask != 0) {
            let mut detector = self.sanitizer.detector();
            if !detector.copies.is_empty() {
                detector.finish_copy(self.launch, None);
            }
            detector.issue(self.launch, issue);
        }
    }

    fn watches(&self, function: FuncId, instruction: u32) -> bool {
        let detector = self.sanitizer.detector();
        let site = detector.sites.get(detector.sites.id(self.module, function, instruction));
        site.action != site::Action::None || detector.follows_products(self.module, function)
    }

    fn happening(&self, happening: &Happening<'_>) {
        let mut detector = self.sanitizer.detector();
        let continues = matches!(happening, Happening::BulkAccess { .. } | Happening::Mbarrier { .. });
        if !continues {
            detector.finish_copy(self.launch, None);
        }
        detector.happening(self.launch, happening);
    }
}
