//! Weak loads and stores: what must be fast. A pack's block, groups and pages are looked up once; warps that load the same,
//! and know the same, are taken together; lanes one after the other are one run.

use crate::accessor::Accessor;
use crate::check::Checker;
use crate::clock::Clock;
use crate::detector::{Detector, Target, Who, begin_of_own, target_of};
use crate::global::{Global, PAGE};
use crate::race::Conflict;
use crate::row::ROW;
use crate::runs::{
    HalfWarps, Run, Scattered, address_of, are_alike, each_lane, half_warps_of, is_dense, lane_alone,
};
use crate::scattered::SCATTERED;
use crate::shadow::Entry;
use crate::site::Site;
use crate::state::{Block, Group};
use machine::fault::Access;
use machine::memory::{SHARED_WINDOW, SpaceKind};
use machine::observe::PackAccess;
use std::sync::Arc;

/// What one run of lanes was found to do wrong.
struct Found {
    who: Who,
    target: Target,
    conflict: Option<(Conflict, u64)>,
    unwritten: Option<(u64, u16, u32)>,
}

impl Detector {
    /// Weak accesses of the warps of a pack.
    pub(crate) fn weak(
        &mut self,
        who: Who,
        site: &Site,
        access: &PackAccess<'_>,
        (masks, kind): (&[u32], Access),
    ) {
        if !self.in_interval((who, site.anchor), access, masks, kind) {
            self.weak_closely(who, site, access, (masks, kind));
        }
    }

    /// The same of global memory by one lane, as under a lock; whether that is all. Where reads are listed it is not.
    pub(crate) fn weak_alone(
        &mut self,
        (who, site): (Who, &Site),
        access: &PackAccess<'_>,
        masks: &[u32],
        kind: Access,
    ) -> bool {
        let Some((warp, lane)) = lane_alone(masks) else { return false };
        if self.locks.is_some() || kind == Access::Load && self.global.lists() {
            return false;
        }
        let who = Who { warp: who.warp + warp as u16, ..who };
        let target = self.target(who, access.space, address_of(&access.addresses, warp, lane));
        let global = matches!(target, Target::Global(address) if address < SHARED_WINDOW);
        if global {
            self.plain(who, site, (target, access.bytes.into()), 1 << lane, kind);
        }
        global
    }

