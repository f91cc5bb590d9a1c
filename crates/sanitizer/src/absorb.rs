//! What a part of a launch has remembered of global memory becomes what everybody remembers: the CTAs of other parts have accessed
//! other words, or have read, too, and whoever was before the launch is known to it.

use crate::accessor::Accessor;
use crate::check::Checker;
use crate::clock::{Clock, Time};
use crate::detector::Detector;
use crate::global::{PAGE, ROWS, bits};
use crate::observed::Observed;
use crate::race::STRONG;
use crate::release::{Home, Released};
use crate::row::{CELLS, Pattern, ROW, Row, is_aligned};
use crate::runs::Run;
use crate::shadow::{Cell, Entry, Extra, Extras, GRANULE, Location, WHOLE};
use crate::shards::{Shard, outside};
use crate::shared_out::on_threads;
use crate::state::home_of;
use machine::fault::Access;
use rustc_hash::FxHashMap;
use std::sync::Arc;

impl Detector {
    /// Takes over what the parts of a launch remember.
    pub(crate) fn absorb(&mut self, launch: usize, mut parts: Vec<Self>) {
        self.time = parts.iter().fold(self.time, |time, part| time.max(part.time));
        self.launches[launch].talks |=
            parts.iter().flat_map(|part| &part.launches).any(|launch| launch.talks);
        // What was found out about addresses is so in all launches.
        let sites = parts.iter().map(|part| &part.sites).max_by_key(|sites| sites.functions_with_anchors());
        if let Some(sites) = sites.filter(|sites| sites.modules() == self.sites.modules()) {
            self.sites = Arc::clone(sites);
        }
        let base = Arc::clone(&self.launches[launch].knowledge.generic);
        let mut replay = Replay { base, own: (u32::MAX, Arc::default()), time: self.time, before: None };
        let mut lists = Vec::new();
        for part in &mut parts {
            part.global.before = None;
            if !self.global.can_keep(&part.global.listed) {
                part.unlist_everything();
            }
            lists.push(std::mem::take(&mut part.global.listed));
        }
        let of_parts = by_page(&parts);
        for &number in of_parts.keys() {
            self.unlist(number * PAGE, PAGE);
            self.global.page(number);
        }
        let mut pages = self.global.rows_to_change(of_parts);
        let left = on_threads(parts.len(), &mut pages, take_rows);
        for (part, address, row) in left.into_iter().flatten() {
            replay.row(self, &mut parts[part].extras, address, row);
        }
        self.time = replay.time;
        // Rows come first: what is kept of their pages would have to be looked at again.
        lists.into_iter().filter(|listed| !listed.pages().is_empty()).for_each(|list| self.global.keep(list));
    }

    /// Reads are listed no longer.
    pub(crate) fn unlist_everything(&mut self) {
        let pages = self.global.listed.pages();
        let ends = pages.iter().min().zip(pages.iter().max());
        if let Some((&first, &last)) = ends {
            self.unlist(first * PAGE, (last - first + 1) * PAGE);
        }
    }
}

/// Memory in shards has other addresses than here, and of each word one shard knows all that the launch has done there.
impl Detector {
    /// Takes over what a shard remembers of a launch.
    pub(crate) fn absorb_shard(&mut self, launch: usize, shard: &mut Shard) {
        let Shard { global, extras: of_shard, .. } = shard;
        global.before = None;
        let pages = global.listed.pages();
        if let Some((&first, &last)) = pages.iter().min().zip(pages.iter().max()) {
            let ends = (first * PAGE, last * PAGE + PAGE - 1);
            Checker::new(of_shard, &self.sites, &self.launches).unlist(global, ends);
        }
        let known = self.launches[launch].knowledge.generic.everyone();
        for number in global.numbers() {
            let Some((rows, accessed)) = global.rows_of(number) else { continue };
            for at in bits(accessed).filter(|&at| !rows[at].is_untouched()) {
                let address = outside(number * PAGE + at as u64 * ROW);
                self.unlist(address, ROW);
                let own = self.global.row(address);
                if !take_row(own, &rows[at]) {
                    let mut row = rows[at];
                    let cells = of_shard.split(&mut row);
                    let own_cells = self.extras.split(own);
                    for place in 0..CELLS {
                        let mut cell = of_shard.cells(cells)[place];
                        let mut own = self.extras.cells(own_cells)[place];
                        follow(&mut self.extras, &mut own, of_shard, &mut cell, known);
                        of_shard.cells_mut(cells)[place] = cell;
                        self.extras.cells_mut(own_cells)[place] = own;
                    }
                }
            }
        }
    }
}

