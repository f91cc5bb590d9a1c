//! What a location carries for those who acquire: release patterns by scope (PTX ISA, "Release and Acquire Patterns").
//!
//! A release pattern synchronises with an acquire pattern if the scope of each contains the thread of the other. So what
//! was released is kept by the releaser's CTA and scope; and what was released at `.gpu` or `.sys` scope once more, together,
//! for acquires of such a scope.

use crate::clock::Line;
use crate::knowledge::Knowledge;
use crate::observed::Thread;
use crate::shadow::Location;
use crate::site::Site;
use memory_model::definitions::NEWEST;
use memory_model::event::Scope;
use std::sync::{Arc, LazyLock};

/// Where a thread is: the number of its CTA, and of its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Home {
    pub(crate) cta: u32,
    pub(crate) cluster: u32,
}

impl Home {
    /// Whether another thread is in the instance of a scope that this one is in.
    pub(crate) fn shares(self, other: Self, scope: Scope) -> bool {
        match scope {
            Scope::Cta => self.cta == other.cta,
            Scope::Cluster => self.cluster == other.cluster,
            Scope::Gpu | Scope::Sys => true,
        }
    }
}

/// What was released to a location, or to a phase of a barrier.
///
/// Whoever releases to what others hold copies it first, and counters of a grid's barrier carry a part of each CTA: so copies share
/// all parts. Most stand in a list, and the latest before it, each with those that came earlier, until there are enough of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Released {
    /// In the order of their keys.
    settled: Arc<Vec<Part>>,
    latest: Option<Arc<Latest>>,
    /// What was released to the device.
    device: Option<Knowledge>,
    line: Option<Arc<Line>>,
    /// Whether something was not.
    narrow: bool,
    /// Whether what was released last knows all of it, and the thread that has released that, if it is told.
    has_all: bool,
    knower: Option<Thread>,
}

/// What threads of a CTA have released at a scope.
#[derive(Clone, Debug)]
struct Part {
    home: Home,
    scope: Scope,
    knowledge: Knowledge,
}

impl Part {
    fn key(&self) -> (u32, Scope) {
        (self.home.cta, self.scope)
    }
}

/// A part, and those before it that are in no list yet.
#[derive(Clone, Debug)]
struct Latest {
    part: Part,
    before: Option<Arc<Self>>,
    count: usize,
}

/// Parts that are in no list, at most.
const LATEST: usize = 32;

impl Released {
    /// What a write without a release carries.
    pub(crate) fn nothing() -> Arc<Self> {
        static NOTHING: LazyLock<Arc<Released>> = LazyLock::new(Arc::default);
        Arc::clone(&NOTHING)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.settled.is_empty() && self.latest.is_none()
    }

    /// A thread releases what it knows.
    pub(crate) fn release(&mut self, home: Home, scope: Scope, mut knowledge: Knowledge) {
        // Threads of the device and those of the system are the same here.
        let scope = scope.min(Scope::Gpu);
        match scope {
            Scope::Cta | Scope::Cluster => (self.narrow, self.has_all) = (true, false),
            _ => {
                match &mut self.device {
                    Some(known) => known.join_in_line(&mut knowledge, &mut self.line),
                    device => *device = Some(knowledge.clone()),
                }
                let same = self.device.as_ref().is_some_and(|device| device.same(&knowledge));
                self.has_all = same && !self.narrow;
            }
        }
        self.knower = None;
        let new = Part { home, scope, knowledge };
        // Who releases twice in a row to what nobody has seen meanwhile.
        if let Some(own) =
            self.latest.as_mut().and_then(Arc::get_mut).filter(|own| own.part.key() == new.key())
        {
            return own.part.knowledge.join(&new.knowledge);
        }
        if self.latest.as_ref().is_some_and(|latest| latest.count == LATEST) {
            self.settle();
        }
        let before = self.latest.take();
        let count = before.as_ref().map_or(0, |before| before.count) + 1;
        self.latest = Some(Arc::new(Latest { part: new, before, count }));
    }

    /// It was a thread that has released last.
    pub(crate) fn released_by(&mut self, thread: Thread) {
        self.knower = Some(thread).filter(|_| self.has_all);
    }

    /// Whether a thread has released all of it, or learned it before it has released: who takes a lock that nobody else has had meanwhile.
    pub(crate) fn is_known_to(&self, thread: Thread) -> bool {
        self.knower == Some(thread)
    }

    /// The parts that are in no list.
    fn latest(&self) -> impl Iterator<Item = &Part> {
        let all = std::iter::successors(self.latest.as_deref(), |latest| latest.before.as_deref());
        all.map(|latest| &latest.part)
    }

    /// The latest parts are shared from now on.
    fn settle(&mut self) {
        let mut all = std::mem::take(&mut self.settled);
        let settled = Arc::make_mut(&mut all);
        for part in self.latest() {
            match settled.binary_search_by_key(&part.key(), Part::key) {
                Ok(at) => settled[at].knowledge.join(&part.knowledge),
                Err(at) => settled.insert(at, part.clone()),
            }
        }
        (self.settled, self.latest) = (all, None);
    }

