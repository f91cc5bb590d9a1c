//! Strong accesses one by one: what they synchronise with, by the release and acquire patterns that they are part of.

use crate::accessor::Accessor;
use crate::begun::Seen;
use crate::clock::Time;
use crate::detector::{Detector, Target, Who, in_window, lanes_of};
use crate::observed::Observed;
use crate::release::Released;
use crate::runs::{address_of, lane_alone};
use crate::shadow::{Cell, Entry, Extras, GRANULE, Location};
use crate::site::{Action, Site};
use crate::state::{Failure, Group, Places, Reason, Swap, with_own};
use crate::trail::Step;
use machine::fault::Access;
use machine::observe::PackAccess;
use memory_model::event::{Order, Scope};
use std::sync::Arc;

impl Detector {
    /// A strong access of a pack of which one lane executes the instruction, as those that synchronise often are; whether that is all.
    pub(crate) fn strong_alone(
        &mut self,
        (who, site): (Who, &Site),
        access: &PackAccess<'_>,
        masks: &[u32],
    ) -> bool {
        let Some((warp, lane)) = lane_alone(masks) else { return false };
        let (who, lanes) = (Who { warp: who.warp + warp as u16, ..who }, 1 << lane);
        let (address, bytes) = (address_of(&access.addresses, warp, lane), access.bytes);
        let target = self.target(who, access.space, address);
        match site.action {
            Action::CompareAndSwap => {
                let places = Places::Alone(in_window(access.space, address));
                self.warp_beside(who).swap = Some(Swap { site: who.site, places, mask: lanes, bytes });
                true
            }
            Action::Access(kind) if site.order != Order::Relaxed => {
                self.strong(who, lanes, (target, bytes.into()), kind);
                true
            }
            Action::Access(Access::Load) => bytes == site.element && self.polls(who, lanes, site, target),
            _ => false,
        }
    }

    /// A strong access to one location, and what it synchronises with.
    pub(crate) fn strong(&mut self, who: Who, lanes: u32, (target, bytes): (Target, u64), kind: Access) {
        if target == Target::Private {
            return;
        }
        let site = *self.sites.get(who.site);
        self.launches[who.launch].talks |= site.scope >= Scope::Gpu;
        // What orders is an element: vectors are as many operations.
        let count = (bytes / u64::from(site.element)).max(1);
        let elements = (0..count).map(|element| target.plus(element * u64::from(site.element)));
        let waits = kind == Access::Load && count == 1;
        if waits && self.polls(who, lanes, &site, target) {
            return;
        }
        // What a write carries on, it need not share with what is there.
        let takes = kind != Access::Load && count == 1 && u64::from(site.element) >= GRANULE;
        // An acquire comes after what it acquires.
        let mut first = None;
        if kind != Access::Store && site.acquires && site.seen {
            for target in elements.clone() {
                let location = self.location(target, takes);
                self.acquire_from(who, lanes, &site, target, location.as_ref());
                first.get_or_insert(location);
            }
        }
        // Two stores of one thread are told apart by time, so that it is known which of them is observed. Of atomics there are
        // too many for that.
        let entry = Entry::of_lanes(self.time, who.home.cta, who.warp, lanes, who.site);
        let again = |extras: &mut Extras, cell: &mut Cell| extras.has_written(cell, &entry);
        if kind == Access::Store && self.with_cell(target, again) == Some(true) {
            self.tick();
        }
        let time = self.time;
        for (mask, clock) in self.clocks(who, lanes) {
            let entry = Entry::of_lanes(time, who.home.cta, who.warp, mask, who.site);
            let by = Accessor::new(who.home, (who.warp, mask), &clock, entry, (&site, kind));
            self.touch(who, &by, (target, bytes));
        }
        for target in elements {
            let location = first.take().unwrap_or_else(|| self.location(target, takes));
            let morally_strong = location.as_ref().is_some_and(|location| location.reaches(who.home, &site));
            if kind != Access::Store
                && let Some(location) = &location
            {
                if morally_strong {
                    let reader = (who.home.cta, who.warp, lanes);
                    let (write, atomic) = ((location.thread, location.time), kind == Access::Atomic);
                    self.observe(target, site.element, Observed { write, reader, time, atomic });
                }
                if site.seen {
                    self.read_from(who, lanes, &site, target, location, morally_strong);
                }
            }
            if kind != Access::Load {
                let continues = kind == Access::Atomic && morally_strong;
                let (others, last) = (lanes & !(1 << lanes.ilog2()), lanes.ilog2());
                for lane in lanes_of(others) {
                    self.release_to(who, (lane, time), &site, target, location.clone(), continues);
                }
                self.release_to(who, (last, time), &site, target, location, continues);
            }
        }
        if waits {
            self.note_poll(who, lanes, &site, target);
        }
        self.step(who, lanes, Step::Access { key: target.key(), access: kind }, time);
    }

    /// An observation of all the bytes of a location. What the writer writes next is later, so that it is told apart.
    fn observe(&mut self, target: Target, bytes: u32, observed: Observed) {
        let first = target.key() % GRANULE;
        let last = first + u64::from(bytes);
        let mut new = false;
        for start in (0..last).step_by(GRANULE as usize) {
            let from = start.max(first);
            let range = (from % GRANULE, last.min(start + GRANULE) - from);
            let at = target.plus(from - first);
            new |= self.with_cell(at, |extras, cell| extras.observe(cell, range, observed)) == Some(true);
        }
        if new {
            self.tick();
        }
    }

