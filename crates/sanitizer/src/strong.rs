//! Relaxed operations on a location that has seen nothing else: counters, most of all. They neither release nor acquire
//! anything, and are morally strong among themselves, so there is little to compare. Whatever is not as simple is left to
//! the detector.

use crate::check::Accessor;
use crate::detector::{Detector, Target, Who};
use crate::observed::Observed;
use crate::row::{ROW, Row};
use crate::runs::Scattered;
use crate::shadow::{Entry, GRANULE, Kind};
use crate::site::Site;
use crate::state::{Failure, Group};
use machine::fault::Access;
use machine::observe::MemoryAccess;
use memory_model::event::Order;
use std::sync::Arc;

/// What comes of a simple operation.
struct Done {
    /// Why what it reads does not synchronise, if somebody else wrote that.
    why: Option<Failure>,
    /// Whether it has observed something new, so that what is written next must be later.
    observed: bool,
}

impl Detector {
    /// Strong accesses of lanes of a warp, in the machine's order.
    pub(crate) fn strong_lanes(
        &mut self,
        who: Who,
        site: &Site,
        access: &MemoryAccess<'_>,
        (mask, kind): (u32, Access),
    ) {
        let bytes = u64::from(access.bytes);
        let alike = |group: &&Group| group.mask & mask == mask && group.fences.is_none();
        let simple = site.order == Order::Relaxed && access.bytes == site.element && matches!(bytes, 4 | 8);
        let group = self.warp(who).groups.iter().find(alike).filter(|_| simple);
        let clock = group.map(|group| Arc::clone(&group.knowledge.generic));
        let by = clock.as_ref().map(|clock| {
            let entry = Entry::of_lanes(self.time, who.home.cta, who.warp, mask, who.site);
            Accessor::new(who.home, (who.warp, mask), clock, entry, (site, kind))
        });
        let (mut failure, mut observes) = (None, false);
        for run in Scattered::new(*access.addresses, bytes, mask, kind == Access::Load) {
            for (lanes, address) in run.elements() {
                let target = self.target(who, access.space, address);
                let done = by.as_ref().and_then(|by| self.relaxed(who, by, (lanes, target, bytes)));
                match done {
                    Some(Done { why, observed }) => {
                        failure = why.or(failure);
                        observes |= observed;
                    }
                    None => self.strong(who, lanes, (target, bytes), kind),
                }
            }
        }
        if observes {
            self.tick();
        }
        if let Some(failure) = failure {
            self.warp(who).failure = Some((who.site, failure));
        }
    }

    /// Makes a simple operation; `None` if it is none.
    #[inline(always)]
    fn relaxed(
        &mut self,
        who: Who,
        by: &Accessor<'_>,
        (lanes, target, bytes): (u32, Target, u64),
    ) -> Option<Done> {
        let Self { blocks, global, extras, .. } = self;
        let (site, access) = (by.site, by.access);
        let entry = Entry { lanes, ..by.entry };
        let (row, address): (&mut Row, u64) = match target {
            Target::Global(address) if address < machine::memory::SHARED_WINDOW => {
                (global.row(address), address)
            }
            Target::Shared(cta, place) if cta == who.home.cta => {
                (blocks.get_mut(&cta)?.shared.get_mut((place / ROW) as usize)?, place)
            }
            _ => return None,
        };
        if !row.is_in_cells() || !address.is_multiple_of(bytes) {
            return None;
        }
        let kind = Kind::of(site, who.home);
        let cells = Row::cell_of(address)..Row::cell_of(address) + (bytes / GRANULE) as usize;
        let writes = access != Access::Load;
        for place in cells.clone() {
            let (cell, extra) = extras.cell_with_extra(row.split, place);
            let known = |extra: &crate::shadow::Extra| extra.kind == Some(kind) && extra.bytes.is_none();
            let extra = extra.filter(|extra| known(extra))?;
            let after = by.comes_after(&cell.write, lanes)
                && (!writes || by.comes_after(&cell.read, lanes) && extra.reads.is_empty());
            let list = if writes { &mut extra.strong_writes } else { &mut extra.strong_reads };
            let after = after && !cell.is_divided();
            let unwritten = access != Access::Store && cell.unwritten != 0;
            if !after || unwritten {
                return None;
            }
            let again = writes && list.iter().any(|known| known.is_again(&entry));
            // The latest stand at the end.
            if !list.iter_mut().rev().any(|known| known.merge(&entry)) {
                return None;
            }
            if again {
                extra.repeated = entry.time;
            }
            cell.unwritten = 0;
        }
        let (_, extra) = extras.cell_with_extra(row.split, cells.start);
        let location = extra?.location.as_mut()?;
        if !location.released.is_empty() {
            return None;
        }
        let mut done = Done { why: None, observed: false };
        if access != Access::Store {
            let strong = location.reaches(who.home, site);
            let foreign = (location.thread.0, location.thread.1) != (who.home.cta, who.warp);
            if foreign && site.seen {
                done.why = Some(if strong { Failure::NoRelease } else { Failure::Scope });
            }
            let write = (location.thread, location.time);
            let reader = (who.home.cta, who.warp, lanes);
            let observed = Observed { write, reader, time: entry.time, atomic: writes };
            for place in cells.clone().filter(|_| strong) {
                let new =
                    extras.cell_with_extra(row.split, place).1.is_some_and(|extra| extra.observe(observed));
                done.observed |= new && !writes;
            }
        }
        let location = extras.cell_with_extra(row.split, cells.start).1?.location.as_mut()?;
        if writes {
            location.writer = who.home;
            (location.scope, location.bytes, location.time) = (site.scope, site.element, entry.time);
            location.thread = (who.home.cta, who.warp, lanes.trailing_zeros());
        }
        Some(done)
    }
}
