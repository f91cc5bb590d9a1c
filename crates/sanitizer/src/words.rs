//! Words: the shadow of shared memory of which threads access single words, as they mostly do.
//!
//! Of a row *in words* all that is remembered is by threads of the CTA that the memory belongs to, and of whole aligned
//! words; a [`Mark`] then says in 16 bytes what an [`Entry`] says with its CTA, and one comparison with a barrier stands
//! for most of what there is to compare. Whatever does not fit, such as strong operations, asynchronous copies, accesses
//! of single bytes and by other CTAs, readers that do not know of one another, makes cells of the words first.

use crate::accessor::Accessor;
use crate::check::Checker;
use crate::clock::Time;
use crate::row::{CELLS, Pattern, ROW, Row, is_aligned};
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

/// The last write, and the latest reads since then. None lies across lines of the host's cache.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
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

    pub(crate) fn is_written(&self) -> bool {
        self.write.time != UNWRITTEN
    }

    pub(crate) fn mark_written(&mut self) {
        if self.write.time == UNWRITTEN {
            self.write = Mark::default();
        }
    }
}

impl Row {
    /// Whether words of threads of a CTA can say all that it says.
    fn fits_words(&self, cta: u32) -> bool {
        let fits = |pattern: &Pattern| {
            let Pattern { entry, shift, .. } = pattern;
            let whole = *shift >= WHOLE && pattern.is_whole();
            !entry.exists() || entry.cta == cta && entry.is_of_threads() && whole
        };
        self.split == 0 && self.extra == 0 && fits(&self.write) && fits(&self.read)
    }

    /// Fills in the words of one that is in one piece.
    fn fill(&self, words: &mut [Word; CELLS]) {
        let [write, read] = [&self.write, &self.read].map(|pattern| Mark::of(pattern, 0));
        let write = if self.unwritten { Mark { time: UNWRITTEN, ..Mark::default() } } else { write };
        for (byte, word) in (0..).step_by(GRANULE as usize).zip(words) {
            let of = |mark, pattern: &Pattern| Mark { lanes: pattern.lanes_of(byte), ..mark };
            *word = Word { write: of(write, &self.write), read: of(read, &self.read) };
        }
    }
}

/// What of an [`Accessor`] matters here.
#[derive(Clone, Copy)]
pub(crate) struct Stamp {
    time: Time,
    warps: u32,
    site: SiteId,
    /// The one warp that accesses, if it is one.
    warp: u32,
    /// Up to when all threads of the CTA are known, and those of the warp.
    threads: Time,
    of_warp: Time,
}

impl Stamp {
    pub(crate) fn new(by: &Accessor<'_>) -> Self {
        let Entry { time, warps, site, .. } = by.entry;
        let warp = if warps == 1 << by.warp { warps } else { 0 };
        Self { time, warps, site, warp, threads: by.threads, of_warp: by.of_warp }
    }

    /// Whether a mark is ordered before by a barrier of the CTA or of the warp.
    #[inline(always)]
    fn is_after(&self, mark: &Mark) -> bool {
        mark.time <= self.threads || mark.time <= self.of_warp && mark.warps == self.warp
    }

    /// Whether a mark is of this very thread.
    #[inline(always)]
    fn is_own(&self, mark: &Mark, lanes: u32) -> bool {
        mark.warps == self.warp && mark.lanes == lanes && lanes.is_power_of_two()
    }

    /// Makes a weak access of threads of the CTA, if the little that it must be compared with is plainly before it.
    #[inline(always)]
    fn access<const STORE: bool>(&self, word: &mut Word, lanes: u32) -> bool {
        let mark = Mark { time: self.time, warps: self.warps, lanes, site: self.site };
        let after = |mark: &Mark| self.is_after(mark) || self.is_own(mark, lanes);
        if STORE {
            let all = (after(&word.write) || word.write.time == UNWRITTEN) && after(&word.read);
            if all {
                *word = Word { write: mark, read: Mark::default() };
            }
            return all;
        }
        if !after(&word.write) {
            return false;
        }
        let known = &mut word.read;
        let repeats = known.warps & !self.warps == 0 && known.lanes & !lanes == 0;
        if self.is_after(known) || repeats {
            *known = mark;
            return true;
        }
        let same = known.time == self.time;
        if same {
            (known.warps, known.lanes) = (known.warps | self.warps, known.lanes | lanes);
        }
        same
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
        let (stamp, words) = (Stamp::new(by), self.extras.words_mut(row));
        let mut each = (0_u32..).zip(&mut words[first..first + count]);
        match by.access {
            Access::Load => {
                each.all(|(at, word)| stamp.access::<false>(word, lanes.unbounded_shl(at >> shift)))
            }
            Access::Store => {
                each.all(|(at, word)| stamp.access::<true>(word, lanes.unbounded_shl(at >> shift)))
            }
            Access::Atomic => false,
        }
    }

