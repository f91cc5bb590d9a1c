//! Relaxed operations on a location that has seen nothing else: counters, most of all. They neither release nor acquire
//! anything, and are morally strong among themselves, so there is little to compare. Whatever is not as simple is left to
//! the detector.

use crate::check::Accessor;
use crate::detector::{Detector, Target, Who};
use crate::row::{ROW, Row};
use crate::shadow::{Entry, GRANULE, Kind};
use crate::site::Site;
use crate::state::Failure;
use machine::fault::Access;
use memory_model::event::Order;

impl Detector {
    /// Makes such an operation, if it is one.
    pub(crate) fn relaxed(
        &mut self,
        who: Who,
        lanes: u32,
        (target, bytes): (Target, u64),
        (site, access): (&Site, Access),
    ) -> bool {
        let simple = site.order == Order::Relaxed
            && bytes == u64::from(site.element)
            && matches!(bytes, 4 | 8)
            && (access == Access::Load || lanes.is_power_of_two());
        let Self { blocks, global, extras, time, .. } = self;
        let Some(block) = blocks.get_mut(&who.home.cta).filter(|_| simple) else { return false };
        let warp = &mut block.warps[usize::from(who.warp)];
        let all = |group: &&crate::state::Group| group.mask & lanes == lanes;
        let Some(group) = warp.groups.iter().find(all).filter(|group| group.fences.is_none()) else {
            return false;
        };
        let entry = Entry::of_lanes(*time, who.home.cta, who.warp, lanes, who.site);
        let by =
            Accessor::new(who.home, (who.warp, lanes), &group.knowledge.generic, entry, (site, access));
        let (row, address): (&mut Row, u64) = match target {
            Target::Global(address) if address < machine::memory::SHARED_WINDOW => {
                (global.row(address), address)
            }
            Target::Shared(cta, place) if cta == who.home.cta => {
                match block.shared.get_mut((place / ROW) as usize) {
                    Some(row) => (row, place),
                    None => return false,
                }
            }
            _ => return false,
        };
        if row.split == 0 || !address.is_multiple_of(bytes) {
            return false;
        }
        let kind = Kind::of(site, who.home);
        let cells = Row::cell_of(address)..Row::cell_of(address) + (bytes / GRANULE) as usize;
        let writes = access != Access::Load;
        for place in cells.clone() {
            let (cell, extra) = extras.cell_with_extra(row.split, place);
            let known = |extra: &crate::shadow::Extra| extra.kind == Some(kind) && extra.bytes.is_none();
            let Some(extra) = extra.filter(|extra| known(extra)) else { return false };
            let after = by.comes_after(&cell.write, lanes)
                && (!writes || by.comes_after(&cell.read, lanes) && extra.reads.is_empty());
            let list = if writes { &mut extra.strong_writes } else { &mut extra.strong_reads };
            let after = after && !cell.is_divided();
            let unwritten = access != Access::Store && cell.unwritten != 0;
            // The latest stand at the end.
            if !after || unwritten || !list.iter_mut().rev().any(|known| known.merge(&entry)) {
                return false;
            }
            cell.unwritten = 0;
        }
        let (_, extra) = extras.cell_with_extra(row.split, cells.start);
        let Some(location) = extra.and_then(|extra| extra.location.as_mut()) else { return false };
        if !location.released.is_empty() {
            return false;
        }
        let foreign = (location.thread.0, location.thread.1) != (who.home.cta, who.warp);
        if access != Access::Store && foreign {
            let scope = location.scope.min(site.scope);
            let strong = location.bytes == site.element && location.writer.shares(who.home, scope);
            let why = if strong { Failure::NoRelease } else { Failure::Scope };
            warp.failure = Some((who.site, why));
        }
        if writes {
            location.writer = who.home;
            (location.scope, location.bytes) = (site.scope, site.element);
            location.thread = (who.home.cta, who.warp, lanes.trailing_zeros());
        }
        true
    }
}
