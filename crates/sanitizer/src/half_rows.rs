//! Half rows: a row of which each half is accessed as a whole, as by warps whose lanes access a byte each. A half is a [`Row`]
//! of its own, with a pattern for its bytes; whatever takes more than comparing patterns makes cells of both.

use crate::accessor::Accessor;
use crate::check::Checker;
use crate::row::{Pattern, ROW, Row, is_aligned};
use crate::runs::Run;
use crate::shadow::GRANULE;
use machine::fault::Access;

/// Bytes of a half.
pub(crate) const HALF_ROW: u64 = ROW / 2;

impl Row {
    /// The halves of one that is in one piece and has no other reads.
    pub(crate) fn half_rows(&self) -> [Self; 2] {
        let half = |at| {
            let of = |pattern: &Pattern| Pattern::new(pattern.at(at), pattern.shift);
            Self { write: of(&self.write), read: of(&self.read), ..*self }
        };
        [half(0), half(HALF_ROW)]
    }
}

impl Checker<'_> {
    /// An access to all of a half. Returns whether that is all.
    pub(crate) fn half(&mut self, row: &mut Row, at: u64, run: &Run, by: &Accessor<'_>) -> bool {
        let bytes = run.count > 1 && run.bytes < GRANULE && is_aligned(at, HALF_ROW);
        let Some(pattern) = run.pattern_at(at).filter(|_| bytes && by.is_plain()) else { return false };
        let simple = row.split == 0 && row.extra == 0 && (row.read.is_whole() || !row.read.entry.exists());
        if !row.is_in_half_rows() && !simple {
            return false;
        }
        if !row.is_in_half_rows() {
            let number = self.extras.half_rows.make();
            *self.extras.half_rows.get_mut(number) = row.half_rows();
            *row = Row::in_half_rows(number);
        }
        let half = &mut self.extras.half_rows.get_mut(row.number())[(at % ROW / HALF_ROW) as usize];
        !(half.unwritten && by.access == Access::Load) && by.quickly_row(half, pattern)
    }

    /// A row that was in halves is in one piece again, if all of it is written over.
    pub(crate) fn mend_half_rows(
        &mut self,
        row: &mut Row,
        (lanes, shift): (u32, u8),
        by: &Accessor<'_>,
    ) -> bool {
        let mut halves = *self.extras.half_rows.get(row.number());
        let write = Pattern::new(by.entry_of(lanes), shift);
        let after = |(at, half)| by.quickly_row(half, (write.lanes_of(at), shift));
        let all = (0..).step_by(HALF_ROW as usize).zip(&mut halves).all(after);
        if all {
            self.extras.half_rows.release(row.number());
            *row = Row { write, ..Row::default() };
        }
        all
    }
}
