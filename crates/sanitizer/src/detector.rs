//! The detector: from accesses of warps to races and to reads of memory that nobody wrote.

use crate::accessor::Accessor;
use crate::apart::Manner;
use crate::candidates::Candidates;
use crate::check::Checker;
use crate::clock::{Clock, Time};
use crate::diagnose;
use crate::global::{Global, PAGE};
use crate::knowledge::Knowledge;
use crate::locks::Locks;
use crate::products::Step as ProductStep;
use crate::race::Conflict;
use crate::release::{Home, Released};
use crate::report::{Checks, Misuse, Reports};
use crate::reused::Reused;
use crate::runs::Run;
use crate::shadow::{Cell, Entry, Extras, GRANULE};
use crate::site::{Action, DRIVER_READ, Site, SiteId, Sites};
use crate::state::{Block, Blocks, Group, Launch, Places, Swap, Warp};
use crate::trail::{Record, Step, Trails};
use machine::fault::Access;
use machine::memory::{LOCAL_WINDOW, RANK_SHIFT, SHARED_WINDOW, SpaceKind, TENSOR_MEMORY, WINDOW_SIZE};
use machine::observe::{Event, Issue, Lanes};
use ptx::module::{Checked, Module};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Everything that is known of a run.
#[derive(Default)]
pub(crate) struct Detector {
    pub(crate) checks: Checks,
    pub(crate) sites: Arc<Sites>,
    pub(crate) modules: Vec<Arc<Checked<Module>>>,
    pub(crate) launches: Vec<Launch>,
    pub(crate) blocks: Blocks,
    pub(crate) global: Reused<Global>,
    pub(crate) extras: Reused<Extras>,
    pub(crate) time: Time,
    /// What was released to each cluster's barrier, by the parity of the phase, and the last such parity.
    pub(crate) clusters: FxHashMap<u32, (bool, [Released; 2])>,
    pub(crate) reports: Reports,
    /// Bad accesses at different instructions after which kernels go on.
    pub(crate) forgives: usize,
    /// Whether somebody may change registers while kernels run.
    pub(crate) registers_change: bool,
    /// Of an analysis of locks, which knows no races of the run itself.
    pub(crate) locks: Option<Box<Locks>>,
    pub(crate) candidates: Candidates,
    /// What threads did to synchronise, if that is recorded.
    trails: Option<Box<Trails>>,
    /// What was freed: start and bytes.
    pub(crate) freed: Vec<(u64, u64)>,
    /// What was freed and is kept by a pool: start and bytes.
    pub(crate) pooled: Vec<(u64, u64)>,
    /// How often pools have given away memory, by its address.
    pub(crate) taken: FxHashMap<u64, u32>,
    /// The bulk copy that is under way in each launch, and the one that has ended last.
    pub(crate) copies: FxHashMap<usize, BulkCopy>,
    pub(crate) last_copies: FxHashMap<usize, BulkCopy>,
    /// Launches before this one are known to all that begin now.
    settled: usize,
    /// Of kernels, by module and name, how their CTAs work if their launches are [spread](crate::spread).
    pub(crate) manners: FxHashMap<u32, FxHashMap<String, Manner>>,
    /// Whether launches whose CTAs talk by atomics are spread, too.
    pub(crate) shares: bool,
    /// Of a part of a launch that has a shadow in common with others, which is not asked what it finds: whether that is anything.
    pub(crate) finds: Option<bool>,
}

/// A bulk copy, between its begin and what completes it.
pub(crate) struct BulkCopy {
    pub(crate) lanes: machine::observe::Lanes,
    /// Accesses that have not been checked: their agent is known only when the mbarrier is.
    pub(crate) accesses: Vec<(u64, u64, Access)>,
    /// Its agent, once that is known, and when it was made.
    pub(crate) agent: u16,
    pub(crate) time: Time,
}

/// Where an address leads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Global(u64),
    /// The CTA with this number, and the place in its shared memory.
    Shared(u32, u64),
    /// Memory that a thread has alone, or that is constant.
    Private,
}

/// Some lanes of a warp that execute an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Who {
    pub(crate) launch: usize,
    pub(crate) block: [u32; 3],
    pub(crate) home: Home,
    pub(crate) warp: u16,
    pub(crate) site: SiteId,
}

