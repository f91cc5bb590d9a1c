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
//! | `clock`, `spare`, `knowledge` | what a thread knows of others, folded along the launch hierarchy; memory of clocks that are over |
//! | `release` | what a location carries for those who acquire, by scope |
//! | `observed` | which strong writes were observed, for later accesses of their location |
//! | `polls`, `looks` | strong reads that say nothing new; those that nobody need be told of |
//! | `site` | what an instruction is to the memory model |
//! | `together` | loads that one of them tells of |
//! | `runs` | which lanes access memory one after the other |
//! | `shadow`, `pool`, `reused`, `row`, `words`, `readers`, `half_rows`, `reads`, `global` | who accessed every byte last |
//! | `interval`, `places`, `anchors` | shared memory between two barriers of a CTA; where the lanes of a warp access it; which accesses have addresses in common |
//! | `state` | threads, CTAs, launches |
//! | `accessor`, `check`, `race` | who accesses; rows, cells and bytes; whether an access races, and what is remembered of it |
//! | `detector`, `weak`, `scattered`, `listed`, `strong`, `counters` | accesses of warps; those without an order, reads that can wait, the usual ones with one |
//! | `synchronise` | strong accesses one by one, and what they synchronise with |
//! | `order`, `begun` | fences, barriers, mbarriers; fences and relaxed reads that make patterns only with what follows |
//! | `copies`, `products`, `told` | asynchronous copies; registers of `wgmma`; accesses that no instruction names by an address for each lane |
//! | `locks`, `tickets`, `guarded`, `predict`, `candidates` | locks and critical sections; accesses of who holds some; what follows for other orders |
//! | `detectors`, `queue` | who is told; the same on a host thread of its own |
//! | `apart`, `spread`, `before`, `footprint`, `absorb`, `shared_out` | kernels whose CTAs share nothing but memory, or talk by strong operations alone; such launches on several host threads; what was written before; what these have in common; what everybody remembers of them; work for several |
//! | `shards`, `talking` | a shadow that several host threads share; what one of them tells it of CTAs that talk |
//! | `heap` | allocations, use after free, leaks |
//! | `diagnose`, `litmus`, `trail`, `report`, `suppress` | what people are told |
//!
//! The definitions are those of the `memory-model` crate, whose text says which operations are strong, release, acquire, and
//! have scopes that meet ([`memory_model::definitions`]); its axioms judge the litmus tests that reports come with.

mod absorb;
mod accessor;
mod anchors;
mod apart;
mod before;
mod begun;
mod candidates;
mod check;
mod clock;
mod copies;
mod counters;
mod detector;
mod detectors;
mod diagnose;
mod footprint;
mod global;
mod guarded;
mod half_rows;
mod heap;
mod interval;
mod knowledge;
mod listed;
mod litmus;
mod locks;
mod looks;
mod observed;
mod order;
mod places;
mod polls;
mod pool;
mod predict;
mod products;
mod queue;
mod race;
mod readers;
mod reads;
mod release;
mod report;
mod reused;
mod row;
mod runs;
mod scattered;
mod shadow;
mod shards;
mod shared_out;
mod site;
mod spare;
mod spread;
mod state;
mod strong;
mod suppress;
mod synchronise;
mod talking;
mod tickets;
mod together;
mod told;
mod trail;
mod weak;
mod words;

pub use detectors::{Moment, Shape};
pub use report::{Actor, Allocation, Checks, Host, Report, Seen};
pub use spread::Spread;
pub use suppress::Suppressions;

use detector::Detector;
use detectors::Detectors;
use looks::Looks;
use machine::fault::Access;
use machine::observe::{Happening, Issue, Lanes, Observer};
use machine::{Device, Fault, SchedulerKind, Trap};
use ptx::module::{Checked, FuncId, Module};
use queue::Queue;
use runs::are_private;
use site::{Interest, Interests};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A run that is watched: all launches of a process, or of one command.
#[derive(Default)]
pub struct Sanitizer {
    detectors: Arc<Mutex<Detectors>>,
    queue: Option<Queue>,
    /// How much was told besides looks: see [`looks`].
    others: AtomicU64,
}

impl std::fmt::Debug for Sanitizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sanitizer").finish_non_exhaustive()
    }
}

