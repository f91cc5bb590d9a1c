//! The shadow of global memory: pages of rows, made when somebody first accesses them. A page that was only copied as a
//! whole has one row that stands for all.

use crate::before::Before;
use crate::clock::Time;
use crate::listed::{Kept, Listed};
use crate::reused::Reused;
use crate::row::{ROW, Row};
use crate::shadow::{Cell, Extras, GRANULE};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Bytes of guest memory that a page shadows.
pub(crate) const PAGE: u64 = 4096;
pub(crate) const ROWS: usize = (PAGE / ROW) as usize;

#[derive(Debug)]
enum Page {
    /// All rows are like this one, which has neither cells nor other reads.
    Whole(Row),
    /// The same, of which [reads are listed](crate::listed).
    Listed(Row),
    /// By bit which of them may have been accessed since there are so many.
    Rows(Box<[Row; ROWS]>, u64),
}

/// Rows that no page has any more.
type Left = Vec<Box<[Row; ROWS]>>;

/// Pages whose rows are kept when their memory is freed, at most.
const LEFT: usize = 4096;

impl Page {
    /// One that nobody has accessed, and of which nobody has written all of some rows, by bit.
    fn of_unwritten(rows: u64) -> Self {
        match rows {
            0 => Self::Whole(Row::new(false)),
            u64::MAX => Self::Whole(Row::new(true)),
            _ => Self::Rows(Box::new(std::array::from_fn(|at| Row::new(rows >> at & 1 != 0))), 0),
        }
    }

    /// Its rows, of which some are about to be accessed.
    #[inline(always)]
    fn rows(&mut self, left: &mut Left, some: u64) -> &mut [Row; ROWS] {
        if !matches!(self, Self::Rows(..)) {
            self.divide(left);
        }
        match self {
            Self::Rows(rows, accessed) => {
                *accessed |= some;
                rows
            }
            Self::Whole(_) | Self::Listed(_) => unreachable!("it has just been divided"),
        }
    }

    #[cold]
    fn divide(&mut self, left: &mut Left) {
        if let Self::Whole(row) | Self::Listed(row) = *self {
            let rows = match left.pop() {
                Some(mut rows) => {
                    rows.fill(row);
                    rows
                }
                None => vec![row; ROWS].try_into().expect("the vector has as many rows as a page"),
            };
            *self = Self::Rows(rows, if row.is_untouched() { 0 } else { u64::MAX });
        }
    }
}

/// Pages by number.
#[derive(Debug, Default)]
struct Pages {
    all: Vec<Page>,
    places: FxHashMap<u64, usize>,
    /// The number and the place of that which was asked for last.
    latest: Option<(u64, usize)>,
    left: Vec<usize>,
}

impl Pages {
    fn has(&self, number: u64) -> bool {
        self.places.contains_key(&number)
    }

    fn get(&self, number: u64) -> Option<&Page> {
        self.places.get(&number).map(|&place| &self.all[place])
    }

    fn get_mut(&mut self, number: u64) -> Option<&mut Page> {
        self.places.get(&number).map(|&place| &mut self.all[place])
    }

    /// One that is made if it is not there.
    #[inline(always)]
    fn or_make(&mut self, number: u64, make: impl FnOnce() -> Page) -> &mut Page {
        let place = match self.latest {
            Some((latest, place)) if latest == number => place,
            _ => *self.places.entry(number).or_insert_with(|| match self.left.pop() {
                Some(place) => {
                    self.all[place] = make();
                    place
                }
                None => {
                    self.all.push(make());
                    self.all.len() - 1
                }
            }),
        };
        self.latest = Some((number, place));
        &mut self.all[place]
    }

