//! What one thread knows of others: vector clocks, folded along the launch hierarchy.
//!
//! There is one count of time for everybody, which goes on whenever a thread releases something. An access is stamped
//! with the time; a clock tells for every thread up to which time its accesses happen before what follows. A barrier of a
//! CTA makes one number out of those of its threads, a launch one out of those of all threads before it, so a clock
//! is small however many threads there are. It lies in flat lists without pointers, since whoever releases or acquires copies
//! and joins whole clocks.
//!
//! Asynchronous copies are performed by *agents*, threads of their own that nobody shares a program order with. An agent
//! has the number of a warp beyond those of a CTA, and is known lane by lane as others are; no barrier includes it.

use crate::spare::{List, Spared};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::LocalKey;

/// A point of the one count of time. Time 0 is before everything.
pub(crate) type Time = u32;

/// Warps of a CTA; agents have numbers from here on.
pub(crate) const AGENTS: u16 = 32;

/// The lanes of a warp.
const LANES: usize = 32;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock {
    /// Up to when everything by everyone is known.
    everyone: Time,
    /// Whole launches: first and last CTA, and up to when all their threads and agents are known.
    launches: Vec<(u32, u32, Time)>,
    /// By CTA, ascending: up to when all its threads are known; agents are no threads of it.
    ctas: List<(u32, Time)>,
    /// By CTA and warp or agent, ascending: what more is known of them.
    warps: List<(Key, OfWarp)>,
    /// Which of the clocks that a location has carried it goes on from, as long as that is told shortly.
    line: Standing,
}

impl Spared for (u32, Time) {
    fn waiting() -> &'static LocalKey<RefCell<Vec<Vec<Self>>>> {
        thread_local!(static WAITING: RefCell<Vec<Vec<(u32, Time)>>> = const { RefCell::new(Vec::new()) });
        &WAITING
    }
}

impl Spared for (Key, OfWarp) {
    fn waiting() -> &'static LocalKey<RefCell<Vec<Vec<Self>>>> {
        thread_local!(static WAITING: RefCell<Vec<Vec<(Key, OfWarp)>>> = const { RefCell::new(Vec::new()) });
        &WAITING
    }
}

/// The number of a [line](Line), which clock of it, and the CTA of which more is known than that clock knows, if there is one. The
/// number is 0 of those that are of no line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    line: u64,
    place: u64,
    beyond: Option<u32>,
}

/// Clocks that a location carries one after the other, each of which knows all that the one before it did. Who has acquired one of
/// them, and has learned of nobody but his own CTA since, compares that alone when he acquires a later one or releases.
#[derive(Debug)]
pub(crate) struct Line {
    number: u64,
    /// The place of the latest clock. What continues an earlier one begins another line.
    latest: AtomicU64,
}

impl Line {
    /// Where the clock stands that follows another one.
    fn follow(line: &mut Option<Arc<Self>>, before: Standing) -> Standing {
        static LINES: AtomicU64 = AtomicU64::new(1);
        let is_latest = |line: &&Arc<Self>| {
            let latest = line.latest.load(Ordering::Relaxed);
            before == Standing { line: line.number, place: latest, beyond: None }
        };
        let own = line.as_ref().filter(is_latest);
        match own {
            Some(line) => {
                line.latest.store(before.place + 1, Ordering::Relaxed);
                Standing { place: before.place + 1, ..before }
            }
            None => {
                let number = LINES.fetch_add(1, Ordering::Relaxed);
                *line = Some(Arc::new(Self { number, latest: AtomicU64::new(0) }));
                Standing { line: number, ..Standing::default() }
            }
        }
    }
}

/// A CTA and a warp or agent.
type Key = u64;

fn key(cta: u32, warp: u16) -> Key {
    Key::from(cta) << 16 | Key::from(warp)
}

fn cta_of(key: Key) -> u32 {
    (key >> 16) as u32
}