impl Detector {
    pub(crate) fn new(checks: Checks) -> Self {
        Self { checks, time: 1, trails: checks.litmus.then(Box::default), ..Self::default() }
    }

    /// One that looks into locks alone.
    pub(crate) fn of_locks(checks: Checks) -> Self {
        let Checks { locks, predict, .. } = checks;
        let checks = Checks { locks, predict, ..Checks::default() };
        Self { locks: Some(Box::default()), ..Self::new(checks) }
    }

    /// The block of a launch.
    pub(crate) fn block(&mut self, launch: usize, index: [u32; 3]) -> &mut Block {
        let launch = &self.launches[launch];
        self.blocks.of(launch.home(index), launch)
    }

    pub(crate) fn warp(&mut self, who: Who) -> &mut Warp {
        let block = self.block(who.launch, who.block);
        block.tell_apart();
        &mut block.warps[usize::from(who.warp)]
    }

    /// The same for what has nothing to do with what its lanes know.
    pub(crate) fn warp_beside(&mut self, who: Who) -> &mut Warp {
        &mut self.block(who.launch, who.block).warps[usize::from(who.warp)]
    }

    /// Some time passes: what was released is told apart from what comes.
    pub(crate) fn tick(&mut self) {
        self.time = self.time.saturating_add(1);
    }

    /// Where an address of a space leads, for threads of a block.
    pub(crate) fn target(&self, who: Who, space: SpaceKind, address: u64) -> Target {
        target_of(&self.launches[who.launch], who, space, address)
    }

    /// The same for an address that has its window.
    pub(crate) fn generic_target(&self, who: Who, address: u64) -> Target {
        self.target(who, SpaceKind::Generic, address)
    }

    /// What an instruction is that warps of a launch execute.
    pub(crate) fn site_of(&self, launch: usize, issue: &Issue<'_>) -> &Site {
        self.sites.get(self.sites.id(self.launches[launch].module, issue.function, issue.instruction))
    }

    /// Warps of a pack execute an instruction, and those that [follow](crate::together) it.
    #[inline(always)]
    pub(crate) fn issue(&mut self, launch: usize, issue: &Issue<'_>) {
        let (who, what) = self.who_issues(launch, issue);
        match what.followers.is_empty() || !self.is_told_together() {
            true => self.issue_by((who, &what), issue),
            false => self.issue_team((who, &what), issue),
        }
    }

    /// The same without those.
    pub(crate) fn issue_alone(&mut self, launch: usize, issue: &Issue<'_>) {
        let (who, what) = self.who_issues(launch, issue);
        self.issue_by((who, &what), issue);
    }

    /// Of instructions whose first one has followers.
    #[inline(never)]
    fn issue_team(&mut self, (who, what): (Who, &Site), issue: &Issue<'_>) {
        let together =
            issue.access.is_some_and(|access| self.read_together((who, what), &access, issue.masks));
        if !together {
            self.each_of_team(who.launch, issue, |detector, issue| detector.issue_alone(who.launch, issue));
        }
    }

    #[inline(always)]
    fn who_issues(&self, launch: usize, issue: &Issue<'_>) -> (Who, Site) {
        let of = &self.launches[launch];
        let site = self.sites.id(of.module, issue.function, issue.instruction);
        let (block, warp) = (issue.block, issue.first_warp as u16);
        (Who { launch, block, home: of.home(block), warp, site }, *self.sites.get(site))
    }

    #[inline(always)]
    fn issue_by(&mut self, (who, what): (Who, &Site), issue: &Issue<'_>) {
        if self.sites.have_products || self.locks.is_some() {
            return self.issue_closely((who, what), issue);
        }
        self.issue_to((who, what), issue, issue.masks);
    }

    /// The same where instructions that access nothing may matter.
    #[cold]
    #[inline(never)]
    fn issue_closely(&mut self, (who, what): (Who, &Site), issue: &Issue<'_>) {
        if self.locks.is_some() {
            return self.issue_by_locks((who, what), issue);
        }
        if let Some(steps) = self.sites.steps(what.module, issue.function).filter(|_| self.checks.sync) {
            let steps = Arc::clone(steps);
            issue.each_warp(|event| self.product(who.launch, &steps, event));
        }
        self.issue_to((who, what), issue, issue.masks);
    }

