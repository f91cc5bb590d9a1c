//! Footprints: which words of a row were read, which were written and which were counted, whoever has done so, in a shadow that began
//! with nothing.

use crate::row::Row;
use crate::shadow::{Cell, Extra, Extras, Kind, ONLY_READS};

/// By bit the words of a row. Where more is remembered than is looked at here, they are all that may have been.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Footprint {
    pub(crate) read: u16,
    pub(crate) written: u16,
    /// Changed by strong operations of a wide scope alone, of four bytes and of eight: those of one size do not race.
    pub(crate) counted: [u16; 2],
}

impl Footprint {
    const ALL: Self = Self { read: !0, written: !0, counted: [0; 2] };

    /// What was changed.
    pub(crate) fn changed(self) -> u16 {
        self.written | self.counted[0] | self.counted[1]
    }

    /// Whether one of both changes what the other one accesses, but for what both count.
    pub(crate) fn meets(self, other: Self) -> bool {
        let [words, pairs] = self.counted;
        let by_other = other.read | other.written;
        self.read & other.changed() != 0
            || self.written & (other.read | other.changed()) != 0
            || words & (by_other | other.counted[1]) != 0
            || pairs & (by_other | other.counted[0]) != 0
    }

    pub(crate) fn join(self, other: Self) -> Self {
        let counted = [0, 1].map(|size| self.counted[size] | other.counted[size]);
        Self { read: self.read | other.read, written: self.written | other.written, counted }
    }

    /// The same with what a cell says of a word.
    fn with_cell(mut self, word: usize, cell: &Cell, extra: &Extra) -> Self {
        let bit = 1 << word;
        let only_reads = cell.extra & ONLY_READS != 0;
        let bytes = extra.bytes.is_some();
        if bytes || only_reads || cell.read.exists() || extra.reads != 0 || !extra.strong_reads.is_empty() {
            self.read |= bit;
        }
        let counts = !extra.strong_writes.is_empty();
        match extra.kind.and_then(Kind::wide) {
            Some(4) if counts => self.counted[0] |= bit,
            Some(8) if counts => self.counted[1] |= bit,
            _ if counts || bytes => self.written |= bit,
            _ => {}
        }
        if cell.write.exists() {
            self.written |= bit;
        }
        self
    }
}

impl Row {
    /// Whether nobody has accessed it.
    #[inline(always)]
    pub(crate) fn is_untouched(&self) -> bool {
        self.split == 0 && self.extra == 0 && !self.write.entry.exists() && !self.read.entry.exists()
    }
}

fn all_if(exists: bool) -> u16 {
    if exists { !0 } else { 0 }
}

impl Extras {
    /// That of a row.
    pub(crate) fn footprint(&self, row: &Row) -> Footprint {
        if row.is_in_half_rows() {
            let [low, high] = self.half_rows.get(row.number()).map(|half| self.footprint(&half));
            let both = |low: u16, high: u16| low & 0xff | high & 0xff00;
            let written = both(low.written, high.written);
            return Footprint { read: both(low.read, high.read), written, ..Footprint::default() };
        }
        if row.has_readers() {
            let read = self.word_readers.get(row.number()).words();
            return Footprint { read, written: all_if(row.write.entry.exists()), ..Footprint::default() };
        }
        if row.is_in_cells() {
            let cells = self.cells(row.split).iter().enumerate();
            let with_cell =
                |all: Footprint, (at, cell): (usize, &Cell)| all.with_cell(at, cell, self.get(cell.extra));
            return cells.fold(Footprint::default(), with_cell);
        }
        if row.split != 0 {
            return Footprint::ALL;
        }
        let read = if row.read.entry.exists() { row.read.words } else { 0 };
        let written = all_if(row.write.entry.exists());
        Footprint { read: read | all_if(row.extra != 0), written, ..Footprint::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Pattern;
    use crate::shadow::Entry;

    #[test]
    fn footprints_are_the_same_however_a_row_is_kept() {
        let none = Footprint::default();
        let mut extras = Extras::default();
        let entry = Entry::of_lanes(7, 3, 1, 1, 4);
        let mut row = Row { read: Pattern::of_words(entry, 0b110), ..Row::default() };
        assert!(Row::new(true).is_untouched() && !row.is_untouched());
        let read = Footprint { read: 0b110, ..none };
        assert_eq!(extras.footprint(&row), read);
        extras.split(&mut row);
        assert_eq!(extras.footprint(&row), read);
        let mut row = Row { write: Pattern::new(entry, 2), ..Row::default() };
        let written = Footprint { written: !0, ..none };
        assert_eq!(extras.footprint(&row), written);
        extras.with_cell(&mut row, 8, |_, cell| cell.write = Entry::default());
        assert_eq!(extras.footprint(&row), Footprint { written: !0b100, ..written });
        // Bytes that are told apart may have been written.
        extras.with_cell(&mut row, 8, |extras, cell| _ = extras.bytes_of(cell));
        assert_eq!(extras.footprint(&row), Footprint { read: 0b100, written: !0, ..none });
    }

    #[test]
    fn reads_alone_do_not_meet() {
        let of = |read, written| Footprint { read, written, ..Footprint::default() };
        assert!(!of(1, 0).meets(of(1, 0)) && !of(1, 2).meets(of(4, 8)));
        assert!(of(1, 0).meets(of(0, 1)) && of(0, 1).meets(of(1, 0)) && of(0, 1).meets(of(0, 1)));
        assert_eq!(of(1, 2).join(of(4, 2)), of(5, 2));
    }

    #[test]
    fn what_is_counted_alike_does_not_meet() {
        let none = Footprint::default();
        let of = |counted| Footprint { counted, ..none };
        assert!(
            !of([1, 0]).meets(of([1, 0])) && !of([0, 1]).meets(of([0, 1])) && !of([1, 0]).meets(of([0, 2]))
        );
        assert!(of([1, 0]).meets(of([0, 1])) && of([0, 1]).meets(of([1, 0])));
        for weak in [Footprint { read: 1, ..none }, Footprint { written: 1, ..none }] {
            assert!([[1, 0], [0, 1]].iter().all(|&at| of(at).meets(weak) && weak.meets(of(at))));
            assert!(!of([2, 4]).meets(weak) && !weak.meets(of([2, 4])));
        }
        assert_eq!((of([1, 2]).join(of([2, 4])), of([1, 2]).changed()), (of([3, 6]), 3));
    }
}
