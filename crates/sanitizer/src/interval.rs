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

use crate::clock::Time;
use crate::detector::{Detector, Target, Who, begin_of_own, lanes_of};
use crate::row::{ROW, Row};
use crate::runs::each_lane;
use crate::shadow::{Extras, GRANULE};
use crate::site::Site;
use machine::fault::Access;
use machine::lanes::Plane;
use machine::memory::{SpaceKind, TENSOR_MEMORY};
use machine::observe::{MemoryAccess, PackAccess, PackAddresses};
use std::cell::Cell;
use std::ops::Range;

/// Shared memory of which words are followed here, at most.
const REACH: u64 = TENSOR_MEMORY;

/// Warps whose addresses are kept, and accesses of packs, at most. What has more closes the interval.
const PLANES: usize = 1024;
const ACCESSES: usize = 1024;

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
    warps: usize,
    /// The place that all lanes access, or none if the planes say where.
    uniform: Option<u32>,
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
    masks: Vec<u32>,
    planes: Vec<Plane<u32>>,
    /// Accesses whose reads are noted: they are once somebody writes. With them masks and planes.
    noted: [usize; 3],
    /// Whether somebody has written in this interval.
    written: bool,
    /// Words of which all are written.
    whole: Range<usize>,
    /// Words that were written and of which the rows do not know.
    news: Range<usize>,
}

/// Whether a word with a stamp is not of this interval, or of one thread alone.
#[inline(always)]
fn is_free(stamp: i32, first: i32, own: i32) -> bool {
    (stamp < first) | (stamp == own)
}

/// Whether lanes access words one after the other.
#[inline(always)]
fn is_dense(places: &[u32; 32]) -> bool {
    let (mut differs, mut expected) = (0, places[0]);
    for place in places {
        differs |= place ^ expected;
        expected = expected.wrapping_add(GRANULE as u32);
    }
    differs == 0
}

/// What places have in common: bits that some have, and bits that all have.
#[derive(Clone, Copy)]
struct Bits {
    some: u64,
    all: u64,
}

impl Bits {
    const NONE: Self = Self { some: 0, all: !0 };

    #[inline(always)]
    fn add(&mut self, place: u64) {
        self.some |= place;
        self.all &= place;
    }
}

