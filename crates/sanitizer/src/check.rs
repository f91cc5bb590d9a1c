//! An access to a run of bytes, taken apart into rows, cells and bytes until what the shadow remembers is the same for all of
//! a piece.

use crate::accessor::Accessor;
use crate::global::byte_mask;
use crate::half_rows::HALF_ROW;
use crate::locks::Locks;
use crate::race::Conflict;
use crate::row::{Pattern, ROW, Row, is_aligned};
use crate::runs::Run;
use crate::shadow::{Cell, Entry, Extras, GRANULE, ONLY_READS, WHOLE};
use crate::site::Sites;
use crate::state::Launch;
use machine::fault::Access;

/// What checks work with, and what they have found: the first of an instruction is enough.
pub(crate) struct Checker<'a> {
    pub(crate) extras: &'a mut Extras,
    pub(crate) sites: &'a Sites,
    pub(crate) launches: &'a [Launch],
    /// Of an analysis of locks who holds which.
    pub(crate) locks: Option<&'a Locks>,
    /// With the element's address.
    pub(crate) conflict: Option<(Conflict, u64)>,
    /// Bytes that nobody has written were read, at this address by these lanes of a warp.
    pub(crate) unwritten: Option<(u64, u16, u32)>,
    /// Whether it is shared memory of the CTA that accesses it.
    pub(crate) own: bool,
    /// The element that is accessed now.
    pub(crate) element: u64,
}

impl<'a> Checker<'a> {
    pub(crate) fn new(extras: &'a mut Extras, sites: &'a Sites, launches: &'a [Launch]) -> Self {
        Self { extras, sites, launches, locks: None, conflict: None, unwritten: None, own: false, element: 0 }
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
                None if next - at == HALF_ROW && self.half(row, at, run, by) => {}
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
        if row.has_readers() {
            return self.read_words(row, (Row::cell_of(at), count, shift), lanes, by);
        }
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
                    false if row.is_in_half_rows() => self.mend_half_rows(row, (lanes, shift), by),
                    false if row.has_readers() => self.mend_readers(row, (lanes, shift), by),
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
        // By barriers of the grid and flags, what is before is known thread by thread.
        let known = |pattern: &Pattern| {
            by.plainly_after(&pattern.entry) || by.is_after(&pattern.of_all_bytes(), by.clock, false)
        };
        if !(known(&row.write) || own(&row.write)) {
            return false;
        }
        match by.access {
            // Other reads have the shift of the latest.
            Access::Load if (row.extra == 0 || row.read.shift == shift) && known(&row.read) => {
                row.read = Pattern::new(by.entry_of(lanes), shift);
                true
            }
            Access::Load if row.read.shift == shift && row.read.is_whole() => {
                let over = |entry: &Entry| by.plainly_after(entry) || by.repeats(entry, lanes);
                self.extras.keep_read(&mut row.extra, row.read.entry, over);
                row.read.entry = by.entry_of(lanes);
                true
            }
            Access::Store => {
                let of_reads = row.read.shift;
                let before = |entry: &Entry| known(&Pattern::new(*entry, of_reads));
                let all = (known(&row.read) || own(&row.read))
                    && (row.extra == 0 || self.extras.reads(row.extra).as_slice().iter().all(before));
                if all {
                    self.extras.release_row(row);
                    let write = Pattern::new(by.entry_of(lanes), shift);
                    *row = Row { write, ..Row::default() };
                }
                all
            }
            Access::Load | Access::Atomic => false,
        }
    }

    /// A row that was split is in one piece again, if all of it is written over.
    fn mend(&mut self, row: &mut Row, (lanes, shift): (u32, u8), by: &Accessor<'_>) -> bool {
        let write = Pattern::new(by.entry_of(lanes), shift);
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
        let whole = bytes == 0xf && by.is_plain();
        if whole && (by.quickly(cell, (lanes, shift)) || self.another_read((row, at), (lanes, shift), by)) {
            return;
        }
        self.closely((row, at), bytes, (lanes, shift), by);
    }

    /// A read of a cell that has nothing but a write before it, and reads by others. Returns whether it is one.
    #[inline(never)]
    pub(crate) fn another_read(
        &mut self,
        (row, at): (u32, usize),
        (lanes, shift): (u32, u8),
        by: &Accessor<'_>,
    ) -> bool {
        let cell = &mut self.extras.cells_mut(row)[at];
        let simple = by.access == Access::Load
            && (cell.extra == 0 || cell.extra & ONLY_READS != 0)
            && [shift, cell.shifts[0], cell.shifts[1]] == [WHOLE; 3]
            && by.plainly_after(&cell.write);
        if simple {
            // The latest stands in the cell: the same threads will often read again.
            let earlier = std::mem::replace(&mut cell.read, by.entry_of(lanes));
            let over = |entry: &Entry| by.reads_over(entry, lanes);
            if !over(&earlier) {
                let mut extra = cell.extra;
                self.extras.keep_read(&mut extra, earlier, over);
                self.extras.cells_mut(row)[at].extra = extra;
            }
        }
        simple
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
}