    /// The same as far as it is not the business of locks.
    pub(crate) fn issue_to(&mut self, (who, what): (Who, &Site), issue: &Issue<'_>, masks: &[u32]) {
        match (what.action, &issue.access) {
            (Action::Access(kind), Some(access)) if !what.is_strong() => {
                if !matches!(access.space, SpaceKind::Local | SpaceKind::Param)
                    && !self.in_interval((who, what.anchor), access, masks, kind)
                    && !self.weak_alone((who, what), access, masks, kind)
                {
                    self.weak_closely(who, what, access, (masks, kind));
                }
            }
            (Action::Access(_) | Action::CompareAndSwap, Some(access))
                if self.strong_alone((who, what), access, masks) => {}
            _ => issue.each_warp(|event| {
                let mask = masks[(event.warp - issue.first_warp) as usize];
                if mask != 0 {
                    self.access(Who { warp: event.warp as u16, ..who }, what, event);
                }
            }),
        }
    }

    /// An instruction of a function that multiplies matrices.
    fn product(&mut self, launch: usize, steps: &[ProductStep], event: &Event<'_>) {
        if event.mask == 0 {
            return;
        }
        let Event { block, warp, mask, function, instruction, .. } = *event;
        let lanes = Lanes { block, warp, mask, place: (function, instruction) };
        let found = self.block(launch, block).warps[warp as usize].products.step(steps, lanes);
        match found {
            None => {}
            Some((lack, product)) if product == lanes => {
                diagnose::misuse(self, launch, &[lanes], Misuse::Product(lack));
            }
            Some((lack, product)) => diagnose::misuse(self, launch, &[lanes, product], Misuse::Product(lack)),
        }
    }

    /// A CTA is done: what its mbarrier objects were told of beyond what was announced stays.
    pub(crate) fn judge_bytes(&mut self, launch: usize, cta: u32) {
        let told = self.blocks.get_mut(cta).map(|block| std::mem::take(&mut block.bytes)).unwrap_or_default();
        let mut told: Vec<_> = told.into_iter().filter(|(_, (bytes, _))| *bytes < 0).collect();
        told.sort_unstable_by_key(|(address, _)| *address);
        for (_, (bytes, lanes)) in told {
            diagnose::misuse(self, launch, &[lanes], Misuse::Bytes { bytes: -bytes });
        }
    }

    /// A warp's instruction, but for weak loads and stores.
    fn access(&mut self, who: Who, site: &Site, event: &Event<'_>) {
        let Some(access) = &event.access else { return self.instruction(who, event.mask) };
        match site.action {
            Action::Access(kind) => self.strong_lanes(who, site, access, (event.mask, kind)),
            Action::CompareAndSwap => {
                let addresses = access.addresses.map(|address| in_window(access.space, address));
                let places = Places::Each(Box::new(addresses));
                let swap = Swap { site: who.site, places, mask: event.mask, bytes: access.bytes };
                self.warp_beside(who).swap = Some(swap);
            }
            Action::Rows { access: kind, lanes } => {
                let (space, bytes) = (access.space, u64::from(access.bytes));
                for lane in lanes_of(event.mask & lanes) {
                    let target = self.target(who, space, access.addresses[lane as usize]);
                    self.plain(who, site, (target, bytes), event.mask, kind);
                }
            }
            // What they access is told by itself.
            Action::Told(_) | Action::Texture | Action::Product | Action::Tensor(_) => {}
            Action::AsyncAccess(kind) => self.async_access(who, site, access, event.mask, kind),
            Action::Copy => self.warp_beside(who).source = access.addresses.to_vec(),
            _ => self.instruction(who, event.mask),
        }
    }

    pub(crate) fn who(
        &self,
        launch: usize,
        block: [u32; 3],
        warp: u32,
        (function, instruction): (ptx::module::FuncId, u32),
    ) -> Who {
        let of = &self.launches[launch];
        let site = self.sites.id(of.module, function, instruction);
        Who { launch, block, home: of.home(block), warp: warp as u16, site }
    }

