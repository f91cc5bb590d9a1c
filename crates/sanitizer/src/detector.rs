//! The detector: from accesses of warps to races and to reads of memory that nobody wrote.

use crate::check::{Accessor, Checker, Conflict};
use crate::clock::{Clock, Knowledge, Time};
use crate::diagnose;
use crate::observed::Observed;
use crate::release::Home;
use crate::report::{Checks, Reports};
use crate::shadow::{Cell, Entry, Extras, GRANULE, Global, Location};
use crate::site::{Action, Site, SiteId, Sites};
use crate::state::{Block, Failure, Group, Launch, Seen, Swap, Warp, with_own};
use crate::trail::{Record, Step, Trails};
use machine::fault::Access;
use machine::memory::{LOCAL_WINDOW, RANK_SHIFT, SHARED_WINDOW, SpaceKind, WINDOW_SIZE};
use machine::observe::{Event, MemoryAccess};
use ptx::module::{Checked, Module};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Everything that is known of a run.
#[derive(Default)]
pub(crate) struct Detector {
    pub(crate) checks: Checks,
    pub(crate) sites: Sites,
    pub(crate) modules: Vec<Arc<Checked<Module>>>,
    pub(crate) launches: Vec<Launch>,
    pub(crate) blocks: FxHashMap<u32, Block>,
    pub(crate) global: Global,
    pub(crate) extras: Extras,
    pub(crate) time: Time,
    /// What was released to each cluster's barrier, by the parity of the phase, and the last such parity.
    pub(crate) clusters: FxHashMap<u32, (bool, [Knowledge; 2])>,
    pub(crate) reports: Reports,
    /// What threads did to synchronise, if that is recorded.
    trails: Option<Box<Trails>>,
    /// What was freed: start and bytes.
    pub(crate) freed: Vec<(u64, u64)>,
    /// The bulk copy that is under way in each launch, and the one that has ended last.
    pub(crate) copies: FxHashMap<usize, BulkCopy>,
    pub(crate) last_copies: FxHashMap<usize, BulkCopy>,
    /// Launches before this one are known to all that begin now.
    settled: usize,
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
#[derive(Clone, Copy)]
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

    /// The block of a launch.
    pub(crate) fn block(&mut self, launch: usize, index: [u32; 3]) -> &mut Block {
        let launch = &self.launches[launch];
        let home = launch.home(index);
        self.blocks.entry(home.cta).or_insert_with(|| Block::new(home, launch.threads, &launch.knowledge))
    }

    pub(crate) fn warp(&mut self, who: Who) -> &mut Warp {
        &mut self.block(who.launch, who.block).warps[usize::from(who.warp)]
    }

    /// Some time passes: what was released is told apart from what comes.
    pub(crate) fn tick(&mut self) {
        self.time = self.time.saturating_add(1);
    }

