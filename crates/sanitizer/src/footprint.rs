//! Footprints: which words of a row were read and which were written, whoever has done so, in a shadow that began with nothing.

use crate::row::Row;
use crate::shadow::{Extras, ONLY_READS};

/// By bit the words of a row. Where more is remembered than is looked at here, they are all that may have been.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Footprint {
    pub(crate) read: u16,
    pub(crate) written: u16,
}

impl Footprint {
    const ALL: Self = Self { read: !0, written: !0 };

    /// Whether one of both writes what the other one reads or writes.
    pub(crate) fn meets(self, other: Self) -> bool {
        self.written & (other.read | other.written) | self.read & other.written != 0
    }

    pub(crate) fn join(self, other: Self) -> Self {
        Self { read: self.read | other.read, written: self.written | other.written }
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
            return Footprint { read: both(low.read, high.read), written: both(low.written, high.written) };
        }
        if row.has_readers() {
            let read = self.word_readers.get(row.number()).words();
            return Footprint { read, written: all_if(row.write.entry.exists()) };
        }
        if row.is_in_cells() {
            let mut all = Footprint::default();
            for (at, cell) in self.cells(row.split).iter().enumerate() {
                let more = cell.extra != 0;
                let bytes = more && cell.extra & ONLY_READS == 0;
                all.read |= u16::from(more || cell.read.exists()) << at;
                all.written |= u16::from(bytes || cell.write.exists()) << at;
            }
            return all;
        }
        if row.split != 0 {
            return Footprint::ALL;
        }
        let read = if row.read.entry.exists() { row.read.words } else { 0 };
        Footprint { read: read | all_if(row.extra != 0), written: all_if(row.write.entry.exists()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Pattern;
    use crate::shadow::Entry;

    #[test]
    fn footprints_are_the_same_however_a_row_is_kept() {
        let mut extras = Extras::default();
        let entry = Entry::of_lanes(7, 3, 1, 1, 4);
        let mut row = Row { read: Pattern::of_words(entry, 0b110), ..Row::default() };
        assert!(Row::new(true).is_untouched() && !row.is_untouched());
        let read = Footprint { read: 0b110, written: 0 };
        assert_eq!(extras.footprint(&row), read);
        extras.split(&mut row);
        assert_eq!(extras.footprint(&row), read);
        let mut row = Row { write: Pattern::new(entry, 2), ..Row::default() };
        let written = Footprint { read: 0, written: !0 };
        assert_eq!(extras.footprint(&row), written);
        extras.with_cell(&mut row, 8, |_, cell| cell.write = Entry::default());
        assert_eq!(extras.footprint(&row), Footprint { written: !0b100, ..written });
        // Bytes that are told apart may have been written.
        extras.with_cell(&mut row, 8, |extras, cell| _ = extras.bytes_of(cell));
        assert_eq!(extras.footprint(&row), Footprint { read: 0b100, written: !0 });
    }

    #[test]
    fn reads_alone_do_not_meet() {
        let of = |read, written| Footprint { read, written };
        assert!(!of(1, 0).meets(of(1, 0)) && !of(1, 2).meets(of(4, 8)));
        assert!(of(1, 0).meets(of(0, 1)) && of(0, 1).meets(of(1, 0)) && of(0, 1).meets(of(0, 1)));
        assert_eq!(of(1, 2).join(of(4, 2)), of(5, 2));
    }
}