/// The places of the lanes of a mask, of which that of the first one stands for the others.
#[inline(always)]
fn places_of<T: Copy>(lanes: &[T; 32], mask: u32, bits: &mut Bits, place: impl Fn(T) -> u64) -> Plane<u32> {
    let (mut places, mut own) = ([0; 32], Bits::NONE);
    if mask == !0 {
        for (to, &lane) in places.iter_mut().zip(lanes) {
            let at = place(lane);
            own.add(at);
            *to = at as u32;
        }
    } else if mask != 0 {
        places = [place(lanes[mask.trailing_zeros() as usize]) as u32; 32];
        for lane in lanes_of(mask) {
            let at = place(lanes[lane as usize]);
            own.add(at);
            places[lane as usize] = at as u32;
        }
    }
    (bits.some, bits.all) = (bits.some | own.some, bits.all & own.all);
    Plane(places)
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
            self.first = STAMPS;
        }
    }

    /// Memory that nobody has accessed.
    pub(crate) fn clear(&mut self) {
        self.forget();
        self.writes.fill(0);
        (self.open, self.whole, self.news) = (false, 0..0, 0..0);
    }

    fn forget(&mut self) {
        self.kept.clear();
        self.masks.clear();
        self.planes.clear();
        self.noted = [0; 3];
        self.written = false;
    }

    /// Makes an access, if it is one that cannot race.
    fn access(
        &mut self,
        (rows, extras): (&[Row], &Extras),
        (who, access, begin): (Who, &PackAccess<'_>, u64),
        (masks, kind): (&[u32], Access),
        time: Time,
    ) -> Fate {
        let bytes = access.bytes;
        let kept = (self.masks.len(), self.planes.len());
        let (uniform, words) = match self.places(access, begin, masks) {
            Ok(kept) => kept,
            Err(fate) => {
                self.planes.truncate(kept.1);
                return fate;
            }
        };
        self.masks.extend(masks);
        self.kept.push(Kept { who, time, access: kind, bytes, warps: masks.len(), uniform });
        let free = match kind {
            // Mostly all was written before the last barrier.
            Access::Load
                if !self.written && self.whole.start <= words.start && words.end <= self.whole.end =>
            {
                true
            }
            Access::Load => self.read((rows, extras), kept),
            Access::Store => {
                self.note_reads();
                self.written = true;
                self.write(kept)
            }
            Access::Atomic => false,
        };
        if free {
            return Fate::Made;
        }
        // Who looks closer makes it.
        self.kept.pop();
        self.masks.truncate(kept.0);
        self.planes.truncate(kept.1);
        Fate::Closes
    }

    /// Keeps the places of all warps. The place of all lanes, if it is one, and words that none is before and none is behind; or what
    /// becomes of the access.
    #[inline(always)]
    fn places(
        &mut self,
        access: &PackAccess<'_>,
        begin: u64,
        masks: &[u32],
    ) -> Result<(Option<u32>, Range<usize>), Fate> {
        let bytes = u64::from(access.bytes);
        let mut of = Bits::NONE;
        if self.kept.len() == ACCESSES || self.planes.len() + masks.len() > PLANES {
            return Err(fate(access, begin, masks));
        }
        let uniform = match access.addresses {
            PackAddresses::Uniform(address) => {
                of.add(address.wrapping_sub(begin));
                Some(of.some as u32)
            }
            PackAddresses::Narrow(planes, offset) => {
                for (plane, &mask) in planes.iter().zip(masks) {
                    let place = |address: u32| u64::from(address.wrapping_add(offset)).wrapping_sub(begin);
                    self.planes.push(places_of(&plane.0, mask, &mut of, place));
                }
                None
            }
            PackAddresses::Wide(planes, offset) => {
                let offset = offset.wrapping_sub(begin);
                for (plane, &mask) in planes.iter().zip(masks) {
                    self.planes
                        .push(places_of(&plane.0, mask, &mut of, |address| address.wrapping_add(offset)));
                }
                None
            }
        };
        if of.some >= REACH || of.some & (bytes - 1) != 0 {
            return Err(fate(access, begin, masks));
        }
        let behind = (of.some | (bytes - 1)) as usize / GRANULE as usize + 1;
        if behind > self.writes.len() {
            let words = behind.next_power_of_two().max(256);
            self.writes.resize(words, 0);
            self.reads.resize(words, 0);
        }
        Ok((uniform, (of.all / GRANULE) as usize..behind))
    }

    /// The last of the accesses that are kept reads: whether nobody else has written what it reads, and somebody has.
    fn read(&mut self, (rows, extras): (&[Row], &Extras), (masks, planes): (usize, usize)) -> bool {
        let Self { writes, kept, .. } = self;
        let Some(&Kept { who, bytes, uniform, warps, .. }) = kept.last() else { return false };
        let (first, count) = (self.first, (bytes / GRANULE as u32) as usize);
        let free = |writes: &mut [i32], place: u32, own: i32| {
            (word_of(place)..).take(count).all(|at| match writes[at] {
                0 => {
                    let written = has_been_written(rows, extras, at);
                    writes[at] = if written { BEFORE } else { 0 };
                    written
                }
                stamp => is_free(stamp, first, own),
            })
        };
        let begin = first + 32 * i32::from(who.warp);
        if let Some(place) = uniform {
            let mut lanes =
                self.masks[masks..].iter().zip((begin..).step_by(32)).filter(|(mask, _)| **mask != 0);
            return lanes.all(|(&mask, begin)| free(writes, place, own_of(mask, begin, first)));
        }
        for (warp, begin) in (0..warps).zip((begin..).step_by(32)) {
            let (mask, places) = (self.masks[masks + warp], &self.planes[planes + warp].0);
            if mask == 0 {
                continue;
            }
            if mask == !0 && count == 1 {
                let mut free = true;
                let mut look = |own, stamp| free &= is_free(stamp, first, own) & (stamp != 0);
                match is_dense(places) {
                    true => {
                        let stamps = &writes[word_of(places[0])..][..32];
                        (begin..).zip(stamps).for_each(|(own, &stamp)| look(own, stamp));
                    }
                    false => {
                        (begin..).zip(places).for_each(|(own, &place)| look(own, writes[word_of(place)]));
                    }
                }
                if free {
                    continue;
                }
            }
            let mut each = lanes_of(mask).map(|lane| (places[lane as usize], begin + lane as i32));
            if !each.all(|(place, own)| free(writes, place, own)) {
                return false;
            }
        }
        true
    }

    /// Notes all reads that are kept.
    fn note_reads(&mut self) {
        let [done, mut masks, mut planes] = self.noted;
        for &Kept { who, access, bytes, warps, uniform, .. } in &self.kept[done..] {
            let (at_masks, at_planes) = (masks, planes);
            masks += warps;
            planes += if uniform.is_none() { warps } else { 0 };
            if access != Access::Load {
                continue;
            }
            let (first, count) = (self.first, (bytes / GRANULE as u32) as usize);
            let reads = &mut self.reads;
            let note = |reads: &mut [i32], place: u32, own: i32| {
                for stamp in &mut reads[word_of(place)..][..count] {
                    *stamp = if is_free(*stamp, first, own) { own } else { first + SEVERAL };
                }
            };
            for (warp, begin) in (0..warps).zip((first + 32 * i32::from(who.warp)..).step_by(32)) {
                let mask = self.masks[at_masks + warp];
                match uniform {
                    Some(place) if mask != 0 => note(reads, place, own_of(mask, begin, first)),
                    Some(_) => {}
                    None => {
                        let places = &self.planes[at_planes + warp].0;
                        if mask == !0 && count == 1 && is_dense(places) {
                            for (own, stamp) in (begin..).zip(&mut reads[word_of(places[0])..][..32]) {
                                *stamp = if is_free(*stamp, first, own) { own } else { first + SEVERAL };
                            }
                            continue;
                        }
                        lanes_of(mask)
                            .for_each(|lane| note(reads, places[lane as usize], begin + lane as i32));
                    }
                }
            }
        }
        self.noted = [self.kept.len(), self.masks.len(), self.planes.len()];
    }

    /// The last of the accesses that are kept writes: whether nobody else has accessed what it writes.
    fn write(&mut self, (masks, planes): (usize, usize)) -> bool {
        let Some(&Kept { who, bytes, uniform, warps, .. }) = self.kept.last() else { return false };
        self.noted = [self.kept.len(), self.masks.len(), self.planes.len()];
        let (first, count) = (self.first, (bytes / GRANULE as u32) as usize);
        let Self { writes, reads, news, .. } = self;
        let free = |writes: &mut [i32], place: u32, own: i32| {
            let at = word_of(place);
            writes[at..][..count].iter_mut().zip(&reads[at..][..count]).all(|(write, read)| {
                let free = is_free(*write, first, own) && is_free(*read, first, own);
                *write = own;
                free
            })
        };
        let begin = first + 32 * i32::from(who.warp);
        let mut all = true;
        for (warp, begin) in (0..warps).zip((begin..).step_by(32)) {
            let mask = self.masks[masks + warp];
            if mask == 0 {
                continue;
            }
            let (least, greatest) = match uniform {
                Some(place) => {
                    all &=
                        mask.is_power_of_two() && free(writes, place, begin + mask.trailing_zeros() as i32);
                    (place, place)
                }
                None => {
                    let places = &self.planes[planes + warp].0;
                    if mask == !0 && count == 1 && is_dense(places) {
                        let at = word_of(places[0]);
                        for (own, (write, read)) in
                            (begin..).zip(writes[at..][..32].iter_mut().zip(&reads[at..][..32]))
                        {
                            all &= is_free(*write, first, own) & is_free(*read, first, own);
                            *write = own;
                        }
                    } else {
                        all &= lanes_of(mask)
                            .all(|lane| free(writes, places[lane as usize], begin + lane as i32));
                    }
                    places.iter().fold((u32::MAX, 0), |(least, greatest), &place| {
                        (least.min(place), greatest.max(place))
                    })
                }
            };
            let (start, end) = (word_of(least), word_of(greatest) + count);
            *news = if news.end == 0 { start..end } else { news.start.min(start)..news.end.max(end) };
        }
        let whole = if self.whole.end == 0 { self.news.start..self.news.start } else { self.whole.clone() };
        let before = self.writes[..whole.start].iter().rev().take_while(|stamp| **stamp != 0).count();
        let behind = self.writes[whole.end..].iter().take_while(|stamp| **stamp != 0).count();
        self.whole = whole.start - before..whole.end + behind;
        all
    }
}