fn is_agent(key: Key) -> bool {
    key as u16 >= AGENTS
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum OfWarp {
    /// These lanes until a time, and the rest until an earlier one. All lanes alike have both times equal.
    Two {
        lanes: u32,
        time: Time,
        rest: Time,
    },
    Lanes(Arc<[Time; LANES]>),
}

impl OfWarp {
    const NOTHING: Self = Self::Two { lanes: !0, time: 0, rest: 0 };

    fn two(lanes: u32, time: Time, rest: Time) -> Self {
        match lanes {
            0 => Self::Two { lanes: !0, time: rest, rest },
            u32::MAX => Self::Two { lanes, time, rest: time },
            _ if time == rest => Self::Two { lanes: !0, time, rest },
            _ => Self::Two { lanes, time, rest },
        }
    }

    fn of_lanes(times: [Time; LANES]) -> Self {
        let (mut least, mut greatest) = (Time::MAX, 0);
        for time in times {
            (least, greatest) = (least.min(time), greatest.max(time));
        }
        let (mut lanes, mut between) = (0, false);
        for (lane, time) in times.iter().enumerate() {
            lanes |= u32::from(*time == greatest) << lane;
            between |= *time != greatest && *time != least;
        }
        if between { Self::Lanes(Arc::new(times)) } else { Self::two(lanes, greatest, least) }
    }

    fn times(&self) -> [Time; LANES] {
        match self {
            Self::Two { .. } => std::array::from_fn(|lane| self.lane(lane as u32)),
            Self::Lanes(times) => **times,
        }
    }

    fn lane(&self, lane: u32) -> Time {
        match self {
            Self::Two { lanes, time, rest } => {
                if lanes >> lane & 1 != 0 {
                    *time
                } else {
                    *rest
                }
            }
            Self::Lanes(times) => times[lane as usize],
        }
    }

    fn least(&self) -> Time {
        match self {
            Self::Two { rest, .. } => *rest,
            Self::Lanes(times) => times.iter().copied().fold(Time::MAX, Time::min),
        }
    }

    fn greatest(&self) -> Time {
        match self {
            Self::Two { time, .. } => *time,
            Self::Lanes(times) => times.iter().copied().fold(0, Time::max),
        }
    }

    fn learn(&mut self, mask: u32, new: Time) {
        if mask == 0 {
            return;
        }
        if let Self::Two { lanes, time, rest } = *self {
            // Who was behind and is so no longer, and who stays behind.
            let (behind, left) = (!lanes & mask, !lanes & !mask);
            let simple = match new {
                _ if new <= rest => return,
                _ if new == time => Self::two(lanes | mask, time, rest),
                _ if new < time && behind == 0 => return,
                _ if new < time && left == 0 => Self::two(lanes, time, new),
                _ if new > time && lanes & !mask == 0 => Self::two(mask, new, rest),
                _ if new > time && left == 0 => Self::two(mask, new, time),
                _ => {
                    let mut times = self.times();
                    learn_each(&mut times, mask, new);
                    Self::of_lanes(times)
                }
            };
            *self = simple;
        } else if self.behind(new) & mask != 0 {
            let mut times = self.times();
            learn_each(&mut times, mask, new);
            *self = Self::of_lanes(times);
        }
    }

    /// The lanes that are not known until a time.
    fn behind(&self, new: Time) -> u32 {
        match self {
            Self::Two { lanes, time, rest } => {
                let of = |lanes: u32, known: &Time| if *known < new { lanes } else { 0 };
                of(*lanes, time) | of(!lanes, rest)
            }
            Self::Lanes(times) => {
                let bits = times.iter().enumerate().map(|(lane, known)| u32::from(*known < new) << lane);
                bits.fold(0, |all, bit| all | bit)
            }
        }
    }

    /// Whether all lanes are known as far as by another one.
    #[inline(always)]
    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Lanes(mine), Self::Lanes(theirs)) if Arc::ptr_eq(mine, theirs) => true,
            (Self::Two { lanes, time, rest }, Self::Two { lanes: others, time: later, rest: earlier }) => {
                rest >= earlier && time >= later && (others & !lanes == 0 || rest >= later)
            }
            _ => (0..LANES as u32).all(|lane| self.lane(lane) >= other.lane(lane)),
        }
    }

    fn join(&mut self, other: &Self) {
        if self.covers(other) {
            return;
        }
        match (&*self, other) {
            (_, Self::Two { lanes, time, rest }) => {
                self.learn(!0, *rest);
                self.learn(*lanes, *time);
            }
            (_, Self::Lanes(theirs)) => {
                let mut times = self.times();
                for (mine, theirs) in times.iter_mut().zip(&**theirs) {
                    *mine = (*mine).max(*theirs);
                }
                *self = Self::of_lanes(times);
            }
        }
    }
}