    fn remove(&mut self, number: u64) -> Option<Page> {
        let place = self.places.remove(&number)?;
        self.latest = None;
        self.left.push(place);
        Some(std::mem::replace(&mut self.all[place], Page::Whole(Row::default())))
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Global {
    pages: Pages,
    /// If this shadow is that of a part of a launch, what was before.
    pub(crate) before: Option<Before>,
    /// Pages that are not there and that nobody has written: the first, and that behind the last.
    fresh: BTreeMap<u64, u64>,
    pub(crate) listed: Reused<Listed>,
    pub(crate) kept: Kept,
    left: Left,
}

impl Global {
    /// The number of the page that an address is on.
    #[inline(always)]
    pub(crate) fn page_of(address: u64) -> u64 {
        address / PAGE
    }

    /// The place of an address's row on its page.
    #[inline(always)]
    pub(crate) fn index(address: u64) -> usize {
        (address % PAGE / ROW) as usize
    }

    /// A page, which is made if it is not there, and rows that are left.
    #[inline(always)]
    fn made(&mut self, number: u64) -> (&mut Page, &mut Left) {
        let Self { pages, before, fresh, left, .. } = self;
        let page = pages.or_make(number, || {
            if let Some(before) = before {
                return Page::of_unwritten(before.unwritten(number));
            }
            let unwritten = !fresh.is_empty() && take(fresh, number, number + 1);
            Page::Whole(Row::new(unwritten))
        });
        (page, left)
    }

    /// The rows of a page.
    pub(crate) fn page(&mut self, number: u64) -> &mut [Row; ROWS] {
        let (page, left) = self.made(number);
        page.rows(left, u64::MAX)
    }

    /// The rows of a page from that of an address on, of which those until another address are accessed.
    #[inline(always)]
    pub(crate) fn rows_from(&mut self, address: u64, end: u64) -> &mut [Row] {
        let first = Self::index(address);
        let count = (end - address / ROW * ROW).div_ceil(ROW).clamp(1, ROWS as u64);
        let (page, left) = self.made(Self::page_of(address));
        &mut page.rows(left, (u64::MAX >> (ROWS as u64 - count)) << first)[first..]
    }

    /// Is as if it were new, but for its memory.
    pub(crate) fn forget_all(&mut self) {
        let Self { pages, before, fresh, listed, kept, left } = self;
        left.extend(pages.all.drain(..).filter_map(|page| match page {
            Page::Rows(rows, _) => Some(rows),
            Page::Whole(_) | Page::Listed(_) => None,
        }));
        pages.places.clear();
        pages.left.clear();
        pages.latest = None;
        fresh.clear();
        listed.forget_all();
        *before = None;
        *kept = Kept::default();
    }

    /// Whether it says anything of any page.
    pub(crate) fn knows_any(&self) -> bool {
        !self.pages.places.is_empty() || !self.fresh.is_empty()
    }

    /// The numbers of the pages that are there.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u64> {
        self.pages.places.keys().copied()
    }

    /// The rows of a page that has some of its own, and by bit those that may have been accessed.
    pub(crate) fn rows_of(&self, number: u64) -> Option<(&[Row; ROWS], u64)> {
        match self.pages.get(number) {
            Some(Page::Rows(rows, accessed)) => Some((rows, *accessed)),
            Some(Page::Whole(_) | Page::Listed(_)) | None => None,
        }
    }

    /// The same of all pages, with their numbers.
    pub(crate) fn all_rows(&self) -> impl Iterator<Item = (u64, (&[Row; ROWS], u64))> {
        let rows = |(&number, &place): (&u64, &usize)| match &self.pages.all[place] {
            Page::Rows(rows, accessed) => Some((number, (&**rows, *accessed))),
            Page::Whole(_) | Page::Listed(_) => None,
        };
        self.pages.places.iter().filter_map(rows)
    }

    /// The rows of all pages with these numbers that have some of their own, with what the numbers have.
    pub(crate) fn rows_to_change<T>(
        &mut self,
        numbers: impl IntoIterator<Item = (u64, T)>,
    ) -> Vec<(u64, T, &mut [Row; ROWS])> {
        let mut by_place: Vec<Option<(u64, T)>> = self.pages.all.iter().map(|_| None).collect();
        for (number, of_number) in numbers {
            if let Some(&place) = self.pages.places.get(&number) {
                by_place[place] = Some((number, of_number));
            }
        }
        let rows = |(page, number): (_, Option<(u64, T)>)| match page {
            &mut Page::Rows(ref mut rows, _) => {
                number.map(|(number, of_number)| (number, of_number, &mut **rows))
            }
            Page::Whole(_) | Page::Listed(_) => None,
        };
        self.pages.all.iter_mut().zip(by_place).filter_map(rows).collect()
    }

    /// Of a page the rows that nobody has written all of, by bit.
    pub(crate) fn unwritten(&self, extras: &Extras, number: u64) -> u64 {
        let some = |row: &Row| (0..ROW).step_by(GRANULE as usize).any(|at| !extras.is_written(row, at));
        let all_if = |unwritten: bool| if unwritten { u64::MAX } else { 0 };
        match self.pages.get(number) {
            None => all_if(self.is_fresh(number)),
            Some(Page::Whole(row)) => all_if(row.unwritten),
            Some(Page::Listed(_)) => 0,
            Some(Page::Rows(rows, _)) => {
                rows.iter().enumerate().fold(0, |all, (at, row)| all | u64::from(some(row)) << at)
            }
        }
    }

    /// Bytes of its memory.
    pub(crate) fn memory(&self) -> usize {
        (self.pages.all.len() + self.left.len()) * PAGE as usize + self.listed.memory()
    }

    /// The row that stands for all of a page, if one does.
    pub(crate) fn whole(&mut self, number: u64) -> Option<&mut Row> {
        match self.made(number).0 {
            Page::Whole(row) => Some(row),
            Page::Rows(..) | Page::Listed(_) => None,
        }
    }

    /// Whether reads of a page are listed.
    pub(crate) fn has_listed(&self, number: u64) -> bool {
        matches!(self.pages.get(number), Some(Page::Listed(_))) || self.kept.has(number)
    }

    /// Has a page listed, if one row stands for it, all of it was written, and that is known to who knows everybody up to a
    /// time. When it was written, and whether it was not listed before.
    pub(crate) fn begin_listing(&mut self, number: u64, everyone: Time) -> Option<(Time, bool)> {
        let (page, _) = self.made(number);
        let (row, new) = match page {
            Page::Whole(row) => (*row, true),
            Page::Listed(row) => (*row, false),
            Page::Rows(..) => return None,
        };
        let time = row.write.entry.time;
        if row.unwritten || time > everyone {
            return None;
        }
        *page = Page::Listed(row);
        Some((time, new))
    }

    /// A page is no longer listed. Whether it was.
    pub(crate) fn end_listing(&mut self, number: u64) -> bool {
        let kept = self.kept.end(number);
        let Some(page @ Page::Listed(_)) = self.pages.get_mut(number) else { return kept };
        page.divide(&mut self.left);
        true
    }

    #[inline(always)]
    pub(crate) fn row(&mut self, address: u64) -> &mut Row {
        &mut self.rows_from(address, address)[0]
    }

    /// Whether a byte was written since a time, or may have been.
    pub(crate) fn written_since(&mut self, extras: &mut Extras, address: u64, time: Time) -> bool {
        extras.with_cell(self.row(address), address, |extras, cell| {
            cell.write.time >= time || cell.is_divided() || extras.is_split(cell)
        })
    }

    /// The bytes of a range are written now; who accessed them stays known.
    pub(crate) fn mark_written(&mut self, extras: &mut Extras, address: u64, bytes: u64) {
        let (first, behind) = whole_pages(address, bytes);
        take(&mut self.fresh, first, behind);
        for number in self.present(first, behind) {
            match self.made(number).0 {
                Page::Whole(row) => row.unwritten = false,
                // It was written.
                Page::Listed(_) => {}
                Page::Rows(rows, _) => rows.iter_mut().for_each(|row| extras.mark_written(row)),
            }
        }
        for (start, end) in edges(address, bytes) {
            if !self.is_known(start) {
                continue;
            }
            self.each_row(start, end, |row, (at, end)| {
                if end - at == ROW {
                    extras.mark_written(row);
                } else if row.split != 0 || row.unwritten {
                    each_cell(at, end, |at, mask| {
                        extras.with_cell(row, at, |_, cell| cell.unwritten &= !mask);
                    });
                }
            });
        }
    }

    /// Forgets a range, and says whether its bytes count as written.
    pub(crate) fn reset(&mut self, extras: &mut Extras, address: u64, bytes: u64, written: bool) {
        let (first, behind) = whole_pages(address, bytes);
        for number in self.present(first, behind) {
            if let Some(Page::Rows(mut rows, _)) = self.pages.remove(number) {
                rows.iter_mut().for_each(|row| extras.release_row(row));
                if self.left.len() < LEFT {
                    self.left.push(rows);
                }
            }
        }
        take(&mut self.fresh, first, behind);
        if !written && first < behind {
            self.fresh.insert(first, behind);
        }
        for (start, end) in edges(address, bytes) {
            if written && !self.is_known(start) {
                continue;
            }
            self.each_row(start, end, |row, (at, end)| {
                if end - at == ROW {
                    extras.release_row(row);
                    *row = Row::new(!written);
                    return;
                }
                each_cell(at, end, |at, mask| {
                    extras.with_cell(row, at, |extras, cell| match (mask, written) {
                        (0xf, _) => {
                            extras.release(cell);
                            *cell = Cell { unwritten: if written { 0 } else { 0xf }, ..Cell::default() };
                        }
                        (_, true) => cell.unwritten &= !mask,
                        (_, false) => cell.unwritten |= mask,
                    });
                });
            });
        }
    }

    /// Visits the rows of a range in one page with what of each is inside.
    fn each_row(&mut self, mut at: u64, end: u64, mut act: impl FnMut(&mut Row, (u64, u64))) {
        let rows = self.page(Self::page_of(at));
        while at < end {
            let next = ((at | (ROW - 1)) + 1).min(end);
            act(&mut rows[Self::index(at)], (at, next));
            at = next;
        }
    }

    /// The pages of a range that are there.
    fn present(&self, first: u64, behind: u64) -> Vec<u64> {
        let range = first..behind;
        match behind.saturating_sub(first) > self.pages.places.len() as u64 {
            true => self.pages.places.keys().copied().filter(|number| range.contains(number)).collect(),
            false => range.filter(|&number| self.pages.has(number)).collect(),
        }
    }

    /// Whether anything is known of the page of an address.
    fn is_known(&self, address: u64) -> bool {
        let number = Self::page_of(address);
        self.pages.has(number) || self.is_fresh(number)
    }

    fn is_fresh(&self, page: u64) -> bool {
        self.fresh.range(..=page).next_back().is_some_and(|(_, behind)| page < *behind)
    }
}

/// The places of the bits that are set.
pub(crate) fn bits(mut rest: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = rest.trailing_zeros() as usize;
        rest &= rest.wrapping_sub(1);
        (at < ROWS).then_some(at)
    })
}

