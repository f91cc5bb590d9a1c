//! Who is about to access memory, and what is known of earlier accesses when that happens.
//!
//! Most accesses come after all that they could race with, by a barrier or the launch, or repeat their own threads' last: these
//! are the short cuts, over one row or one cell.

use crate::clock::{Clock, Time};
use crate::detector::lanes_of;
use crate::knowledge::Knowledge;
use crate::observed::Thread;
use crate::release::Home;
use crate::row::{Pattern, Row};
use crate::shadow::{Cell, Entry, Extras, FULL, ONLY_READS, WHOLE};
use crate::site::Site;
use machine::fault::Access;

/// An access that is about to be made.
#[derive(Clone, Copy)]
pub(crate) struct Accessor<'a> {
    pub(crate) home: Home,
    /// The issuing warp and lanes; of an agent nobody's program order counts.
    pub(crate) warp: u16,
    pub(crate) lanes: u32,
    /// What is known when it happens.
    pub(crate) clock: &'a Clock,
    /// For an access through the async proxy: what its fences have passed on.
    pub(crate) proxied: Option<&'a Clock>,
    /// Of an analysis of locks all that is known.
    pub(crate) knowledge: Option<&'a Knowledge>,
    /// What is remembered of it. It may be of several warps that access the same, and know the same.
    pub(crate) entry: Entry,
    pub(crate) site: &'a Site,
    pub(crate) access: Access,
    /// Up to when all threads and agents are known, all threads of the CTA, and all of the warp.
    pub(crate) everyone: Time,
    pub(crate) threads: Time,
    pub(crate) of_warp: Time,
    /// Whether more is known of some warps of the CTA than of all.
    by_warp: bool,
}

impl<'a> Accessor<'a> {
    pub(crate) fn new(
        home: Home,
        (warp, lanes): (u16, u32),
        clock: &'a Clock,
        entry: Entry,
        (site, access): (&'a Site, Access),
    ) -> Self {
        let (everyone, (threads, of_warp)) = (clock.everyone(), clock.of_warp(home.cta, warp));
        let by_warp = clock.knows_warps(home.cta);
        Self {
            home,
            warp,
            lanes,
            clock,
            proxied: None,
            knowledge: None,
            entry,
            site,
            access,
            everyone,
            threads,
            of_warp,
            by_warp,
        }
    }

    /// Makes it one by lanes of another warp that knows the same.
    #[inline(always)]
    pub(crate) fn change_warp(&mut self, warp: u16, lanes: u32) {
        if self.by_warp {
            self.of_warp = self.clock.of_warp(self.home.cta, warp).1;
        }
        (self.warp, self.lanes) = (warp, lanes);
        (self.entry.warps, self.entry.lanes) = (1 << warp, lanes);
    }

    /// The same by other lanes.
    pub(crate) fn by_lanes(mut self, lanes: u32) -> Self {
        self.lanes = lanes;
        self.entry.lanes = lanes;
        self
    }

    /// The same by one of the warps.
    pub(crate) fn by_warp(mut self, warp: u16) -> Self {
        self.warp = warp;
        self.entry.warps = 1 << warp;
        self
    }

    /// Whether the short cuts are for it.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.proxied.is_none() && !self.site.is_strong()
    }

    /// What is remembered of some of its lanes.
    #[inline(always)]
    pub(crate) fn entry_of(&self, lanes: u32) -> Entry {
        Entry { lanes, ..self.entry }
    }

    /// The same by several warps, which know the same of one another.
    pub(crate) fn by_warps(mut self, warps: u32) -> Self {
        self.entry.warps = warps;
        self
    }

    /// Whether an entry is ordered before by a barrier of the CTA or of the warp, or by the launch.
    #[inline(always)]
    pub(crate) fn plainly_after(&self, entry: &Entry) -> bool {
        entry.time <= self.everyone
            || entry.cta == self.home.cta
                && entry.is_of_threads()
                && (entry.time <= self.threads
                    || entry.time <= self.of_warp
                        && entry.warps == self.entry.warps
                        && entry.warps == 1 << self.warp)
    }

    /// Whether an entry is plainly before, or of this very thread.
    #[inline(always)]
    pub(crate) fn comes_after(&self, entry: &Entry, lanes: u32) -> bool {
        self.plainly_after(entry) || self.is_own(entry, lanes)
    }

