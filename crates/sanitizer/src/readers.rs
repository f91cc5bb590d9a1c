//! Readers of words: the shadow of global memory of which threads read single words here and there, and that nobody has
//! written since they could.
//!
//! A row with readers has its last write as a row has that is in one piece, and of each word the latest read and the first
//! of those that nothing plainly orders before it; what was read between is forgotten, which at worst is a miss. The latest ones
//! lie side by side, since most reads need no more. Whatever else is done to the row makes cells of it first.

use crate::accessor::Accessor;
use crate::check::Checker;
use crate::clock::Time;
use crate::row::{CELLS, Pattern, Row};
use crate::shadow::{Entry, Extras, GRANULE, WHOLE};
use crate::site::SiteId;
use machine::fault::Access;

/// A read by a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Reader {
    /// 0 if there is none.
    time: Time,
    cta: u32,
    /// `warp << 5 | lane`. Of the latest one [`MORE`] with it.
    thread: u32,
    site: SiteId,
}

/// In the thread of the latest reader of a word: the first one did not come before others, so that it stays for now. It is as
/// far away as other words are.
const MORE: u32 = 1 << 31;

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(crate) struct WordReaders {
    latest: [Reader; CELLS],
    first: [Reader; CELLS],
}

impl Reader {
    /// What an entry says, if it is of one thread.
    fn of(entry: &Entry) -> Option<Self> {
        let &Entry { time, cta, warps, lanes, .. } = entry;
        if !entry.exists() {
            return Some(Self::default());
        }
        let single = entry.is_of_threads() && warps.is_power_of_two() && lanes.is_power_of_two();
        let thread = (warps.trailing_zeros() << 5) | (lanes.trailing_zeros() % 32);
        single.then_some(Self { time, cta, thread, site: entry.site() })
    }

    fn entry(self) -> Entry {
        let Self { time, cta, thread, site } = self;
        match time {
            0 => Entry::default(),
            _ => Entry::of_lanes(time, cta, (thread >> 5) as u16 & 31, 1 << (thread % 32), site),
        }
    }

    /// Whether whoever reads at a word comes after it by a barrier of the CTA or of the warp, or by the launch; or is it.
    #[inline(always)]
    fn is_before(&self, new: &Self, by: &Accessor<'_>) -> bool {
        self.time <= by.everyone
            || self.cta == new.cta
                && (self.time <= by.threads
                    || self.thread & !MORE == new.thread
                    || self.time <= by.of_warp && (self.thread & !MORE) >> 5 == new.thread >> 5)
    }
}

impl WordReaders {
    /// The words that have any, by bit.
    pub(crate) fn words(&self) -> u16 {
        let has = self.latest.iter().enumerate().map(|(at, reader)| u16::from(reader.time != 0) << at);
        has.fold(0, |all, word| all | word)
    }

    /// A read of a word.
    #[inline(always)]
    fn read(&mut self, word: usize, new: Reader, by: &Accessor<'_>) {
        let latest = &mut self.latest[word];
        let mut more = latest.thread & MORE;
        if latest.time <= by.everyone {
            more = 0;
        } else if more == 0 && !latest.is_before(&new, by) {
            let first = &mut self.first[word];
            if first.is_before(&new, by) {
                *first = Reader { thread: latest.thread & !MORE, ..*latest };
            }
            more = MORE;
        }
        *latest = Reader { thread: new.thread | more, ..new };
    }
}

impl Accessor<'_> {
    /// What is remembered of a read by one of its lanes, if no other warp reads the same.
    #[inline(always)]
    fn reader(&self, lane: u32) -> Option<Reader> {
        let single = self.entry.warps == 1 << self.warp && lane.is_power_of_two();
        let (time, cta, site) = (self.entry.time, self.home.cta, self.entry.site());
        let thread = (u32::from(self.warp) << 5) | (lane.trailing_zeros() % 32);
        (single && self.access == Access::Load).then_some(Reader { time, cta, thread, site })
    }
}

