//! Words: the shadow of shared memory of which threads access single words, as they mostly do.
//!
//! Of a row *in words* all that is remembered is by threads of the CTA that the memory belongs to, and of whole aligned
//! words; a [`Mark`] then says in 16 bytes what an [`Entry`] says with its CTA, and one comparison with a barrier stands
//! for most of what there is to compare. Whatever does not fit, such as strong operations, asynchronous copies, accesses
//! of single bytes and by other CTAs, readers that do not know of one another, makes cells of the words first.

use crate::check::{Accessor, Checker};
use crate::clock::Time;
use crate::row::{CELLS, Pattern, ROW, Row};
use crate::shadow::{Cell, Entry, GRANULE, WHOLE};
use crate::site::SiteId;
use machine::fault::Access;

/// Accesses of one kind of a word: an [`Entry`] of threads of the CTA that the row belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Mark {
    time: Time,
    warps: u32,
    lanes: u32,
    site: SiteId,
}

/// Of a word that nobody has written the time of the last write, which is after everything that a thread may know.
const UNWRITTEN: Time = Time::MAX;

/// The last write, and the latest reads since then.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Word {
    write: Mark,
    read: Mark,
}

impl Mark {
    fn of(pattern: &Pattern, byte: u64) -> Self {
        let Entry { time, warps, site, .. } = pattern.entry;
        Self { time, warps, lanes: pattern.lanes_of(byte), site }
    }

    fn entry(self, cta: u32) -> Entry {
        match self.time {
            0 | UNWRITTEN => Entry::default(),
            time => Entry { time, cta, warps: self.warps, lanes: self.lanes, site: self.site },
        }
    }
}

impl Word {
    /// The same as a cell.
    pub(crate) fn cell(&self, cta: u32) -> Cell {
        let unwritten = if self.write.time == UNWRITTEN { 0xf } else { 0 };
        Cell { write: self.write.entry(cta), read: self.read.entry(cta), unwritten, ..Cell::default() }
    }

    pub(crate) fn mark_written(&mut self) {
        if self.write.time == UNWRITTEN {
            self.write = Mark::default();
        }
    }
}

impl Row {
    /// The words of one that is in one piece, if they say all that it says.
    fn words(&self, cta: u32) -> Option<[Word; CELLS]> {
        let fits = |pattern: &Pattern| {
            let Pattern { entry, shift } = pattern;
            !entry.exists() || entry.cta == cta && entry.is_of_threads() && *shift >= WHOLE
        };
        if self.split != 0 || self.extra != 0 || !fits(&self.write) || !fits(&self.read) {
            return None;
        }
        let mut words = [Word::default(); CELLS];
        for (byte, word) in (0..).step_by(GRANULE as usize).zip(&mut words) {
            *word = Word { write: Mark::of(&self.write, byte), read: Mark::of(&self.read, byte) };
            if self.unwritten {
                word.write = Mark { time: UNWRITTEN, ..Mark::default() };
            }
        }
        Some(words)
    }
}

impl Accessor<'_> {
    /// Whether a mark is ordered before by a barrier of the CTA or of the warp.
    #[inline(always)]
    fn after_mark(&self, mark: &Mark) -> bool {
        let own = self.entry.warps;
        mark.time <= self.threads || mark.time <= self.of_warp && mark.warps == own && own == 1 << self.warp
    }

    /// Whether a mark is of this very thread.
    #[inline(always)]
    fn is_own_mark(&self, mark: &Mark, lanes: u32) -> bool {
        let own = self.entry.warps;
        mark.warps == own && own == 1 << self.warp && mark.lanes == lanes && lanes.is_power_of_two()
    }

    /// Makes a weak access of threads of the CTA, if the little that it must be compared with is plainly before it.
    #[inline(always)]
    fn quickly_word(&self, word: &mut Word, lanes: u32) -> bool {
        let Entry { time, warps, site, .. } = self.entry;
        let mark = Mark { time, warps, lanes, site };
        let after = |mark: &Mark| self.after_mark(mark) || self.is_own_mark(mark, lanes);
        match self.access {
            Access::Load => {
                if !after(&word.write) {
                    return false;
                }
                let known = &mut word.read;
                let repeats = known.warps & !warps == 0 && known.lanes & !lanes == 0;
                if self.after_mark(known) || repeats {
                    *known = mark;
                    return true;
                }
                let same = known.time == time;
                if same {
                    (known.warps, known.lanes) = (known.warps | warps, known.lanes | lanes);
                }
                same
            }
            Access::Store => {
                let all = (after(&word.write) || word.write.time == UNWRITTEN) && after(&word.read);
                if all {
                    *word = Word { write: mark, read: Mark::default() };
                }
                all
            }
            Access::Atomic => false,
        }
    }
}

