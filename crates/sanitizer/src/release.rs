//! What a location carries for those who acquire: release patterns by scope (PTX ISA, "Release and Acquire Patterns").
//!
//! A release pattern synchronises with an acquire pattern if the scope of each contains the thread of the other. So what
//! was released is kept three times: by the releaser's CTA, for acquires of `.cta` scope; by its cluster, if the
//! release's scope is that or wider; and for all of the device, if it is `.gpu` or `.sys`.

use crate::knowledge::Knowledge;
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
#[derive(Clone, Debug, Default)]
pub(crate) struct Released {
    ctas: Vec<Part>,
    clusters: Vec<Part>,
    device: Option<Knowledge>,
}

/// What threads of a CTA or of a cluster have released.
#[derive(Clone, Debug)]
struct Part {
    /// The number of the CTA or cluster.
    of: u32,
    knowledge: Knowledge,
    /// Whether all of it was released to the device, too.
    wide: bool,
}

fn add(list: &mut Vec<Part>, of: u32, knowledge: &Knowledge, wide: bool) {
    match list.iter_mut().find(|part| part.of == of) {
        Some(part) => {
            part.knowledge.join(knowledge);
            part.wide &= wide;
        }
        None => list.push(Part { of, knowledge: knowledge.clone(), wide }),
    }
}

impl Released {
    /// What a write without a release carries.
    pub(crate) fn nothing() -> Arc<Self> {
        static NOTHING: LazyLock<Arc<Released>> = LazyLock::new(Arc::default);
        Arc::clone(&NOTHING)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ctas.is_empty()
    }

    /// A thread releases what it knows.
    pub(crate) fn release(&mut self, home: Home, scope: Scope, knowledge: &Knowledge) {
        let wide = scope >= Scope::Gpu;
        add(&mut self.ctas, home.cta, knowledge, wide);
        if scope >= Scope::Cluster {
            add(&mut self.clusters, home.cluster, knowledge, wide);
        }
        if wide {
            match &mut self.device {
                Some(known) => known.join(knowledge),
                None => self.device = Some(knowledge.clone()),
            }
        }
    }

    /// Whether something was released to a thread that acquires at a scope.
    pub(crate) fn reaches(&self, home: Home, scope: Scope) -> bool {
        self.ctas.iter().any(|part| part.of == home.cta)
            || scope >= Scope::Cluster && self.clusters.iter().any(|part| part.of == home.cluster)
            || scope >= Scope::Gpu && self.device.is_some()
    }

    /// A thread learns what was released to it.
    pub(crate) fn acquire(&self, home: Home, scope: Scope, into: &mut Knowledge) {
        let wide = scope >= Scope::Gpu;
        let mut learn = |list: &[Part], of| {
            if let Some(part) = list.iter().find(|part| part.of == of && !(wide && part.wide)) {
                into.join(&part.knowledge);
            }
        };
        learn(&self.ctas, home.cta);
        if scope >= Scope::Cluster {
            learn(&self.clusters, home.cluster);
        }
        if wide && let Some(device) = &self.device {
            into.join(device);
        }
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
                released.release(from, release, &Knowledge::all_until(5));
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
        released.release(home(0, 0), Scope::Cta, &Knowledge::all_until(5));
        released.release(home(1, 0), Scope::Gpu, &Knowledge::all_until(3));
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
}
