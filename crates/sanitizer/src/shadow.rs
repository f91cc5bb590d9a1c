//! Shadow memory: for every four bytes of guest memory, who accessed them last, in what way and when.
//!
//! A [`Cell`] holds the last weak write, and the latest weak reads since then as far as they fit into one [`Entry`].
//! Readers that do not know of one another are in [`Readers`], and everything rarer is in an [`Extra`]: strong operations, what
//! was released to the location, and cells of which threads access single bytes. Sixteen cells are one [`Row`] for as long as
//! nobody tells them apart; rows lie in flat pages.

use crate::clock::Time;
use crate::counters::Counters;
use crate::detector::lanes_of;
use crate::observed::{Observed, Thread};
use crate::polls::Poll;
use crate::pool::Pool;
use crate::readers::WordReaders;
use crate::reads::Readers;
use crate::release::{Home, Released};
use crate::row::{CELLS, Pattern, Row};
use crate::site::{Site, SiteId};
use crate::strong::Steady;
use crate::words::Word;
use memory_model::event::Scope;
use std::collections::VecDeque;
use std::sync::Arc;

/// Bytes of a cell.
pub(crate) const GRANULE: u64 = 4;

/// Accesses of one kind: of some lanes of some warps of a CTA, or of an agent. Every warp and every lane has one, though not
/// every lane of every warp if both are several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The latest of them; 0 if there are none.
    pub(crate) time: Time,
    pub(crate) cta: u32,
    /// Which warps, by bit; of an agent its number.
    pub(crate) warps: u32,
    pub(crate) lanes: u32,
    /// The instruction, and in the highest bit whether it is an agent's.
    pub(crate) site: u32,
}

/// In [`Entry::site`]: an agent.
const AGENT: u32 = 1 << 31;

impl Entry {
    /// Of lanes of a warp.
    pub(crate) fn of_lanes(time: Time, cta: u32, warp: u16, lanes: u32, site: SiteId) -> Self {
        Self { time, cta, warps: 1 << warp, lanes, site }
    }

    /// Of an agent.
    pub(crate) fn of_agent(time: Time, cta: u32, agent: u16, lanes: u32, site: SiteId) -> Self {
        Self { time, cta, warps: agent.into(), lanes, site: site | AGENT }
    }

    pub(crate) fn exists(&self) -> bool {
        self.time != 0
    }

    pub(crate) fn site(&self) -> SiteId {
        self.site & !AGENT
    }

    /// The number of the agent, if it is one.
    pub(crate) fn agent(&self) -> Option<u16> {
        (self.site & AGENT != 0).then_some(self.warps as u16)
    }

    /// Whether it is of threads of one CTA.
    pub(crate) fn is_of_threads(&self) -> bool {
        self.site & AGENT == 0
    }

    /// Whether one of those who have accessed has a property, for sure: all lanes of one of the warps, or one of the lanes in
    /// all warps.
    pub(crate) fn surely_has(&self, property: impl Fn(Thread) -> bool) -> bool {
        let has = |warp: u16, lane: u32| property((self.cta, warp, lane));
        if let Some(agent) = self.agent() {
            return lanes_of(self.lanes).any(|lane| has(agent, lane));
        }
        let warps = || lanes_of(self.warps).map(|warp| warp as u16);
        warps().any(|warp| lanes_of(self.lanes).all(|lane| has(warp, lane)))
            || lanes_of(self.lanes).any(|lane| warps().all(|warp| has(warp, lane)))
    }

    /// Whether one of those who may have accessed has a property.
    pub(crate) fn may_have(&self, property: impl Fn(Thread) -> bool) -> bool {
        let of_warp = |warp| lanes_of(self.lanes).any(|lane| property((self.cta, warp, lane)));
        match self.agent() {
            Some(agent) => of_warp(agent),
            None => lanes_of(self.warps).any(|warp| of_warp(warp as u16)),
        }
    }