    /// The same of those that are no part of an interval.
    #[inline(never)]
    pub(crate) fn weak_closely(
        &mut self,
        who: Who,
        site: &Site,
        access: &PackAccess<'_>,
        (masks, kind): (&[u32], Access),
    ) {
        let bytes = u64::from(access.bytes);
        let loads = kind == Access::Load;
        let (mut found, mut elsewhere) = (Vec::new(), Vec::new());
        let Self { blocks, global, extras, sites, launches, time, locks, .. } = self;
        let block = blocks.of_number(who.home.cta, launches);
        let Block { warps, alike, shared, .. } = block;
        let common = alike.then(|| &warps[0].groups[0]);
        let launch = &launches[who.launch];
        let begin = begin_of_own(launch, access.space).filter(|_| matches!(bytes, 4 | 8 | 16));
        let mut checker = Checker::new(extras, sites, launches);
        checker.locks = locks.as_deref();
        let mut last: Option<Accessor<'_>> = None;
        let mut warp = 0;
        while warp < masks.len() {
            let (first, mask) = (warp, masks[warp]);
            warp += 1;
            if mask == 0 {
                continue;
            }
            let who = Who { warp: who.warp + first as u16, ..who };
            let single = common.map_or(&[][..], std::slice::from_ref);
            let several = common.map_or(&warps[usize::from(who.warp)].groups[..], |_| &[]);
            for group in single.iter().chain(several.iter().filter(|group| group.mask & mask != 0)) {
                let knowledge = &group.knowledge;
                let clock: &Arc<Clock> = &knowledge.generic;
                let lanes = if common.is_some() { mask } else { group.mask & mask };
                let mut team = 1 << who.warp;
                while loads
                    && lanes == mask
                    && warp < masks.len()
                    && masks[warp] == mask
                    && are_alike(&access.addresses, first, warp)
                {
                    let number = usize::from(who.warp) + warp - first;
                    let knows = |group: &Group| {
                        group.mask & mask == mask
                            && Arc::ptr_eq(&group.knowledge.generic, clock)
                            && (locks.is_none() || group.knowledge.same(knowledge))
                    };
                    if common.is_none() && !warps[number].groups.iter().any(knows) {
                        break;
                    }
                    team |= 1 << number;
                    warp += 1;
                }
                let mask = lanes;
                let by = match &mut last {
                    Some(by) if std::ptr::eq(by.clock, &**clock) => {
                        by.change_warp(who.warp, mask);
                        by
                    }
                    _ => {
                        let entry = Entry::of_lanes(*time, who.home.cta, who.warp, mask, who.site);
                        last.insert(Accessor::new(who.home, (who.warp, mask), clock, entry, (site, kind)))
                    }
                };
                by.entry.warps = team;
                by.knowledge = locks.as_ref().map(|_| knowledge);
                let by = &*by;
                let mut half_warps = match mask == !0 {
                    true => half_warps_of(access, first, bytes, loads),
                    false => HalfWarps::default(),
                };
                let mut scattered = None;
                let lists = loads && matches!(access.space, SpaceKind::Global) && locks.is_none();
                if lists && half_warps.runs > 0 && global.list_runs(&half_warps, bytes, clock, by) {
                    // Warps that go on where this one ends, and know the same, are listed with it.
                    let alone = common.is_some() && team == 1 << who.warp;
                    let of_warp = half_warps.count * bytes;
                    let mut behind = half_warps.whole().filter(|_| alone).map(|first| first + of_warp);
                    while let Some(next) = behind
                        && masks.get(warp) == Some(&!0)
                        && half_warps_of(access, warp, bytes, loads).whole() == Some(next)
                        && global.list_next(next, of_warp, by.everyone)
                    {
                        behind = next.checked_add(of_warp);
                        warp += 1;
                    }
                    continue;
                }
                // What one page of listed reads has, all of the warp's are tried for.
                let listed = |at: usize| global.is_listed(Global::page_of(half_warps.element(at).1));
                if lists && half_warps.runs > 0 && global.lists() && (0..half_warps.runs).all(listed) {
                    let addresses = access.addresses.lanes(first);
                    let left = global.list((&addresses, bytes, mask), clock, by);
                    if left != mask {
                        half_warps.runs = 0;
                        scattered = Some(Scattered::new(addresses, bytes, left, loads));
                    }
                }
                match (half_warps.runs, begin) {
                    (0, _) if scattered.is_some() => {}
                    (0, begin) => {
                        let addresses = access.addresses.lanes(first);
                        let mut left = mask;
                        if let Some(begin) = begin.filter(|_| !is_dense(&addresses, bytes, mask)) {
                            let elements = each_lane(&addresses, mask);
                            left = checker.elements(shared, (elements, begin, bytes), by);
                        }
                        if lists && (left.count_ones() >= SCATTERED || global.lists()) {
                            left = global.list((&addresses, bytes, left), clock, by);
                            checker.unlist_lanes(global, &addresses, left);
                        }
                        if loads
                            && matches!(access.space, SpaceKind::Global)
                            && left.count_ones() >= SCATTERED
                        {
                            left = checker.scattered(global, (&addresses, bytes, left), by);
                        }
                        if left != 0 {
                            scattered = Some(Scattered::new(addresses, bytes, left, loads));
                        }
                    }
                    // The same for all lanes of a half.
                    (runs, Some(begin)) if half_warps.count == 1 => {
                        let elements = (0..runs).map(|at| half_warps.element(at));
                        if checker.elements(shared, (elements, begin, bytes), by) == 0 {
                            half_warps.runs = 0;
                        }
                    }
                    _ => {}
                }
                let mut act = |mut run: Run| {
                    let target = target_of(launch, who, access.space, run.address);
                    match target {
                        // The access will fault if it is to global memory and nothing is there.
                        Target::Private => return,
                        Target::Global(address) if address >= SHARED_WINDOW => return,
                        Target::Shared(cta, place) if cta == who.home.cta => {
                            run.address = place;
                            let (start, end) = ((place / ROW) as usize, run.end().div_ceil(ROW) as usize);
                            if end > shared.len() {
                                Block::grow(shared, end);
                            }
                            checker.own = true;
                            checker.run(&mut shared[start..end], &run, by);
                            checker.own = false;
                        }
                        Target::Global(address) if run.end() <= (address | (PAGE - 1)) + 1 => {
                            checker.unlist(global, (address, address));
                            checker.run(global.rows_from(address, run.end()), &run, by);
                        }
                        Target::Global(_) | Target::Shared(..) => {
                            elsewhere.push((who, team, Arc::clone(clock), mask, target, run));
                            return;
                        }
                    }
                    if checker.conflict.is_some() || checker.unwritten.is_some() {
                        let (conflict, unwritten) = (checker.conflict.take(), checker.unwritten.take());
                        found.push(Found { who, target, conflict, unwritten });
                    }
                };
                let mut at = 0;
                loop {
                    act(match &mut scattered {
                        _ if at < half_warps.runs => half_warps.run(at, bytes),
                        Some(scattered) => match scattered.next() {
                            Some(run) => run,
                            None => break,
                        },
                        None => break,
                    });
                    at += 1;
                }
            }
        }
        // Shared memory of other CTAs, and runs that go over the end of a page.
        for (who, team, clock, mask, target, run) in elsewhere {
            let entry = Entry::of_lanes(self.time, who.home.cta, who.warp, mask, who.site);
            let by = Accessor::new(who.home, (who.warp, mask), &clock, entry, (site, kind)).by_warps(team);
            self.touch_run(who, &by, target, run);
        }
        for Found { who, target, conflict, unwritten } in found {
            self.found(who, target, bytes, conflict, unwritten);
        }
    }
}
