//! Reads of pages that are in one piece: they are only listed, one after the other, which costs nobody a look at words
//! that are not in the host's caches. Most such memory nobody writes. Where it turns out that somebody does, whole warps' reads by
//! the same instruction of words side by side are not listed any more.
//!
//! A page is listed while one row stands for all of it, whose last write everybody knows, and until something else happens to it. Then
//! what is listed is remembered as it would have been at once ([`Checker::unlist`]): of these reads none is of a race, since what
//! was written comes before all of them, and later writes are compared with what is remembered.
//! Whoever comes to a page in another way and does not ask for that first has it in rows, and what was listed of it is left out.

use crate::accessor::Accessor;
use crate::check::Checker;
use crate::clock::{Clock, Time};
use crate::detector::lanes_of;
use crate::global::{Global, PAGE};
use crate::release::Home;
use crate::reused::Reused;
use crate::row::is_aligned;
use crate::runs::{HalfWarps, Run, Scattered, each_lane};
use crate::shadow::{Entry, GRANULE};
use crate::site::SiteId;
use machine::fault::Access;
use machine::lanes::simd::{Simd, Work, on_host};
use machine::memory::SHARED_WINDOW;
use rustc_hash::FxHashSet;
use std::ops::Range;
use std::sync::Arc;

/// Addresses that are listed at most, 64 MiB of them, instructions, and things that the clocks of these say.
const MOST: usize = 1 << 24;
const MOST_READS: usize = 1 << 20;
const MOST_KNOWN: usize = 1 << 20;
/// Pages of which it is known at a look whether they are listed.
const KNOWN: usize = 1024;

/// What of reads is listed.
#[derive(Clone, Copy, Debug)]
enum Places {
    /// The first address of a run: the lanes there, and how many elements it has. So many more warps read whole runs, each behind that of
    /// the warp before it.
    Run { lanes: u32, count: u8, more: u8 },
    /// An address for each of the lanes that read.
    OfLanes,
    /// The same for all lanes: those of others mean nothing. So most lanes are listed at one time.
    OfWarp,
}

/// Lanes of a warp at least that are listed so.
const MANY: u32 = 16;

/// Some lanes' reads of one element each.
#[derive(Debug)]
struct Reads {
    home: Home,
    warp: u16,
    entry: Entry,
    clock: usize,
    bytes: u32,
    places: Places,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Listed {
    reads: Vec<Reads>,
    /// In words, from the first one's on.
    addresses: Vec<u32>,
    begin: u64,
    clocks: Vec<Arc<Clock>>,
    /// How much the clocks say.
    said: usize,
    pages: Vec<u64>,
    /// The same side by side, in ascending order: the first address, and that behind the last.
    spans: Vec<Range<u64>>,
    /// By the last digits of its number, a page and whether it is listed.
    known: Box<[(u64, bool); KNOWN]>,
    /// The latest write to a page that is listed.
    written: Time,
    /// By instruction whether runs of it were listed of what was then written.
    refused: Vec<bool>,
}

/// What parts of launches have listed, and of which pages: these may be in rows, to which nothing else has happened since.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    lists: Vec<Reused<Listed>>,
    pages: FxHashSet<u64>,
}

/// Lists that are kept, at most.
const LISTS: usize = 256;

impl Kept {
    #[inline(always)]
    pub(crate) fn has(&self, number: u64) -> bool {
        !self.pages.is_empty() && self.pages.contains(&number)
    }

    /// A page is kept no longer. Whether it was.
    pub(crate) fn end(&mut self, number: u64) -> bool {
        self.pages.remove(&number)
    }
}

/// Of a number that no page has.
const NO_PAGE: (u64, bool) = (u64::MAX, false);

impl Default for Listed {
    fn default() -> Self {
        let (reads, addresses, clocks, pages, spans, refused) = Default::default();
        let known = vec![NO_PAGE; KNOWN].try_into().expect("the vector has as many elements");
        Self { reads, addresses, begin: 0, clocks, said: 0, pages, spans, known, written: 0, refused }
    }
}

impl Listed {
    /// Is as if it were new, but for its memory.
    pub(crate) fn forget_all(&mut self) {
        let Self { reads, addresses, begin, clocks, said, pages, spans, known, written, refused } = self;
        reads.clear();
        addresses.clear();
        clocks.clear();
        pages.clear();
        spans.clear();
        refused.clear();
        known.fill(NO_PAGE);
        (*begin, *said, *written) = (0, 0, 0);
    }

