//! Relaxed operations on a location that has seen nothing else: counters, most of all. They neither release nor acquire
//! anything, and are morally strong among themselves, so there is little to compare. Whatever is not as simple is left to
//! the detector.
//!
//! Once a counter is *steady*, a further write of the threads that write to it anyway changes nothing that is remembered
//! but who was the last: until some time passes, or something else is done to it.

use crate::accessor::Accessor;
use crate::check::Checker;
use crate::clock::Time;
use crate::detector::{Detector, Target, Who, begin_of_own, lanes_of, target_of};
use crate::observed::{Observed, Thread};
use crate::polls::Poll;
use crate::release::Released;
use crate::row::{ROW, Row, is_aligned};
use crate::runs::{Gathered, Scattered, each_lane};
use crate::shadow::{Cell, Entry, GRANULE, Kind, Location};
use crate::site::Site;
use crate::state::{Block, Failure, Group, Reason};
use crate::trail::Step;
use machine::fault::Access;
use machine::memory::SHARED_WINDOW;
use machine::observe::MemoryAccess;
use memory_model::event::{Order, Scope};

/// What comes of simple operations.
#[derive(Default)]
struct Done {
    /// Why what is read does not synchronise, if somebody else wrote that.
    why: Option<Failure>,
    /// Whether something new was observed, so that what is written next must be later.
    observed: bool,
    /// Whether all of it was steady.
    steady: bool,
}

/// Of which threads a write to a cell changes nothing but who was the last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steady {
    /// They have written to it at this time, so that observations of it say nothing.
    pub(crate) entry: Entry,
    /// Until when a thread must know those of its CTA, and everyone, to come after weak accesses.
    pub(crate) threads: Time,
    pub(crate) everyone: Time,
}

impl Steady {
    fn new(entry: Entry, cell: &Cell) -> Self {
        let mut steady = Self { entry, threads: 0, everyone: 0 };
        for weak in [cell.write, cell.read] {
            let near = weak.cta == entry.cta && weak.is_of_threads();
            let known = if near { &mut steady.threads } else { &mut steady.everyone };
            *known = weak.time.max(*known);
        }
        steady
    }

    #[inline(always)]
    fn covers(&self, by: &Accessor<'_>, lanes: u32) -> bool {
        let (known, new) = (&self.entry, &by.entry);
        known.time == new.time
            && known.cta == new.cta
            && new.warps & !known.warps == 0
            && lanes & !known.lanes == 0
            && self.threads <= by.threads
            && self.everyone <= by.everyone
    }
}

impl Detector {
    /// Strong accesses of lanes of a warp, in the machine's order.
    pub(crate) fn strong_lanes(
        &mut self,
        who: Who,
        site: &Site,
        access: &MemoryAccess<'_>,
        (mask, kind): (u32, Access),
    ) {
        self.close_interval_for(who, access, mask);
        let bytes = u64::from(access.bytes);
        if site.order != Order::Relaxed || access.bytes != site.element || !matches!(bytes, 4 | 8) {
            for run in Scattered::new(*access.addresses, bytes, mask, kind == Access::Load) {
                for (lanes, address) in run.elements() {
                    let target = self.target(who, access.space, address);
                    self.strong(who, lanes, (target, bytes), kind);
                }
            }
            return;
        }
        let (done, left) = self.relaxed(who, site, access, (mask, kind));
        if self.records_steps() {
            for (lane, address) in each_lane(access.addresses, mask & !left) {
                let key = self.target(who, access.space, address).key();
                self.step(who, lane, Step::Access { key, access: kind }, self.time);
            }
        }
        if left != 0 {
            for &(lanes, address) in Gathered::new(access.addresses, left).all() {
                let target = self.target(who, access.space, address);
                match kind {
                    Access::Load => self.strong(who, lanes, (target, bytes), kind),
                    Access::Store | Access::Atomic => {
                        lanes_of(lanes).for_each(|lane| self.strong(who, 1 << lane, (target, bytes), kind));
                    }
                }
            }
        }
        if done.observed {
            self.tick();
        }
        if let Some(failure) = done.why {
            self.warp_beside(who).fails(who.site, failure);
        }
    }