    /// Whether one of the threads has accessed at this very time before.
    pub(crate) fn is_again(&self, other: &Self) -> bool {
        let (warps, lanes) = (self.warps & other.warps, self.lanes & other.lanes);
        self.time == other.time && self.cta == other.cta && warps != 0 && lanes != 0
    }

    /// Takes another entry in, if it is of the same CTA and time.
    pub(crate) fn merge(&mut self, other: &Self) -> bool {
        let same =
            self.time == other.time && self.cta == other.cta && self.is_of_threads() && other.is_of_threads();
        if same {
            self.warps |= other.warps;
            self.lanes |= other.lanes;
        }
        same
    }
}

/// The shadow of four bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) write: Entry,
    pub(crate) read: Entry,
    /// The number of its [`Extra`]; 0 for none. With [`ONLY_READS`] that of its [`Readers`].
    pub(crate) extra: u32,
    /// Bytes that nobody has written.
    pub(crate) unwritten: u8,
    /// The shifts of `write` and `read`, as of a [`Pattern`]: below [`WHOLE`] the bytes are of different lanes.
    pub(crate) shifts: [u8; 2],
}

impl Default for Cell {
    fn default() -> Self {
        let nobody = Entry::default();
        Self { write: nobody, read: nobody, extra: 0, unwritten: 0, shifts: [WHOLE; 2] }
    }
}

/// The shift of an entry that all bytes of a cell share.
pub(crate) const WHOLE: u8 = GRANULE.trailing_zeros() as u8;

impl Row {
    /// What cells say that say the same as one in one piece without other reads.
    pub(crate) fn fill_cells(&self, cells: &mut [Cell]) {
        let shifts = [self.write.shift.min(WHOLE), self.read.shift.min(WHOLE)];
        let unwritten = if self.unwritten { 0xf } else { 0 };
        for (byte, cell) in (0..).step_by(GRANULE as usize).zip(cells) {
            let (write, read) = (self.write.at(byte), self.read.at(byte));
            *cell = Cell { write, read, extra: 0, unwritten, shifts };
        }
    }
}

impl Cell {
    /// Whether the bytes are of different lanes.
    pub(crate) fn is_divided(&self) -> bool {
        self.write.exists() && self.shifts[0] < WHOLE || self.read.exists() && self.shifts[1] < WHOLE
    }

    /// That of one of its bytes.
    fn of_byte(&self, byte: u64) -> Self {
        let at = |entry, shift| Pattern::new(entry, shift).at(byte);
        let [write, read] = self.shifts;
        Self {
            write: at(self.write, write),
            read: at(self.read, read),
            extra: 0,
            unwritten: self.unwritten >> byte & 1,
            shifts: [WHOLE; 2],
        }
    }
}

/// In [`Cell::extra`]: it is the number of [`Readers`], and there is nothing else.
pub(crate) const ONLY_READS: u32 = 1 << 31;
/// With it: there are as many as are remembered.
pub(crate) const FULL: u32 = 1 << 30;

/// The last strong write to a location, and what was released by it.
#[derive(Clone, Debug)]
pub(crate) struct Location {
    pub(crate) writer: Home,
    pub(crate) scope: Scope,
    pub(crate) bytes: u32,
    pub(crate) thread: Thread,
    pub(crate) time: Time,
    pub(crate) released: Arc<Released>,
}

/// Strong operations of a kind are morally strong among themselves: of one size and scope, whose threads share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    scope: Scope,
    element: u32,
    /// The instance of the scope.
    instance: u32,
}

impl Kind {
    pub(crate) fn of(site: &Site, home: Home) -> Self {
        let instance = match site.scope {
            Scope::Cta => home.cta,
            Scope::Cluster => home.cluster,
            Scope::Gpu | Scope::Sys => 0,
        };
        Self { scope: site.scope, element: site.element, instance }
    }

    /// The bytes of an element, if all threads of a device share the scope.
    pub(crate) fn wide(self) -> Option<u32> {
        (self.scope >= Scope::Gpu).then_some(self.element)
    }
}

