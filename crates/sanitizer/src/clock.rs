//! What one thread knows of others: vector clocks, folded along the launch hierarchy.
//!
//! There is one count of time for everybody, which goes on whenever a thread releases something. An access is stamped
//! with the time; a clock tells for every thread up to which time its accesses happen before what follows. A barrier of a
//! CTA makes one number out of those of its threads, a launch one out of those of all threads before it, so a clock
//! is small however many threads there are.
//!
//! Asynchronous copies are performed by *agents*, threads of their own that nobody shares a program order with. An agent
//! has the number of a warp beyond those of a CTA, and is known lane by lane as others are; no barrier includes it.

use std::sync::Arc;

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
    /// By CTA, ascending.
    ctas: Vec<(u32, OfCta)>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct OfCta {
    /// Up to when all its threads are known; agents are no threads of it.
    threads: Time,
    /// By warp or agent, ascending.
    warps: Vec<(u16, OfWarp)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum OfWarp {
    /// All lanes alike.
    Alike(Time),
    Lanes(Box<[Time; LANES]>),
}

impl OfWarp {
    fn lane(&self, lane: u32) -> Time {
        match self {
            Self::Alike(time) => *time,
            Self::Lanes(lanes) => lanes[lane as usize],
        }
    }

    fn least(&self) -> Time {
        match self {
            Self::Alike(time) => *time,
            Self::Lanes(lanes) => lanes.iter().copied().fold(Time::MAX, Time::min),
        }
    }

    fn learn(&mut self, mask: u32, time: Time) {
        match self {
            Self::Alike(known) if mask == !0 => *known = time.max(*known),
            Self::Alike(known) if *known >= time => {}
            Self::Alike(known) => {
                *self = Self::Lanes(Box::new([*known; LANES]));
                self.learn(mask, time);
            }
            Self::Lanes(lanes) => {
                for (lane, known) in lanes.iter_mut().enumerate() {
                    if mask >> lane & 1 != 0 {
                        *known = time.max(*known);
                    }
                }
                if lanes.iter().all(|&known| known == lanes[0]) {
                    *self = Self::Alike(lanes[0]);
                }
            }
        }
    }

    fn join(&mut self, other: &Self) {
        match other {
            Self::Alike(time) => self.learn(!0, *time),
            Self::Lanes(lanes) => {
                for (lane, &time) in lanes.iter().enumerate() {
                    self.learn(1 << lane, time);
                }
            }
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

impl Clock {
    /// One that knows everything up to a time.
    pub(crate) fn all_until(time: Time) -> Self {
        Self { everyone: time, ..Self::default() }
    }

    /// Up to when everything by everyone is known.
    pub(crate) fn everyone(&self) -> Time {
        self.everyone
    }

    /// Up to when all threads of a CTA are known.
    pub(crate) fn threads_of(&self, cta: u32) -> Time {
        let whole = self.everyone.max(self.launch_of(cta));
        find(&self.ctas, cta).map_or(whole, |known| known.threads.max(whole))
    }

    /// Whether more is known of some warps of a CTA than of all.
    #[inline(always)]
    pub(crate) fn knows_warps(&self, cta: u32) -> bool {
        match &self.ctas[..] {
            [] => false,
            [(only, known)] => *only == cta && !known.warps.is_empty(),
            _ => true,
        }
    }

    /// The same as [`Self::threads_of`], and up to when all threads of one of its warps are known.
    pub(crate) fn of_warp(&self, cta: u32, warp: u16) -> (Time, Time) {
        let whole = self.everyone.max(self.launch_of(cta));
        let Some(known) = find(&self.ctas, cta) else { return (whole, whole) };
        let threads = known.threads.max(whole);
        let own = find(&known.warps, warp).map_or(0, OfWarp::least);
        (threads, threads.max(own))
    }

    /// Up to when a lane of a warp, or of an agent, is known.
    pub(crate) fn lane(&self, cta: u32, warp: u16, lane: u32) -> Time {
        let whole = self.everyone.max(self.launch_of(cta));
        let Some(known) = find(&self.ctas, cta) else { return whole };
        let threads = if warp < AGENTS { known.threads } else { 0 };
        let own = find(&known.warps, warp).map_or(0, |warp| warp.lane(lane));
        whole.max(threads).max(own)
    }

    /// Everything by everyone up to a time is known from now on.
    pub(crate) fn learn_everyone(&mut self, time: Time) {
        if time > self.everyone {
            self.everyone = time;
            self.launches.retain(|(_, _, known)| *known > time);
            self.ctas.retain(|(_, known)| {
                known.threads > time || known.warps.iter().any(|(_, w)| (0..32).any(|l| w.lane(l) > time))
            });
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
        let known = entry(&mut self.ctas, cta, OfCta::default);
        if time > known.threads {
            known.threads = time;
            // What is known of single warps is known anyway.
            known.warps.retain(|(warp, w)| *warp >= AGENTS || (0..32).any(|l| w.lane(l) > time));
        }
    }

    /// Lanes of a warp, or of an agent, are known up to a time.
    pub(crate) fn learn(&mut self, cta: u32, warp: u16, mask: u32, time: Time) {
        if time <= self.everyone {
            return;
        }
        let known = entry(&mut self.ctas, cta, OfCta::default);
        if warp >= AGENTS || time > known.threads {
            entry(&mut known.warps, warp, || OfWarp::Alike(0)).learn(mask, time);
        }
    }

    /// Whatever the other one knows is known from now on.
    pub(crate) fn join(&mut self, other: &Self) {
        self.learn_everyone(other.everyone);
        for &(first, last, time) in &other.launches {
            self.learn_launch(first, last, time);
        }
        for (cta, known) in &other.ctas {
            self.learn_cta(*cta, known.threads);
            for (warp, known) in &known.warps {
                match known {
                    OfWarp::Alike(time) => self.learn(*cta, *warp, !0, *time),
                    OfWarp::Lanes(lanes) => {
                        let mine = entry(&mut self.ctas, *cta, OfCta::default);
                        entry(&mut mine.warps, *warp, || OfWarp::Alike(0))
                            .join(&OfWarp::Lanes(lanes.clone()));
                    }
                }
            }
        }
    }
}

/// What is known for accesses through the generic proxy, and for those through the async proxy: of the latter only what
/// a `fence.proxy.async` has passed on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Knowledge {
    pub(crate) generic: Arc<Clock>,
    pub(crate) proxied: Arc<Clock>,
}

impl Knowledge {
    /// Everything until a time, through every proxy.
    pub(crate) fn all_until(time: Time) -> Self {
        let clock = Arc::new(Clock::all_until(time));
        Self { generic: Arc::clone(&clock), proxied: clock }
    }

    pub(crate) fn join(&mut self, other: &Self) {
        join(&mut self.generic, &other.generic);
        join(&mut self.proxied, &other.proxied);
    }

    pub(crate) fn learn(&mut self, cta: u32, warp: u16, mask: u32, time: Time) {
        Arc::make_mut(&mut self.generic).learn(cta, warp, mask, time);
    }

    /// Whether both are the very same.
    pub(crate) fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.generic, &other.generic) && Arc::ptr_eq(&self.proxied, &other.proxied)
    }
}

fn join(clock: &mut Arc<Clock>, other: &Arc<Clock>) {
    if !Arc::ptr_eq(clock, other) {
        Arc::make_mut(clock).join(other);
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
}