    /// What lanes know, by group.
    pub(crate) fn clocks(&mut self, who: Who, mask: u32) -> impl Iterator<Item = (u32, Arc<Clock>)> + use<> {
        let block = self.block(who.launch, who.block);
        let of = |group: &Group, mask| (mask, Arc::clone(&group.knowledge.generic));
        // Mostly there is one, for which no list is made.
        let (first, others) = match block.alike {
            true => (Some(of(&block.warps[0].groups[0], mask)), Vec::new()),
            false => {
                let groups = &block.warps[usize::from(who.warp)].groups;
                let inside = groups.iter().filter(|group| group.mask & mask != 0);
                let mut all = inside.map(|group| of(group, group.mask & mask));
                (all.next(), all.collect())
            }
        };
        first.into_iter().chain(others)
    }

    /// An access to one range.
    pub(crate) fn touch(&mut self, who: Who, by: &Accessor<'_>, (target, bytes): (Target, u64)) {
        self.touch_run(who, by, target, Run::of_range(0, bytes, by.lanes));
    }

    /// An access of lanes one after the other; the first one's is at the target.
    pub(crate) fn touch_run(&mut self, who: Who, by: &Accessor<'_>, target: Target, run: Run) {
        self.close_interval_of(target);
        let Self { blocks, global, extras, sites, launches, locks, .. } = self;
        let mut checker = Checker::new(extras, sites, launches);
        checker.locks = locks.as_deref();
        match target {
            Target::Private => return,
            // Nothing is there: the access will fault.
            Target::Global(address) if address >= SHARED_WINDOW => return,
            Target::Shared(cta, place) => {
                let block = blocks.of_number(cta, launches);
                let run = Run { address: place, ..run };
                checker.run(block.rows(place, run.end()), &run, by);
            }
            Target::Global(address) => {
                let run = Run { address, ..run };
                checker.unlist(global, (address, run.end().max(address + 1) - 1));
                let mut rest = Some(run);
                while let Some(run) = rest {
                    let (first, behind) = run.cut((run.address | (PAGE - 1)) + 1);
                    rest = behind;
                    if first.count == 1
                        && first.bytes == PAGE
                        && let Some(row) = global.whole(Global::page_of(first.address))
                        && checker.all_of(row, &first, by)
                    {
                        continue;
                    }
                    checker.run(global.rows_from(first.address, first.end()), &first, by);
                }
            }
        }
        let Checker { conflict, unwritten, .. } = checker;
        if conflict.is_some() || unwritten.is_some() {
            self.found(who, target, run.bytes, conflict, unwritten);
        }
    }

    /// Memory that an object was made in counts as written.
    pub(crate) fn initialised(&mut self, target: Target) {
        for half in [0, GRANULE] {
            self.with_cell(target.plus(half), |_, cell| cell.unwritten = 0);
        }
    }

    /// The block with a number; its launch must be under way.
    pub(crate) fn block_of(&mut self, cta: u32) -> &mut Block {
        self.blocks.of_number(cta, &self.launches)
    }

    /// A weak access of lanes to one range, for what is not a load or store of each lane.
    pub(crate) fn plain(&mut self, who: Who, site: &Site, range: (Target, u64), mask: u32, kind: Access) {
        for (mask, clock) in self.clocks(who, mask) {
            let entry = Entry::of_lanes(self.time, who.home.cta, who.warp, mask, who.site);
            let by = Accessor::new(who.home, (who.warp, mask), &clock, entry, (site, kind));
            self.touch(who, &by, range);
        }
    }

    /// A race, or bytes that nobody wrote.
    pub(crate) fn found(
        &mut self,
        who: Who,
        target: Target,
        bytes: u64,
        conflict: Option<(Conflict, u64)>,
        unwritten: Option<(u64, u16, u32)>,
    ) {
        if let Some((conflict, at)) = conflict.filter(|_| self.locks.is_some()) {
            return self.suspect(who, &conflict, target.at(at), bytes);
        }
        // Programs copy whole buffers, whether all of them is in use or not.
        let by_kernel = who.site != DRIVER_READ;
        let unwritten = unwritten.filter(|_| self.checks.init && by_kernel && !target.is_tensor_memory());
        if let Some(finds) = &mut self.finds {
            *finds |= conflict.is_some() && self.checks.race || unwritten.is_some();
            return;
        }
        if let Some((conflict, at)) = conflict.filter(|_| self.checks.race) {
            let later = &conflict.later;
            let warp = if later.is_of_threads() { later.warps.trailing_zeros() as u16 } else { who.warp };
            diagnose::race(self, Who { warp, ..who }, &conflict, target.at(at), bytes);
        }
        if let Some((at, warp, lanes)) = unwritten {
            diagnose::unwritten(self, Who { warp, ..who }, lanes, target.at(at), bytes);
        }
    }