/// What few cells have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extra {
    /// The number of its [`Readers`]; 0 for none.
    pub(crate) reads: u32,
    pub(crate) strong_writes: Vec<Entry>,
    pub(crate) strong_reads: Vec<Entry>,
    /// The kind of all strong operations, if they are of one.
    pub(crate) kind: Option<Kind>,
    /// Strong accesses before these, and whether they wrote: for later ones that are weak, or have a narrow scope.
    pub(crate) behind: Vec<(Entry, bool)>,
    pub(crate) observed: VecDeque<Observed>,
    /// When the latest of the observations was made that are forgotten.
    pub(crate) forgotten: Time,
    /// When a thread wrote strongly for the last time that had done so at that time before.
    pub(crate) repeated: Time,
    pub(crate) location: Option<Location>,
    /// Strong reads that would say nothing new.
    pub(crate) polls: Vec<Poll>,
    /// Whose further writes change nothing; only as long as they are all that is done.
    pub(crate) steady: Option<Steady>,
    /// The cells of the single bytes; that of all four is then out of use.
    pub(crate) bytes: Option<Box<[Cell; 4]>>,
}

impl Extra {
    /// Forgets everything but the cells of single bytes, which are returned, and its readers. Memory is kept for who is next.
    fn clear(&mut self) -> Option<Box<[Cell; 4]>> {
        let Self { strong_writes, strong_reads, kind, behind, observed, polls, .. } = self;
        [strong_writes, strong_reads].into_iter().for_each(Vec::clear);
        behind.clear();
        observed.clear();
        polls.clear();
        (*kind, self.location, self.steady) = (None, None, None);
        (self.repeated, self.forgotten) = (0, 0);
        self.bytes.take()
    }
}

/// The number of readers, of an extra that has nothing else.
fn number_of_readers(extra: u32) -> u32 {
    extra & !(ONLY_READS | FULL)
}

/// The number of new readers, of whom there are none yet.
fn made(pool: &mut Pool<Readers>) -> u32 {
    let number = pool.make();
    *pool.get_mut(number) = Readers::default();
    number
}

/// All extras, and the cells, words and half rows of rows that are split. Of extras, readers and cells number 0 stands for none.
#[derive(Debug)]
pub(crate) struct Extras {
    all: Vec<Extra>,
    free: Vec<u32>,
    readers: Pool<Readers>,
    pub(crate) cells: Pool<[Cell; CELLS]>,
    /// By the number of a row's cells, as far as some row of such a number had counters.
    pub(crate) counters: Vec<Counters>,
    pub(crate) words: Pool<[Word; CELLS]>,
    pub(crate) half_rows: Pool<[Row; 2]>,
    pub(crate) word_readers: Pool<WordReaders>,
}

impl Default for Extras {
    fn default() -> Self {
        let (mut readers, mut cells) = (Pool::default(), Pool::default());
        readers.make();
        cells.make();
        Self {
            all: vec![Extra::default()],
            free: Vec::new(),
            readers,
            cells,
            counters: Vec::new(),
            words: Pool::default(),
            half_rows: Pool::default(),
            word_readers: Pool::default(),
        }
    }
}

impl Extras {
    /// Is as if it were new, but for its memory.
    pub(crate) fn forget_all(&mut self) {
        let Self { all, free, readers, cells, counters, words, half_rows, word_readers } = self;
        all.truncate(1);
        all[0] = Extra::default();
        free.clear();
        counters.clear();
        words.clear();
        half_rows.clear();
        word_readers.clear();
        readers.clear();
        cells.clear();
        readers.make();
        cells.make();
    }