/// The first page of those that lie in a range as a whole, and that behind the last.
fn whole_pages(address: u64, bytes: u64) -> (u64, u64) {
    let (first, behind) = (address.div_ceil(PAGE), address.saturating_add(bytes) / PAGE);
    (first, behind.max(first))
}

/// What of a range lies in pages that are not in it as a whole.
fn edges(address: u64, bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    let end = address.saturating_add(bytes);
    let (first, behind) = whole_pages(address, bytes);
    let parts = match Global::page_of(address) == Global::page_of(end) {
        true => [(address, end), (end, end)],
        false => [(address, first * PAGE), (behind * PAGE, end)],
    };
    parts.into_iter().filter(|(start, end)| start < end)
}

/// Takes pages out of a set of ranges. Returns whether any was in it.
fn take(ranges: &mut BTreeMap<u64, u64>, first: u64, behind: u64) -> bool {
    let touched = |ranges: &BTreeMap<u64, u64>| {
        ranges.range(..behind).next_back().map(|(f, b)| (*f, *b)).filter(|(_, b)| *b > first)
    };
    let mut any = false;
    while let Some((start, end)) = touched(ranges) {
        any = true;
        ranges.remove(&start);
        if start < first {
            ranges.insert(start, first);
        }
        if end > behind {
            ranges.insert(behind, end);
        }
    }
    any
}

