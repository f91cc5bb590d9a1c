//! Intervals: what the threads of a CTA do to its shared memory between two barriers of all of them.
//!
//! Whatever comes before such a barrier is known to all that comes behind it. So what races is in one interval, and of a word
//! it is enough to know who has written and who has read it there: a [stamp](Interval), which is the interval's number and
//! the thread's. As long as nobody accesses what another thread has written, or writes what another has read, there is no race,
//! whatever orders them; and nothing of it matters behind the next barrier but which words were written.
//!
//! Accesses are kept until then as they were told. If one may race, or is something else than a weak access of whole words, the
//! interval is *closed*: its accesses are made one after the other as if there were no intervals, and so are all until the next
//! barrier of all threads. So a report is what it would be without. Where that happens again and again a launch has no more
//! intervals, and where asynchronous copies or other CTAs may access the memory, it has none at all: these know of
//! what is before a barrier by other means.

mod stamps;

use crate::anchors::{Anchor, Anchored, Found};
use crate::clock::Time;
use crate::detector::{Detector, Target, Who, begin_of_own};
use crate::places::{OfWarp, Placing, Reach};
use crate::row::{ROW, Row};
use crate::runs::each_lane;
use crate::shadow::{Extras, GRANULE};
use crate::site::{Site, SiteId};
use crate::together::Follower;
use machine::fault::Access;
use machine::lanes::simd::on_host;
use machine::lanes::{EMPTY, Plane};
use machine::memory::{SpaceKind, TENSOR_MEMORY};
use machine::observe::{MemoryAccess, PackAccess, PackAddresses};
use stamps::{Read, Write};
use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

/// Shared memory of which words are followed here, at most.
const REACH: u64 = TENSOR_MEMORY;

/// Accesses of warps that are kept, and those of which each lane's address is, at most. What has more closes the interval.
const WARPS: usize = 8192;
const PLANES: usize = 1024;
/// Accesses of packs that are kept, at most.
const KEPT: usize = 4096;

/// Stamps of an interval: one for each thread, and one for several.
const STAMPS: i32 = 2048;
const SEVERAL: i32 = STAMPS - 1;
/// The stamp of a word that was written before, at whatever time. Zero is that of one that nobody has written.
const BEFORE: i32 = 1;

/// A weak access of the warps of a pack.
#[derive(Clone, Copy, Debug)]
struct Kept {
    who: Who,
    time: Time,
    access: Access,
    bytes: u32,
    places: InList,
}

/// Where places of the warps of a pack are listed: the first, how many, and how much further on the access is.
#[derive(Clone, Copy, Debug)]
struct InList {
    at: usize,
    warps: usize,
    further: u32,
}

impl InList {
    #[inline(always)]
    fn of(self, warps: &[OfWarp]) -> impl Iterator<Item = OfWarp> {
        warps[self.at..self.at + self.warps].iter().map(move |of| of.moved(self.further))
    }
}

/// What becomes of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It is made.
    Made,
    /// It is not to this CTA's shared memory.
    Elsewhere,
    /// It is for who looks closer.
    Closes,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Interval {
    open: bool,
    /// The stamp of thread 0; those of earlier intervals are less.
    first: i32,
    /// Of each word of shared memory who has written and who has read it. Reads are noted as far as `noted` says.
    writes: Vec<i32>,
    reads: Vec<i32>,
    kept: Vec<Kept>,
    warps: Vec<OfWarp>,
    planes: Vec<Plane<u32>>,
    anchored: Anchored,
    /// Accesses whose reads are noted: they are once somebody writes.
    noted: usize,
    /// Whether somebody has written in this interval.
    written: bool,
    /// Words of which all are written.
    whole: Range<usize>,
    /// Words that were written and of which the rows do not know.
    news: Range<usize>,
}

impl Interval {
    /// All threads know what all have done: a new one begins.
    pub(crate) fn begin(&mut self) {
        self.open = true;
        self.forget();
        self.first += STAMPS;
        if self.first > i32::MAX - 2 * STAMPS {
            self.writes.iter_mut().for_each(|stamp| *stamp = (*stamp).min(BEFORE));
            self.reads.fill(0);
            self.anchored.clear();
            self.first = STAMPS;
        }
    }