    /// Bytes of its memory, but for what single extras have.
    pub(crate) fn memory(&self) -> usize {
        let Self { all, free: _, readers, cells, counters, words, half_rows, word_readers } = self;
        all.capacity() * size_of::<Extra>()
            + counters.capacity() * size_of::<Counters>()
            + [readers.bytes(), cells.bytes(), words.bytes(), half_rows.bytes(), word_readers.bytes()]
                .iter()
                .sum::<usize>()
    }

    fn make(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.all.push(Extra::default());
            self.all.len() as u32 - 1
        })
    }

    /// That of a number; an empty one if there is none.
    pub(crate) fn get(&self, number: u32) -> &Extra {
        &self.all[if number & ONLY_READS == 0 { number as usize } else { 0 }]
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> &mut Extra {
        &mut self.all[number as usize]
    }

    /// That of a cell, made if it has none.
    pub(crate) fn of(&mut self, cell: &mut Cell) -> &mut Extra {
        if cell.extra == 0 || cell.extra & ONLY_READS != 0 {
            let reads = number_of_readers(cell.extra);
            cell.extra = self.make();
            self.all[cell.extra as usize].reads = reads;
        }
        let extra = &mut self.all[cell.extra as usize];
        extra.steady = None;
        extra
    }

    /// That of a cell that has one, in what nothing is changed that is steady.
    pub(crate) fn extra_of(&mut self, cell: &Cell) -> &mut Extra {
        &mut self.all[cell.extra as usize]
    }

    /// The weak reads besides that in a cell or row, of which this is the extra; made if there are none.
    pub(crate) fn readers_of(&mut self, extra: &mut u32) -> &mut Readers {
        let number = match *extra {
            0 => {
                *extra = made(&mut self.readers) | ONLY_READS;
                number_of_readers(*extra)
            }
            only if only & ONLY_READS != 0 => number_of_readers(only),
            more => {
                let reads = &mut self.all[more as usize].reads;
                if *reads == 0 {
                    *reads = made(&mut self.readers);
                }
                *reads
            }
        };
        self.readers.get_mut(number)
    }

    /// Adds a weak read to those besides that in a cell or row, without those that are over.
    pub(crate) fn keep_read(&mut self, extra: &mut u32, read: Entry, over: impl Fn(&Entry) -> bool) {
        let readers = self.readers_of(extra);
        readers.keep(read, over);
        let full = readers.are_full();
        if *extra & ONLY_READS != 0 {
            *extra = if full { *extra | FULL } else { *extra & !FULL };
        }
    }

    /// The weak reads besides that in a cell or row.
    pub(crate) fn reads(&self, extra: u32) -> &Readers {
        let number = if extra & ONLY_READS != 0 { number_of_readers(extra) } else { self.get(extra).reads };
        self.readers.get(number)
    }

    /// Whether one of the threads has strongly written to a cell at this very time before.
    pub(crate) fn has_written(&self, cell: &Cell, new: &Entry) -> bool {
        self.get(cell.extra).strong_writes.iter().any(|entry| entry.is_again(new))
    }

    /// Gives that of a cell, and those of its bytes, back.
    pub(crate) fn release(&mut self, cell: &mut Cell) {
        self.release_extra(&mut cell.extra);
    }

    pub(crate) fn release_extra(&mut self, extra: &mut u32) {
        let number = std::mem::take(extra);
        if number & ONLY_READS != 0 {
            self.readers.release(number_of_readers(number));
        } else if number != 0 {
            let extra = &mut self.all[number as usize];
            let (bytes, reads) = (extra.clear(), std::mem::take(&mut extra.reads));
            self.free.push(number);
            if reads != 0 {
                self.readers.release(reads);
            }
            for mut byte in bytes.into_iter().flat_map(|bytes| *bytes) {
                self.release(&mut byte);
            }
        }
    }

    /// Gives the cells of a row back, which have no extras.
    pub(crate) fn release_cells(&mut self, row: &mut Row) {
        self.cells.release(std::mem::take(&mut row.split));
    }

    /// Gives everything of a row back.
    pub(crate) fn release_row(&mut self, row: &mut Row) {
        self.release_extra(&mut row.extra);
        let number = row.number();
        if row.is_in_words() {
            self.words.release(number);
        } else if row.is_in_half_rows() {
            self.half_rows.release(number);
        } else if row.has_readers() {
            self.word_readers.release(number);
        } else if row.split != 0 {
            for place in 0..CELLS {
                let mut extra = std::mem::take(&mut self.cells.get_mut(number)[place].extra);
                self.release_extra(&mut extra);
            }
            self.cells.release(number);
        }
        row.split = 0;
    }

    /// The cells of a row that is split.
    pub(crate) fn cells(&self, split: u32) -> &[Cell; CELLS] {
        self.cells.get(split)
    }

    pub(crate) fn cells_mut(&mut self, split: u32) -> &mut [Cell; CELLS] {
        self.cells.get_mut(split)
    }

    /// A cell of a row that is split, with its extra. Readers alone are none.
    #[inline(always)]
    pub(crate) fn cell_with_extra(&mut self, split: u32, place: usize) -> (&mut Cell, Option<&mut Extra>) {
        let cell = &mut self.cells.get_mut(split)[place];
        let extra = match cell.extra {
            0 => None,
            readers if readers & ONLY_READS != 0 => None,
            number => Some(&mut self.all[number as usize]),
        };
        (cell, extra)
    }

    #[inline(always)]
    pub(crate) fn words_mut(&mut self, row: &Row) -> &mut [Word; CELLS] {
        self.words.get_mut(row.number())
    }

    /// Gives a row that has cells counters.
    pub(crate) fn add_counters(&mut self, row: &mut Row, counters: Counters) {
        let number = row.split as usize;
        if number >= self.counters.len() {
            self.counters.resize(number + 1, counters);
        }
        self.counters[number] = counters;
        row.start_counting();
    }

    /// Gives a row cells, unless it has them; their number.
    #[inline(always)]
    pub(crate) fn split(&mut self, row: &mut Row) -> u32 {
        if !row.is_in_cells() {
            if row.is_in_words() {
                self.words_to_cells(row);
            } else if row.is_in_half_rows() {
                self.halves_to_cells(row);
            } else if row.has_readers() {
                self.readers_to_cells(row);
            } else if row.is_counting() {
                self.settle(row);
            } else {
                self.divide(row);
            }
        }
        row.split
    }

    #[cold]
    #[inline(never)]
    fn words_to_cells(&mut self, row: &mut Row) {
        let (words, cta) = (*self.words_mut(row), row.cta_of_words());
        self.words.release(row.number());
        *row = Row { split: self.cells.make(), ..Row::default() };
        *self.cells.get_mut(row.split) = words.map(|word| word.cell(cta));
    }

    #[cold]
    #[inline(never)]
    fn halves_to_cells(&mut self, row: &mut Row) {
        let halves = *self.half_rows.get(row.number());
        self.half_rows.release(row.number());
        *row = Row { split: self.cells.make(), ..Row::default() };
        let cells = self.cells.get_mut(row.split);
        halves.iter().zip(cells.chunks_mut(CELLS / 2)).for_each(|(half, cells)| half.fill_cells(cells));
    }

    #[cold]
    #[inline(never)]
    fn divide(&mut self, row: &mut Row) {
        let reads = *self.reads(row.extra);
        self.release_extra(&mut row.extra);
        row.split = self.cells.make();
        row.fill_cells(self.cells.get_mut(row.split));
        if !reads.as_slice().is_empty() {
            self.divide_reads(row, reads.as_slice());
        }
    }

    /// Gives the other reads of a row to its new cells.
    fn divide_reads(&mut self, row: &Row, reads: &[Entry]) {
        let of_read = |entry: &Entry, byte| Pattern::new(*entry, row.read.shift).at(byte);
        let mut cells = *self.cells(row.split);
        for (byte, cell) in (0..).step_by(GRANULE as usize).zip(&mut cells) {
            if row.read.shift >= WHOLE {
                let readers = self.readers_of(&mut cell.extra);
                reads.iter().for_each(|entry| readers.push(of_read(entry, byte)));
                continue;
            }
            let mut parts = *self.bytes_of(cell);
            for (byte, part) in (byte..).zip(&mut parts) {
                let readers = self.readers_of(&mut part.extra);
                reads.iter().for_each(|entry| readers.push(of_read(entry, byte)));
            }
            *self.bytes_of(cell) = parts;
        }
        *self.cells_mut(row.split) = cells;
    }

    /// Does something to the cell of an address.
    pub(crate) fn with_cell<T>(
        &mut self,
        row: &mut Row,
        address: u64,
        act: impl FnOnce(&mut Self, &mut Cell) -> T,
    ) -> T {
        let (split, place) = (self.split(row), Row::cell_of(address));
        let mut cell = self.cells(split)[place];
        let result = act(self, &mut cell);
        self.cells_mut(split)[place] = cell;
        result
    }

    /// All bytes of a row count as written.
    pub(crate) fn mark_written(&mut self, row: &mut Row) {
        row.unwritten = false;
        if row.is_in_words() {
            self.words_mut(row).iter_mut().for_each(Word::mark_written);
        } else if row.is_in_half_rows() {
            self.half_rows.get_mut(row.number()).iter_mut().for_each(|half| half.unwritten = false);
        } else if row.split != 0 && !row.has_readers() {
            self.cells_mut(row.number()).iter_mut().for_each(|cell| cell.unwritten = 0);
        }
    }

    /// Whether all bytes of the word at an address are written.
    pub(crate) fn is_written(&self, row: &Row, address: u64) -> bool {
        let (number, place) = (row.number(), Row::cell_of(address));
        if row.is_in_words() {
            self.words.get(number)[place].is_written()
        } else if row.is_in_half_rows() {
            !self.half_rows.get(number)[place / (CELLS / 2)].unwritten
        } else if row.split == 0 || row.has_readers() {
            !row.unwritten
        } else {
            self.cells(number)[place].unwritten == 0
        }
    }

    /// Words of a row count as written.
    pub(crate) fn have_written(&mut self, row: &mut Row, words: impl Fn(usize) -> bool) {
        if (0..CELLS).all(&words) {
            return self.mark_written(row);
        }
        for place in (0..CELLS).filter(|place| words(*place)) {
            let address = place as u64 * GRANULE;
            if !self.is_written(row, address) {
                self.with_cell(row, address, |_, cell| cell.unwritten = 0);
            }
        }
    }

    /// The cells of the single bytes of a cell, which are made if need be.
    pub(crate) fn bytes_of(&mut self, cell: &mut Cell) -> &mut [Cell; 4] {
        let whole = *cell;
        let extra = self.of(cell);
        if extra.bytes.is_none() {
            let kept = Extra { bytes: None, ..std::mem::take(extra) };
            let mut bytes = [0, 1, 2, 3].map(|byte| whole.of_byte(byte));
            let plain = kept.reads == 0 && kept.strong_writes.is_empty() && kept.strong_reads.is_empty();
            for byte in &mut bytes {
                if !plain || kept.location.is_some() {
                    let reads = if kept.reads == 0 { 0 } else { made(&mut self.readers) };
                    *self.readers.get_mut(reads) = *self.readers.get(kept.reads);
                    *self.of(byte) = Extra { reads, ..kept.clone() };
                }
            }
            if kept.reads != 0 {
                self.readers.release(kept.reads);
            }
            self.all[cell.extra as usize].bytes = Some(Box::new(bytes));
        }
        let bytes = &mut self.all[cell.extra as usize].bytes;
        bytes.get_or_insert_with(Box::default)
    }

    /// The same, if it is split into bytes.
    pub(crate) fn split_bytes(&self, cell: &Cell) -> Option<&[Cell; 4]> {
        self.get(cell.extra).bytes.as_deref()
    }

    /// The location that a byte of a cell is the first of.
    pub(crate) fn location(&self, cell: &Cell, byte: u64) -> Option<Location> {
        self.get(self.extra_of_byte(cell, byte)).location.clone()
    }

    /// The same, which then is no longer there.
    pub(crate) fn take_location(&mut self, cell: &Cell, byte: u64) -> Option<Location> {
        match self.extra_of_byte(cell, byte) {
            number if number & ONLY_READS != 0 => None,
            number => self.all[number as usize].location.take(),
        }
    }

    fn extra_of_byte(&self, cell: &Cell, byte: u64) -> u32 {
        self.split_bytes(cell).map_or(cell.extra, |parts| parts[byte as usize].extra)
    }

    pub(crate) fn set_location(&mut self, cell: &mut Cell, byte: u64, location: Location) {
        let set = |extra: &mut Extra| {
            extra.location = Some(location);
            extra.polls.clear();
        };
        if self.is_split(cell) {
            let mut part = self.bytes_of(cell)[byte as usize];
            set(self.of(&mut part));
            self.bytes_of(cell)[byte as usize] = part;
        } else {
            set(self.of(cell));
        }
    }

    pub(crate) fn is_split(&self, cell: &Cell) -> bool {
        self.split_bytes(cell).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_one_cta_and_time_are_one() {
        let mut a = Entry::of_lanes(5, 1, 0, 0b1, 9);
        assert!(a.merge(&Entry::of_lanes(5, 1, 3, 0b10, 8)));
        assert_eq!((a.warps, a.lanes, a.site()), (0b1001, 0b11, 9));
        assert!(!a.merge(&Entry::of_lanes(6, 1, 3, 1, 8)) && !a.merge(&Entry::of_agent(5, 1, 32, 1, 8)));
    }

    #[test]
    fn a_split_cell_keeps_what_it_knew() {
        let mut extras = Extras::default();
        let mut cell = Cell { write: Entry::of_lanes(2, 0, 0, 1, 4), unwritten: 0xf, ..Cell::default() };
        extras.of(&mut cell).strong_reads.push(cell.write);
        let bytes = *extras.bytes_of(&mut cell);
        assert!(bytes.iter().all(|b| b.write == cell.write && b.unwritten == 1 && b.extra != 0));
        assert!(extras.is_split(&cell));
        extras.release(&mut cell);
        assert_eq!(extras.free.len(), 5);
    }

    #[test]
    fn a_split_row_keeps_what_it_knew() {
        let mut extras = Extras::default();
        let pattern = |lanes, shift| Pattern::new(Entry::of_lanes(7, 3, 1, lanes, 4), shift);
        let other = Entry::of_lanes(6, 2, 0, 1, 5);
        // Halves of a word, by lanes 0 to 31, were written, and words read by lanes 0 to 15, after other reads.
        let mut row = Row { write: pattern(1, 1), read: pattern(1, 2), unwritten: true, ..Row::default() };
        extras.keep_read(&mut row.extra, other, |_| false);
        let split = extras.split(&mut row);
        let mut cell = extras.cells(split)[5];
        assert_eq!((row.extra, cell.unwritten), (0, 0xf));
        let bytes = *extras.bytes_of(&mut cell);
        extras.cells_mut(split)[5] = cell;
        let lanes = bytes.map(|byte| (byte.write.lanes, byte.read.lanes));
        assert_eq!(lanes, [(1 << 10, 1 << 5), (1 << 10, 1 << 5), (1 << 11, 1 << 5), (1 << 11, 1 << 5)]);
        assert_eq!(extras.reads(bytes[3].extra).as_slice(), [Entry { lanes: 1 << 5, ..other }]);
        extras.release_row(&mut row);
        assert_eq!((extras.cells.free(), extras.all.len() - extras.free.len()), (1, 1));
        assert_eq!(extras.readers.used(), 1);
    }
}