/// Makes a cell what another one says of what has happened since, by who knows all that was until a time: what is here was before that.
fn follow(extras: &mut Extras, own: &mut Cell, of_shard: &mut Extras, cell: &mut Cell, known: Time) {
    if extras.is_split(own) || of_shard.is_split(cell) || own.is_divided() || cell.is_divided() {
        let (mut bytes, mut others) = (*extras.bytes_of(own), *of_shard.bytes_of(cell));
        let both = bytes.iter_mut().zip(&mut others);
        both.for_each(|(byte, other)| follow(extras, byte, of_shard, other, known));
        *extras.bytes_of(own) = bytes;
        own.unwritten &= cell.unwritten;
        return;
    }
    own.unwritten &= cell.unwritten;
    if cell.write.exists() {
        extras.release(own);
        (own.write, own.read, own.shifts) = (cell.write, Entry::default(), cell.shifts);
    }
    if cell.read.exists() {
        (own.read, own.shifts[1]) = (cell.read, cell.shifts[1]);
        for read in of_shard.reads(cell.extra).as_slice() {
            extras.keep_read(&mut own.extra, *read, |entry| entry.time <= known);
        }
    }
    let new = of_shard.get(cell.extra);
    if new.is_strong() {
        extras.of(own).go_on(new);
    }
}

/// Makes a row what another one says, if both are simple.
#[inline(always)]
fn take_row(own: &mut Row, row: &Row) -> bool {
    let simple = [&*own, row].into_iter().all(|row| row.split == 0 && row.extra == 0);
    if simple && row.write.entry.exists() {
        *own = *row;
    } else if simple {
        // Nobody reads after those that are known to the launch without knowing them, too.
        own.read = row.read;
    }
    simple
}

/// A row of a part that is not simple: the part, the address, the row.
type Left = (usize, u64, Row);

/// What a part says of a page: which part, the rows, and by bit those that may have been accessed.
pub(crate) type OfPart<'a> = (usize, &'a [Row; ROWS], u64);

/// What parts say of pages, by the numbers of those that have rows of their own.
pub(crate) fn by_page(parts: &[Detector]) -> FxHashMap<u64, Vec<OfPart<'_>>> {
    let mut pages: FxHashMap<u64, Vec<OfPart<'_>>> = FxHashMap::default();
    for (at, part) in parts.iter().enumerate() {
        for (number, (rows, accessed)) in part.global.all_rows() {
            pages.entry(number).or_default().push((at, rows, accessed));
        }
    }
    pages
}