    /// Makes the operations that are simple. The lanes of the others.
    fn relaxed(
        &mut self,
        who: Who,
        site: &Site,
        access: &MemoryAccess<'_>,
        (mask, access_kind): (u32, Access),
    ) -> (Done, u32) {
        let (mut done, mut left) = (Done::default(), 0);
        let counts = access.bytes == 4 && access_kind != Access::Load && !self.records_steps();
        let Self { blocks, global, extras, sites, launches, time, .. } = self;
        let launch = &launches[who.launch];
        let Some(Block { warps, alike, shared, .. }) = blocks.get_mut(who.home.cta) else {
            return (done, mask);
        };
        let warp = &warps[usize::from(who.warp)];
        let together = |group: &&Group| group.mask & mask == mask && !warp.has_fenced(mask);
        let Some(group) = warp.groups.iter().find(together) else {
            return (done, mask);
        };
        let entry = Entry::of_lanes(*time, who.home.cta, who.warp, mask, who.site);
        let known = if *alike { &warps[0].groups[0].knowledge.generic } else { &group.knowledge.generic };
        let by = Accessor::new(who.home, (who.warp, mask), known, entry, (site, access_kind));
        let kind = Kind::of(site, who.home);
        let mut checker = Checker::new(extras, sites, launches);
        let bytes = u64::from(access.bytes);
        let begin = begin_of_own(launch, access.space).filter(|_| counts);
        let mut rest = mask;
        if let Some(begin) = begin {
            let foreign;
            (rest, foreign) = checker.count(shared, (each_lane(access.addresses, mask), begin), kind, &by);
            done.why = (foreign && site.seen && by.access == Access::Atomic)
                .then_some(Failure { why: Reason::NoRelease, inside: true });
        }
        if rest == 0 {
            return (done, 0);
        }
        let gathered = Gathered::new(access.addresses, rest);
        let (mut steady, mut last) = (false, None);
        for &(lanes, address) in gathered.all() {
            let (row, place) = match target_of(launch, who, access.space, address) {
                Target::Global(address) if address < SHARED_WINDOW => {
                    checker.unlist(global, (address, address));
                    (Some(global.row(address)), address)
                }
                Target::Shared(cta, place) if cta == who.home.cta => {
                    last = Some((place / ROW) as usize);
                    (shared.get_mut((place / ROW) as usize), place)
                }
                _ => (None, 0),
            };
            let row = row.filter(|row| (row.is_in_cells() || row.is_counting()) && is_aligned(place, bytes));
            let made = row.and_then(|row| {
                let relaxed =
                    |checker: &mut Checker<'_>, cells| checker.relaxed(cells, (place, bytes), lanes, &by);
                checker.with_counter(row, Row::cell_of(place), (kind, &by), relaxed)
            });
            match made {
                Some(Done { why, observed, steady: simple }) => {
                    done.why = why.or(done.why);
                    done.observed |= observed;
                    steady |= simple;
                }
                None => left |= lanes,
            }
        }
        let row = last.filter(|_| begin.is_some() && steady).and_then(|last| shared.get_mut(last));
        if let Some(row) = row.filter(|row| row.is_in_cells()) {
            checker.begin_counting(row, kind, &by);
        }
        (done, left)
    }
}