/// What `griddepcontrol.wait` waits for, once it is complete.
pub type Whole = Arc<dyn Fn() -> Moment + Send + Sync>;

/// One launch, as an observer of the machine, for one host thread; [`Watch::run`] has more.
pub struct Watch<'a> {
    sanitizer: &'a Sanitizer,
    launch: usize,
    whole: Option<Whole>,
    looks: Option<Looks>,
    interests: Interests,
    /// Whether it is of interest, too, what threads do that can race with nobody.
    tells_all: bool,
    /// See [`site::Interest::is_told`].
    told: [bool; 3],
}

impl std::fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("launch", &self.launch).finish_non_exhaustive()
    }
}

impl Sanitizer {
    /// Nothing has been found yet.
    pub fn new(checks: Checks, suppressions: Suppressions) -> Self {
        let mut of_run = Detector::new(checks);
        of_run.reports.suppressions = suppressions;
        let of_locks = (checks.locks || checks.predict).then(|| Box::new(Detector::of_locks(checks)));
        let detectors = Arc::new(Mutex::new(Detectors { of_run, of_locks }));
        Self { detectors, queue: None, others: AtomicU64::new(1) }
    }

    /// The same that judges on a host thread of its own, if there is more than one: what is found while a launch runs is
    /// found later. An analysis of locks has to look at memory at once.
    #[must_use]
    pub fn in_background(self) -> Self {
        let alone = self.detectors().of_locks.is_none();
        let queue = if alone { Queue::new(Arc::clone(&self.detectors)) } else { None };
        Self { queue, ..self }
    }

    /// The same where kernels go on after bad accesses, at so many different instructions.
    pub fn keeping_going(self, most: usize) -> Self {
        self.detectors().of_run.forgives = most;
        self
    }

    /// The same that has launches whose CTAs talk by atomics run on several host threads, too, as those have who do so by loads and stores
    /// alone. Mostly that takes longer than on one that runs the kernel and one that judges.
    #[must_use]
    pub fn sharing(self) -> Self {
        self.detectors().of_run.shares = true;
        self
    }

    /// The same for who may change registers while kernels run, as debuggers do.
    pub fn where_registers_change(self) -> Self {
        self.detectors().of_run.registers_change = true;
        self
    }