    /// A compare-and-swap has been decided.
    pub(crate) fn swapped(&mut self, launch: usize, lanes: &machine::observe::Lanes) {
        let mut who = self.who(launch, lanes.block, lanes.warp, lanes.place);
        let Some(swap) = self.warp_beside(who).swap.take() else { return };
        who.site = swap.site;
        for (lane, address) in swap.lanes() {
            let target = self.generic_target(who, address);
            let swapped = lanes.mask >> lane & 1 != 0;
            if self.locks.is_some() {
                self.swapped_by_locks(who, (target, swap.bytes.into()), lane, swapped);
                continue;
            }
            let kind = if swapped { Access::Atomic } else { Access::Load };
            self.strong(who, 1 << lane, (target, swap.bytes.into()), kind);
        }
    }

    /// Lanes do something to synchronise, which is recorded if that is asked for.
    #[inline(always)]
    pub(crate) fn step(&mut self, who: Who, lanes: u32, step: Step, time: Time) {
        if let Some(trails) = &mut self.trails {
            trails.record((who.home.cta, who.warp, lanes), who.site, step, time);
        }
    }

    pub(crate) fn records_steps(&self) -> bool {
        self.trails.is_some()
    }

    /// What two threads have done since a time, if that is recorded; of the first one without stores and atomics that a third
    /// thread's store has followed.
    pub(crate) fn steps(&self, threads: [(u32, u16, u32); 2], since: Time) -> (Vec<Record>, Vec<Record>) {
        let Some(trails) = &self.trails else { return Default::default() };
        let [mut earlier, later] = threads.map(|thread| trails.since(thread, since));
        earlier.retain(|record| match record.step {
            Step::Access { key, .. } => !trails.stored(key, record.time, threads),
            Step::Fence | Step::Barrier(_) => true,
        });
        (earlier, later)
    }

    pub(crate) fn with_cell<T>(
        &mut self,
        target: Target,
        act: impl FnOnce(&mut Extras, &mut Cell) -> T,
    ) -> Option<T> {
        self.close_interval_of(target);
        let Self { blocks, global, extras, sites, launches, .. } = self;
        let (row, at) = match target {
            Target::Private => return None,
            Target::Global(address) => {
                Checker::new(extras, sites, launches).unlist(global, (address, address));
                (global.row(address), address)
            }
            Target::Shared(cta, place) => {
                let block = blocks.of_number(cta, launches);
                (&mut block.rows(place, place + GRANULE)[0], place)
            }
        };
        Some(extras.with_cell(row, at, act))
    }

    /// The number of a module, which is added if it is not known yet.
    pub(crate) fn number_of(&mut self, module: &Arc<Checked<Module>>) -> u32 {
        match self.modules.iter().position(|known| Arc::ptr_eq(known, module)) {
            Some(number) => number as u32,
            None => {
                self.modules.push(Arc::clone(module));
                Arc::make_mut(&mut self.sites).add(module)
            }
        }
    }

    /// Whether everything so far is over and known to who knows so much.
    pub(crate) fn is_all_known_to(&self, knowledge: &Knowledge) -> bool {
        let known = |before: &Launch| {
            before.ended.is_some_and(|end| knowledge.generic.threads_of(before.first) >= end)
        };
        self.launches[self.settled..].iter().all(known)
    }

    /// A launch begins: what its threads know, and everything about its shape. Its number.
    pub(crate) fn begin(&mut self, mut launch: Launch) -> usize {
        // One number says so.
        if self.is_all_known_to(&launch.knowledge) {
            launch.knowledge = self.after_everything();
            self.settled = self.launches.len();
        }
        // What it does comes later than anything that it knows.
        self.tick();
        launch.began = self.time;
        launch.intervals.possible = self.locks.is_none() && !self.sites.are_asynchronous(launch.module);
        self.launches.push(launch);
        self.launches.len() - 1
    }