    /// What was released to a thread that acquires at a scope, but for what was released to the device and is for it.
    fn parts(&self, home: Home, scope: Scope) -> impl Iterator<Item = &Part> {
        let all = self.settled.iter().chain(self.latest());
        let wide = scope >= Scope::Gpu;
        // Mostly there is nothing else.
        let all = all.take(if wide && !self.narrow { 0 } else { usize::MAX });
        all.filter(move |part| {
            !(wide && part.scope >= Scope::Gpu)
                && part.home.shares(home, NEWEST.common_scope(part.scope, scope))
        })
    }

    /// Whether something was released to a thread that acquires at a scope.
    pub(crate) fn reaches(&self, home: Home, scope: Scope) -> bool {
        scope >= Scope::Gpu && self.device.is_some() || self.parts(home, scope).next().is_some()
    }

    /// Whether it carries what its location carried at an earlier time, and more; only if that is told fast.
    pub(crate) fn continues(&self, earlier: &Self) -> bool {
        match (&self.device, &earlier.device) {
            (Some(now), Some(before)) => !earlier.narrow && now.continues(before),
            _ => earlier.is_empty(),
        }
    }

    /// A thread learns what was released to it.
    pub(crate) fn acquire(&self, home: Home, scope: Scope, into: &mut Knowledge) {
        if let Some(device) = self.device.as_ref().filter(|_| scope >= Scope::Gpu) {
            into.join(device);
        }
        self.parts(home, scope).for_each(|part| into.join(&part.knowledge));
    }
}

impl Location {
    /// Whether a strong operation of a thread is morally strong to the write of a location, if the proxies are one.
    pub(crate) fn reaches(&self, home: Home, site: &Site) -> bool {
        let scope = NEWEST.common_scope(self.scope, site.scope);
        self.bytes == site.element && self.writer.shares(home, scope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is kept by scope is reached by whom the model's text lets synchronise.
    #[test]
    fn releases_reach_those_whose_scopes_meet() {
        let homes = [Home { cta: 0, cluster: 0 }, Home { cta: 1, cluster: 0 }, Home { cta: 2, cluster: 1 }];
        for (from, to) in homes.iter().flat_map(|from| homes.iter().map(move |to| (*from, *to))) {
            for (release, acquire) in Scope::ALL.iter().flat_map(|a| Scope::ALL.iter().map(move |b| (*a, *b)))
            {
                let mut released = Released::default();
                released.release(from, release, Knowledge::all_until(5));
                let meet = from.shares(to, NEWEST.common_scope(release, acquire));
                assert_eq!(released.reaches(to, acquire), meet, "{from:?} {release} {to:?} {acquire}");
                let mut knowledge = Knowledge::default();
                released.acquire(to, acquire, &mut knowledge);
                assert_eq!(knowledge.generic.everyone() == 5, meet);
            }
        }
    }

    #[test]
    fn scopes_must_contain_one_another() {
        let home = |cta, cluster| Home { cta, cluster };
        let mut released = Released::default();
        released.release(home(0, 0), Scope::Cta, Knowledge::all_until(5));
        released.release(home(1, 0), Scope::Gpu, Knowledge::all_until(3));
        let acquired = |at: Home, scope| {
            let mut knowledge = Knowledge::default();
            released.acquire(at, scope, &mut knowledge);
            knowledge.generic.everyone()
        };
        assert_eq!(acquired(home(0, 0), Scope::Cta), 5);
        assert_eq!(acquired(home(1, 0), Scope::Cta), 3);
        assert_eq!(acquired(home(2, 1), Scope::Cta), 0);
        assert_eq!(acquired(home(2, 0), Scope::Cluster), 3);
        assert_eq!(acquired(home(9, 9), Scope::Gpu), 3);
        assert_eq!(acquired(home(9, 9), Scope::Cluster), 0);
    }

    /// Only a thread that knows all that was released before need not acquire it.
    #[test]
    fn who_has_released_last_may_know_all() {
        let [first, second] = [0, 1].map(|cta| (Home { cta, cluster: cta }, (cta, 0, 5)));
        let knows = |cta: u32, time| {
            let mut knowledge = Knowledge::all_until(3);
            knowledge.learn(cta, 0, !0, time);
            knowledge
        };
        let mut released = Released::default();
        let mut release = |(home, thread), scope, knowledge| {
            released.release(home, scope, knowledge);
            let before = released.is_known_to(thread);
            released.released_by(thread);
            (before, [first, second].map(|(_, thread)| released.is_known_to(thread)))
        };
        assert_eq!(release(first, Scope::Gpu, knows(0, 5)), (false, [true, false]));
        // The second one has not learned what the first one has done, and then it has.
        assert_eq!(release(second, Scope::Gpu, knows(1, 6)), (false, [false, false]));
        let mut both = knows(0, 5);
        both.join(&knows(1, 7));
        assert_eq!(release(second, Scope::Gpu, both), (false, [false, true]));
        // What others of its CTA may acquire alone is not asked for.
        assert_eq!(release(second, Scope::Cta, knows(1, 8)), (false, [false, false]));
    }
}