    /// Weak accesses of one element each to the shared memory of the lanes' own CTA, which begins at an address. The lanes
    /// that are left to who looks closer.
    #[inline(always)]
    pub(crate) fn elements(
        &mut self,
        rows: &mut [Row],
        elements: (impl Iterator<Item = (u32, u64)>, u64, u64),
        by: &Accessor<'_>,
    ) -> u32 {
        match by.access {
            Access::Load => self.elements_of::<false>(rows, elements, by),
            Access::Store => self.elements_of::<true>(rows, elements, by),
            Access::Atomic => by.lanes,
        }
    }

    #[inline(never)]
    fn elements_of<const STORE: bool>(
        &mut self,
        rows: &mut [Row],
        (elements, begin, bytes): (impl Iterator<Item = (u32, u64)>, u64, u64),
        by: &Accessor<'_>,
    ) -> u32 {
        let (stamp, count, mut left) = (Stamp::new(by), (bytes / GRANULE) as usize, 0);
        for (lanes, address) in elements {
            let place = address.wrapping_sub(begin);
            let done = match rows.get_mut((place / ROW) as usize) {
                Some(row) if is_aligned(place, bytes) => {
                    (row.is_in_words() || self.put_in_words(row, by.home.cta)) && {
                        let (first, words) = (Row::cell_of(place), self.extras.words_mut(row));
                        // Mostly it is one word.
                        stamp.access::<STORE>(&mut words[first], lanes)
                            && words[first + 1..first + count]
                                .iter_mut()
                                .all(|word| stamp.access::<STORE>(word, lanes))
                    }
                }
                _ => false,
            };
            if !done {
                left |= lanes;
            }
        }
        left
    }

    #[cold]
    #[inline(never)]
    fn put_in_words(&mut self, row: &mut Row, cta: u32) -> bool {
        let fits = row.fits_words(cta);
        if fits {
            let number = self.extras.words.make();
            row.fill(self.extras.words.get_mut(number));
            *row = Row::in_words(number, cta);
        }
        fits
    }

    /// A row of the accessor's own shared memory that was in words is in one piece again, if all of it is written over.
    pub(crate) fn mend_words(&mut self, row: &mut Row, (lanes, shift): (u32, u8), by: &Accessor<'_>) -> bool {
        let write = Pattern::new(Entry { lanes, ..by.entry }, shift);
        let words = self.extras.words_mut(row);
        let latest = words.iter_mut().fold(0, |latest, word| {
            // It is so now, however the row is kept.
            word.mark_written();
            latest.max(word.write.time).max(word.read.time)
        });
        let stamp = Stamp::new(by);
        let before = |(at, word): (u64, &Word)| {
            let own = |mark| shift >= WHOLE && stamp.is_own(mark, write.lanes_of(at * GRANULE));
            [&word.write, &word.read].into_iter().all(|mark| stamp.is_after(mark) || own(mark))
        };
        if latest > by.threads && !(0..).zip(words.iter()).all(before) {
            return false;
        }
        self.extras.words.release(row.number());
        *row = Row { write, ..Row::default() };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_the_row_said() {
        let words = |row: &Row| {
            let mut words = [Word::default(); CELLS];
            row.fill(&mut words);
            words
        };
        let pattern = |lanes, shift| Pattern::new(Entry::of_lanes(7, 3, 1, lanes, 4), shift);
        let mut row = Row { write: pattern(1, 3), read: pattern(0xff, Pattern::ALIKE), ..Row::default() };
        assert!(row.fits_words(3) && !row.fits_words(2));
        for (byte, word) in (0..).step_by(GRANULE as usize).zip(words(&row)) {
            assert_eq!((word.cell(3).write, word.cell(3).read), (row.write.at(byte), row.read.at(byte)));
        }
        (row.write, row.read, row.unwritten) = (Pattern::default(), Pattern::default(), true);
        let word = words(&row)[5];
        assert_eq!(
            (row.fits_words(2), word.cell(2).unwritten, word.cell(2).write.exists()),
            (true, 0xf, false)
        );
    }
}