/// Visits the cells of a range within a row: an address in each, and which of its bytes are inside.
fn each_cell(start: u64, end: u64, mut act: impl FnMut(u64, u8)) {
    let mut at = start;
    while at < end {
        let next = ((at | (GRANULE - 1)) + 1).min(end);
        act(at, byte_mask(at, next));
        at = next;
    }
}

/// Which bytes of a cell lie between two addresses.
pub(crate) fn byte_mask(at: u64, next: u64) -> u8 {
    (0xf_u8 >> (GRANULE - (next - at))) << (at % GRANULE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unwritten(global: &mut Global, extras: &mut Extras, address: u64) -> u8 {
        extras.with_cell(global.row(address), address, |_, cell| cell.unwritten)
    }

    #[test]
    fn what_nobody_has_written_is_known_by_byte() {
        let (mut global, mut extras) = (Global::default(), Extras::default());
        global.reset(&mut extras, 0x1002, 10, false);
        let cells = [0x1000, 0x1004, 0x1008, 0x100c].map(|at| unwritten(&mut global, &mut extras, at));
        assert_eq!(cells, [0b1100, 0b1111, 0b1111, 0]);
        global.mark_written(&mut extras, 0x1003, 2);
        let cells = [0x1000, 0x1004].map(|at| unwritten(&mut global, &mut extras, at));
        assert_eq!(cells, [0b0100, 0b1110]);
        global.reset(&mut extras, 0x1002, 10, true);
        assert_eq!(unwritten(&mut global, &mut extras, 0x1008), 0);
    }

    #[test]
    fn whole_pages_are_made_when_they_are_accessed() {
        let (mut global, mut extras) = (Global::default(), Extras::default());
        let huge = 1 << 40;
        global.reset(&mut extras, 0x10_0020, huge, false);
        assert_eq!(global.pages.places.len(), 2);
        assert_eq!(unwritten(&mut global, &mut extras, 0x5000_0000), 0xf);
        // A copy writes all but the last two pages.
        global.mark_written(&mut extras, 0x10_0020, huge - 2 * PAGE);
        assert_eq!(global.pages.places.len(), 4);
        let end = 0x10_0020 + huge;
        let at = [0x10_0020, 0x5000_0000, 0x6000_0000, end - 2 * PAGE - 4, end - 2 * PAGE, end - 4, end];
        let cells = at.map(|at| unwritten(&mut global, &mut extras, at));
        assert_eq!(cells, [0, 0, 0, 0, 0xf, 0xf, 0]);
        global.reset(&mut extras, 0x10_0020, huge, true);
        assert!(global.fresh.is_empty() && global.pages.places.len() == 2);
    }
}