    /// Bytes of its memory.
    pub(crate) fn memory(&self) -> usize {
        self.reads.capacity() * size_of::<Reads>() + self.addresses.capacity() * size_of::<u32>()
    }

    fn is_full(&self) -> bool {
        self.addresses.len() >= MOST || self.reads.len() >= MOST_READS || self.said >= MOST_KNOWN
    }

    /// Runs of an instruction are not to be listed.
    fn refuse(&mut self, site: SiteId) {
        let site = site as usize;
        if self.refused.len() <= site {
            self.refused.resize(site + 1, false);
        }
        self.refused[site] = true;
    }

    /// By instruction whether runs of it are refused.
    pub(crate) fn refused(&self) -> &[bool] {
        &self.refused
    }

    /// Refuses what another one does.
    pub(crate) fn refuse_as(&mut self, refused: &[bool]) {
        self.refused.clear();
        self.refused.extend_from_slice(refused);
    }

    /// The pages of which there are reads.
    pub(crate) fn pages(&self) -> &[u64] {
        &self.pages
    }

    /// Notes reads whose addresses are listed.
    #[inline(always)]
    fn note(&mut self, entry: Entry, bytes: u64, places: Places, clock: &Arc<Clock>, by: &Accessor<'_>) {
        if !self.clocks.last().is_some_and(|last| Arc::ptr_eq(last, clock)) {
            self.clocks.push(Arc::clone(clock));
            self.said += clock.size();
        }
        let (bytes, clock) = (bytes as u32, self.clocks.len() - 1);
        self.reads.push(Reads { home: by.home, warp: by.warp, entry, clock, bytes, places });
    }

    /// A page is listed.
    fn add(&mut self, number: u64) {
        self.pages.push(number);
        let (start, end) = (number * PAGE, (number + 1) * PAGE);
        let at = self.spans.partition_point(|span| span.start < start);
        let joins = |span: &&Range<u64>| span.end == start || span.start == end;
        let before = at.checked_sub(1).filter(|&before| self.spans.get(before).as_ref().is_some_and(joins));
        let behind = self.spans.get(at).as_ref().is_some_and(joins);
        match (before, behind) {
            (None, false) => self.spans.insert(at, start..end),
            (None, true) => self.spans[at].start = start,
            (Some(before), false) => self.spans[before].end = end,
            (Some(before), true) => self.spans[before].end = self.spans.remove(at).end,
        }
    }

    /// What stands for the addresses of lanes, if they are all aligned and on pages side by side.
    #[inline(always)]
    fn words(&self, addresses: &[u64; 32], bytes: u64, mask: u32) -> Option<[u32; 32]> {
        let any = addresses[mask.trailing_zeros() as usize % 32];
        let at = self.spans.partition_point(|span| span.end <= any);
        let &Range { start, end } = self.spans.get(at)?;
        let fits = !self.addresses.is_empty()
            && start >= self.begin
            && (end - self.begin) / GRANULE <= u64::from(u32::MAX);
        let words = Words { addresses, mask, start, bytes: end - start, align: bytes - 1, begin: self.begin };
        if fits && mask != 0 { on_host(words) } else { None }
    }

    /// What stands for an address.
    fn word(&mut self, address: u64) -> Option<u32> {
        if self.addresses.is_empty() {
            // Memory lies on both sides of what was read first.
            self.begin = address.saturating_sub(u64::from(u32::MAX / 2) * GRANULE);
            self.begin -= self.begin % GRANULE;
        }
        u32::try_from(address.checked_sub(self.begin)? / GRANULE).ok()
    }
}

/// See [`Listed::words`].
struct Words<'a> {
    addresses: &'a [u64; 32],
    mask: u32,
    start: u64,
    bytes: u64,
    align: u64,
    begin: u64,
}

impl Work for Words<'_> {
    type Output = Option<[u32; 32]>;

    #[inline(always)]
    fn run<S: Simd>(self) -> Self::Output {
        let Self { addresses, mask, start, bytes, align, begin } = self;
        // Those of other lanes mean nothing.
        let addresses = match mask {
            u32::MAX => *addresses,
            _ => S::blend64(mask, *addresses, [start; 32]),
        };
        let outside = addresses.map(|at| u64::from(at.wrapping_sub(start) >= bytes) | at & align);
        let words = addresses.map(|at| (at.wrapping_sub(begin) / GRANULE) as u32);
        (outside.into_iter().fold(0, |all, outside| all | outside) == 0).then_some(words)
    }
}

