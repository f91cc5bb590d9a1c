//! Asynchronous copies. Each is performed by an agent, a thread of its own (PTX ISA, "Asynchronous operations"): what its
//! thread did before the copy happens before it, and nothing happens after it but by what completes it.

use crate::accessor::Accessor;
use crate::clock::Time;
use crate::detector::{Detector, Who, lanes_of};
use crate::order::{ASYNC_STORES, BULK_READS, BULK_WRITES};
use crate::shadow::Entry;
use crate::site::Site;
use crate::state::Block;
use machine::fault::Access;
use machine::observe::{Lanes, MbarrierEvent, MemoryAccess};
use std::sync::Arc;

impl Detector {
    /// `cp.async`: the agent of the warp reads and writes, through the generic proxy. Where it ignores its source, or a part
    /// of it, nothing is read.
    pub(crate) fn copied(
        &mut self,
        launch: usize,
        lanes: Lanes,
        (to, bytes): (&[u64; 32], u32),
        read: &[u32; 32],
    ) {
        let who = self.who(launch, lanes.block, lanes.warp, lanes.place);
        let site = *self.sites.get(who.site);
        for lane in lanes_of(lanes.mask) {
            if read[lane as usize] != 0 {
                let from = self.warp(who).source[lane as usize];
                let from = self.generic_target(who, from);
                self.by_copier(who, &site, (from, read[lane as usize].into()), lane, Access::Load);
            }
            let target = self.generic_target(who, to[lane as usize]);
            self.by_copier(who, &site, (target, bytes.into()), lane, Access::Store);
        }
    }

    fn by_copier(
        &mut self,
        who: Who,
        site: &Site,
        range: (crate::detector::Target, u64),
        lane: u32,
        access: Access,
    ) {
        let clock = Arc::clone(&self.warp(who).group(lane).knowledge.generic);
        let entry = Entry::of_agent(self.time, who.home.cta, Block::copier(who.warp), 1 << lane, who.site);
        let by = Accessor::new(who.home, (who.warp, 1 << lane), &clock, entry, (site, access));
        self.touch(who, &by, range);
    }

    /// `st.async`, `red.async`: performed by an agent, but through the generic proxy (PTX ISA, "Async proxy", names only
    /// bulk copies and matrix operations).
    pub(crate) fn async_access(
        &mut self,
        who: Who,
        site: &Site,
        access: &MemoryAccess<'_>,
        mask: u32,
        kind: Access,
    ) {
        let agent = self.block(who.launch, who.block).agent(ASYNC_STORES);
        for lane in lanes_of(mask) {
            let address = access.addresses[lane as usize];
            let target = self.target(who, access.space, address);
            let clock = Arc::clone(&self.warp(who).group(lane).knowledge.generic);
            let entry = Entry::of_agent(self.time, who.home.cta, agent, 1 << lane, who.site);
            let by = Accessor::new(who.home, (who.warp, 1 << lane), &clock, entry, (site, kind));
            self.touch(who, &by, (target, access.bytes.into()));
        }
    }

    fn by_agent(
        &mut self,
        who: Who,
        site: &Site,
        range: (crate::detector::Target, u64),
        (agent, lane): (u16, u32),
        access: Access,
    ) {
        let knowledge = self.warp(who).group(lane).knowledge.clone();
        let entry = Entry::of_agent(self.time, who.home.cta, agent, 1 << lane, who.site);
        let mut by =
            Accessor::new(who.home, (who.warp, 1 << lane), &knowledge.generic, entry, (site, access));
        by.proxied = Some(&knowledge.proxied);
        self.touch(who, &by, range);
    }

    /// Who has issued the copy that tells an mbarrier object now, if it is one.
    pub(crate) fn last_copy(&self, launch: usize, event: &MbarrierEvent) -> Option<Lanes> {
        let copy = self.copies.get(&launch).or_else(|| self.last_copies.get(&launch));
        copy.filter(|_| matches!(event, MbarrierEvent::Completed { .. })).map(|copy| copy.lanes)
    }

    /// The accesses of the bulk copy that is under way, now that it is known which mbarrier it tells, or that it tells
    /// none, are made by that mbarrier's agent. The agent and the time.
    pub(crate) fn finish_copy(&mut self, launch: usize, mbarrier: Option<u64>) -> (u16, Time) {
        if self.last_copies.is_empty() && self.copies.is_empty() {
            return (0, 0);
        }
        if let Some(mut copy) = self.copies.remove(&launch) {
            let lanes = copy.lanes;
            let who = self.who(launch, lanes.block, lanes.warp, lanes.place);
            let site = *self.sites.get(who.site);
            let lane = lanes.mask.trailing_zeros();
            for (address, bytes, access) in std::mem::take(&mut copy.accesses) {
                let key = mbarrier.unwrap_or(if access == Access::Load { BULK_READS } else { BULK_WRITES });
                let agent = self.block(launch, lanes.block).agent(key);
                let target = self.generic_target(who, address);
                self.by_agent(who, &site, (target, bytes), (agent, lane), access);
            }
            copy.agent = self.block(launch, lanes.block).agent(mbarrier.unwrap_or(BULK_WRITES));
            copy.time = self.time;
            self.last_copies.insert(launch, copy);
            self.tick();
        }
        // A multicast tells several mbarriers; they all release the one agent.
        self.last_copies.get(&launch).map_or((0, 0), |copy| (copy.agent, copy.time))
    }
}