    /// Where an address of a space leads, for threads of a block.
    pub(crate) fn target(&self, who: Who, space: SpaceKind, address: u64) -> Target {
        let shared = |address: u64| {
            let launch = &self.launches[who.launch];
            let rank = (address >> RANK_SHIFT) as u32;
            let cta = match launch.cluster {
                [1, 1, 1] => who.home.cta,
                _ => launch.home(launch.peer(who.block, rank)).cta,
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

    /// The same for an address that has its window.
    pub(crate) fn generic_target(&self, who: Who, address: u64) -> Target {
        self.target(who, SpaceKind::Generic, address)
    }

    /// A warp's access, as the machine tells of it.
    pub(crate) fn access(&mut self, launch: usize, event: &Event<'_>) {
        let who = self.who(launch, event.block, event.warp, (event.function, event.instruction));
        let Some(access) = &event.access else { return self.instruction(who, event.mask) };
        let site = *self.sites.get(who.site);
        match site.action {
            Action::Access(kind) if site.is_strong() => self.strong_lanes(who, access, event.mask, kind),
            Action::Access(kind) => self.weak_lanes(who, &site, access, event.mask, kind),
            Action::CompareAndSwap => {
                let space = access.space;
                let window = |address: u64| match space {
                    SpaceKind::Shared | SpaceKind::Cluster => address.wrapping_add(SHARED_WINDOW),
                    _ => address,
                };
                let addresses = Box::new(access.addresses.map(window));
                let swap = Swap { site: who.site, addresses, mask: event.mask, bytes: access.bytes };
                self.warp(who).swap = Some(swap);
            }
            Action::Rows { access: kind, lanes } => {
                let (space, bytes) = (access.space, u64::from(access.bytes));
                for lane in lanes_of(event.mask & lanes) {
                    let target = self.target(who, space, access.addresses[lane as usize]);
                    self.plain(who, &site, (target, bytes), event.mask, kind);
                }
            }
            Action::Unfollowed => {
                let lane = event.mask.trailing_zeros().min(31);
                let target = self.target(who, access.space, access.addresses[lane as usize]);
                self.forget_around(target);
            }
            Action::AsyncAccess(kind) => self.async_access(who, &site, access, event.mask, kind),
            Action::Copy => self.copy_source(who, &site, access, event.mask),
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

    /// Weak accesses of the lanes of a warp: the path that must be fast.
    fn weak_lanes(&mut self, who: Who, site: &Site, access: &MemoryAccess<'_>, mask: u32, kind: Access) {
        if matches!(access.space, SpaceKind::Local | SpaceKind::Param) {
            return;
        }
        let bytes = u64::from(access.bytes);
        for (mask, clock) in self.clocks(who, mask) {
            let entry = Entry::of_lanes(self.time, who.home.cta, who.warp, mask, who.site);
            let by = Accessor::new(who.home, (who.warp, mask), &clock, entry, (site, kind));
            let sets = LaneSets::new(access.addresses, mask, kind == Access::Load);
            match self.common_target(who, access, mask) {
                Some(Target::Global(_)) => self.global_lanes(who, &by, sets, bytes),
                Some(Target::Shared(cta, _)) if cta == who.home.cta => {
                    self.shared_lanes(who, &by, sets, bytes);
                }
                _ => {
                    for (lanes, address) in sets {
                        let target = self.target(who, access.space, address);
                        self.touch(who, &by.by_lanes(lanes), (target, bytes));
                    }
                }
            }
        }
    }

    /// What lanes know, by group.
    pub(crate) fn clocks(&mut self, who: Who, mask: u32) -> Vec<(u32, Arc<Clock>)> {
        let groups = &self.warp(who).groups;
        let inside = groups.iter().filter(|group| group.mask & mask != 0);
        inside.map(|group| (group.mask & mask, Arc::clone(&group.knowledge.generic))).collect()
    }

    /// Where the addresses of all lanes lead, if it is to the same memory.
    fn common_target(&self, who: Who, access: &MemoryAccess<'_>, mask: u32) -> Option<Target> {
        let target = |lane: u32| self.target(who, access.space, access.addresses[lane as usize]);
        let first = target(mask.trailing_zeros());
        if matches!(access.space, SpaceKind::Global) {
            return Some(first);
        }
        let same = |lane: u32| match (first, target(lane)) {
            (Target::Shared(a, _), Target::Shared(b, _)) => a == b,
            (a, b) => std::mem::discriminant(&a) == std::mem::discriminant(&b),
        };
        lanes_of(mask).all(same).then_some(first)
    }

    fn global_lanes(&mut self, who: Who, by: &Accessor<'_>, sets: LaneSets<'_>, bytes: u64) {
        let Self { global, extras, sites, launches, .. } = self;
        let mut checker = Checker { extras, sites, launches, conflict: None, unwritten: false };
        let mut found = None;
        let mut page = None;
        for (lanes, address) in sets {
            let number = Global::page_of(address);
            let cells = match page.take() {
                Some((known, cells)) if known == number => cells,
                _ => global.page(number),
            };
            checker.range(&mut cells[Global::index(address)..], address, bytes, &by.by_lanes(lanes));
            if checker.conflict.is_some() || checker.unwritten {
                found.get_or_insert((lanes, Target::Global(address)));
            }
            page = Some((number, cells));
        }
        let (conflict, unwritten) = (checker.conflict, checker.unwritten);
        if let Some((lanes, target)) = found {
            self.found(who, lanes, (target, bytes), conflict, unwritten);
        }
    }

    fn shared_lanes(&mut self, who: Who, by: &Accessor<'_>, sets: LaneSets<'_>, bytes: u64) {
        let place = |address: u64| address & ((1 << RANK_SHIFT) - 1);
        let end = sets.clone().map(|(_, address)| place(address) + bytes).max().unwrap_or(0);
        self.block(who.launch, who.block).cells(0, end);
        let Self { blocks, extras, sites, launches, .. } = self;
        let mut checker = Checker { extras, sites, launches, conflict: None, unwritten: false };
        let mut found = None;
        if let Some(block) = blocks.get_mut(&who.home.cta) {
            for (lanes, address) in sets {
                let place = place(address);
                let cells = &mut block.shared[(place / GRANULE) as usize..];
                checker.range(cells, place, bytes, &by.by_lanes(lanes));
                if checker.conflict.is_some() || checker.unwritten {
                    found.get_or_insert((lanes, Target::Shared(who.home.cta, place)));
                }
            }
        }
        let (conflict, unwritten) = (checker.conflict, checker.unwritten);
        if let Some((lanes, target)) = found {
            self.found(who, lanes, (target, bytes), conflict, unwritten);
        }
    }

    /// An access to one range.
    pub(crate) fn touch(&mut self, who: Who, by: &Accessor<'_>, (target, bytes): (Target, u64)) {
        if let Target::Shared(cta, place) = target {
            self.block_of(cta).cells(place, bytes);
        }
        let Self { blocks, global, extras, sites, launches, .. } = self;
        let mut checker = Checker { extras, sites, launches, conflict: None, unwritten: false };
        match target {
            Target::Private => {}
            Target::Shared(cta, place) => {
                if let Some(block) = blocks.get_mut(&cta) {
                    checker.range(&mut block.shared[(place / GRANULE) as usize..], place, bytes, by);
                }
            }
            Target::Global(start) => {
                let mut at = start;
                let end = start.saturating_add(bytes);
                while at < end {
                    let next = Global::end_of_page(at).min(end);
                    let cells = &mut global.page(Global::page_of(at))[Global::index(at)..];
                    checker.range(cells, at, next - at, by);
                    at = next;
                }
            }
        }
        let (conflict, unwritten) = (checker.conflict, checker.unwritten);
        if conflict.is_some() || unwritten {
            self.found(who, by.lanes, (target, bytes), conflict, unwritten);
        }
    }

    /// Memory that an object was made in counts as written.
    pub(crate) fn initialised(&mut self, target: Target) {
        if let Target::Shared(cta, place) = target {
            self.block_of(cta).cells(place, 2 * GRANULE);
        }
        for half in [0, GRANULE] {
            self.with_cell(target.plus(half), |_, cell| cell.unwritten = 0);
        }
    }

    /// The block with a number; its launch must be under way.
    pub(crate) fn block_of(&mut self, cta: u32) -> &mut Block {
        let at = self.launches.partition_point(|launch| launch.first <= cta).saturating_sub(1);
        let index = self.launches[at].block_of(cta);
        self.block(at, index)
    }

    /// A weak access of lanes to one range, for what is not a load or store of each lane.
    pub(crate) fn plain(&mut self, who: Who, site: &Site, range: (Target, u64), mask: u32, kind: Access) {
        for (mask, clock) in self.clocks(who, mask) {
            let entry = Entry::of_lanes(self.time, who.home.cta, who.warp, mask, who.site);
            let by = Accessor::new(who.home, (who.warp, mask), &clock, entry, (site, kind));
            self.touch(who, &by, range);
        }
    }

    /// What lies around counts as written: the instruction's own bytes are not followed.
    fn forget_around(&mut self, target: Target) {
        match target {
            Target::Shared(cta, _) => {
                let block = self.block_of(cta);
                block.all_written = true;
                block.shared.iter_mut().for_each(|cell| cell.unwritten = 0);
            }
            Target::Global(address) => {
                if let Some((start, bytes)) = self.reports.allocation_of(address) {
                    self.global.mark_written(start, bytes);
                }
            }
            Target::Private => {}
        }
    }

    /// A race, or bytes that nobody wrote.
    fn found(
        &mut self,
        who: Who,
        lanes: u32,
        (target, bytes): (Target, u64),
        conflict: Option<Conflict>,
        unwritten: bool,
    ) {
        if let Some(conflict) = conflict.filter(|_| self.checks.race) {
            diagnose::race(self, who, &conflict, target, bytes);
        }
        if unwritten && self.checks.init {
            diagnose::unwritten(self, who, lanes, target, bytes);
        }
    }

    /// Strong accesses, lane by lane in the machine's order.
    fn strong_lanes(&mut self, who: Who, access: &MemoryAccess<'_>, mask: u32, kind: Access) {
        let bytes = u64::from(access.bytes);
        for (lanes, address) in LaneSets::new(access.addresses, mask, kind == Access::Load) {
            let target = self.target(who, access.space, address);
            self.strong(who, lanes, (target, bytes), kind);
        }
    }

    /// A compare-and-swap has been decided.
    pub(crate) fn swapped(&mut self, launch: usize, lanes: &machine::observe::Lanes) {
        let mut who = self.who(launch, lanes.block, lanes.warp, lanes.place);
        let Some(swap) = self.warp(who).swap.take() else { return };
        who.site = swap.site;
        for lane in lanes_of(swap.mask) {
            let target = self.generic_target(who, swap.addresses[lane as usize]);
            let kind = if lanes.mask >> lane & 1 != 0 { Access::Atomic } else { Access::Load };
            self.strong(who, 1 << lane, (target, swap.bytes.into()), kind);
        }
    }

    /// A strong access to one location, and what it synchronises with.
    fn strong(&mut self, who: Who, lanes: u32, (target, bytes): (Target, u64), kind: Access) {
        if target == Target::Private {
            return;
        }
        let site = *self.sites.get(who.site);
        // What orders is an element: vectors are as many operations.
        let count = (bytes / u64::from(site.element)).max(1);
        let elements = (0..count).map(|element| target.plus(element * u64::from(site.element)));
        // An acquire comes after what it acquires.
        if kind != Access::Store && site.acquires && site.seen {
            elements.clone().for_each(|target| self.acquire_from(who, lanes, &site, target));
        }
        let time = self.time;
        for (mask, clock) in self.clocks(who, lanes) {
            let entry = Entry::of_lanes(time, who.home.cta, who.warp, mask, who.site);
            let by = Accessor::new(who.home, (who.warp, mask), &clock, entry, (&site, kind));
            self.touch(who, &by, (target, bytes));
        }
        for target in elements {
            let location = self.location(target);
            let morally_strong =
                location.as_deref().is_some_and(|location| location.reaches(who.home, &site));
            if kind != Access::Store
                && let Some(location) = &location
            {
                if morally_strong {
                    let reader = (who.home.cta, who.warp, lanes);
                    let (write, atomic) = ((location.thread, location.time), kind == Access::Atomic);
                    self.observe(target, site.element, Observed { write, reader, time, atomic });
                }
                if site.seen {
                    self.read_from(who, lanes, &site, target, location, morally_strong);
                }
            }
            if kind != Access::Load {
                for lane in lanes_of(lanes) {
                    let continues = kind == Access::Atomic && morally_strong;
                    self.release_to(who, (lane, time), &site, target, location.as_deref(), continues);
                }
            }
        }
        self.step(who, lanes, Step::Access { key: target.key(), access: kind }, time);
    }

    /// An observation of all the bytes of a location. What the writer writes next is later, so that it is told apart.
    fn observe(&mut self, target: Target, bytes: u32, observed: Observed) {
        let first = target.key() % GRANULE;
        let last = first + u64::from(bytes);
        let mut new = false;
        for start in (0..last).step_by(GRANULE as usize) {
            let from = start.max(first);
            let range = (from % GRANULE, last.min(start + GRANULE) - from);
            let at = target.plus(from - first);
            new |= self.with_cell(at, |extras, cell| extras.observe(cell, range, observed)) == Some(true);
        }
        if new && !observed.atomic {
            self.tick();
        }
    }

    /// Lanes learn what was released to the write that they are about to read from, with an acquire.
    fn acquire_from(&mut self, who: Who, lanes: u32, site: &Site, target: Target) {
        let (home, key) = (who.home, target.key());
        let Some(location) = self.location(target).filter(|location| location.reaches(home, site)) else {
            return;
        };
        let known = |seen: &Seen| {
            seen.address == key && seen.acquired && Arc::ptr_eq(&seen.released, &location.released)
        };
        let warp = self.warp(who);
        let mut inside = warp.groups.iter().filter(|group| group.mask & lanes != 0);
        if location.released.is_empty() || inside.all(|group| group.seen.iter().any(known)) {
            return;
        }
        warp.update(lanes, |group| {
            location.released.acquire(home, site.scope, &mut group.knowledge);
            for seen in group.seen.iter().filter(|seen| seen.address == key) {
                seen.released.acquire(home, site.scope, &mut group.knowledge);
            }
        });
    }

    /// Lanes do something to synchronise, which is recorded if that is asked for.
    #[inline(always)]
    pub(crate) fn step(&mut self, who: Who, lanes: u32, step: Step, time: Time) {
        if let Some(trails) = &mut self.trails {
            trails.record((who.home.cta, who.warp, lanes), who.site, step, time);
        }
    }

    /// What a thread has done since a time, if that is recorded.
    pub(crate) fn steps(&self, thread: (u32, u16, u32), since: Time) -> Vec<Record> {
        self.trails.as_ref().map_or_else(Vec::new, |trails| trails.since(thread, since))
    }

    /// A strong read takes its value from a strong write.
    fn read_from(
        &mut self,
        who: Who,
        lanes: u32,
        site: &Site,
        target: Target,
        location: &Location,
        morally_strong: bool,
    ) {
        let key = target.key();
        let (home, scope, read, acquires) = (who.home, site.scope, who.site, site.acquires);
        let warp = self.warp(who);
        let foreign = (location.thread.0, location.thread.1) != (home.cta, who.warp);
        if !morally_strong || location.released.is_empty() {
            if foreign {
                let why = if morally_strong { Failure::NoRelease } else { Failure::Scope };
                warp.failure = Some((read, why));
            }
            return;
        }
        // A thread that spins reads the same again and again.
        let known = |seen: &Seen| {
            seen.address == key
                && (seen.acquired || !acquires)
                && Arc::ptr_eq(&seen.released, &location.released)
        };
        let inside = |group: &&Group| group.mask & lanes != 0;
        if warp.groups.iter().filter(inside).all(|group| group.seen.iter().any(known)) {
            return;
        }
        warp.update(lanes, |group| {
            if acquires {
                location.released.acquire(home, scope, &mut group.knowledge);
                for seen in group.seen.iter().filter(|seen| seen.address == key) {
                    seen.released.acquire(home, scope, &mut group.knowledge);
                }
            }
            group.seen.retain(|seen| seen.address != key);
            if group.seen.len() < SEEN {
                let released = Arc::clone(&location.released);
                group.seen.push(Seen { address: key, released, site: read, acquired: acquires });
            }
        });
        if acquires && foreign {
            warp.failure = (!location.released.reaches(home, scope)).then_some((read, Failure::Scope));
        }
    }

    /// A strong write carries what its thread has released.
    fn release_to(
        &mut self,
        who: Who,
        (lane, written): (u32, Time),
        site: &Site,
        target: Target,
        before: Option<&Location>,
        continues: bool,
    ) {
        let (time, home) = (self.time, who.home);
        let thread = (home.cta, who.warp, lane);
        let group = self.warp(who).group(lane);
        let releases = site.releases;
        let kept = before.filter(|before| continues || before.thread == thread);
        let mut released = kept.map(|before| Arc::clone(&before.released)).unwrap_or_default();
        let fences = group.fences.clone();
        let knowledge = releases.then(|| with_own(&group.knowledge, home.cta, who.warp, 1 << lane, time));
        if let Some(knowledge) = &knowledge {
            Arc::make_mut(&mut released).release(home, site.scope, knowledge);
        }
        if let Some(fences) = &fences {
            for (scope, fence) in memory_model::event::Scope::ALL.into_iter().zip(&fences.0) {
                if let Some((knowledge, time)) = fence {
                    let knowledge = with_own(knowledge, home.cta, who.warp, 1 << lane, *time);
                    Arc::make_mut(&mut released).release(home, scope, &knowledge);
                }
            }
        }
        if releases {
            self.tick();
        }
        let (scope, bytes) = (site.scope, site.element);
        self.set_location(target, Location { writer: home, scope, bytes, thread, time: written, released });
    }

    fn with_cell<T>(&mut self, target: Target, act: impl FnOnce(&mut Extras, &mut Cell) -> T) -> Option<T> {
        let Self { blocks, global, extras, .. } = self;
        match target {
            Target::Private => None,
            Target::Global(address) => {
                Some(act(extras, &mut global.page(Global::page_of(address))[Global::index(address)]))
            }
            Target::Shared(cta, place) => {
                let cell = blocks.get_mut(&cta)?.shared.get_mut((place / GRANULE) as usize)?;
                Some(act(extras, cell))
            }
        }
    }

    fn location(&mut self, target: Target) -> Option<Box<Location>> {
        let byte = target.key() % GRANULE;
        self.with_cell(target, |extras, cell| extras.location(cell, byte)).flatten()
    }

    fn set_location(&mut self, target: Target, location: Location) {
        let byte = target.key() % GRANULE;
        self.with_cell(target, |extras, cell| extras.set_location(cell, byte, location));
    }

    /// A launch begins: what its threads know, and everything about its shape. Its number.
    pub(crate) fn begin(&mut self, mut launch: Launch) -> usize {
        // Where everything so far is over and known, one number says so.
        let known = |before: &Launch| {
            before.ended.is_some_and(|end| launch.knowledge.generic.threads_of(before.first) >= end)
        };
        if self.launches[self.settled..].iter().all(known) {
            launch.knowledge = self.after_everything();
            self.settled = self.launches.len();
        }
        // What it does comes later than anything that it knows.
        self.tick();
        self.launches.push(launch);
        self.launches.len() - 1
    }

    /// A launch is over.
    pub(crate) fn end(&mut self, launch: usize) {
        let (first, count) = (self.launches[launch].first, self.launches[launch].ctas());
        let left: Vec<u32> =
            self.blocks.keys().copied().filter(|&cta| cta >= first && cta - first < count).collect();
        left.into_iter().for_each(|cta| self.block_done(cta));
        self.launches[launch].ended = Some(self.time);
        self.tick();
    }

    /// A CTA is over: nobody can reach its shared memory any more.
    pub(crate) fn block_done(&mut self, cta: u32) {
        if let Some(block) = self.blocks.remove(&cta) {
            for mut cell in block.shared {
                self.extras.release(&mut cell);
            }
        }
    }

    /// What a launch knows that comes after everything so far.
    pub(crate) fn after_everything(&self) -> Knowledge {
        Knowledge::all_until(self.time)
    }
}

/// What relaxed reads have seen and lanes remember, at most: so many flags are read before a fence.
const SEEN: usize = 64;

impl Target {
    fn plus(self, bytes: u64) -> Self {
        match self {
            Self::Global(address) => Self::Global(address + bytes),
            Self::Shared(cta, place) => Self::Shared(cta, place + bytes),
            Self::Private => Self::Private,
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

/// The lanes of a mask.
pub(crate) fn lanes_of(mask: u32) -> impl Iterator<Item = u32> {
    (0..32).filter(move |lane| mask >> lane & 1 != 0)
}

/// The lanes of an access, one after the other; where lanes may be taken together, neighbours that access the same
/// address, and the halves of a warp if they access the same addresses.
#[derive(Clone)]
struct LaneSets<'a> {
    addresses: &'a [u64; 32],
    rest: u32,
    together: bool,
    halves: bool,
}

impl<'a> LaneSets<'a> {
    fn new(addresses: &'a [u64; 32], mask: u32, together: bool) -> Self {
        let halves = together && mask == !0 && addresses[..16] == addresses[16..];
        Self { addresses, rest: mask, together, halves }
    }
}

impl Iterator for LaneSets<'_> {
    type Item = (u32, u64);

    #[inline(always)]
    fn next(&mut self) -> Option<(u32, u64)> {
        if self.rest == 0 {
            return None;
        }
        let first = self.rest.trailing_zeros();
        let address = self.addresses[first as usize];
        let mut lanes = 1 << first;
        if self.together {
            let mut lane = first + 1;
            while lane < 32 && self.rest >> lane & 1 != 0 && self.addresses[lane as usize] == address {
                lanes |= 1 << lane;
                lane += 1;
            }
            if self.halves {
                lanes |= lanes << 16;
            }
        }
        self.rest &= !lanes;
        Some((lanes, address))
    }
}