fn learn_each(times: &mut [Time; LANES], mask: u32, new: Time) {
    for (lane, known) in times.iter_mut().enumerate() {
        if mask >> lane & 1 != 0 {
            *known = new.max(*known);
        }
    }
}

/// The value of a key in an ascending list, made if it is not there.
fn entry<K: Ord + Copy, V>(list: &mut Vec<(K, V)>, key: K, make: impl FnOnce() -> V) -> &mut V {
    let at = match list.binary_search_by_key(&key, |(k, _)| *k) {
        Ok(at) => at,
        Err(at) => {
            list.insert(at, (key, make()));
            at
        }
    };
    &mut list[at].1
}

fn find<K: Ord + Copy, V>(list: &[(K, V)], key: K) -> Option<&V> {
    list.binary_search_by_key(&key, |(k, _)| *k).ok().map(|at| &list[at].1)
}

/// Joins one ascending list into another. Returns whether there are new keys.
fn merge<K: Ord + Copy, V: Clone>(
    list: &mut List<(K, V)>,
    other: &[(K, V)],
    mut join: impl FnMut(&mut V, &V),
) -> bool
where
    (K, V): Spared,
{
    let (mut at, mut new) = (0, 0);
    for (key, value) in other {
        while list.get(at).is_some_and(|(k, _)| k < key) {
            at += 1;
        }
        match list.get_mut(at) {
            Some((k, known)) if k == key => join(known, value),
            _ => new += 1,
        }
    }
    if new == 0 {
        return false;
    }
    let mut all = List::with_room(list.len() + new);
    let mut mine = list.drain(..).peekable();
    for (key, value) in other {
        while let Some(before) = mine.next_if(|(k, _)| k < key) {
            all.push(before);
        }
        all.push(mine.next_if(|(k, _)| k == key).unwrap_or_else(|| (*key, value.clone())));
    }
    all.extend(mine);
    *list = all;
    true
}

impl Clock {
    /// One that knows everything up to a time.
    pub(crate) fn all_until(time: Time) -> Self {
        Self { everyone: time, ..Self::default() }
    }

    /// How many things it says.
    pub(crate) fn size(&self) -> usize {
        1 + self.launches.len() + self.ctas.len() + self.warps.len()
    }

    /// Up to when everything by everyone is known.
    pub(crate) fn everyone(&self) -> Time {
        self.everyone
    }

    /// Up to when all threads of a CTA are known.
    pub(crate) fn threads_of(&self, cta: u32) -> Time {
        let whole = self.everyone.max(self.launch_of(cta));
        find(&self.ctas, cta).map_or(whole, |known| whole.max(*known))
    }

    /// The warps and agents of a CTA.
    fn range(&self, cta: u32) -> Range<usize> {
        if self.warps.is_empty() {
            return 0..0;
        }
        let first = self.warps.partition_point(|(k, _)| *k < key(cta, 0));
        let count = self.warps[first..].iter().take_while(|(k, _)| cta_of(*k) == cta).count();
        first..first + count
    }

    /// Whether more is known of some warps of a CTA than of all.
    #[inline(always)]
    pub(crate) fn knows_warps(&self, cta: u32) -> bool {
        !self.warps.is_empty() && !self.range(cta).is_empty()
    }