impl Global {
    /// Lists reads of one element each by lanes of a mask. The lanes that are left.
    pub(crate) fn list(
        &mut self,
        (addresses, bytes, mask): (&[u64; 32], u64, u32),
        clock: &Arc<Clock>,
        by: &Accessor<'_>,
    ) -> u32 {
        let simple = matches!(bytes, 4 | 8 | 16) && by.is_plain();
        if !simple || by.everyone < self.listed.written || self.listed.is_full() {
            return mask;
        }
        if let Some(words) = self.listed.words(addresses, bytes, mask) {
            let places = if mask.count_ones() >= MANY { Places::OfWarp } else { Places::OfLanes };
            if let Places::OfWarp = places {
                self.listed.addresses.extend_from_slice(&words);
            } else {
                self.listed.addresses.extend(lanes_of(mask).map(|lane| words[lane as usize]));
            }
            self.listed.note(by.entry_of(mask), bytes, places, clock, by);
            return 0;
        }
        let mut listed = 0;
        for (lane, address) in each_lane(addresses, mask) {
            let number = Self::page_of(address);
            if self.may_list(number, by.everyone)
                && is_aligned(address, bytes)
                && let Some(word) = self.listed.word(address)
            {
                listed |= lane;
                self.listed.addresses.push(word);
            }
        }
        if listed != 0 {
            self.listed.note(by.entry_of(listed), bytes, Places::OfLanes, clock, by);
        }
        mask & !listed
    }

    /// Lists the runs of a warp, if all of them can be.
    pub(crate) fn list_runs(
        &mut self,
        half_warps: &HalfWarps,
        bytes: u64,
        clock: &Arc<Clock>,
        by: &Accessor<'_>,
    ) -> bool {
        let site = by.entry.site() as usize;
        let simple = matches!(bytes, 4 | 8 | 16) && by.is_plain();
        if !simple
            || by.everyone < self.listed.written
            || self.listed.is_full()
            || self.listed.refused.get(site).is_some_and(|refused| *refused)
        {
            return false;
        }
        let mut words = [0; 2];
        for (at, word) in words.iter_mut().enumerate().take(half_warps.runs) {
            let run = half_warps.run(at, bytes);
            let first = run.address;
            // An access to where nothing can be will fault.
            if !is_aligned(first, bytes) || first >= SHARED_WINDOW {
                return false;
            }
            let last = run.end() - 1;
            if last >= SHARED_WINDOW
                || !self.may_list(Self::page_of(first), by.everyone)
                || Self::page_of(first) != Self::page_of(last)
                    && !self.may_list(Self::page_of(last), by.everyone)
            {
                return false;
            }
            match self.listed.word(first) {
                Some(found) => *word = found,
                None => return false,
            }
        }
        for (at, &word) in words.iter().enumerate().take(half_warps.runs) {
            let run = half_warps.run(at, bytes);
            self.listed.addresses.push(word);
            let places = Places::Run { lanes: run.lanes, count: run.count as u8, more: 0 };
            self.listed.note(by.entry_of(by.lanes), bytes, places, clock, by);
        }
        true
    }

    /// Lists the run of the next warp of a pack, of so many bytes, behind the one that was listed last, if that can be.
    #[inline(always)]
    pub(crate) fn list_next(&mut self, first: u64, bytes: u64, everyone: Time) -> bool {
        let last = first.saturating_add(bytes - 1);
        let may = last < SHARED_WINDOW
            && self.may_list(Self::page_of(first), everyone)
            && (Self::page_of(first) == Self::page_of(last) || self.may_list(Self::page_of(last), everyone));
        match self.listed.reads.last_mut() {
            Some(Reads { places: Places::Run { more, .. }, .. }) if may => {
                *more += 1;
                true
            }
            _ => false,
        }
    }

    /// Whether reads of a page can be listed by who knows everybody up to a time.
    #[inline(always)]
    fn may_list(&mut self, number: u64, everyone: Time) -> bool {
        let known = &self.listed.known[number as usize % KNOWN];
        if known.0 == number { known.1 } else { self.look_at(number, everyone) }
    }

