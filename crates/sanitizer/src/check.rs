//! Whether an access races with those that the shadow remembers, and what the shadow remembers afterwards.
//!
//! Two accesses race if they conflict, neither is ordered before the other by causality, and they are not morally strong
//! (PTX ISA, "Data-race freedom"). An earlier access is forgotten only when every later one that would race with it races
//! with its successor too.

use crate::clock::{Clock, Time};
use crate::global::byte_mask;
use crate::halves::HALF;
use crate::observed::Thread;
use crate::release::Home;
use crate::row::{Pattern, ROW, Row, is_aligned};
use crate::runs::Run;
use crate::shadow::{Cell, Entry, Extra, Extras, GRANULE, Kind, ONLY_READS, WHOLE};
use crate::site::{Site, Sites};
use crate::state::Launch;
use machine::fault::Access;
use memory_model::definitions::NEWEST;
use memory_model::event::Scope;

/// Readers of a cell that are kept apart. More become a range of CTAs.
const READERS: usize = 4;
/// The same for strong operations.
const STRONG: usize = 16;

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
    fn by_warp(mut self, warp: u16) -> Self {
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
    fn is_own(&self, entry: &Entry, lanes: u32) -> bool {
        entry.cta == self.home.cta
            && entry.warps == 1 << self.warp
            && entry.warps == self.entry.warps
            && entry.lanes == lanes
            && lanes.is_power_of_two()
            && entry.is_of_threads()
    }

    /// Whether an entry is of these threads, so that program order says all that it says.
    #[inline(always)]
    fn repeats(&self, entry: &Entry, lanes: u32) -> bool {
        entry.cta == self.home.cta
            && entry.warps & !self.entry.warps == 0
            && entry.lanes & !lanes == 0
            && entry.is_of_threads()
            && self.entry.is_of_threads()
    }

    /// Makes a weak access, if the little that it must be compared with is plainly before it.
    #[inline(always)]
    fn quickly(&self, cell: &mut Cell, (lanes, shift): (u32, u8)) -> bool {
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
                same && cell.read.merge(&self.entry_of(lanes))
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
        let pattern = Pattern { entry: self.entry_of(lanes), shift };
        match self.access {
            Access::Load => {
                let same = row.read.shift == shift;
                if self.plainly_after(&row.read.entry) || same && self.repeats(&row.read.entry, lanes) {
                    row.read = pattern;
                    return true;
                }
                same && row.read.entry.merge(&pattern.entry)
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

    /// Whether nothing about a cell is worth keeping once these lanes have written all of it.
    #[inline(always)]
    fn replaces(&self, extras: &Extras, cell: &Cell, (lanes, shift): (u32, u8)) -> bool {
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
        let reads = || extras.reads(cell.extra).iter().all(|entry| self.plainly_after(entry));
        let rest = Cell { extra: 0, ..*cell };
        cell.extra & ONLY_READS != 0 && reads() && self.replaces(extras, &rest, (lanes, shift))
    }

    /// Of those that an entry stands for one that does not happen before, of another warp if there is one. And of these
    /// lanes those that are not that one.
    fn two_threads(&self, entry: &Entry) -> (Entry, Entry) {
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

    /// Whether everything that an entry stands for happens before.
    pub(crate) fn is_after(&self, entry: &Entry, clock: &Clock, own: bool) -> bool {
        if entry.time <= clock.everyone() {
            return true;
        }
        if let Some((first, last)) = entry.range() {
            return clock.covers(first, last, entry.time);
        }
        let lanes = || (0..32u32).filter(|lane| entry.lanes >> lane & 1 != 0);
        if let Some(agent) = entry.agent() {
            return lanes().all(|lane| clock.lane(entry.cta, agent, lane) >= entry.time);
        }
        if clock.threads_of(entry.cta) >= entry.time {
            return true;
        }
        let here = own && entry.cta == self.home.cta;
        (0..32u16).filter(|warp| entry.warps >> warp & 1 != 0).all(|warp| {
            lanes().all(|lane| {
                clock.lane(entry.cta, warp, lane) >= entry.time
                    || here && warp == self.warp && self.lanes == 1 << lane
            })
        })
    }
}

/// Why two accesses race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// Nothing orders them.
    Unordered,
    /// They are ordered, but a proxy fence is missing.
    Proxy,
}

/// Two accesses that race.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conflict {
    pub(crate) earlier: Entry,
    pub(crate) later: Entry,
    pub(crate) later_access: Access,
    pub(crate) why: Why,
}

/// What checks work with, and what they have found: the first of an instruction is enough.
pub(crate) struct Checker<'a> {
    pub(crate) extras: &'a mut Extras,
    pub(crate) sites: &'a Sites,
    pub(crate) launches: &'a [Launch],
    /// With the element's address.
    pub(crate) conflict: Option<(Conflict, u64)>,
    /// Bytes that nobody has written were read, at this address by these lanes of a warp.
    pub(crate) unwritten: Option<(u64, u16, u32)>,
    /// Whether it is shared memory of the CTA that accesses it.
    pub(crate) own: bool,
    /// The element that is accessed now.
    element: u64,
}

impl<'a> Checker<'a> {
    pub(crate) fn new(extras: &'a mut Extras, sites: &'a Sites, launches: &'a [Launch]) -> Self {
        Self { extras, sites, launches, conflict: None, unwritten: None, own: false, element: 0 }
    }

    /// An access to the rows from that of the run's address on.
    #[inline(always)]
    pub(crate) fn run(&mut self, rows: &mut [Row], run: &Run, by: &Accessor<'_>) {
        let (mut at, end) = (run.address, run.end());
        for row in rows {
            if at >= end {
                break;
            }
            let next = ((at | (ROW - 1)) + 1).min(end);
            let whole = if next - at == ROW { run.pattern_at(at) } else { None };
            match whole {
                Some(pattern) if self.whole_row(row, at, pattern, by) => {}
                None if next - at == HALF && self.half(row, at, run, by) => {}
                _ if self.few(row, (at, next), run, by) => {}
                _ => self.part(row, (at, next), run, by),
            }
            at = next;
        }
    }

    /// An access to some words of a row, if there is nothing special about them.
    #[inline(always)]
    fn few(&mut self, row: &mut Row, (at, next): (u64, u64), run: &Run, by: &Accessor<'_>) -> bool {
        if !matches!(run.bytes, 4 | 8 | 16) || !is_aligned(run.address, run.bytes) || !by.is_plain() {
            return false;
        }
        let (count, shift) = (((next - at) / GRANULE) as usize, run.bytes.trailing_zeros() - WHOLE as u32);
        let lanes = run.lanes_of((at - run.address) >> run.bytes.trailing_zeros());
        if !row.is_in_cells() {
            return self.own && self.words(row, (Row::cell_of(at), count, shift), lanes, by);
        }
        let cells = self.extras.cells_mut(row.split);
        let (first, of_store) = (Row::cell_of(at), by.access == Access::Store);
        // What is done twice is done once: the rest may be left to who looks closer.
        for (at, cell) in (0_u32..).zip(&mut cells[first..first + count]) {
            let lanes = lanes.unbounded_shl(at >> shift);
            if !(of_store || cell.unwritten == 0) || !by.quickly(cell, (lanes, WHOLE)) {
                return false;
            }
        }
        true
    }

    /// An access to all that a row stands for, by the same lanes. Returns whether that is all.
    pub(crate) fn all_of(&mut self, row: &mut Row, run: &Run, by: &Accessor<'_>) -> bool {
        if row.unwritten && by.access == Access::Load {
            self.unwritten.get_or_insert((run.address, by.warp, run.lanes));
        }
        by.is_plain() && by.quickly_row(row, (run.lanes, Pattern::ALIKE))
    }

    /// An access to all of a row. Returns whether that is all.
    #[inline(always)]
    fn whole_row(&mut self, row: &mut Row, at: u64, (lanes, shift): (u32, u8), by: &Accessor<'_>) -> bool {
        if !by.is_plain() {
            return false;
        }
        if row.split != 0 {
            return by.access == Access::Store
                && match row.is_in_words() {
                    true => self.own && self.mend_words(row, (lanes, shift), by),
                    false if row.is_in_halves() => self.mend_halves(row, (lanes, shift), by),
                    false => {
                        self.extras.split(row);
                        self.mend(row, (lanes, shift), by)
                    }
                };
        }
        if row.unwritten && by.access == Access::Load {
            self.unwritten.get_or_insert((at, by.warp, lanes));
        }
        by.quickly_row(row, (lanes, shift)) || self.slowly_row(row, (lanes, shift), by)
    }

    /// A row in one piece that others have read, too.
    #[cold]
    #[inline(never)]
    fn slowly_row(&mut self, row: &mut Row, (lanes, shift): (u32, u8), by: &Accessor<'_>) -> bool {
        let own = |pattern: &Pattern| pattern.shift == shift && by.is_own(&pattern.entry, lanes);
        if !(by.plainly_after(&row.write.entry) || own(&row.write)) {
            return false;
        }
        match by.access {
            Access::Load if row.read.shift == shift => {
                let over = |entry: &Entry| by.plainly_after(entry) || by.repeats(entry, lanes);
                keep_read(self.extras.reads_of(&mut row.extra), row.read.entry, over);
                row.read.entry = by.entry_of(lanes);
                true
            }
            Access::Store if row.extra != 0 => {
                let before = |entry: &Entry| by.plainly_after(entry);
                let all = self.extras.reads(row.extra).iter().all(before)
                    && (before(&row.read.entry) || own(&row.read));
                if all {
                    self.extras.release_row(row);
                    let write = Pattern { entry: by.entry_of(lanes), shift };
                    *row = Row { write, ..Row::default() };
                }
                all
            }
            Access::Load | Access::Store | Access::Atomic => false,
        }
    }

    /// A row that was split is in one piece again, if all of it is written over.
    fn mend(&mut self, row: &mut Row, (lanes, shift): (u32, u8), by: &Accessor<'_>) -> bool {
        let write = Pattern { entry: by.entry_of(lanes), shift };
        let (cells, mut extras) = (self.extras.cells(row.split), 0);
        for (at, cell) in (0..).step_by(GRANULE as usize).zip(cells) {
            if !by.replaces(self.extras, cell, (write.lanes_of(at), shift.min(WHOLE))) {
                return false;
            }
            extras |= cell.extra;
        }
        match extras {
            0 => self.extras.release_cells(row),
            _ => self.extras.release_row(row),
        }
        *row = Row { write, ..Row::default() };
        true
    }

    /// An access to what lies between two addresses in one row.
    fn part(&mut self, row: &mut Row, (mut at, end): (u64, u64), run: &Run, by: &Accessor<'_>) {
        let index = self.extras.split(row);
        let mut element = if at == run.address { 0 } else { (at - run.address) / run.bytes };
        // Lanes that share a cell are taken together.
        let small = run.count > 1 && matches!(run.bytes, 1 | 2);
        while at < end {
            let start = run.address + element * run.bytes;
            let stop = (start + run.bytes).min(end);
            self.element = start;
            let lanes = run.lanes_of(element);
            if small && at.is_multiple_of(GRANULE) && end - at >= GRANULE {
                let shift = run.bytes.trailing_zeros() as u8;
                self.cell((index, Row::cell_of(at)), 0xf, (lanes, shift), by);
                at += GRANULE;
                element += GRANULE >> shift;
                continue;
            }
            while at < stop {
                let next = ((at | (GRANULE - 1)) + 1).min(stop);
                self.cell((index, Row::cell_of(at)), byte_mask(at, next), (lanes, WHOLE), by);
                at = next;
            }
            element += 1;
        }
    }

    /// An access to some bytes of a cell.
    #[inline(always)]
    fn cell(&mut self, (row, at): (u32, usize), bytes: u8, (lanes, shift): (u32, u8), by: &Accessor<'_>) {
        let cell = &mut self.extras.cells_mut(row)[at];
        if by.access != Access::Store && cell.unwritten & bytes != 0 {
            self.unwritten.get_or_insert((self.element, by.warp, lanes));
        }
        if bytes == 0xf && by.is_plain() && by.quickly(cell, (lanes, shift)) {
            return;
        }
        self.closely((row, at), bytes, (lanes, shift), by);
    }

    /// The same, byte by byte where lanes share the cell, and by one warp after the other.
    #[cold]
    #[inline(never)]
    fn closely(&mut self, (row, at): (u32, usize), bytes: u8, (lanes, shift): (u32, u8), by: &Accessor<'_>) {
        let mut copy = self.extras.cells(row)[at];
        let parts = if shift < WHOLE { [1, 2, 4, 8] } else { [bytes, 0, 0, 0] };
        for (byte, bytes) in (0..).zip(parts).filter(|(_, bytes)| *bytes != 0) {
            let by = by.by_lanes(lanes.unbounded_shl(byte >> shift));
            if by.entry.warps.is_power_of_two() || by.entry.agent().is_some() {
                self.by_warp(&mut copy, bytes, &by);
                continue;
            }
            for warp in (0..32).filter(|warp| by.entry.warps >> warp & 1 != 0) {
                self.by_warp(&mut copy, bytes, &by.by_warp(warp));
            }
        }
        self.extras.cells_mut(row)[at] = copy;
    }

    fn by_warp(&mut self, cell: &mut Cell, bytes: u8, by: &Accessor<'_>) {
        if bytes != 0xf || cell.is_divided() || self.extras.is_split(cell) {
            return self.single(cell, bytes, by);
        }
        if !(by.is_plain() && by.quickly(cell, (by.lanes, WHOLE))) {
            self.slowly(cell, by);
        }
    }

    /// Some bytes of a cell, or all those of one whose bytes are told apart.
    fn single(&mut self, cell: &mut Cell, mut bytes: u8, by: &Accessor<'_>) {
        if by.access != Access::Load {
            cell.unwritten &= !bytes;
        }
        if by.is_plain() {
            let over = bytes == 0xf && by.access == Access::Store;
            if over && by.replaces(self.extras, cell, (by.lanes, WHOLE)) {
                self.extras.release(cell);
                *cell = Cell { write: by.entry, shifts: [WHOLE; 2], ..Cell::default() };
                return;
            }
            for (place, part) in self.extras.bytes_of(cell).iter_mut().enumerate() {
                if bytes >> place & 1 != 0 && by.quickly(part, (by.lanes, WHOLE)) {
                    bytes &= !(1 << place);
                }
            }
        }
        if bytes != 0 {
            let mut parts = *self.extras.bytes_of(cell);
            let left = parts.iter_mut().enumerate().filter(|(place, _)| bytes >> place & 1 != 0);
            left.for_each(|(_, part)| self.slowly(part, by));
            *self.extras.bytes_of(cell) = parts;
        }
    }

    #[cold]
    #[inline(never)]
    fn slowly(&mut self, cell: &mut Cell, by: &Accessor<'_>) {
        // Its bytes are not told apart.
        cell.shifts = [WHOLE; 2];
        let writes = by.access != Access::Load;
        self.compare(&cell.write, true, by);
        if writes {
            self.compare(&cell.read, false, by);
        }
        if cell.extra != 0 {
            let mut extra = std::mem::take(self.extras.get_mut(cell.extra));
            extra.steady = None;
            extra.strong_writes.iter().for_each(|entry| self.compare_strong(entry, &extra, by));
            if by.site.is_strong() && by.site.scope < Scope::Gpu {
                let behind = extra.behind.iter().filter(|(_, wrote)| *wrote || writes);
                let unseen = behind.filter(|(entry, wrote)| !wrote || !extra.has_observers(entry, by));
                unseen.for_each(|(entry, wrote)| self.compare(entry, *wrote, by));
            }
            if writes {
                let reads = extra.reads.iter().chain(&extra.strong_reads);
                reads.for_each(|entry| self.compare(entry, false, by));
            }
            *self.extras.get_mut(cell.extra) = extra;
        }
        match (writes, by.site.is_strong()) {
            (true, false) => {
                self.extras.release(cell);
                (cell.unwritten, cell.write, cell.read) = (0, by.entry, Entry::default());
            }
            (true, true) => {
                cell.unwritten = 0;
                self.remember_strong(cell, by, true);
            }
            (false, true) => self.remember_strong(cell, by, false),
            (false, false) => self.remember_read(cell, by),
        }
    }

    /// Whether an earlier strong write races with this access, which may come after one that observed it.
    fn compare_strong(&mut self, entry: &Entry, extra: &Extra, by: &Accessor<'_>) {
        let before = self.conflict;
        self.compare(entry, true, by);
        let found = self.conflict.filter(|_| before.is_none());
        if found.is_some_and(|(found, _)| found.why == Why::Unordered) && extra.is_past(entry, by) {
            self.conflict = None;
        }
    }

    /// Whether an earlier access races with this one. The first of an instruction is enough.
    fn compare(&mut self, entry: &Entry, wrote: bool, by: &Accessor<'_>) {
        if !entry.exists() || self.conflict.is_some() || is_same_copy(entry, &by.entry) {
            return;
        }
        // Through another proxy only what its fences have passed on is ordered before; agents are of the async proxy
        // themselves, and readers of other proxies need no fence.
        let why = match by.proxied {
            None if by.is_after(entry, by.clock, true) => return,
            Some(proxied) => {
                let generic = by.is_after(entry, by.clock, true);
                match generic && (!wrote || entry.agent().is_some() || by.is_after(entry, proxied, false)) {
                    true => return,
                    false if generic => Why::Proxy,
                    false => Why::Unordered,
                }
            }
            None => Why::Unordered,
        };
        if why == Why::Unordered && self.is_morally_strong(entry, by) {
            return;
        }
        let (earlier, later) = by.two_threads(entry);
        let conflict = Conflict { earlier, later, later_access: by.access, why };
        self.conflict = Some((conflict, self.element));
    }

    fn is_morally_strong(&self, entry: &Entry, by: &Accessor<'_>) -> bool {
        let site = self.sites.get(entry.site());
        let scope = NEWEST.common_scope(site.scope, by.site.scope);
        let home = match entry.range() {
            Some(_) if scope < Scope::Gpu => return false,
            _ => home_of(self.launches, entry.cta),
        };
        site.is_strong()
            && by.site.is_strong()
            && site.element == by.site.element
            && entry.agent().is_some() == by.proxied.is_some()
            && home.is_some_and(|home| home.shares(by.home, scope))
    }

    #[cold]
    #[inline(never)]
    fn remember_read(&mut self, cell: &mut Cell, by: &Accessor<'_>) {
        let over = |entry: &Entry| {
            by.entry.is_of_threads()
                && (by.plainly_after(entry)
                    || by.repeats(entry, by.lanes)
                    || by.is_after(entry, by.clock, true))
        };
        if cell.read.merge(&by.entry) || cell.read == by.entry {
            return;
        }
        // The latest stands in the cell: the same threads will often read again.
        let earlier = std::mem::replace(&mut cell.read, by.entry);
        if earlier.exists() && !over(&earlier) {
            keep_read(self.extras.reads_of(&mut cell.extra), earlier, over);
        }
    }

    pub(crate) fn remember_strong(&mut self, cell: &mut Cell, by: &Accessor<'_>, wrote: bool) {
        let sites = self.sites;
        let extra = self.extras.of(cell);
        // Agents are through another proxy, and ranges of CTAs may have threads that do not share a scope.
        let kind =
            Some(Kind::of(by.site, by.home)).filter(|_| by.entry.is_of_threads() && by.proxied.is_none());
        let first = extra.strong_writes.is_empty() && extra.strong_reads.is_empty();
        extra.kind = kind.filter(|_| first || extra.kind == kind);
        let list = if wrote { &mut extra.strong_writes } else { &mut extra.strong_reads };
        let same = |entry: &Entry| {
            let site = sites.get(entry.site());
            site.scope == by.site.scope && site.element == by.site.element
        };
        if wrote && list.iter().any(|entry| entry.is_again(&by.entry)) {
            extra.repeated = by.entry.time;
        }
        if list.iter_mut().any(|entry| same(entry) && entry.merge(&by.entry)) {
            return;
        }
        // Who is morally strong to this access is so to the earlier one; if it is of another CTA, only with a wide scope.
        let wide = by.site.scope >= Scope::Gpu;
        let behind = &mut extra.behind;
        list.retain(|entry| {
            let site = sites.get(entry.site());
            let covers = site.scope >= by.site.scope && site.element == by.site.element;
            let near = entry.range().is_none() && entry.cta == by.home.cta;
            let over = covers && (near || wide) && by.is_after(entry, by.clock, true);
            if over {
                if behind.len() == STRONG {
                    behind.remove(0);
                }
                behind.push((*entry, wrote));
            }
            !over
        });
        list.push(by.entry);
        if list.len() > STRONG {
            let (mut alike, others): (Vec<Entry>, Vec<Entry>) = list.iter().partition(|entry| same(entry));
            if alike.len() > STRONG {
                let wide = widen(&mut alike);
                *list = others.into_iter().chain(alike).chain(wide).collect();
            }
        }
    }
}

/// Adds a read to those that are remembered besides the latest, without those that are over.
fn keep_read(reads: &mut Vec<Entry>, read: Entry, over: impl Fn(&Entry) -> bool) {
    if reads.iter().any(&over) {
        reads.retain(|entry| !over(entry));
    }
    if !reads.iter_mut().any(|entry| entry.merge(&read)) {
        reads.push(read);
    }
    if reads.len() > READERS {
        let wide = widen(reads);
        reads.extend(wide);
    }
}

/// Whether both are parts of one asynchronous copy.
fn is_same_copy(a: &Entry, b: &Entry) -> bool {
    a.agent().is_some()
        && (a.time, a.cta, a.warps, a.lanes, a.site) == (b.time, b.cta, b.warps, b.lanes, b.site)
}

/// Takes entries of threads out of a list, and gives one that stands for all of them.
fn widen(list: &mut Vec<Entry>) -> Option<Entry> {
    let mut wide: Option<Entry> = None;
    list.retain(|entry| {
        if entry.agent().is_some() {
            return true;
        }
        wide = Some(match wide {
            Some(wide) => wide.widened(entry),
            None => entry.widened(entry),
        });
        false
    });
    wide
}

/// The launch that a CTA belongs to.
pub(crate) fn launch_of(launches: &[Launch], cta: u32) -> Option<&Launch> {
    let behind = launches.partition_point(|launch| launch.first <= cta);
    launches[..behind].last()
}

/// Where a CTA is.
pub(crate) fn home_of(launches: &[Launch], cta: u32) -> Option<Home> {
    launch_of(launches, cta).map(|launch| launch.home(launch.block_of(cta)))
}
