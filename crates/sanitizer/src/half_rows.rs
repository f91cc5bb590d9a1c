//! Halves: a row of which each half is accessed as a whole, as by warps whose lanes access a byte each. A half is a [`Row`]
//! of its own, with a pattern for its bytes; whatever takes more than comparing patterns makes cells of both.

use crate::accessor::Accessor;
use crate::check::Checker;
use crate::row::{Pattern, ROW, Row, is_aligned};
use crate::runs::Run;
use crate::shadow::GRANULE;
use machine::fault::Access;

/// Bytes of a half.
pub(crate) const HALF: u64 = ROW / 2;

impl Row {
    /// The halves of one that is in one piece and has no other reads.
    fn halves(&self) -> [Self; 2] {
        let half = |at| {
            let of = |pattern: &Pattern| Pattern { entry: pattern.at(at), shift: pattern.shift };
            Self { write: of(&self.write), read: of(&self.read), ..*self }
        };
        [half(0), half(HALF)]
    }
}

impl Checker<'_> {
    /// An access to all of a half. Returns whether that is all.
    pub(crate) fn half(&mut self, row: &mut Row, at: u64, run: &Run, by: &Accessor<'_>) -> bool {
        let bytes = run.count > 1 && run.bytes < GRANULE && is_aligned(at, HALF);
        let Some(pattern) = run.pattern_at(at).filter(|_| bytes && by.is_plain()) else { return false };
        if !row.is_in_halves() && (row.split != 0 || row.extra != 0) {
            return false;
        }
        if !row.is_in_halves() {
            let number = self.extras.halves.make();
            *self.extras.halves.get_mut(number) = row.halves();
            *row = Row::in_halves(number);
        }
        let half = &mut self.extras.halves.get_mut(row.number())[(at % ROW / HALF) as usize];
        !(half.unwritten && by.access == Access::Load) && by.quickly_row(half, pattern)
    }

    /// A row that was in halves is in one piece again, if all of it is written over.
    pub(crate) fn mend_halves(
        &mut self,
        row: &mut Row,
        (lanes, shift): (u32, u8),
        by: &Accessor<'_>,
    ) -> bool {
        let mut halves = *self.extras.halves.get(row.number());
        let write = Pattern { entry: by.entry_of(lanes), shift };
        let after = |(at, half)| by.quickly_row(half, (write.lanes_of(at), shift));
        let all = (0..).step_by(HALF as usize).zip(&mut halves).all(after);
        if all {
            self.extras.halves.release(row.number());
            *row = Row { write, ..Row::default() };
        }
        all
    }
}