    /// Memory that nobody has accessed.
    pub(crate) fn clear(&mut self) {
        self.forget();
        self.anchored.clear();
        self.writes.fill(0);
        (self.open, self.whole, self.news) = (false, 0..0, 0..0);
    }

    fn forget(&mut self) {
        self.kept.clear();
        self.warps.clear();
        self.planes.clear();
        self.noted = 0;
        self.written = false;
    }

    /// Makes an access, if it is one that cannot race.
    #[inline(always)]
    fn access(
        &mut self,
        (rows, extras): (&[Row], &Extras),
        (who, access, begin): (Who, &PackAccess<'_>, u64),
        (masks, kind): (&[u32], Access),
        (anchor, time): (Option<Anchor>, Time),
    ) -> Fate {
        let before = (self.warps.len(), self.planes.len());
        let is_full = before.0 + masks.len() > WARPS || before.1 + masks.len() > PLANES;
        if is_full || self.kept.len() >= KEPT {
            return fate(access, begin, masks);
        }
        let anchor = anchor.filter(|_| !matches!(access.addresses, PackAddresses::Uniform(_)));
        let known = anchor.and_then(|anchor| self.anchored(who.warp, anchor, (access, begin, masks)));
        let Some((places, reach)) = known.or_else(|| self.list(access, begin, masks)) else {
            self.take_back(before);
            return fate(access, begin, masks);
        };
        let words = reach.words(access.bytes.into());
        if words.end > self.writes.len() {
            let all = words.end.next_power_of_two().max(256);
            self.writes.resize(all, 0);
            self.reads.resize(all, 0);
        }
        self.kept.push(Kept { who, time, access: kind, bytes: access.bytes, places });
        let free = match kind {
            // Mostly all was written before the last barrier.
            Access::Load
                if !self.written && self.whole.start <= words.start && words.end <= self.whole.end =>
            {
                true
            }
            Access::Load => on_host(Read { of: self, memory: (rows, extras) }),
            Access::Store => {
                self.written = true;
                let free = on_host(Write { of: self });
                self.wrote(words);
                free
            }
            Access::Atomic => false,
        };
        if free {
            if let Some(anchor) = anchor.filter(|_| known.is_none()) {
                self.note_anchor(who.warp, anchor, (begin, masks), (places, reach));
            }
            return Fate::Made;
        }
        // Who looks closer makes it.
        self.kept.pop();
        self.take_back(before);
        Fate::Closes
    }

    /// Makes reads of a team, whose first one is given, if all words that they read were written before the interval.
    #[inline(always)]
    fn read_together(
        &mut self,
        (who, access, begin): (Who, &PackAccess<'_>, u64),
        (masks, followers): (&[u32], &[Follower]),
        (anchor, time): (Option<Anchor>, Time),
    ) -> bool {
        let before = (self.warps.len(), self.planes.len());
        let is_full = before.0 + masks.len() > WARPS || self.kept.len() + followers.len() >= KEPT;
        if self.written || is_full || before.1 + masks.len() > PLANES {
            return false;
        }
        let anchor = anchor.filter(|_| !matches!(access.addresses, PackAddresses::Uniform(_)));
        let known = anchor.and_then(|anchor| self.anchored(who.warp, anchor, (access, begin, masks)));
        let Some((places, reach)) = known.or_else(|| self.list(access, begin, masks)) else {
            self.take_back(before);
            return false;
        };
        let whole = self.whole.clone();
        let is_written = |reach: Reach, bytes: u32| {
            let words = reach.words(bytes.into());
            whole.start <= words.start && words.end <= whole.end
        };
        let follows = |&Follower { further, bytes, .. }: &Follower| {
            matches!(bytes, 4 | 8 | 16)
                && reach
                    .moved(further)
                    .is_some_and(|reach| is_followed(reach, bytes) && is_written(reach, bytes))
        };
        let at_steps = places.of(&self.warps).all(|of| of.is_at_steps());
        if !at_steps || !is_written(reach, access.bytes) || !followers.iter().all(follows) {
            self.take_back(before);
            return false;
        }
        let first = Kept { who, time, access: Access::Load, bytes: access.bytes, places };
        let kept = |&Follower { behind, further, bytes }: &Follower| {
            let places = InList { further: places.further.wrapping_add(further as u32), ..places };
            Kept { who: Who { site: who.site + behind, ..who }, bytes, places, ..first }
        };
        self.kept.push(first);
        self.kept.extend(followers.iter().map(kept));
        if let Some(anchor) = anchor.filter(|_| known.is_none()) {
            self.note_anchor(who.warp, anchor, (begin, masks), (places, reach));
        }
        true
    }

    /// Lists where the warps of a pack access, if all words are followed here.
    #[inline(always)]
    fn list(&mut self, access: &PackAccess<'_>, begin: u64, masks: &[u32]) -> Option<(InList, Reach)> {
        let Self { warps, planes, .. } = self;
        let places = InList { at: warps.len(), warps: masks.len(), further: 0 };
        let PackAccess { ref addresses, step, .. } = *access;
        let reach = Placing { addresses, step, begin, masks, warps, planes }.place();
        is_followed(reach, access.bytes).then_some((places, reach))
    }

    /// The same where it follows from what is listed.
    #[inline(always)]
    fn anchored(
        &self,
        first_warp: u16,
        anchor: Anchor,
        (access, begin, masks): (&PackAccess<'_>, u64, &[u32]),
    ) -> Option<(InList, Reach)> {
        let found = self.anchored.find(first_warp, anchor)?;
        if found.interval != self.first || found.begin != begin || found.masks[..masks.len()] != *masks {
            return None;
        }
        let further = anchor.offset.wrapping_sub(found.offset);
        let reach = found.reach.moved(further).filter(|&reach| is_followed(reach, access.bytes))?;
        let places = InList { at: found.at, warps: masks.len(), further: further as u32 };
        debug_assert!(are_at(places.of(&self.warps), access, begin), "{access:?} {anchor:?} {found:?}");
        Some((places, reach))
    }

    /// Remembers what is listed of a value.
    fn note_anchor(
        &mut self,
        first_warp: u16,
        anchor: Anchor,
        (begin, masks): (u64, &[u32]),
        (places, reach): (InList, Reach),
    ) {
        if places.of(&self.warps).all(|of| of.is_at_steps()) {
            let mut of_all = EMPTY;
            of_all[..masks.len()].copy_from_slice(masks);
            let (interval, offset, at) = (self.first, anchor.offset, places.at);
            let found = Found { interval, masks: of_all, begin, offset, reach, at };
            self.anchored.note(first_warp, anchor, found);
        }
    }

    fn take_back(&mut self, (warps, planes): (usize, usize)) {
        self.warps.truncate(warps);
        self.planes.truncate(planes);
    }

    /// Words were written.
    fn wrote(&mut self, words: Range<usize>) {
        let Self { writes, whole, news, .. } = self;
        let Range { start, end } = words;
        *news = if news.end == 0 { start..end } else { news.start.min(start)..news.end.max(end) };
        let known = if whole.end == 0 { start..start } else { whole.clone() };
        let before = writes[..known.start].iter().rev().take_while(|stamp| **stamp != 0).count();
        let behind = writes[known.end..].iter().take_while(|stamp| **stamp != 0).count();
        *whole = known.start - before..known.end + behind;
    }
}

fn word_of(place: u32) -> usize {
    (place / GRANULE as u32) as usize
}

fn words_of(bytes: u32) -> usize {
    (bytes / GRANULE as u32) as usize
}

/// Whether words within a reach are followed here, by accesses of so many bytes.
#[inline(always)]
fn is_followed(reach: Reach, bytes: u32) -> bool {
    reach.some < REACH && reach.some & u64::from(bytes - 1) == 0
}

/// Whether warps that access at steps access what is told.
fn are_at(warps: impl Iterator<Item = OfWarp>, access: &PackAccess<'_>, begin: u64) -> bool {
    warps.enumerate().all(|(warp, of)| {
        let addresses = access.addresses.lanes(warp);
        of.each(&[]).all(|(lane, place)| addresses[lane as usize].wrapping_sub(begin) == u64::from(place))
    })
}

/// What becomes of an access that is not kept.
#[cold]
fn fate(access: &PackAccess<'_>, begin: u64, masks: &[u32]) -> Fate {
    let inside = |address: u64| address.wrapping_sub(begin) < REACH;
    let mut each = masks.iter().enumerate().filter(|(_, mask)| **mask != 0);
    match each.any(|(warp, &mask)| each_lane(&access.addresses.lanes(warp), mask).any(|(_, at)| inside(at))) {
        false if access.space == SpaceKind::Generic => Fate::Elsewhere,
        _ => Fate::Closes,
    }
}

/// Whether rows say that a word was written.
#[cold]
fn has_been_written(rows: &[Row], extras: &Extras, word: usize) -> bool {
    let address = word as u64 * GRANULE;
    rows.get((address / ROW) as usize).is_some_and(|row| extras.is_written(row, address))
}

impl Detector {
    /// Makes a weak access of a pack to the shared memory of its own CTA, if it belongs to an interval and cannot race. What does
    /// not closes the interval.
    #[inline(always)]
    pub(crate) fn in_interval(
        &mut self,
        (who, anchor): (Who, Option<Anchor>),
        access: &PackAccess<'_>,
        masks: &[u32],
        kind: Access,
    ) -> bool {
        if access.space == SpaceKind::Global {
            return false;
        }
        let Self { blocks, launches, extras, time, .. } = self;
        let block = blocks.of_number(who.home.cta, launches);
        if let Some(anchor) = anchor.filter(|anchor| anchor.begins) {
            block.interval.anchored.forget(who.warp, anchor);
        }
        if !block.interval.open {
            return false;
        }
        let Some(begin) = begin_of_own(&launches[who.launch], access.space) else { return false };
        let fate = match access.bytes {
            4 | 8 | 16 => {
                let rows = (&block.shared[..], &**extras);
                block.interval.access(rows, (who, access, begin), (masks, kind), (anchor, *time))
            }
            _ => fate(access, begin, masks),
        };
        match fate {
            Fate::Made if launches[who.launch].intervals.is_busy() => self.find_anchors(who.site),
            Fate::Closes => self.close_interval(who.home.cta),
            Fate::Made | Fate::Elsewhere => {}
        }
        fate == Fate::Made
    }

    /// Makes the reads of a team by a pack from the shared memory of its own CTA, whose first one is given, if they belong to an interval in which
    /// nobody writes.
    #[inline(always)]
    pub(crate) fn read_together(
        &mut self,
        (who, site): (Who, &Site),
        access: &PackAccess<'_>,
        masks: &[u32],
    ) -> bool {
        let Self { blocks, launches, sites, time, .. } = self;
        if access.space == SpaceKind::Global || !matches!(access.bytes, 4 | 8 | 16) {
            return false;
        }
        let block = blocks.of_number(who.home.cta, launches);
        let begin = begin_of_own(&launches[who.launch], access.space).filter(|_| block.interval.open);
        let Some(begin) = begin else { return false };
        if let Some(anchor) = site.anchor.filter(|anchor| anchor.begins) {
            block.interval.anchored.forget(who.warp, anchor);
        }
        let followers = &sites.followers()[site.followers.range()];
        let by = (site.anchor, *time);
        let made = block.interval.read_together((who, access, begin), (masks, followers), by);
        if made && launches[who.launch].intervals.is_busy() {
            self.find_anchors(who.site);
        }
        made
    }

    /// Finds out what the addresses of the function of an instruction are computed of, which takes as long as many accesses do.
    #[cold]
    #[inline(never)]
    fn find_anchors(&mut self, site: SiteId) {
        let Site { module, function, .. } = *self.sites.get(site);
        if let Some(text) = self.modules.get(module as usize).filter(|_| !self.registers_change) {
            Arc::make_mut(&mut self.sites).find_anchors((module, text), function);
        }
    }

    /// Somebody is about to look at the rows of a CTA's shared memory: they say then what its interval has said.
    #[inline(always)]
    pub(crate) fn close_interval_of(&mut self, target: Target) {
        if let Target::Shared(cta, _) = target
            && self.blocks.get(cta).is_some_and(|block| block.interval.open)
        {
            self.close_interval(cta);
        }
    }

    /// The same if lanes are about to access it otherwise than weakly.
    pub(crate) fn close_interval_for(&mut self, who: Who, access: &MemoryAccess<'_>, mask: u32) {
        let (cta, space) = (who.home.cta, access.space);
        if space != SpaceKind::Global && self.blocks.get(cta).is_some_and(|block| block.interval.open) {
            let own = |(_, address)| matches!(self.target(who, space, address), Target::Shared(..));
            if each_lane(access.addresses, mask).any(own) {
                self.close_interval(cta);
            }
        }
    }

    /// The accesses of an interval are made as if there were none.
    #[cold]
    #[inline(never)]
    pub(crate) fn close_interval(&mut self, cta: u32) {
        let Self { blocks, extras, .. } = self;
        let Some(block) = blocks.get_mut(cta) else { return };
        let mut interval = std::mem::take(&mut block.interval);
        let news = std::mem::take(&mut interval.news);
        let (start, end) = (news.start as u64 * GRANULE, news.end as u64 * GRANULE);
        if start < end {
            for (row, words) in
                block.rows(start / ROW * ROW, end).iter_mut().zip((start / ROW..).map(words_of_row))
            {
                extras.have_written(row, |word| {
                    interval.writes.get(words + word).is_some_and(|stamp| *stamp != 0)
                });
            }
        }
        let now = self.time;
        let mut launch = None;
        for &Kept { who, time, access, bytes, places } in &interval.kept {
            self.time = time;
            let own = || places.of(&interval.warps);
            let masks: Vec<u32> = own().map(|of| of.mask).collect();
            let planes: Vec<_> = own().map(|of| of.places.plane(&interval.planes)).collect();
            let addresses = PackAddresses::Narrow(&planes, 0);
            let site: Site = *self.sites.get(who.site);
            let told = PackAccess { space: SpaceKind::Shared, access, bytes, addresses, step: None };
            self.weak(who, &site, &told, (&masks, access));
            launch = Some(who.launch);
        }
        self.time = now;
        interval.forget();
        interval.open = false;
        if let Some(block) = self.blocks.get_mut(cta) {
            block.interval = interval;
        }
        if let Some(launch) = launch {
            self.launches[launch].intervals.closed();
        }
    }
}

/// The first word of a row.
fn words_of_row(row: u64) -> usize {
    (row * ROW / GRANULE) as usize
}

/// Whether a launch has intervals.
#[derive(Clone, Debug, Default)]
pub(crate) struct Intervals {
    /// Whether it may have some at all.
    pub(crate) possible: bool,
    begun: Cell<u32>,
    closed: Cell<u32>,
    accesses: Cell<u32>,
}

/// Accesses of packs in intervals of a launch after which it is worth a look at the kernel; few where tests are to come by it.
const BUSY: u32 = if cfg!(debug_assertions) { 4 } else { 2048 };

/// Intervals that may be closed before it is asked whether that is most of them.
const PATIENCE: u32 = 32;

impl Intervals {
    /// Whether another one is to begin.
    pub(crate) fn begin(&self) -> bool {
        let (begun, closed) = (self.begun.get(), self.closed.get());
        let begins = self.possible && (closed < PATIENCE || closed < begun / 4);
        self.begun.set(begun.saturating_add(u32::from(begins)));
        begins
    }

    /// Another access is made. Whether it is the one after which there are many.
    #[inline(always)]
    fn is_busy(&self) -> bool {
        self.accesses.set(self.accesses.get().wrapping_add(1));
        self.accesses.get() == BUSY
    }

    fn closed(&self) {
        self.closed.set(self.closed.get().saturating_add(1));
    }
}