    /// Whether one of these pages is listed.
    #[inline(always)]
    fn lists_any_of(&self, first: u64, last: u64) -> bool {
        let Listed { pages, .. } = &*self.listed;
        self.lists()
            && match last - first < pages.len() as u64 {
                true => (first..=last).any(|number| self.is_listed(number)),
                false => pages.iter().any(|number| (first..=last).contains(number)),
            }
    }

    /// Whether any page is listed.
    #[inline(always)]
    pub(crate) fn lists(&self) -> bool {
        !self.listed.pages.is_empty()
    }

    /// Whether a page is listed.
    #[inline(always)]
    pub(crate) fn is_listed(&self, number: u64) -> bool {
        let known = &self.listed.known[number as usize % KNOWN];
        if known.0 == number { known.1 } else { self.has_listed(number) }
    }

    /// Whether reads of a page can be listed by who knows everybody up to a time; that is remembered.
    #[inline(never)]
    fn look_at(&mut self, number: u64, everyone: Time) -> bool {
        // An access to where nothing can be will fault.
        let written = if number < SHARED_WINDOW / PAGE { self.begin_listing(number, everyone) } else { None };
        if let Some((written, new)) = written {
            self.listed.written = written.max(self.listed.written);
            if new {
                self.listed.add(number);
            }
        }
        // What is kept of it is listed, though nothing more can be.
        if written.is_some() || !self.kept.has(number) {
            self.listed.known[number as usize % KNOWN] = (number, written.is_some());
        }
        written.is_some()
    }

    /// Pages that are listed are no longer so: their numbers, and what was listed, in the order in which it was.
    fn take_listed(&mut self) -> (FxHashSet<u64>, Vec<Reused<Listed>>) {
        let mut listed = std::mem::take(&mut self.listed);
        let pages = std::mem::take(&mut listed.pages);
        self.listed.refused = std::mem::take(&mut listed.refused);
        let pages = pages.into_iter().filter(|&number| self.end_listing(number)).collect();
        let mut all = std::mem::take(&mut self.kept).lists;
        all.push(listed);
        (pages, all)
    }

    /// Whether what others have listed can be kept, too.
    pub(crate) fn can_keep(&self, listed: &Listed) -> bool {
        let size = |listed: &Listed| listed.addresses.len() + listed.reads.len() + listed.said;
        let kept = self.kept.lists.iter().map(|listed| &**listed);
        self.kept.lists.len() < LISTS && kept.chain([listed]).map(size).sum::<usize>() < MOST
    }

    /// Keeps what others have listed, later than whatever happened to the pages.
    pub(crate) fn keep(&mut self, listed: Reused<Listed>) {
        for &number in &listed.pages {
            if !self.has_listed(number) {
                self.listed.pages.push(number);
            }
            self.kept.pages.insert(number);
            self.listed.known[number as usize % KNOWN] = NO_PAGE;
        }
        self.kept.lists.push(listed);
    }
}