/// Makes the rows of pages what parts say. What is left to be looked at.
fn take_rows(pages: &mut [(u64, Vec<OfPart<'_>>, &mut [Row; ROWS])]) -> Vec<Left> {
    let mut left = Vec::new();
    for (number, parts, own) in pages {
        for &(part, rows, accessed) in &*parts {
            for at in bits(accessed).filter(|&at| !rows[at].is_untouched()) {
                if !take_row(&mut own[at], &rows[at]) {
                    left.push((part, *number * PAGE + at as u64 * ROW, rows[at]));
                }
            }
        }
    }
    left
}

impl Extra {
    /// Whether strong operations are remembered.
    fn is_strong(&self) -> bool {
        !(self.strong_writes.is_empty() && self.strong_reads.is_empty() && self.behind.is_empty())
    }

    /// What was done strongly since, as another one says, by who knows all that is here.
    fn go_on(&mut self, since: &Self) {
        let new = !self.is_strong();
        self.kind = since.kind.filter(|_| new || self.kind == since.kind);
        self.repeated = self.repeated.max(since.repeated);
        self.forgotten = self.forgotten.max(since.forgotten);
        since.observed.iter().for_each(|observed| _ = self.observe(*observed));
        let lists =
            [(&mut self.strong_writes, &since.strong_writes), (&mut self.strong_reads, &since.strong_reads)];
        for (own, since) in lists {
            own.extend(since);
            own.drain(..own.len().saturating_sub(STRONG));
        }
        self.behind.extend(&since.behind);
        self.behind.drain(..self.behind.len().saturating_sub(STRONG));
        self.location = since.location.clone().or(self.location.take());
        self.polls.clear();
    }

    /// What a part of a launch has counted comes behind what is here, as one of the orders in which that may have been: its first
    /// atomic has observed the last write before, if that is given. Its times are later than what is here, since those of parts
    /// go on side by side; nobody has learned any of them. The latest of them.
    fn follow(&mut self, part: &Self, before: Option<&Location>) -> Time {
        let times = |extra: &Self| {
            let behind = extra.behind.iter().map(|(entry, _)| entry.time);
            let observed = extra.observed.iter().map(|observed| observed.write.1);
            let all = extra.strong_writes.iter().map(|entry| entry.time).chain(behind).chain(observed);
            all.fold((Time::MAX, 0), |(first, last), time| (time.min(first), time.max(last)))
        };
        let by = times(self).1.saturating_add(1).saturating_sub(times(part).0);
        let later = |time: Time| if time == 0 { 0 } else { time.saturating_add(by) };
        let moved = |entry: &Entry| Entry { time: later(entry.time), ..*entry };
        self.repeated = self.repeated.max(later(part.repeated));
        self.forgotten = self.forgotten.max(later(part.forgotten));
        if let Some((before, first)) = before.zip(part.strong_writes.first().map(moved)) {
            let reader = (first.cta, first.warps.trailing_zeros() as u16, first.lanes);
            let write = (before.thread, before.time);
            self.observe(Observed { write, reader, time: first.time, atomic: true });
        }
        for &observed @ Observed { write: (thread, time), time: read, .. } in &part.observed {
            self.observe(Observed { write: (thread, later(time)), time: later(read), ..observed });
        }
        let new = self.strong_writes.is_empty() && self.strong_reads.is_empty();
        self.kind = part.kind.filter(|_| new || self.kind == part.kind);
        self.strong_writes.extend(part.strong_writes.iter().map(moved));
        self.behind.extend(part.behind.iter().map(|(entry, wrote)| (moved(entry), *wrote)));
        self.strong_writes.drain(..self.strong_writes.len().saturating_sub(STRONG));
        self.behind.drain(..self.behind.len().saturating_sub(STRONG));
        self.polls.clear();
        // Atomics pass on what was released before them.
        let released = before.map_or_else(Released::nothing, |before| Arc::clone(&before.released));
        let last = |last: Location| Location { released, time: later(last.time), ..last };
        self.location = part.location.clone().map(last);
        times(self).1
    }
}

/// Accesses that were judged before, and are made once more.
struct Replay {
    /// What the threads of the launch knew when they began.
    base: Arc<Clock>,
    /// The same and all that a CTA has done.
    own: (u32, Arc<Clock>),
    time: Time,
    /// The last write to the location that is counted at.
    before: Option<Location>,
}

impl Replay {
    fn row(&mut self, detector: &mut Detector, extras: &mut Extras, address: u64, mut row: Row) {
        if row.is_in_half_rows() && self.take_half_rows(detector, extras, (address, &row)) {
            return;
        }
        let cells = *{
            let split = extras.split(&mut row);
            extras.cells(split)
        };
        let left = self.take_cells(detector, address, &cells);
        let words = (0..).zip((address..).step_by(GRANULE as usize)).zip(cells);
        for ((_, address), cell) in words.filter(|((at, _), _)| left >> at & 1 != 0) {
            match extras.split_bytes(&cell).copied() {
                Some(bytes) => {
                    for (address, byte) in (address..).zip(&bytes) {
                        self.cell(detector, extras, (address, 1), byte);
                    }
                }
                None => self.cell(detector, extras, (address, GRANULE), &cell),
            }
        }
    }

    /// Makes the halves of a row what a part says of them, if what is known of it is simple. Whether that is all.
    fn take_half_rows(&self, detector: &mut Detector, part: &Extras, (address, row): (u64, &Row)) -> bool {
        let Detector { global, extras, .. } = detector;
        let own = global.row(address);
        let before = |pattern: &Pattern| pattern.entry.time <= self.base.everyone();
        let simple = own.split == 0 && own.extra == 0 && before(&own.write) && before(&own.read);
        let of_words = own.read.entry.exists() && !own.read.is_whole();
        if !simple || of_words {
            return false;
        }
        let mut halves = own.half_rows();
        let of_part = part.half_rows.get(row.number());
        let mut both = halves.iter_mut().zip(of_part);
        let all = both.all(|(own, half)| half.is_untouched() || take_row(own, half));
        if all {
            let number = extras.half_rows.make();
            *extras.half_rows.get_mut(number) = halves;
            *own = Row::in_half_rows(number);
        }
        all
    }

    /// Makes the words of a row what a part says of them, where that is simple and nobody else in the launch has accessed them. Those
    /// that are left, by bit.
    fn take_cells(&self, detector: &mut Detector, address: u64, cells: &[Cell; CELLS]) -> u16 {
        let Detector { global, extras, .. } = detector;
        let split = extras.split(global.row(address));
        let mut left = 0;
        for (at, (own, cell)) in extras.cells_mut(split).iter_mut().zip(cells).enumerate() {
            let before = |entry: &Entry| entry.time <= self.base.everyone();
            if cell.extra != 0 || own.extra != 0 || !before(&own.write) || !before(&own.read) {
                let untouched = cell.extra == 0 && !cell.write.exists() && !cell.read.exists();
                left |= u16::from(!untouched) << at;
            } else if cell.write.exists() {
                *own = *cell;
            } else if cell.read.exists() {
                (own.read, own.shifts[1]) = (cell.read, cell.shifts[1]);
            }
        }
        left
    }

    fn cell(&mut self, detector: &mut Detector, extras: &Extras, (address, bytes): (u64, u64), cell: &Cell) {
        let [of_write, of_read] = cell.shifts;
        let reads = extras.reads(cell.extra).as_slice().iter().map(|read| (*read, of_read, Access::Load));
        let extra = extras.get(cell.extra);
        let all = [(cell.write, of_write, Access::Store), (cell.read, of_read, Access::Load)];
        let all = all.into_iter().chain(reads).filter(|(entry, ..)| entry.exists());
        for (entry, shift, access) in all {
            let run = match shift < WHOLE {
                true => Run { address, lanes: entry.lanes, count: bytes >> shift, bytes: 1 << shift },
                false => Run::of_range(address, bytes, entry.lanes),
            };
            self.access(detector, &run, entry, access);
        }
        // Where bytes are told apart it is not known which element was counted.
        if let Some(first) = extra.strong_writes.first().filter(|_| bytes == GRANULE) {
            let Detector { global, extras, sites, launches, .. } = detector;
            let site = sites.get(first.site());
            let reached = |location: &Location| {
                home_of(launches, first.cta).is_some_and(|home| location.reaches(home, site))
            };
            // The location of eight bytes stands with the first four.
            let begins = is_aligned(address, site.element.into());
            extras.with_cell(global.row(address), address, |extras, cell| {
                let own = extras.of(cell);
                if begins {
                    self.before = own.location.take().filter(reached);
                }
                self.time = own.follow(extra, self.before.as_ref()).max(self.time);
                cell.unwritten = 0;
            });
        }
    }

    fn access(&mut self, detector: &mut Detector, run: &Run, entry: Entry, access: Access) {
        if self.own.0 != entry.cta {
            let mut clock = Clock::clone(&self.base);
            clock.learn_cta(entry.cta, self.time);
            self.own = (entry.cta, Arc::new(clock));
        }
        let home = Home { cta: entry.cta, cluster: entry.cta };
        let warp = entry.warps.trailing_zeros() as u16;
        let Detector { global, extras, sites, launches, .. } = detector;
        let site = *sites.get(entry.site());
        let by = Accessor::new(home, (warp, entry.lanes), &self.own.1, entry, (&site, access));
        let rows = global.rows_from(run.address, run.end());
        Checker::new(extras, sites, launches).run(rows, run, &by);
    }
}