    /// The same as [`Self::threads_of`], and up to when all threads of one of its warps are known.
    pub(crate) fn of_warp(&self, cta: u32, warp: u16) -> (Time, Time) {
        let threads = self.threads_of(cta);
        let own = find(&self.warps, key(cta, warp)).map_or(0, OfWarp::least);
        (threads, threads.max(own))
    }

    /// Up to when a lane of a warp, or of an agent, is known.
    pub(crate) fn lane(&self, cta: u32, warp: u16, lane: u32) -> Time {
        let key = key(cta, warp);
        let own = find(&self.warps, key).map_or(0, |warp| warp.lane(lane));
        self.anyway(key).max(own)
    }

    /// The lanes of a warp, or of an agent, that are not known up to a time.
    pub(crate) fn behind(&self, cta: u32, warp: u16, mask: u32, time: Time) -> u32 {
        let threads = if warp < AGENTS { find(&self.ctas, cta).copied().unwrap_or(0) } else { 0 };
        if self.everyone.max(threads) >= time || self.launch_of(cta) >= time {
            return 0;
        }
        mask & find(&self.warps, key(cta, warp)).map_or(!0, |warp| warp.behind(time))
    }

    /// Everything by everyone up to a time is known from now on.
    pub(crate) fn learn_everyone(&mut self, time: Time) {
        if time > self.everyone {
            self.line = Standing::default();
            self.everyone = time;
            self.launches.retain(|(_, _, known)| *known > time);
            self.ctas.retain(|(_, known)| *known > time);
            self.warps.retain(|(_, known)| known.greatest() > time);
        }
    }

    fn launch_of(&self, cta: u32) -> Time {
        let has = |(first, last, _): &&(u32, u32, Time)| (*first..=*last).contains(&cta);
        self.launches.iter().find(has).map_or(0, |(_, _, time)| *time)
    }

    /// A launch, the CTAs from `first` to `last`, is known up to a time.
    pub(crate) fn learn_launch(&mut self, first: u32, last: u32, time: Time) {
        if time <= self.everyone {
            return;
        }
        self.line = Standing::default();
        match self.launches.iter_mut().find(|(f, ..)| *f == first) {
            Some((_, _, known)) => *known = time.max(*known),
            None => self.launches.push((first, last, time)),
        }
    }

    /// The threads of a CTA are known up to a time.
    pub(crate) fn learn_cta(&mut self, cta: u32, time: Time) {
        if time <= self.everyone {
            return;
        }
        self.goes_beyond(cta);
        let known = entry(&mut self.ctas, cta, || 0);
        if time > *known {
            *known = time;
            // What is known of single warps is known anyway.
            let range = self.range(cta);
            if !range.is_empty() {
                let mut kept = range.start;
                for at in range.clone() {
                    let (key, warp) = &self.warps[at];
                    if is_agent(*key) || warp.greatest() > time {
                        self.warps.swap(kept, at);
                        kept += 1;
                    }
                }
                self.warps.drain(kept..range.end);
            }
        }
    }

    /// Lanes of a warp, or of an agent, are known up to a time.
    pub(crate) fn learn(&mut self, cta: u32, warp: u16, mask: u32, time: Time) {
        if time <= self.everyone {
            return;
        }
        self.goes_beyond(cta);
        if warp >= AGENTS || find(&self.ctas, cta).is_none_or(|threads| time > *threads) {
            entry(&mut self.warps, key(cta, warp), || OfWarp::NOTHING).learn(mask, time);
        }
    }

    /// Whatever the other one knows is known from now on.
    pub(crate) fn join(&mut self, other: &Self) {
        self.line = Standing::default();
        self.learn_everyone(other.everyone);
        for &(first, last, time) in &other.launches {
            self.learn_launch(first, last, time);
        }
        let mut later = false;
        let ctas = merge(&mut self.ctas, &other.ctas, |mine, theirs| {
            later |= theirs > mine;
            *mine = (*mine).max(*theirs);
        });
        let warps = merge(&mut self.warps, &other.warps, OfWarp::join);
        if ctas || warps || later {
            self.forget_what_is_known_anyway();
        }
    }

