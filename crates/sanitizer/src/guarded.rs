//! The accesses of an analysis of [locks](crate::locks): strong ones, which take locks and give them back or order as values do,
//! and those of threads that hold some. Everything else goes the way that all accesses go.

use crate::accessor::Accessor;
use crate::detector::{Detector, Target, Who, lanes_of};
use crate::knowledge::Knowledge;
use crate::locks::{Deed, Outcome};
use crate::observed::Thread;
use crate::runs::each_lane;
use crate::shadow::{Entry, GRANULE};
use crate::site::{Action, Site};
use crate::state::Group;
use crate::tickets::{self, Step};
use machine::fault::Access;
use machine::inspect::State;
use machine::memory::{SHARED_WINDOW, SpaceKind};
use machine::observe::{Issue, MemoryAccess, PackAccess};

impl Detector {
    /// Warps of a pack execute an instruction.
    pub(crate) fn issue_by_locks(&mut self, (who, site): (Who, &Site), issue: &Issue<'_>) {
        let left = self.guarded((who, site), issue);
        self.issue_to((who, site), issue, &left);
    }

    /// What of an instruction is the business of locks. The masks of those that go the usual way.
    fn guarded(&mut self, (who, site): (Who, &Site), issue: &Issue<'_>) -> Vec<u32> {
        let mut left = issue.masks.to_vec();
        let Some(access) = &issue.access else { return left };
        let follows = matches!(site.action, Action::Access(_) | Action::CompareAndSwap);
        if !follows || matches!(access.space, SpaceKind::Local | SpaceKind::Param) {
            return left;
        }
        for (at, mask) in left.iter_mut().enumerate() {
            let who = Who { warp: who.warp + at as u16, ..who };
            let addresses = || access.addresses.lanes(at);
            if *mask != 0 && site.is_strong() {
                let PackAccess { space, access, bytes, .. } = *access;
                let access = MemoryAccess { space, access, bytes, addresses: &addresses() };
                self.strong_by_locks(who, site, (&access, *mask), issue.state);
                // How a compare-and-swap ends is told next.
                if site.action != Action::CompareAndSwap {
                    *mask = 0;
                }
                continue;
            }
            if let Action::Access(kind) = site.action {
                self.go_on(who, *mask, None);
                let locks = self.locks.as_deref();
                let held = *mask & locks.map_or(0, |locks| locks.holders(who.home.cta, who.warp));
                *mask &= !held;
                for (lanes, address) in each_lane(&addresses(), held) {
                    let range = (self.target(who, access.space, address), access.bytes.into());
                    self.under_locks(who, site, range, (lanes.trailing_zeros(), kind));
                }
            }
        }
        left
    }

    /// Lanes do something at a location, or elsewhere: who has tried a lock in vain should have waited for it.
    pub(crate) fn go_on(&mut self, who: Who, mask: u32, key: Option<u64>) {
        let now = self.time;
        for lane in lanes_of(mask) {
            let Some(locks) = self.locks.as_deref_mut().filter(|locks| locks.has_tries()) else { return };
            if locks.go_on((who.home.cta, who.warp, lane), key, now) {
                let everything = Knowledge::all_until(now);
                self.warp(who).update(1 << lane, |group| group.knowledge.join(&everything));
                self.tick();
            }
        }
    }

    /// A weak access of a lane that holds locks.
    fn under_locks(
        &mut self,
        who: Who,
        site: &Site,
        (target, bytes): (Target, u64),
        (lane, kind): (u32, Access),
    ) {
        if target == Target::Private {
            return;
        }
        let thread = (who.home.cta, who.warp, lane);
        let (first, last) = (target.key() / GRANULE, (target.key() + bytes.max(1) - 1) / GRANULE);
        let mut knowledge = self.known(who, lane);
        if let Some(locks) = self.locks.as_deref_mut() {
            locks.access(thread, first..=last, kind != Access::Load, &mut knowledge);
        }
        self.make_known(who, lane, knowledge);
        self.touch_by_lane(who, site, (target, bytes), (lane, kind));
    }

    fn known(&mut self, who: Who, lane: u32) -> Knowledge {
        self.warp(who).group(lane).knowledge.clone()
    }

    fn make_known(&mut self, who: Who, lane: u32, knowledge: Knowledge) {
        if !self.warp(who).group(lane).knowledge.same(&knowledge) {
            self.warp(who).update(1 << lane, |group: &mut Group| group.knowledge = knowledge.clone());
        }
    }

    fn touch_by_lane(&mut self, who: Who, site: &Site, range: (Target, u64), (lane, kind): (u32, Access)) {
        let knowledge = self.known(who, lane);
        let (mask, cta) = (1 << lane, who.home.cta);
        let entry = Entry::of_lanes(self.time, cta, who.warp, mask, who.site);
        let mut by = Accessor::new(who.home, (who.warp, mask), &knowledge.generic, entry, (site, kind));
        by.knowledge = Some(&knowledge);
        self.touch(who, &by, range);
    }

