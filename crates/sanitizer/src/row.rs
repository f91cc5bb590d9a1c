//! Rows: the shadow of 64 bytes in one piece, for as long as whoever accesses it accesses all of it.
//!
//! Warps mostly access memory lane after lane. A [`Pattern`] then says of every byte whose it is, and one comparison
//! stands for those of all bytes. A row of which parts are accessed apart is *split*: it has a [`Cell`](crate::shadow::Cell)
//! for every four bytes, or in simple cases a [`Word`](crate::words::Word), a [reader](crate::readers) or two, or two
//! [half rows](crate::half_rows), until all of it is written over again.

use crate::shadow::{Entry, GRANULE};

/// Bytes of a row.
pub(crate) const ROW: u64 = 64;
/// Cells of a row that is split.
pub(crate) const CELLS: usize = (ROW / GRANULE) as usize;
/// In [`Row::split`]: the number is one of words, and [`Row::write`] is of their CTA.
const WORDS: u32 = 1 << 31;
/// In [`Row::split`]: the cells have [counters](crate::counters).
const COUNTERS: u32 = 1 << 30;
/// In [`Row::split`]: the number is one of [half rows](crate::half_rows).
const HALF_ROWS: u32 = 1 << 29;
/// In [`Row::split`]: the number is one of [readers](crate::readers) of its words, and [`Row::write`] is of all of it.
const READERS: u32 = 1 << 28;

/// Whether an address is a multiple of a power of two.
#[inline(always)]
pub(crate) fn is_aligned(address: u64, to: u64) -> bool {
    address & to.wrapping_sub(1) == 0
}

/// An entry for each byte of a row: the lanes of the first byte, and for every `1 << shift` bytes the lanes after those. Reads by
/// one thread may be of some words alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pattern {
    pub(crate) entry: Entry,
    pub(crate) shift: u8,
    /// The words of which it says anything, by bit.
    pub(crate) words: u16,
}

/// All words of a row.
const ALL: u16 = !0;

impl Pattern {
    /// The shift of a pattern whose bytes are all of the same lanes.
    pub(crate) const ALIKE: u8 = ROW.trailing_zeros() as u8;

    /// Of all bytes of a row.
    #[inline(always)]
    pub(crate) fn new(entry: Entry, shift: u8) -> Self {
        Self { entry, shift, words: ALL }
    }

    /// Of some words, which one thread accesses.
    #[inline(always)]
    pub(crate) fn of_words(entry: Entry, words: u16) -> Self {
        Self { entry, shift: Self::ALIKE, words }
    }

    /// Whether it is of all bytes.
    #[inline(always)]
    pub(crate) fn is_whole(&self) -> bool {
        self.words == ALL
    }

    /// Whose a byte is.
    #[inline(always)]
    pub(crate) fn lanes_of(&self, byte: u64) -> u32 {
        self.entry.lanes.unbounded_shl((byte >> self.shift) as u32)
    }

    /// The entry of all lanes that it says anything of.
    pub(crate) fn of_all_bytes(&self) -> Entry {
        let bytes = (0..ROW).step_by(1 << self.shift.min(ROW.trailing_zeros() as u8));
        Entry { lanes: bytes.fold(0, |lanes, byte| lanes | self.lanes_of(byte)), ..self.entry }
    }

    /// The entry of a byte.
    pub(crate) fn at(&self, byte: u64) -> Entry {
        match self.words >> (byte / GRANULE) & 1 {
            0 => Entry::default(),
            _ => Entry { lanes: self.lanes_of(byte), ..self.entry },
        }
    }
}

/// See the module. It fills a line of the host's cache.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(crate) struct Row {
    pub(crate) write: Pattern,
    /// The latest reads.
    pub(crate) read: Pattern,
    /// The number of an [`Extra`](crate::shadow::Extra) that has the other reads, with the shift of the latest; 0 for none.
    pub(crate) extra: u32,
    /// The number of its cells, of its [words](crate::words) or half rows, and which of these; 0 if it is in one piece.
    pub(crate) split: u32,
    /// Whether nobody has written any of it, if it is in one piece.
    pub(crate) unwritten: bool,
}

impl Row {
    /// One that nobody has accessed.
    pub(crate) fn new(unwritten: bool) -> Self {
        Self { unwritten, ..Self::default() }
    }

    /// Whether it has cells, and no counters.
    #[inline(always)]
    pub(crate) fn is_in_cells(&self) -> bool {
        self.split.wrapping_sub(1) < READERS - 1
    }

    /// Whether it is in half rows.
    #[inline(always)]
    pub(crate) fn is_in_half_rows(&self) -> bool {
        self.split & HALF_ROWS != 0
    }

    /// One that has the half rows of a number.
    pub(crate) fn in_half_rows(number: u32) -> Self {
        Self { split: number | HALF_ROWS, ..Self::default() }
    }

    /// Whether it has readers of its words.
    #[inline(always)]
    pub(crate) fn has_readers(&self) -> bool {
        self.split & READERS != 0
    }

    /// The same that has the readers of a number.
    pub(crate) fn with_readers(&self, number: u32) -> Self {
        Self { split: number | READERS, read: Pattern::default(), ..*self }
    }

    /// Whether its cells have counters.
    #[inline(always)]
    pub(crate) fn is_counting(&self) -> bool {
        self.split & COUNTERS != 0
    }

    pub(crate) fn start_counting(&mut self) {
        self.split |= COUNTERS;
    }

    pub(crate) fn stop_counting(&mut self) {
        self.split &= !COUNTERS;
    }

    /// Whether it has words.
    #[inline(always)]
    pub(crate) fn is_in_words(&self) -> bool {
        self.split & WORDS != 0
    }

    /// One that has the words of a number, all of them of a CTA.
    pub(crate) fn in_words(number: u32, cta: u32) -> Self {
        let write = Pattern::new(Entry { cta, ..Entry::default() }, Pattern::ALIKE);
        Self { split: number | WORDS, write, ..Self::default() }
    }

    /// The number of its cells, words, readers or half rows.
    #[inline(always)]
    pub(crate) fn number(&self) -> u32 {
        self.split & !(WORDS | COUNTERS | HALF_ROWS | READERS)
    }

    /// The CTA that its words are of.
    pub(crate) fn cta_of_words(&self) -> u32 {
        self.write.entry.cta
    }

    /// The place of an address's cell among those of its row.
    pub(crate) fn cell_of(address: u64) -> usize {
        (address % ROW / GRANULE) as usize
    }
}