impl Checker<'_> {
    /// An access to aligned words of a row of the accessor's own shared memory, if there is nothing special about them:
    /// to so many for each lane from the first one's on. What is done twice is done once, so the rest may be left to who
    /// looks closer.
    #[inline(always)]
    pub(crate) fn words(
        &mut self,
        row: &mut Row,
        (first, count, shift): (usize, usize, u32),
        lanes: u32,
        by: &Accessor<'_>,
    ) -> bool {
        if !row.is_in_words() && !self.put_in_words(row, by.home.cta) {
            return false;
        }
        let words = self.extras.words_mut(row);
        for (at, word) in (0_u32..).zip(&mut words[first..first + count]) {
            if !by.quickly_word(word, lanes.unbounded_shl(at >> shift)) {
                return false;
            }
        }
        true
    }

    /// Accesses of single lanes to the accessor's own shared memory, which begins at an address. The lanes that are left to
    /// who looks closer.
    #[inline(always)]
    pub(crate) fn lanes_of_words(
        &mut self,
        rows: &mut [Row],
        (addresses, begin, bytes): (&[u64; 32], u64, u64),
        mask: u32,
        by: &Accessor<'_>,
    ) -> u32 {
        if !matches!(bytes, 4 | 8 | 16) || !by.is_plain() {
            return mask;
        }
        let count = (bytes / GRANULE) as usize;
        let (mut rest, mut left) = (mask, 0);
        while rest != 0 {
            let lanes = rest & rest.wrapping_neg();
            let place = addresses[lanes.trailing_zeros() as usize].wrapping_sub(begin);
            rest &= !lanes;
            let row = rows.get_mut((place / ROW) as usize).filter(|_| place.is_multiple_of(bytes));
            let all = (Row::cell_of(place), count, u32::BITS - 1);
            if !row.is_some_and(|row| self.words(row, all, lanes, by)) {
                left |= lanes;
            }
        }
        left
    }

    #[cold]
    #[inline(never)]
    fn put_in_words(&mut self, row: &mut Row, cta: u32) -> bool {
        let words = row.words(cta);
        if let Some(words) = words {
            self.extras.put_in_words(row, cta, words);
        }
        words.is_some()
    }

    /// A row of the accessor's own shared memory that was in words is in one piece again, if all of it is written over.
    pub(crate) fn mend_words(&mut self, row: &mut Row, (lanes, shift): (u32, u8), by: &Accessor<'_>) -> bool {
        let write = Pattern { entry: Entry { lanes, ..by.entry }, shift };
        let words = self.extras.words_mut(row);
        let latest = words.iter_mut().fold(0, |latest, word| {
            // It is so now, however the row is kept.
            word.mark_written();
            latest.max(word.write.time).max(word.read.time)
        });
        let before = |(at, word): (u64, &Word)| {
            let own = |mark| shift >= WHOLE && by.is_own_mark(mark, write.lanes_of(at * GRANULE));
            [&word.write, &word.read].into_iter().all(|mark| by.after_mark(mark) || own(mark))
        };
        if latest > by.threads && !(0..).zip(words.iter()).all(before) {
            return false;
        }
        self.extras.release_words(row);
        *row = Row { write, ..Row::default() };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_the_row_said() {
        let pattern = |lanes, shift| Pattern { entry: Entry::of_lanes(7, 3, 1, lanes, 4), shift };
        let mut row = Row { write: pattern(1, 3), read: pattern(0xff, Pattern::ALIKE), ..Row::default() };
        let words = row.words(3).expect("threads of the CTA alone");
        for (at, word) in (0..).zip(words) {
            let byte = at * GRANULE;
            assert_eq!((word.cell(3).write, word.cell(3).read), (row.write.at(byte), row.read.at(byte)));
        }
        assert!(row.words(2).is_none(), "another CTA");
        (row.write, row.read, row.unwritten) = (Pattern::default(), Pattern::default(), true);
        let word = row.words(2).expect("nobody")[5];
        assert_eq!((word.cell(2).unwritten, word.cell(2).write.exists()), (0xf, false));
    }
}