    /// Whether an entry is of this very thread.
    #[inline(always)]
    pub(crate) fn is_own(&self, entry: &Entry, lanes: u32) -> bool {
        entry.cta == self.home.cta
            && entry.warps == 1 << self.warp
            && entry.warps == self.entry.warps
            && entry.lanes == lanes
            && lanes.is_power_of_two()
            && entry.is_of_threads()
    }

    /// Whether an entry is of these threads, so that program order says all that it says.
    #[inline(always)]
    pub(crate) fn repeats(&self, entry: &Entry, lanes: u32) -> bool {
        entry.cta == self.home.cta
            && entry.warps & !self.entry.warps == 0
            && entry.lanes & !lanes == 0
            && entry.is_of_threads()
            && self.entry.is_of_threads()
    }

    /// Makes a weak access, if the little that it must be compared with is plainly before it.
    #[inline(always)]
    pub(crate) fn quickly(&self, cell: &mut Cell, (lanes, shift): (u32, u8)) -> bool {
        let [of_write, of_read] = cell.shifts;
        let own = |entry: &Entry, of: u8| of == shift && self.is_own(entry, lanes);
        if !(self.plainly_after(&cell.write) || own(&cell.write, of_write)) {
            return false;
        }
        match self.access {
            Access::Load => {
                if cell.extra != 0 && cell.extra & ONLY_READS == 0 {
                    return false;
                }
                let same = of_read == shift;
                if self.plainly_after(&cell.read) || same && self.repeats(&cell.read, lanes) {
                    cell.read = self.entry_of(lanes);
                    cell.shifts[1] = shift;
                    return true;
                }
                same && (cell.read.merge(&self.entry_of(lanes))
                    || self.takes_place(&mut cell.read, cell.extra, lanes))
            }
            Access::Store => {
                let after = self.plainly_after(&cell.read) || own(&cell.read, of_read);
                let after = after && cell.extra == 0;
                if after {
                    *cell = Cell { write: self.entry_of(lanes), shifts: [shift; 2], ..Cell::default() };
                }
                after
            }
            Access::Atomic => false,
        }
    }

    /// The same for a row that is in one piece.
    #[inline(always)]
    pub(crate) fn quickly_row(&self, row: &mut Row, (lanes, shift): (u32, u8)) -> bool {
        let own = |pattern: &Pattern| pattern.shift == shift && self.is_own(&pattern.entry, lanes);
        if !(self.plainly_after(&row.write.entry) || own(&row.write)) {
            return false;
        }
        let pattern = Pattern::new(self.entry_of(lanes), shift);
        match self.access {
            Access::Load => {
                let same = row.read.shift == shift;
                if self.plainly_after(&row.read.entry) || same && self.repeats(&row.read.entry, lanes) {
                    row.read = pattern;
                    return true;
                }
                same && row.read.is_whole()
                    && (row.read.entry.merge(&pattern.entry)
                        || self.takes_place(&mut row.read.entry, row.extra, lanes))
            }
            Access::Store => {
                let after = self.plainly_after(&row.read.entry) || own(&row.read);
                let after = after && row.extra == 0;
                if after {
                    *row = Row { write: pattern, ..Row::default() };
                }
                after
            }
            Access::Atomic => false,
        }
    }

    /// Makes a read the latest one if so many are remembered besides that the latest may be forgotten: of one time, when
    /// nobody has learned of another.
    #[inline(always)]
    fn takes_place(&self, latest: &mut Entry, extra: u32, lanes: u32) -> bool {
        let forgets = extra & FULL != 0 && latest.time == self.entry.time;
        if forgets {
            *latest = self.entry_of(lanes);
        }
        forgets
    }

    /// Whether an earlier read need not be remembered once these threads have read.
    #[inline(always)]
    pub(crate) fn reads_over(&self, entry: &Entry, lanes: u32) -> bool {
        self.entry.is_of_threads()
            && (self.plainly_after(entry)
                || self.repeats(entry, lanes)
                // What has the time that is now nobody knows of.
                || entry.time != self.entry.time && self.is_after(entry, self.clock, true))
    }

    /// Whether nothing about a cell is worth keeping once these lanes have written all of it.
    #[inline(always)]
    pub(crate) fn replaces(&self, extras: &Extras, cell: &Cell, (lanes, shift): (u32, u8)) -> bool {
        let before =
            |entry: &Entry, of: u8| self.plainly_after(entry) || of == shift && self.is_own(entry, lanes);
        match cell.extra {
            0 => before(&cell.write, cell.shifts[0]) && before(&cell.read, cell.shifts[1]),
            _ => self.replaces_more(extras, cell, (lanes, shift)),
        }
    }