impl Checker<'_> {
    /// Makes an operation of lanes, one after the other, on one location; `None` if it is not simple.
    #[inline(always)]
    fn relaxed(
        &mut self,
        row: u32,
        (place, bytes): (u64, u64),
        lanes: u32,
        by: &Accessor<'_>,
    ) -> Option<Done> {
        let first = Row::cell_of(place);
        let cells = first..first + (bytes / GRANULE) as usize;
        let (reads, writes) = (by.access != Access::Store, by.access != Access::Load);
        let (kind, thread) = (Kind::of(by.site, by.home), (by.home.cta, by.warp, lanes.ilog2()));
        let mut done = Done::default();
        let seen = reads && by.site.seen;
        let is_foreign = |(cta, warp, _): Thread| (cta, warp) != (thread.0, thread.1);
        let failure = |writer, why| Failure { why, inside: writer == thread.0 };
        let poll = Poll { cta: thread.0, warp: by.warp, lanes, site: by.entry.site(), failure: None };
        let mut again = |at| self.extras.cell_with_extra(row, at).1?.poll(&poll, by.entry.time);
        if !writes && cells.clone().all(|at| again(at).is_some()) {
            done.why = again(first).and_then(|known| known.failure);
            return Some(done);
        }
        for at in cells.clone() {
            let (_, extra) = self.extras.cell_with_extra(row, at);
            let steady = match extra {
                Some(extra) if writes && extra.kind == Some(kind) => {
                    extra.polls.clear();
                    extra.steady.filter(|steady| steady.covers(by, lanes)).zip(extra.location.as_mut())
                }
                _ => None,
            };
            match steady {
                Some((_, location)) if cells.len() == 1 => {
                    done.why = (seen && is_foreign(location.thread))
                        .then_some(failure(location.thread.0, Reason::NoRelease));
                    (location.writer, location.thread) = (by.home, thread);
                    done.steady = true;
                    return Some(done);
                }
                Some(_) => {}
                None => self.remember_relaxed((row, at), kind, lanes, by)?,
            }
        }
        let (cell, _) = self.extras.cell_with_extra(row, first);
        let copy = *cell;
        let location = &mut self.extras.extra_of(&copy).location;
        let before = location.as_ref().map(|location| {
            let strong = location.reaches(by.home, by.site);
            ((location.thread, location.time), strong)
        });
        if writes {
            let (scope, bytes, time) = (by.site.scope, by.site.element, by.entry.time);
            match location {
                Some(location) => {
                    (location.writer, location.thread) = (by.home, thread);
                    (location.scope, location.bytes, location.time) = (scope, bytes, time);
                }
                None => {
                    let (writer, released) = (by.home, Released::nothing());
                    *location = Some(Location { writer, scope, bytes, thread, time, released });
                }
            }
        }
        if let Some((before, strong)) = before.filter(|_| reads) {
            if seen && is_foreign(before.0) {
                done.why = Some(failure(before.0.0, if strong { Reason::NoRelease } else { Reason::Scope }));
            }
            let reader = (by.home.cta, by.warp, lanes);
            let observed = Observed { write: before, reader, time: by.entry.time, atomic: writes };
            for at in cells.clone().filter(|_| strong) {
                let (_, extra) = self.extras.cell_with_extra(row, at);
                done.observed |= extra.is_some_and(|extra| extra.observe(observed));
            }
        }
        for at in cells {
            match self.extras.cell_with_extra(row, at).1 {
                Some(extra) if writes => extra.polls.clear(),
                Some(extra) => extra.note_poll(Poll { failure: done.why, ..poll }),
                None => {}
            }
        }
        Some(done)
    }

    /// Takes a simple operation of lanes on a cell in; `None` if it is not simple.
    #[inline(never)]
    fn remember_relaxed(
        &mut self,
        (row, at): (u32, usize),
        kind: Kind,
        lanes: u32,
        by: &Accessor<'_>,
    ) -> Option<()> {
        let (reads, writes) = (by.access != Access::Store, by.access != Access::Load);
        let entry = Entry { lanes, ..by.entry };
        let single = lanes.is_power_of_two();
        let after = |weak: &Entry| match single {
            true => by.comes_after(weak, lanes),
            false => by.plainly_after(weak),
        };
        let (cell, extra) = self.extras.cell_with_extra(row, at);
        if cell.is_divided()
            || reads && cell.unwritten != 0
            || !after(&cell.write)
            || writes && !after(&cell.read)
        {
            return None;
        }
        let known = match extra {
            None if cell.extra != 0 => return None,
            Some(extra) => {
                let released = |location: &Location| !location.released.is_empty();
                if extra.kind != Some(kind)
                    || extra.bytes.is_some()
                    || extra.location.as_ref().is_some_and(released)
                    || writes && extra.reads != 0
                    || by.site.scope < Scope::Gpu && !extra.behind.is_empty()
                {
                    return None;
                }
                let list = if writes { &mut extra.strong_writes } else { &mut extra.strong_reads };
                if writes && list.iter().any(|known| known.is_again(&entry)) {
                    if !reads {
                        return None;
                    }
                    extra.repeated = entry.time;
                }
                // The latest stand at the end.
                list.iter_mut().rev().find_map(|known| known.merge(&entry).then_some(*known))
            }
            None => None,
        };
        if writes {
            cell.unwritten = 0;
        }
        let mut copy = *cell;
        if known.is_none() {
            self.remember_strong(&mut copy, &by.by_lanes(lanes), writes);
            *self.extras.cell_with_extra(row, at).0 = copy;
        }
        let extra = self.extras.extra_of(&copy);
        if writes && extra.repeated == entry.time {
            extra.steady = known.map(|known| Steady::new(known, &copy));
        }
        Some(())
    }
}
