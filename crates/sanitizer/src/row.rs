//! Rows: the shadow of 64 bytes in one piece, for as long as whoever accesses it accesses all of it.
//!
//! Warps mostly access memory lane after lane. A [`Pattern`] then says of every byte whose it is, and one comparison
//! stands for those of all bytes. A row of which parts are accessed apart is *split*: it has a [`Cell`](crate::shadow::Cell)
//! for every four bytes, until all of it is written over again.

use crate::shadow::{Entry, GRANULE};

/// Bytes of a row.
pub(crate) const ROW: u64 = 64;
/// Cells of a row that is split.
pub(crate) const CELLS: usize = (ROW / GRANULE) as usize;

/// An entry for each byte of a row: the lanes of the first byte, and for every `1 << shift` bytes the lanes after those.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pattern {
    pub(crate) entry: Entry,
    pub(crate) shift: u8,
}

impl Pattern {
    /// The shift of a pattern whose bytes are all of the same lanes.
    pub(crate) const ALIKE: u8 = ROW.trailing_zeros() as u8;

    /// Whose a byte is.
    #[inline(always)]
    pub(crate) fn lanes_of(&self, byte: u64) -> u32 {
        self.entry.lanes.unbounded_shl((byte >> self.shift) as u32)
    }

    /// The entry of a byte.
    pub(crate) fn at(&self, byte: u64) -> Entry {
        Entry { lanes: self.lanes_of(byte), ..self.entry }
    }
}

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Row {
    pub(crate) write: Pattern,
    /// The latest reads.
    pub(crate) read: Pattern,
    /// The number of an [`Extra`](crate::shadow::Extra) that has the other reads, with the shift of the latest; 0 for none.
    pub(crate) extra: u32,
    /// The number of its cells; 0 if it is in one piece.
    pub(crate) split: u32,
    /// Whether nobody has written any of it, if it is in one piece.
    pub(crate) unwritten: bool,
}

impl Row {
    /// One that nobody has accessed.
    pub(crate) fn new(unwritten: bool) -> Self {
        Self { unwritten, ..Self::default() }
    }

    /// The place of an address's cell among those of its row.
    pub(crate) fn cell_of(address: u64) -> usize {
        (address % ROW / GRANULE) as usize
    }
}