    /// Everybody, who have judged everything that was told.
    fn detectors(&self) -> MutexGuard<'_, Detectors> {
        if let Some(queue) = &self.queue {
            queue.settle();
        }
        self.others.fetch_add(1, Ordering::Relaxed);
        self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Detectors> {
        self.detectors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it looks for races.
    pub fn looks_for_races(&self) -> bool {
        self.detectors().of_run.checks.race
    }

    /// A launch begins, after everything that has happened so far.
    pub fn begin(&self, module: &Arc<Checked<Module>>, shape: Shape<'_>) -> Watch<'_> {
        self.begin_after(module, shape, &self.now())
    }

    /// A launch begins, after a moment.
    pub fn begin_after(&self, module: &Arc<Checked<Module>>, shape: Shape<'_>, after: &Moment) -> Watch<'_> {
        let mut detectors = self.detectors();
        let (launch, module) = detectors.begin(module, shape, after);
        // What threads see in vain is of interest there.
        let tells_all = detectors.of_locks.is_some() || detectors.of_run.records_steps();
        let looks = if tells_all { None } else { Looks::new(detectors.of_run.sites.looking(module)) };
        let Detectors { of_run, of_locks } = &*detectors;
        let interests = Arc::clone(of_run.sites.interests(module));
        let told = [of_locks.is_some(), of_run.is_told_together(), of_run.checks.sync];
        Watch { sanitizer: self, launch, whole: None, looks, interests, tells_all, told }
    }

    /// Whether a launch on a device that begins after a moment may [run on so many host threads](Watch::spread), as things are.
    pub fn spreads(
        &self,
        (device, threads): (&Device, usize),
        module: &Arc<Checked<Module>>,
        shape: Shape<'_>,
        after: &Moment,
    ) -> bool {
        let of_run = &mut self.detectors().of_run;
        let number = of_run.number_of(module);
        let ctas = shape.grid.iter().fold(1, |all: u32, extent| all.saturating_mul(*extent));
        spread::has_room(device)
            && of_run.is_all_known_to(&after.of_run)
            && of_run.spreads((number, shape.kernel), (ctas, shape.cluster), threads).is_some()
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

    /// How often a pool has given away memory at an address.
    pub fn times_taken(&self, address: u64) -> u32 {
        self.detectors().of_run.times_taken(address)
    }

    /// Memory is freed that a pool keeps, so that accesses still find it; when that was asked for it had been given away so often.
    pub fn gave_back(&self, address: u64, bytes: u64, times: u32) {
        self.detectors().of_run.gave_back(address, bytes, times);
    }

    /// A pool has given memory away.
    pub fn taken(&self, address: u64, bytes: u64) {
        self.detectors().of_run.taken(address, bytes);
    }

    /// A copy or a fill that the program asked for reads and writes memory, after a moment. What comes after it.
    pub fn copied(&self, name: &str, ranges: &[(u64, u64, Access)], after: &Moment) -> Moment {
        self.detectors().copied(name, ranges, after)
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
    /// The same of a launch that may have begun before what is before it was over, and knows of that only behind
    /// `griddepcontrol.wait`.
    pub fn begun_early(self, whole: Whole) -> Self {
        self.sanitizer.detectors().each(|detector| detector.launches[self.launch].early = true);
        Self { whole: Some(whole), ..self }
    }

    /// Bytes between these addresses are other ones than when the launch began. What of them nothing that is watched has written,
    /// the program has, meanwhile.
    pub fn changed(&self, ranges: &[(u64, u64)]) {
        self.sanitizer.detectors().changed(self.launch, ranges);
    }

    /// Where on the host the kernel was launched.
    pub fn launched_at(&self, host: &Host) {
        let keep = |detector: &mut Detector| detector.launches[self.launch].host = Some(Arc::clone(host));
        self.sanitizer.detectors().each(keep);
    }

    /// The launch is over. What comes after it is after this moment, if it is ordered after the launch.
    pub fn end(self) -> Moment {
        self.sanitizer.detectors().end(self.launch)
    }
}

impl Watch<'_> {
    /// For whom an instruction is of interest.
    fn interest(&self, function: FuncId, instruction: u32) -> Option<Interest> {
        self.interests.get(function.index())?.get(instruction as usize).copied()
    }
}

impl Observer for Watch<'_> {
    fn issue(&self, issue: &Issue<'_>) {
        let Self { sanitizer, looks, tells_all, .. } = self;
        if !tells_all && issue.access.is_some_and(|access| are_private(&access, issue.masks)) {
            return;
        }
        let in_vain = || looks.as_ref().is_some_and(|looks| looks.says_nothing(issue, &sanitizer.others));
        if issue.masks.iter().any(|mask| *mask != 0) && !in_vain() {
            match &sanitizer.queue {
                Some(queue) => queue.issue(self.launch, issue),
                None => sanitizer.lock().issue(self.launch, issue),
            }
        }
    }

    fn watches(&self, function: FuncId, instruction: u32) -> bool {
        let [by_locks, together, sync] = self.told;
        self.interest(function, instruction).is_some_and(|of| of.is_told(by_locks, together, sync))
    }

    fn forgives(&self) -> bool {
        let of_run = &self.sanitizer.detectors().of_run;
        of_run.checks.memory && of_run.forgives > 0
    }

    fn forgive(&self, trap: &Trap, lanes: Lanes) -> bool {
        let mut detectors = self.sanitizer.detectors();
        detectors.each(|detector| {
            detector.finish_copy(self.launch, None);
        });
        detectors.of_run.forgive(self.launch, trap, lanes)
    }

    fn happening(&self, happening: &Happening<'_>) {
        let whole = match (happening, &self.whole) {
            (Happening::GridsComplete(lanes), Some(whole)) => Some((*lanes, whole())),
            _ => None,
        };
        self.sanitizer.others.fetch_add(1, Ordering::Relaxed);
        let queue = self.sanitizer.queue.as_ref();
        if queue.is_some_and(|queue| queue.happening(self.launch, happening)) {
            return;
        }
        let mut detectors = self.sanitizer.detectors();
        detectors.happening(self.launch, happening);
        if let Some((lanes, moment)) = whole {
            detectors.grids_complete(self.launch, lanes, &moment);
        }
    }
}