    /// A launch is over.
    pub(crate) fn end(&mut self, launch: usize) {
        let (first, count) = (self.launches[launch].first, self.launches[launch].ctas());
        let left = self.blocks.among(first, count);
        left.into_iter().for_each(|cta| self.block_done(cta));
        self.launches[launch].ended = Some(self.time);
        self.tick();
    }

    /// A CTA is over: nobody can reach its shared memory any more.
    pub(crate) fn block_done(&mut self, cta: u32) {
        if let Some(locks) = &mut self.locks {
            locks.cta_done(cta, self.time);
        }
        let Self { blocks, extras, .. } = self;
        blocks.end(cta, |row| extras.release_row(row));
    }

    /// What a launch knows that comes after everything so far.
    pub(crate) fn after_everything(&self) -> Knowledge {
        Knowledge::all_until(self.time)
    }
}

impl Target {
    /// Whether it is in tensor memory, of which it is not followed who has written it first.
    pub(crate) fn is_tensor_memory(self) -> bool {
        matches!(self, Self::Shared(_, place) if place >= TENSOR_MEMORY)
    }

    /// The same memory at another place.
    fn at(self, place: u64) -> Self {
        match self {
            Self::Global(_) => Self::Global(place),
            Self::Shared(cta, _) => Self::Shared(cta, place),
            Self::Private => Self::Private,
        }
    }

    pub(crate) fn plus(self, bytes: u64) -> Self {
        match self {
            Self::Global(address) => Self::Global(address + bytes),
            Self::Shared(cta, place) => Self::Shared(cta, place + bytes),
            Self::Private => Self::Private,
        }
    }

    /// The location of a [key](Self::key).
    pub(crate) fn of_key(key: u64) -> Self {
        match key >> 63 {
            0 => Self::Global(key),
            _ => {
                let cta = (key & !(1 << 63)) >> RANK_SHIFT;
                Self::Shared(cta as u32, key & ((1 << RANK_SHIFT) - 1))
            }
        }
    }

    /// A number that no other location has.
    pub(crate) fn key(self) -> u64 {
        match self {
            Self::Global(address) => address,
            Self::Shared(cta, place) => 1 << 63 | u64::from(cta) << RANK_SHIFT | place,
            Self::Private => 0,
        }
    }
}

/// The generic address of one in a space.
pub(crate) fn in_window(space: SpaceKind, address: u64) -> u64 {
    match space {
        SpaceKind::Shared | SpaceKind::Cluster => address.wrapping_add(SHARED_WINDOW),
        _ => address,
    }
}

/// Where an address of a space leads, for threads of a launch.
#[inline(always)]
pub(crate) fn target_of(launch: &Launch, who: Who, space: SpaceKind, address: u64) -> Target {
    let shared = |address: u64| {
        let cta = match launch.cluster {
            [1, 1, 1] => who.home.cta,
            _ => launch.home(launch.peer(who.block, (address >> RANK_SHIFT) as u32)).cta,
        };
        Target::Shared(cta, address & ((1 << RANK_SHIFT) - 1))
    };
    match space {
        SpaceKind::Global => Target::Global(address),
        SpaceKind::Shared | SpaceKind::Cluster => shared(address),
        SpaceKind::Local | SpaceKind::Param => Target::Private,
        SpaceKind::Generic => match address {
            0..SHARED_WINDOW => Target::Global(address),
            SHARED_WINDOW..LOCAL_WINDOW => shared(address & (WINDOW_SIZE - 1)),
            _ => Target::Private,
        },
    }
}

/// Where the shared memory of a CTA begins in a space, if nobody else's can be meant.
#[inline(always)]
pub(crate) fn begin_of_own(launch: &Launch, space: SpaceKind) -> Option<u64> {
    match space {
        SpaceKind::Shared | SpaceKind::Cluster if launch.cluster == [1; 3] => Some(0),
        SpaceKind::Generic if launch.cluster == [1; 3] => Some(SHARED_WINDOW),
        _ => None,
    }
}

/// The lanes of a mask.
#[inline(always)]
pub(crate) fn lanes_of(mask: u32) -> impl Iterator<Item = u32> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros();
        rest &= rest.wrapping_sub(1);
        (lane < u32::BITS).then_some(lane)
    })
}