/// The stamp of lanes that access a word together, of a warp whose stamps begin with `begin`.
fn own_of(mask: u32, begin: i32, first: i32) -> i32 {
    match mask.is_power_of_two() {
        true => begin + mask.trailing_zeros() as i32,
        false => first + SEVERAL,
    }
}

fn word_of(place: u32) -> usize {
    (place / GRANULE as u32) as usize
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
        who: Who,
        access: &PackAccess<'_>,
        masks: &[u32],
        kind: Access,
    ) -> bool {
        if access.space == SpaceKind::Global {
            return false;
        }
        let Self { blocks, launches, extras, time, .. } = self;
        let block = blocks.of_number(who.home.cta, launches);
        if !block.interval.open {
            return false;
        }
        let Some(begin) = begin_of_own(&launches[who.launch], access.space) else { return false };
        let fate = match access.bytes {
            4 | 8 | 16 => {
                let rows = (&block.shared[..], &*extras);
                block.interval.access(rows, (who, access, begin), (masks, kind), *time)
            }
            _ => fate(access, begin, masks),
        };
        if fate == Fate::Closes {
            self.close_interval(who.home.cta);
        }
        fate == Fate::Made
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
        let (mut masks, mut planes) = (&interval.masks[..], &interval.planes[..]);
        let mut launch = None;
        for &Kept { who, time, access, bytes, warps, uniform } in &interval.kept {
            self.time = time;
            let (own, behind) = masks.split_at(warps);
            masks = behind;
            let addresses = match uniform {
                Some(place) => PackAddresses::Uniform(place.into()),
                None => {
                    let (own, behind) = planes.split_at(warps);
                    planes = behind;
                    PackAddresses::Narrow(own, 0)
                }
            };
            let site: Site = *self.sites.get(who.site);
            let told = PackAccess { space: SpaceKind::Shared, access, bytes, addresses };
            self.weak(who, &site, &told, (own, access));
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
#[derive(Debug, Default)]
pub(crate) struct Intervals {
    /// Whether it may have some at all.
    pub(crate) possible: bool,
    begun: Cell<u32>,
    closed: Cell<u32>,
}

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

    fn closed(&self) {
        self.closed.set(self.closed.get().saturating_add(1));
    }
}