impl Checker<'_> {
    /// Makes room for readers of a row's words, or notes the read there if one thread has read all that was read. The number of
    /// the readers; `None` if that is all, or the row says more than readers can.
    #[inline(always)]
    pub(crate) fn with_readers(&mut self, row: &mut Row, lane: u32, by: &Accessor<'_>) -> Option<u32> {
        if row.has_readers() {
            return by.plainly_after(&row.write.entry).then(|| row.number());
        }
        self.begin_readers(row, lane, by)
    }

    #[inline(never)]
    fn begin_readers(&mut self, row: &mut Row, lane: u32, by: &Accessor<'_>) -> Option<u32> {
        let simple = row.split == 0 && row.extra == 0 && !row.unwritten && by.plainly_after(&row.write.entry);
        if !simple || by.reader(lane).is_none() {
            return None;
        }
        let mut readers = WordReaders::default();
        if !by.plainly_after(&row.read.entry) {
            for (byte, latest) in (0..).step_by(GRANULE as usize).zip(&mut readers.latest) {
                *latest = Reader::of(&row.read.at(byte))?;
            }
        }
        let number = self.extras.word_readers.make();
        *self.extras.word_readers.get_mut(number) = readers;
        *row = row.with_readers(number);
        Some(number)
    }

    /// A read of words of a row in one piece of which nobody or this thread alone has read some, by this instruction and at this time. Returns whether it
    /// is one.
    #[inline(always)]
    pub(crate) fn read_alone(
        &self,
        row: &mut Row,
        (first, count): (usize, usize),
        lane: u32,
        by: &Accessor<'_>,
    ) -> bool {
        let simple = row.split == 0 && row.extra == 0 && !row.unwritten;
        if !simple || by.reader(lane).is_none() || !by.plainly_after(&row.write.entry) {
            return false;
        }
        let (entry, words) = (by.entry_of(lane), (((1_u32 << count) - 1) << first) as u16);
        let known = &mut row.read;
        if by.plainly_after(&known.entry) {
            *known = Pattern::of_words(entry, words);
            return true;
        }
        // Of one time and instruction: what the thread has read before was read when and where it seems to be.
        let same = known.shift == Pattern::ALIKE && known.entry == entry;
        if same {
            *known = Pattern::of_words(entry, known.words | words);
        }
        same
    }

    /// A read of words that have readers.
    #[inline(always)]
    pub(crate) fn read_word(&mut self, number: u32, word: usize, lane: u32, by: &Accessor<'_>) -> bool {
        let Some(reader) = by.reader(lane) else { return false };
        self.extras.word_readers.get_mut(number).read(word, reader, by);
        true
    }

    /// Something that is done to words of a row that has readers, to so many for each lane from the first one's on. Returns
    /// whether that is all.
    pub(crate) fn read_words(
        &mut self,
        row: &Row,
        (first, count, shift): (usize, usize, u32),
        lanes: u32,
        by: &Accessor<'_>,
    ) -> bool {
        by.plainly_after(&row.write.entry)
            && (0..count).all(|at| {
                self.read_word(row.number(), first + at, lanes.unbounded_shl(at as u32 >> shift), by)
            })
    }

    /// A row that had readers has none, if all of it is written over.
    pub(crate) fn mend_readers(
        &mut self,
        row: &mut Row,
        (lanes, shift): (u32, u8),
        by: &Accessor<'_>,
    ) -> bool {
        let readers = self.extras.word_readers.get(row.number());
        let after = |reader: &Reader| by.plainly_after(&reader.entry());
        let all =
            by.plainly_after(&row.write.entry) && readers.latest.iter().chain(&readers.first).all(after);
        if all {
            self.extras.word_readers.release(row.number());
            *row = Row { write: Pattern::new(by.entry_of(lanes), shift), ..Row::default() };
        }
        all
    }
}

impl Extras {
    /// Brings what is known of the latest readers into the host's caches.
    #[inline(always)]
    pub(crate) fn look_at_readers(&self, number: u32, word: usize) -> Time {
        self.word_readers.get(number).latest[word].time
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn readers_to_cells(&mut self, row: &mut Row) {
        let readers = *self.word_readers.get(row.number());
        self.word_readers.release(row.number());
        let split = self.cells.make();
        let cells = self.cells_mut(split);
        Row { split: 0, ..*row }.fill_cells(cells);
        for (cell, latest) in cells.iter_mut().zip(readers.latest) {
            (cell.read, cell.shifts[1]) = (latest.entry(), WHOLE);
        }
        // Few words have a first one that is not the latest.
        for (place, first) in readers.first.iter().enumerate().filter(|(_, first)| first.time != 0) {
            let mut extra = self.cells(split)[place].extra;
            self.readers_of(&mut extra).push(first.entry());
            self.cells_mut(split)[place].extra = extra;
        }
        *row = Row { split, ..Row::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_say_what_readers_said() {
        let mut extras = Extras::default();
        let write = Entry::of_lanes(2, 1, 0, 1, 4);
        let number = extras.word_readers.make();
        let reader = |cta, time| Reader::of(&Entry::of_lanes(time, cta, 3, 1 << 7, 9)).unwrap();
        let readers = extras.word_readers.get_mut(number);
        (readers.latest[5], readers.first[5], readers.latest[6]) = (reader(8, 7), reader(6, 6), reader(9, 7));
        let mut row = Row { write: Pattern::new(write, 2), ..Row::default() }.with_readers(number);
        assert!(row.has_readers() && !row.is_in_cells());
        let split = extras.split(&mut row);
        let cells = *extras.cells(split);
        assert_eq!(cells[5].write, Entry { lanes: 1 << 5, ..write });
        assert_eq!(cells[5].read, Entry::of_lanes(7, 8, 3, 1 << 7, 9));
        assert!(cells.iter().all(|cell| !cell.is_divided()));
        assert_eq!(extras.reads(cells[5].extra).as_slice(), [Entry::of_lanes(6, 6, 3, 1 << 7, 9)]);
        assert_eq!((cells[6].read.cta, cells[6].extra, cells[4].read.exists()), (9, 0, false));
        assert_eq!(extras.word_readers.used(), 0);
    }

    #[test]
    fn two_threads_are_no_reader() {
        assert_eq!(Reader::of(&Entry::of_lanes(7, 8, 3, 0b11, 9)), None);
        assert_eq!(Reader::of(&Entry::of_agent(7, 8, 3, 1, 9)), None);
        assert_eq!(Reader::of(&Entry::default()), Some(Reader::default()));
    }
}