    /// More is known of a CTA.
    fn goes_beyond(&mut self, cta: u32) {
        match self.line.beyond {
            Some(known) if known != cta => self.line = Standing::default(),
            _ => self.line.beyond = Some(cta),
        }
    }

    /// Whether it knows all that another one does, if it goes on from the same clock of a line as that or from a later one.
    pub(crate) fn covers_in_line(&self, other: &Self) -> Option<bool> {
        let (mine, theirs) = (self.line, other.line);
        let later = mine.line != 0 && mine.line == theirs.line && mine.place >= theirs.place;
        later.then(|| theirs.beyond.is_none_or(|cta| self.covers_cta(other, cta)))
    }

    /// Up to when a warp or agent is known without a look at it alone: by its CTA, as far as that has it, its launch or everyone.
    fn anyway(&self, key: Key) -> Time {
        let cta = cta_of(key);
        if is_agent(key) { self.everyone.max(self.launch_of(cta)) } else { self.threads_of(cta) }
    }

    /// Whether it knows of a CTA what another one does, as far as that is told fast.
    fn covers_cta(&self, other: &Self, cta: u32) -> bool {
        let knows = |(key, theirs): &(Key, OfWarp)| {
            theirs.greatest() <= self.anyway(*key)
                || find(&self.warps, *key).is_some_and(|mine| mine.covers(theirs))
        };
        self.threads_of(cta) >= other.threads_of(cta) && other.warps[other.range(cta)].iter().all(knows)
    }

    /// Whatever another one knows of a CTA is known from now on.
    fn join_cta(&mut self, other: &Self, cta: u32) {
        self.learn_cta(cta, other.threads_of(cta));
        self.goes_beyond(cta);
        for (key, theirs) in &other.warps[other.range(cta)] {
            if theirs.greatest() > self.anyway(*key) {
                entry(&mut self.warps, *key, || OfWarp::NOTHING).join(theirs);
            }
        }
    }

    /// Whether it knows all that another one does, as far as a look at one after the other tells.
    fn covers(&self, other: &Self) -> bool {
        let mut ctas = self.ctas.iter();
        let mut warps = self.warps.iter();
        let knows = |cta: &(u32, Time)| {
            let mine = ctas.find(|(mine, _)| *mine >= cta.0);
            mine.is_some_and(|(mine, time)| *mine == cta.0 && *time >= cta.1)
        };
        let knows_warp = |(key, warp): &(Key, OfWarp)| {
            let mine = warps.find(|(mine, _)| mine >= key);
            mine.is_some_and(|(mine, known)| mine == key && known.covers(warp))
        };
        let fewer = self.ctas.len() < other.ctas.len() || self.warps.len() < other.warps.len();
        if fewer || self.everyone < other.everyone || self.launches != other.launches {
            return false;
        }
        // As many must be the same.
        let of_ctas = match self.ctas.len() == other.ctas.len() {
            true => self.ctas.chunks(SOME).zip(other.ctas.chunks(SOME)).all(|(mine, theirs)| {
                let both = mine.iter().zip(theirs);
                both.fold(true, |all, (mine, theirs)| all & (mine.0 == theirs.0) & (mine.1 >= theirs.1))
            }),
            false => other.ctas.iter().all(knows),
        };
        of_ctas
            && match self.warps.len() == other.warps.len() {
                true => {
                    let mut both = self.warps.iter().zip(other.warps.iter());
                    both.all(|(mine, theirs)| mine.0 == theirs.0 && mine.1.covers(&theirs.1))
                }
                false => other.warps.iter().all(knows_warp),
            }
    }