impl Checker<'_> {
    /// Remembers what is listed as other reads are, if the page of a byte is listed that lies between the first and the last one.
    #[inline(always)]
    pub(crate) fn unlist(&mut self, global: &mut Global, (first, last): (u64, u64)) {
        let pages = Global::page_of(first)..=Global::page_of(last);
        if global.lists_any_of(*pages.start(), *pages.end()) {
            self.unlist_all(global, |page| pages.contains(&page));
        }
    }

    /// The same for lanes here and there.
    pub(crate) fn unlist_lanes(&mut self, global: &mut Global, addresses: &[u64; 32], mask: u32) {
        if global.lists() && each_lane(addresses, mask).any(|(_, at)| global.is_listed(Global::page_of(at))) {
            self.unlist_all(global, |page| {
                each_lane(addresses, mask).any(|(_, at)| Global::page_of(at) == page)
            });
        }
    }

    /// Something else happens to some pages.
    #[cold]
    #[inline(never)]
    fn unlist_all(&mut self, global: &mut Global, happens_to: impl Fn(u64) -> bool) {
        let (pages, lists) = global.take_listed();
        let found = (self.conflict.take(), self.unwritten.take(), self.own);
        self.own = false;
        lists.iter().for_each(|listed| self.unlist_one(global, listed, &pages, &happens_to));
        (self.conflict, self.unwritten, self.own) = found;
    }

    fn unlist_one(
        &mut self,
        global: &mut Global,
        Listed { reads, addresses: all, begin, clocks, .. }: &Listed,
        pages: &FxHashSet<u64>,
        happens_to: &impl Fn(u64) -> bool,
    ) {
        let mut all = all.iter().copied();
        for &Reads { home, warp, entry, clock, bytes, places } in reads {
            let site = self.sites.get(entry.site());
            if let Places::Run { lanes, count, more } = places {
                let word = all.next().unwrap_or_default();
                let (mut address, bytes) = (begin + u64::from(word) * GRANULE, u64::from(bytes));
                for further in 0..=u32::from(more) {
                    let entry = Entry { warps: entry.warps << further, ..entry };
                    let of = (warp + further as u16, entry.lanes);
                    let by = Accessor::new(home, of, &clocks[clock], entry, (site, Access::Load));
                    let run = Run { address, lanes, count: count.into(), bytes };
                    address = run.end();
                    for part in of_pages(run).filter(|part| pages.contains(&Global::page_of(part.address))) {
                        if happens_to(Global::page_of(part.address)) {
                            global.listed.refuse(entry.site());
                        }
                        self.read_part(global, &part, &by);
                    }
                }
                continue;
            }
            let (mut addresses, mut mask, bytes) = ([0; 32], 0, u64::from(bytes));
            let listed = if let Places::OfWarp = places { !0 } else { entry.lanes };
            // The lanes come first: an iterator that ends takes nothing from the other one.
            let listed = lanes_of(listed).zip(&mut all);
            // Lanes side by side are mostly on one page.
            let (mut page, mut is_listed) = (u64::MAX, false);
            for (lane, word) in listed.filter(|(lane, _)| entry.lanes >> lane & 1 != 0) {
                let address = begin + u64::from(word) * GRANULE;
                addresses[lane as usize] = address;
                if page != Global::page_of(address) {
                    page = Global::page_of(address);
                    is_listed = pages.contains(&page);
                }
                mask |= u32::from(is_listed) << lane;
            }
            let by = Accessor::new(home, (warp, mask), &clocks[clock], entry, (site, Access::Load));
            let left = self.scattered(global, (&addresses, bytes, mask), &by);
            for run in Scattered::new(addresses, bytes, left, true) {
                of_pages(run).for_each(|part| self.read_part(global, &part, &by));
            }
        }
    }

    /// A read within a page.
    fn read_part(&mut self, global: &mut Global, part: &Run, by: &Accessor<'_>) {
        self.run(global.rows_from(part.address, part.end()), part, by);
    }
}

/// What of a run lies in each page.
fn of_pages(run: Run) -> impl Iterator<Item = Run> {
    let mut rest = Some(run);
    std::iter::from_fn(move || {
        let run = rest?;
        let (first, behind) = run.cut((run.address | (PAGE - 1)) + 1);
        rest = behind;
        Some(first)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_side_by_side_are_one_span() {
        let mut listed = Listed::default();
        for number in [5, 9, 7, 6, 4, 11] {
            listed.add(number);
        }
        let pages = |first: u64, behind: u64| first * PAGE..behind * PAGE;
        assert_eq!(listed.spans, [pages(4, 8), pages(9, 10), pages(11, 12)]);
        listed.add(10);
        assert_eq!(listed.spans, [pages(4, 8), pages(9, 12)]);
    }

    #[test]
    fn words_stand_for_addresses_of_one_span() {
        let mut listed = Listed::default();
        listed.add(5);
        let begin = 5 * PAGE;
        assert_eq!(listed.word(begin).map(|word| listed.addresses.push(word)), Some(()));
        let mut addresses: [u64; 32] = std::array::from_fn(|lane| begin + 4 * (lane as u64 * 37 % 1024));
        let of = |address: u64| ((address - listed.begin) / GRANULE) as u32;
        assert_eq!(listed.words(&addresses, 4, !0), Some(addresses.map(of)));
        addresses[3] += 2;
        assert_eq!(listed.words(&addresses, 4, !0), None);
        assert!(listed.words(&addresses, 4, !8).is_some_and(|words| words[4] == of(addresses[4])));
        addresses[3] = begin + PAGE;
        assert_eq!(listed.words(&addresses, 4, !0), None);
    }
}
