//! Reads of global memory here and there, by each lane at another place: of words that have cells, as such words soon have.
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
        let mut splits = [0; 32];
        for (split, (_, address)) in splits.iter_mut().zip(each_lane(addresses, mask)) {
            // An access to where nothing can be will fault.
            if address < SHARED_WINDOW {
                let row = global.row(address);
                *split = if row.is_in_cells() && is_aligned(address, bytes) { row.split } else { 0 };
            }
        }
        let (mut extras, count) = ([0; 32], (bytes / GRANULE) as usize);
        for ((extra, split), (_, address)) in extras.iter_mut().zip(splits).zip(each_lane(addresses, mask)) {
            let cell = &self.extras.cells(split)[Row::cell_of(address)];
            // Of many readers one takes the place of another without a look at them.
            *extra = if cell.read.time == by.entry.time && cell.extra & FULL == 0 { cell.extra } else { 0 };
        }
        let readers = |&extra: &u32| self.extras.reads(extra).as_slice().len();
        std::hint::black_box(
            extras.iter().filter(|&&extra| extra & ONLY_READS != 0).map(readers).sum::<usize>(),
        );
        let mut left = 0;
        for (split, (lane, address)) in splits.into_iter().zip(each_lane(addresses, mask)) {
            let first = Row::cell_of(address);
            // What is done twice is done once: the rest may be left to who looks closer.
            let done = split != 0
                && (first..first + count).all(|at| {
                    let cell = &mut self.extras.cells_mut(split)[at];
                    cell.unwritten == 0
                        && (by.quickly(cell, (lane, WHOLE))
                            || self.another_read((split, at), (lane, WHOLE), by))
                });
            if !done {
                left |= lane;
            }
        }
        left
    }
}