    /// Drops what is known of CTAs that is known of everyone, and of warps that is known of their CTA.
    fn forget_what_is_known_anyway(&mut self) {
        let Self { everyone, ctas, warps, .. } = self;
        ctas.retain(|(_, known)| known > everyone);
        let mut at = 0;
        warps.retain(|(key, warp)| {
            let cta = cta_of(*key);
            while ctas.get(at).is_some_and(|(c, _)| *c < cta) {
                at += 1;
            }
            let threads = ctas.get(at).filter(|(c, _)| *c == cta && !is_agent(*key));
            warp.greatest() > threads.map_or(*everyone, |(_, known)| *known)
        });
    }
}

/// CTAs that are compared before it is asked whether that is enough.
const SOME: usize = 16;

/// Joins a clock that others may have into one that others may have.
pub(crate) fn join(clock: &mut Arc<Clock>, other: &Arc<Clock>) {
    if learn_unless_less(clock, other) {
        *clock = Arc::clone(other);
    }
}

/// The same unless the other one knows all that the first one does, which then can be that.
fn learn_unless_less(clock: &mut Arc<Clock>, other: &Arc<Clock>) -> bool {
    if Arc::ptr_eq(clock, other) {
        return true;
    }
    let beyond = |clock: &Clock| clock.line.beyond.unwrap_or_default();
    // Whoever has acquired knows what was released there before: then both have one clock.
    if let Some(covers) = other.covers_in_line(clock) {
        if covers {
            return true;
        }
        let before = std::mem::replace(clock, Arc::clone(other));
        Arc::make_mut(clock).join_cta(&before, beyond(&before));
    } else if let Some(covers) = clock.covers_in_line(other) {
        if !covers {
            Arc::make_mut(clock).join_cta(other, beyond(other));
        }
    } else if other.covers(clock) {
        return true;
    } else if !clock.covers(other) {
        Arc::make_mut(clock).join(other);
    }
    false
}