    #[cold]
    fn replaces_more(&self, extras: &Extras, cell: &Cell, (lanes, shift): (u32, u8)) -> bool {
        if let Some(parts) = extras.split_bytes(cell) {
            let of = |byte: u32| (lanes.unbounded_shl(byte >> shift), WHOLE);
            let over = |(byte, part)| self.replaces(extras, part, of(byte));
            return (0..).zip(parts).all(over);
        }
        let reads = || extras.reads(cell.extra).as_slice().iter().all(|entry| self.plainly_after(entry));
        let rest = Cell { extra: 0, ..*cell };
        cell.extra & ONLY_READS != 0 && reads() && self.replaces(extras, &rest, (lanes, shift))
    }

    /// Of those that an entry stands for one that does not happen before, of another warp if there is one. And of these
    /// lanes those that are not that one.
    pub(crate) fn two_threads(&self, entry: &Entry) -> (Entry, Entry) {
        let (mut earlier, mut later) = (*entry, self.entry);
        if !entry.is_of_threads() || !self.entry.is_of_threads() {
            return (earlier, later);
        }
        let here = entry.cta == self.home.cta;
        let threads = (0..32u16).flat_map(|warp| (0..32u32).map(move |lane| (warp, lane)));
        let before = |&(warp, lane): &(u16, u32)| {
            self.clock.lane(entry.cta, warp, lane) >= entry.time
                || here && warp == self.warp && self.lanes == 1 << lane
        };
        let members =
            threads.filter(|&(warp, lane)| entry.warps >> warp & 1 != 0 && entry.lanes >> lane & 1 != 0);
        let racing: Vec<_> = members.filter(|thread| !before(thread)).collect();
        // What another warp needs, the lanes of this one are served by, too.
        let elsewhere = racing.iter().find(|(warp, _)| !here || *warp != self.warp);
        if let Some(&(warp, lane)) = elsewhere.or(racing.first()) {
            (earlier.warps, earlier.lanes) = (1 << warp, 1 << lane);
            if here && warp == self.warp && later.lanes != earlier.lanes {
                later.lanes &= !earlier.lanes;
            }
        }
        (earlier, later)
    }

    /// Whether what a thread did until a time is known to whoever accesses, or done by them.
    pub(crate) fn knows(&self, (cta, warp, lane): Thread, time: Time) -> bool {
        self.clock.lane(cta, warp, lane) >= time || self.is_among(cta, warp, 1 << lane)
    }

    /// Whether it is lanes of a warp that access.
    pub(crate) fn is_among(&self, cta: u32, warp: u16, lanes: u32) -> bool {
        cta == self.home.cta && warp == self.warp && self.lanes & !lanes == 0 && self.entry.is_of_threads()
    }

    /// Whether an access that an entry stands for does not happen before, for sure: an entry may stand for fewer threads
    /// than its warps times its lanes.
    pub(crate) fn surely_races_with(&self, entry: &Entry, clock: &Clock, own: bool) -> bool {
        if entry.time <= clock.everyone() {
            return false;
        }
        if let Some(agent) = entry.agent() {
            return clock.behind(entry.cta, agent, entry.lanes, entry.time) != 0;
        }
        let mut in_all = entry.lanes;
        for warp in lanes_of(entry.warps) {
            let racing = self.racing(entry, clock, warp as u16, own);
            if racing == entry.lanes {
                return true;
            }
            in_all &= racing;
        }
        in_all != 0
    }

    /// The lanes of a warp of an entry that nothing orders before.
    fn racing(&self, entry: &Entry, clock: &Clock, warp: u16, own: bool) -> u32 {
        let here = own && entry.cta == self.home.cta && warp == self.warp && self.lanes.is_power_of_two();
        clock.behind(entry.cta, warp, entry.lanes, entry.time) & !if here { self.lanes } else { 0 }
    }

    /// Whether everything that an entry stands for happens before.
    pub(crate) fn is_after(&self, entry: &Entry, clock: &Clock, own: bool) -> bool {
        if entry.time <= clock.everyone() {
            return true;
        }
        if let Some(agent) = entry.agent() {
            return clock.behind(entry.cta, agent, entry.lanes, entry.time) == 0;
        }
        if entry.warps.is_power_of_two() {
            return self.racing(entry, clock, entry.warps.trailing_zeros() as u16, own) == 0;
        }
        clock.threads_of(entry.cta) >= entry.time
            || lanes_of(entry.warps).all(|warp| self.racing(entry, clock, warp as u16, own) == 0)
    }
}