    /// Lanes learn what was released to the write that they are about to read from, with an acquire.
    fn acquire_from(
        &mut self,
        who: Who,
        lanes: u32,
        site: &Site,
        target: Target,
        location: Option<&Location>,
    ) {
        let (home, key) = (who.home, target.key());
        let Some(location) = location.filter(|location| location.reaches(home, site)) else { return };
        let known = |seen: &Seen| {
            seen.address == key && seen.acquired && Arc::ptr_eq(&seen.released, &location.released)
        };
        if location.released.is_empty() || self.warp_beside(who).have_seen(lanes, known) {
            return;
        }
        let own = (home.cta, who.warp, lanes.trailing_zeros());
        if !(lanes.is_power_of_two() && location.released.is_known_to(own)) {
            let learn = |group: &mut Group| location.released.acquire(home, site.scope, &mut group.knowledge);
            self.warp(who).update(lanes, learn);
        }
        if self.warp_beside(who).begun.is_empty() {
            return;
        }
        // What this very read has acquired before is known, and so is what the location carries still.
        let again = |seen: &Seen| {
            seen.acquired && seen.site == who.site || location.released.continues(&seen.released)
        };
        let new = |seen: &Seen| seen.address == key && !again(seen);
        self.warp(who).acquire_seen(lanes, (home, site.scope), new);
    }

    /// A strong read takes its value from a strong write.
    fn read_from(
        &mut self,
        who: Who,
        lanes: u32,
        site: &Site,
        target: Target,
        location: &Location,
        morally_strong: bool,
    ) {
        let key = target.key();
        let (home, scope, read, acquires) = (who.home, site.scope, who.site, site.acquires);
        let warp = self.warp_beside(who);
        let inside = location.thread.0 == home.cta;
        let foreign = !inside || location.thread.1 != who.warp;
        if !morally_strong || location.released.is_empty() {
            if foreign {
                let why = if morally_strong { Reason::NoRelease } else { Reason::Scope };
                warp.fails(read, Failure { why, inside });
            }
            return;
        }
        // A thread that spins reads the same again and again.
        let known = |seen: &Seen| {
            seen.address == key
                && (seen.acquired || !acquires)
                && Arc::ptr_eq(&seen.released, &location.released)
        };
        if warp.have_seen(lanes, known) {
            return;
        }
        match acquires && scope >= Scope::Gpu {
            true => warp.sees_through(lanes, key),
            false => {
                // What an acquire learns it knows by now.
                let released = Arc::clone(&location.released);
                let seen = Seen { address: key, released, site: read, acquired: acquires, fenced: false };
                self.warp(who).see(lanes, home, &seen);
            }
        }
        let warp = self.warp_beside(who);
        if acquires && foreign {
            match location.released.reaches(home, scope) {
                true => warp.succeeds(),
                false => warp.fails(read, Failure { why: Reason::Scope, inside }),
            }
        }
    }

    /// A strong write carries what its thread has released.
    fn release_to(
        &mut self,
        who: Who,
        (lane, written): (u32, Time),
        site: &Site,
        target: Target,
        before: Option<Location>,
        continues: bool,
    ) {
        let (time, home) = (self.time, who.home);
        let thread = (home.cta, who.warp, lane);
        let block = self.block(who.launch, who.block);
        let releases = site.releases;
        let kept = before.filter(|before| continues || before.thread == thread);
        let mut released = kept.map_or_else(Released::nothing, |before| before.released);
        if releases {
            let known = block.knowledge(who.warp, lane);
            let knowledge = with_own(known, home.cta, who.warp, 1 << lane, time);
            Arc::make_mut(&mut released).release(home, site.scope, knowledge);
        }
        let warp = &block.warps[usize::from(who.warp)];
        for (lanes, scope, knowledge, time) in warp.fenced(1 << lane) {
            let knowledge = with_own(knowledge, home.cta, who.warp, lanes, time);
            Arc::make_mut(&mut released).release(home, scope, knowledge);
        }
        if releases || warp.has_fenced(1 << lane) {
            Arc::make_mut(&mut released).released_by(thread);
        }
        if releases {
            self.tick();
        }
        let (scope, bytes) = (site.scope, site.element);
        self.set_location(target, Location { writer: home, scope, bytes, thread, time: written, released });
    }

    /// The location of an address; for who is about to set it, it may be taken.
    fn location(&mut self, target: Target, takes: bool) -> Option<Location> {
        let byte = target.key() % GRANULE;
        let location = |extras: &mut Extras, cell: &mut Cell| match takes && !cell.is_divided() {
            true => extras.take_location(cell, byte),
            false => extras.location(cell, byte),
        };
        self.with_cell(target, location).flatten()
    }

    fn set_location(&mut self, target: Target, location: Location) {
        let byte = target.key() % GRANULE;
        self.with_cell(target, |extras, cell| extras.set_location(cell, byte, location));
    }
}