/// The same of what a location carries, whose clocks are a line, and of what is released to it. If the result knows no more than
/// that did, it is that.
pub(crate) fn join_in_line(clock: &mut Arc<Clock>, other: &mut Arc<Clock>, line: &mut Option<Arc<Line>>) {
    let before = clock.line;
    let known = learn_unless_less(clock, other);
    // Nobody else has it yet, or who releases has told nothing new.
    if let Some(latest) = Arc::get_mut(if known { &mut *other } else { &mut *clock }) {
        latest.line = Line::follow(line, before);
    }
    if known {
        *clock = Arc::clone(other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_knows_what_it_learned() {
        let mut clock = Clock::all_until(3);
        clock.learn(7, 2, 0b10, 9);
        assert_eq!((clock.lane(7, 2, 1), clock.lane(7, 2, 0), clock.lane(8, 0, 0)), (9, 3, 3));
        clock.learn_cta(7, 12);
        assert_eq!((clock.lane(7, 2, 1), clock.threads_of(7), clock.threads_of(6)), (12, 12, 3));
        assert_eq!(clock.lane(7, AGENTS, 0), 3, "no barrier includes agents");
        clock.learn(7, AGENTS, 1, 5);
        clock.learn_cta(7, 20);
        assert_eq!(clock.lane(7, AGENTS, 0), 5);
        clock.learn(7, 3, !0, 25);
        clock.learn(7, 4, 1, 25);
        assert_eq!([2, 3, 4].map(|warp| clock.of_warp(7, warp)), [(20, 20), (20, 25), (20, 20)]);
        clock.learn_everyone(30);
        assert_eq!(clock, Clock::all_until(30));
    }

    #[test]
    fn lanes_are_told_apart() {
        // Against one number for each lane.
        let mut random = 1_u32;
        let mut next = |most: u32| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 8) % most
        };
        for _ in 0..200 {
            let (mut clock, mut other) = (Clock::all_until(2), Clock::all_until(1));
            let mut known = [[2; LANES], [1; LANES]];
            for _ in 0..next(8) {
                let masks = [1, 2, !0, 0xffff, !0 << 16, next(1 << 24)];
                let (mask, time, which) = (masks[next(6) as usize], next(12), next(2) as usize);
                if which == 0 { &mut clock } else { &mut other }.learn(4, 1, mask, time);
                learn_each(&mut known[which], mask, time);
            }
            let times =
                |clock: &Clock| std::array::from_fn::<_, LANES, _>(|lane| clock.lane(4, 1, lane as u32));
            assert_eq!([times(&clock), times(&other)], known);
            for time in 0..14 {
                let behind = (0..LANES).filter(|&lane| known[0][lane] < time);
                let behind = behind.fold(0, |all, lane| all | 1 << lane);
                assert_eq!(clock.behind(4, 1, 0xffff_00ff, time), behind & 0xffff_00ff);
            }
            let covers = known[0].iter().zip(&known[1]).all(|(mine, theirs)| mine >= theirs);
            assert!(covers || !clock.covers(&other), "{clock:?} {other:?}");
            clock.join(&other);
            let both = std::array::from_fn(|lane| known[0][lane].max(known[1][lane]));
            assert_eq!(times(&clock), both);
            assert!(
                clock.covers(&other) || clock.warps.is_empty() || other.warps.is_empty(),
                "{clock:?} {other:?}"
            );
        }
    }

    #[test]
    fn joining_takes_the_later_of_both() {
        let (mut a, mut b) = (Clock::all_until(1), Clock::all_until(2));
        a.learn(0, 0, 0xff, 10);
        a.learn_cta(1, 4);
        b.learn(0, 0, 0xf0, 12);
        b.learn(1, 3, 1, 9);
        a.join(&b);
        let known = [a.lane(0, 0, 0), a.lane(0, 0, 7), a.lane(0, 0, 8), a.lane(1, 3, 0), a.lane(1, 3, 1)];
        assert_eq!(known, [10, 12, 2, 9, 4]);
    }

    /// Joins of clocks that go on from a line against joins of all that they know.
    #[test]
    fn lines_say_what_clocks_say() {
        let mut random = 1_u32;
        let mut next = |most: u32| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 8) % most
        };
        let known = |clock: &Clock| {
            let of_cta =
                |cta| (0..2).flat_map(move |warp| (0..2).map(move |lane| clock.lane(cta, warp, lane)));
            (0..4).flat_map(|cta| of_cta(cta).chain([clock.lane(cta, AGENTS, 0)])).collect::<Vec<_>>()
        };
        let mut lines = 0;
        for _ in 0..200 {
            let (mut carried, mut line) = (Arc::new(Clock::all_until(1)), None);
            let mut threads = [0, 1, 2, 3].map(|_| Arc::new(Clock::all_until(1)));
            for time in 2..40 {
                let cta = next(4) as usize;
                let clock = &mut threads[cta];
                match next(8) {
                    0 => Arc::make_mut(clock).learn_cta(cta as u32, time),
                    1 => Arc::make_mut(clock).learn(cta as u32, next(2) as u16, 1 << next(2), time),
                    2 => Arc::make_mut(clock).learn(cta as u32, AGENTS, 1, time),
                    3 if next(6) == 0 => Arc::make_mut(clock).learn_everyone(time / 2),
                    3..5 => {
                        let mut both = (**clock).clone();
                        both.join(&carried);
                        lines += usize::from(carried.covers_in_line(clock).is_some());
                        join(clock, &carried);
                        assert_eq!(known(clock), known(&both));
                    }
                    _ => {
                        let mut released = Arc::new((**clock).clone());
                        Arc::make_mut(&mut released).learn(cta as u32, 0, 1, time);
                        let mut both = (*carried).clone();
                        both.join(&released);
                        join_in_line(&mut carried, &mut released, &mut line);
                        assert_eq!(known(&carried), known(&both));
                    }
                }
            }
        }
        assert!(lines > 200, "{lines}");
    }
}