    /// A strong access of lanes of a warp, before it is executed.
    fn strong_by_locks(
        &mut self,
        who: Who,
        site: &Site,
        (access, mask): (&MemoryAccess<'_>, u32),
        state: &dyn State,
    ) {
        let swaps = site.action == Action::CompareAndSwap;
        let draws = if access.access == Access::Atomic { self.draws(site) } else { None };
        let deed = match access.access {
            Access::Load => Deed::Load,
            Access::Store => Deed::Store,
            Access::Atomic if site.exchanges => Deed::Exchange,
            Access::Atomic if draws.is_some() => Deed::Draw,
            Access::Atomic => Deed::Atomic,
        };
        let mut found: Box<[Option<u64>; 32]> = Box::new([None; 32]);
        for (lanes, address) in each_lane(access.addresses, mask) {
            let lane = lanes.trailing_zeros() as usize;
            // Of what lanes of one instruction find at one location it is known what the first one does; and the others where all
            // only read, or each takes the next ticket.
            let mut same =
                each_lane(access.addresses, mask & (lanes - 1)).filter(|(_, other)| *other == address);
            if let Some((before, _)) = same.next() {
                let first = found[before.trailing_zeros() as usize];
                found[lane] = match deed {
                    Deed::Load if !swaps => first,
                    Deed::Draw if draws == Some(Step::One) => {
                        let bits = 8 * access.bytes.min(8);
                        let before = 1 + same.count() as u64;
                        first.map(|number| number.wrapping_add(before) & (u64::MAX >> (64 - bits)))
                    }
                    _ => None,
                };
                continue;
            }
            let generic = match access.space {
                SpaceKind::Shared | SpaceKind::Cluster => address.wrapping_add(SHARED_WINDOW),
                _ => address,
            };
            let mut bytes = [0; 8];
            if matches!(access.bytes, 4 | 8)
                && access.bytes == site.element
                && state.read(who.warp.into(), lane, generic, &mut bytes[..access.bytes as usize])
            {
                found[lane] = Some(u64::from_le_bytes(bytes));
            }
        }
        if swaps {
            let warp = (who.home.cta, who.warp);
            self.locks.iter_mut().for_each(|locks| _ = locks.found.insert(warp, found.clone()));
            return;
        }
        for (lanes, address) in each_lane(access.addresses, mask) {
            let lane = lanes.trailing_zeros();
            let target = self.target(who, access.space, address);
            let what = (deed, found[lane as usize]);
            self.strong_deed(who, site, (target, access.bytes.into()), lane, what);
        }
    }

    /// How far apart the tickets are that an instruction draws, if it does.
    fn draws(&mut self, site: &Site) -> Option<Step> {
        let Self { locks, modules, .. } = self;
        let (locks, module) = (locks.as_deref_mut()?, modules.get(site.module as usize)?);
        let of_function = locks
            .draws
            .entry((site.module, site.function))
            .or_insert_with(|| tickets::draws(module, site.function));
        let at = of_function.binary_search_by_key(&site.instruction, |(instruction, _)| *instruction);
        at.ok().map(|at| of_function[at].1)
    }

    /// A compare-and-swap has been decided.
    pub(crate) fn swapped_by_locks(
        &mut self,
        who: Who,
        (target, bytes): (Target, u64),
        lane: u32,
        swapped: bool,
    ) {
        let warp = (who.home.cta, who.warp);
        let found = self.locks.as_deref().and_then(|locks| locks.found.get(&warp)?[lane as usize]);
        let site = *self.sites.get(who.site);
        self.strong_deed(who, &site, (target, bytes), lane, (Deed::Swap(swapped), found));
    }

    /// What a lane does to a location, of which the value is known that it finds.
    fn strong_deed(
        &mut self,
        who: Who,
        site: &Site,
        (target, bytes): (Target, u64),
        lane: u32,
        (deed, found): (Deed, Option<u64>),
    ) {
        if target == Target::Private {
            return;
        }
        let thread: Thread = (who.home.cta, who.warp, lane);
        let key = target.key();
        self.go_on(who, 1 << lane, Some(key));
        let now = self.time;
        let Some(locks) = self.locks.as_deref_mut() else { return };
        let outcome = locks.deed(key, thread, (deed, found), now);
        let mut known = self.known(who, lane);
        let Some(locks) = self.locks.as_deref_mut() else { return };
        match outcome {
            Outcome::Took => {
                let nested = locks.take(key, thread, (who.site, now + 1), &mut known);
                if nested {
                    locks.nested.insert(who.launch);
                }
            }
            Outcome::Gave => locks.give(key, thread, (who.site, now), &mut known),
            Outcome::Tried => locks.has_tried(thread, key),
            Outcome::Looked | Outcome::Drew => {}
            Outcome::Plain => locks.come_to(key, deed, &mut known),
        }
        self.make_known(who, lane, known);
        self.touch_by_lane(who, site, (target, bytes), (lane, deed.access()));
        if outcome == Outcome::Plain {
            let known = self.known(who, lane);
            if let Some(locks) = self.locks.as_deref_mut() {
                locks.leave(key, deed, (thread.0, thread.1, 1 << lane), now, &known);
            }
        }
        if matches!(outcome, Outcome::Took | Outcome::Gave) || outcome == Outcome::Plain && deed != Deed::Load
        {
            self.tick();
        }
    }
}
