//! Halves of release and acquire patterns (PTX ISA, "Release and Acquire Patterns"): fences that a write may follow, and relaxed
//! reads that a fence may follow.
//!
//! They are kept beside what lanes know. So lanes that know the same, as behind a barrier, are one group, though one of them has
//! done for all what the others have not, as who waits for a whole grid.

use crate::clock::Time;
use crate::knowledge::Knowledge;
use crate::release::{Home, Released};
use crate::site::SiteId;
use crate::state::Warp;
use memory_model::event::Scope;
use std::sync::Arc;

/// What a thread knew at its last fence of each scope, and when that was.
pub(crate) type Fences = [Option<(Knowledge, Time)>; 4];

/// What a relaxed read has seen: a later fence, or acquire of the same location, may learn it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) address: u64,
    pub(crate) released: Arc<Released>,
    /// The read, and whether it was an acquire itself, of a scope that is too narrow for some.
    pub(crate) site: SiteId,
    pub(crate) acquired: bool,
    /// Whether a fence has followed, of such a scope.
    pub(crate) fenced: bool,
}

/// What lanes of a warp have begun, all of them the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Begun {
    pub(crate) mask: u32,
    fences: Fences,
    pub(crate) seen: Vec<Seen>,
}

/// What relaxed reads have seen and lanes remember, at most. What came before that counts as acquired.
const SEEN: usize = 64;

impl Begun {
    fn forget(&mut self, address: u64) {
        self.seen.retain(|seen| seen.address != address);
    }

    fn has_fenced(&self) -> bool {
        self.fences.iter().any(Option::is_some)
    }

    fn is_empty(&self) -> bool {
        self.seen.is_empty() && !self.has_fenced()
    }
}

/// The place of a scope among [`Fences`].
fn index(scope: Scope) -> usize {
    Scope::ALL.iter().position(|&s| s == scope).unwrap_or(0)
}

impl Warp {
    /// Changes what lanes have begun that have begun anything; those that are only a part of others are divided from them.
    fn change(&mut self, lanes: u32, mut change: impl FnMut(&mut Begun)) {
        for at in 0..self.begun.len() {
            let begun = &mut self.begun[at];
            let inside = begun.mask & lanes;
            if inside == 0 {
                continue;
            }
            if inside != begun.mask {
                let others = Begun { mask: begun.mask & !lanes, ..begun.clone() };
                begun.mask = inside;
                self.begun.push(others);
            }
            change(&mut self.begun[at]);
        }
        self.begun.retain(|begun| !begun.is_empty());
    }

    /// The same for those, too, that have begun nothing.
    fn begin_more(&mut self, lanes: u32, change: impl FnMut(&mut Begun)) {
        let others = self.begun.iter().fold(lanes, |others, begun| others & !begun.mask);
        if others != 0 {
            self.begun.push(Begun { mask: others, ..Begun::default() });
        }
        self.change(lanes, change);
    }

    /// A read of lanes sees what was released to a location.
    pub(crate) fn see(&mut self, lanes: u32, home: Home, new: &Seen) {
        let mut over = Vec::new();
        self.begin_more(lanes, |begun| {
            begun.forget(new.address);
            if begun.seen.len() == SEEN {
                over.push((begun.mask, begun.seen.remove(0).released));
            }
            begun.seen.push(new.clone());
        });
        for (lanes, released) in over {
            self.update(lanes, |group| released.acquire(home, Scope::Sys, &mut group.knowledge));
        }
    }

    /// Lanes have acquired all that there is to be acquired of a location.
    pub(crate) fn sees_through(&mut self, lanes: u32, address: u64) {
        self.change(lanes, |begun| begun.forget(address));
    }

    /// What a lane has begun, if anything.
    pub(crate) fn begun_by(&self, lane: u32) -> Option<&Begun> {
        self.begun.iter().find(|begun| begun.mask >> lane & 1 != 0)
    }

    /// Whether each of the lanes has seen something with a property.
    pub(crate) fn have_seen(&self, lanes: u32, property: impl Fn(&Seen) -> bool) -> bool {
        let have = self.begun.iter().filter(|begun| begun.seen.iter().any(&property));
        have.fold(lanes, |others, begun| others & !begun.mask) == 0
    }

    /// Lanes acquire what they have seen that has a property.
    pub(crate) fn acquire_seen(
        &mut self,
        lanes: u32,
        (home, scope): (Home, Scope),
        property: impl Fn(&Seen) -> bool,
    ) {
        let inside = self.begun.iter().filter(|begun| begun.mask & lanes != 0);
        let seen = inside.flat_map(|begun| begun.seen.iter().map(move |seen| (begun.mask & lanes, seen)));
        let found = seen.filter(|(_, seen)| property(seen));
        let found: Vec<_> = found.map(|(lanes, seen)| (lanes, Arc::clone(&seen.released))).collect();
        for (lanes, released) in found {
            self.update(lanes, |group| released.acquire(home, scope, &mut group.knowledge));
        }
    }

    /// A fence of lanes follows what they have seen.
    pub(crate) fn fence_acquires(&mut self, lanes: u32, home: Home, scope: Scope) {
        self.acquire_seen(lanes, (home, scope), |_| true);
        self.change(lanes, |begun| match scope {
            // There is nothing left to learn.
            Scope::Gpu | Scope::Sys => begun.seen.clear(),
            Scope::Cta | Scope::Cluster => begun.seen.iter_mut().for_each(|seen| seen.fenced = true),
        });
    }

    /// What lanes know at a fence their later writes release.
    pub(crate) fn fence_releases(&mut self, lanes: u32, scope: Scope, time: Time) {
        let inside = self.groups.iter().filter(|group| group.mask & lanes != 0);
        let known: Vec<_> = inside.map(|group| (group.mask & lanes, group.knowledge.clone())).collect();
        for (lanes, knowledge) in known {
            self.begin_more(lanes, |begun| begun.fences[index(scope)] = Some((knowledge.clone(), time)));
        }
    }

    /// Whether one of the lanes has made a fence that a write may follow.
    pub(crate) fn has_fenced(&self, lanes: u32) -> bool {
        self.begun.iter().any(|begun| begun.mask & lanes != 0 && begun.has_fenced())
    }

    /// What lanes knew at their last fences: which of them, the scope, what and when.
    pub(crate) fn fenced(&self, lanes: u32) -> impl Iterator<Item = (u32, Scope, &Knowledge, Time)> {
        let inside = self.begun.iter().filter(move |begun| begun.mask & lanes != 0);
        inside.flat_map(move |begun| {
            let by_scope = Scope::ALL.into_iter().zip(&begun.fences);
            by_scope.filter_map(move |(scope, fence)| {
                let (knowledge, time) = fence.as_ref()?;
                Some((begun.mask & lanes, scope, knowledge, *time))
            })
        })
    }
}
