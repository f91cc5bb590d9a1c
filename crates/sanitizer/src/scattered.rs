//! Reads of global memory here and there, by each lane at another place: of words that have [readers](crate::readers) or cells.
//!
//! All that is remembered of the lanes' words is looked up first. If none of it is in the host's caches, all of it comes at the same
//! time then, and not one after the other.

use crate::accessor::Accessor;
use crate::check::Checker;
use crate::global::Global;
use crate::row::{Row, is_aligned};
use crate::runs::each_lane;
use crate::shadow::{FULL, GRANULE, ONLY_READS, WHOLE};
use machine::memory::SHARED_WINDOW;

/// Lanes from which on it is worth it.
pub(crate) const SCATTERED: u32 = 8;

impl Checker<'_> {
    /// Reads of one element each. The lanes that are left to who looks closer.
    pub(crate) fn scattered(
        &mut self,
        global: &mut Global,
        (addresses, bytes, mask): (&[u64; 32], u64, u32),
        by: &Accessor<'_>,
    ) -> u32 {
        if !matches!(bytes, 4 | 8) || !by.is_plain() {
            return mask;
        }
        let count = (bytes / GRANULE) as usize;
        let (mut splits, mut numbers, mut done) = ([0; 32], [0; 32], 0);
        let places = splits.iter_mut().zip(&mut numbers);
        for ((split, number), (lane, address)) in places.zip(each_lane(addresses, mask)) {
            // An access to where nothing can be will fault.
            if address >= SHARED_WINDOW || !is_aligned(address, bytes) {
                continue;
            }
            let row = global.row(address);
            if row.is_in_cells() {
                *split = row.split;
            } else if self.read_alone(row, (Row::cell_of(address), count), lane, by) {
                done |= lane;
            } else if let Some(of_row) = self.with_readers(row, lane, by) {
                // Of readers there is a number 0, too.
                *number = of_row + 1;
            }
        }
        let mut extras = [0; 32];
        let mut known = 0;
        let lanes = extras.iter_mut().zip(splits).zip(numbers).zip(each_lane(addresses, mask));
        for (((extra, split), number), (_, address)) in lanes {
            if number != 0 {
                known |= self.extras.look_at_readers(number - 1, Row::cell_of(address));
            } else if split != 0 {
                let cell = &self.extras.cells(split)[Row::cell_of(address)];
                // Of many readers one takes the place of another without a look at them.
                *extra =
                    if cell.read.time == by.entry.time && cell.extra & FULL == 0 { cell.extra } else { 0 };
            }
        }
        let readers = |&extra: &u32| self.extras.reads(extra).as_slice().len();
        let other = extras.iter().filter(|&&extra| extra & ONLY_READS != 0).map(readers).sum::<usize>();
        std::hint::black_box((known, other));
        let mut left = 0;
        for ((split, number), (lane, address)) in
            splits.into_iter().zip(numbers).zip(each_lane(addresses, mask))
        {
            let first = Row::cell_of(address);
            // What is done twice is done once: the rest may be left to who looks closer.
            let all = done & lane != 0
                || number != 0 && (first..first + count).all(|at| self.read_word(number - 1, at, lane, by))
                || split != 0
                    && (first..first + count).all(|at| {
                        let cell = &mut self.extras.cells_mut(split)[at];
                        cell.unwritten == 0
                            && (by.quickly(cell, (lane, WHOLE))
                                || self.another_read((split, at), (lane, WHOLE), by))
                    });
            if !all {
                left |= lane;
            }
        }
        left
    }
}
