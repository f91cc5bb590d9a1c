//! Accesses that no instruction names by an address for each lane, and that the machine tells of byte by byte: matrices, blocks,
//! all places of a multicast address, texels, factors of `wgmma`.
//!
//! Texels are read through a proxy of their own, for which PTX has no fence: a lookup need not see what its own kernel has
//! written, however it is ordered (CUDA C++ Programming Guide, "Texture Memory"). What matrix products of a warpgroup read of
//! shared memory they read through the async proxy, until the group is done that they were committed to (PTX ISA,
//! "wgmma.mma_async"): it takes what any lane of the four warps knows.

use crate::accessor::Accessor;
use crate::detector::{Detector, Who, lanes_of};
use crate::knowledge::Knowledge;
use crate::shadow::Entry;
use crate::site::{Action, Site};
use machine::fault::Access;
use machine::lanes::Plane;
use machine::memory::SpaceKind;
use machine::observe::{Lanes, PackAccess, PackAddresses};
use std::sync::Arc;

/// The warps of a warpgroup.
const WARPGROUP: u16 = 4;

/// The agent of a warpgroup's products, in the place of the address of an mbarrier.
pub(crate) fn products_of(warp: u16) -> u64 {
    PRODUCTS + u64::from(warp / WARPGROUP)
}

/// That of the first warpgroup. A CTA has eight at most.
const PRODUCTS: u64 = 4;

impl Detector {
    /// Lanes access so many bytes each, at generic addresses.
    pub(crate) fn accessed(
        &mut self,
        launch: usize,
        lanes: Lanes,
        (addresses, bytes): (&[u64; 32], u64),
        access: Access,
    ) {
        let who = self.who(launch, lanes.block, lanes.warp, lanes.place);
        let site = *self.sites.get(who.site);
        match site.action {
            Action::Product => self.multiplied(who, &site, lanes.mask, (addresses, bytes)),
            Action::Texture => self.looked_up(who, &site, lanes.mask, (addresses, bytes)),
            _ if site.is_strong() => {
                for lane in lanes_of(lanes.mask) {
                    let target = self.generic_target(who, addresses[lane as usize]);
                    self.strong(who, 1 << lane, (target, bytes), access);
                }
            }
            // A block may be longer than what lanes access side by side.
            _ if lanes.mask.is_power_of_two() => {
                let target = self.generic_target(who, addresses[lanes.mask.trailing_zeros() as usize]);
                self.plain(who, &site, (target, bytes), lanes.mask, access);
            }
            _ => {
                let planes = [Plane(*addresses)];
                let addresses = PackAddresses::Wide(&planes, 0);
                let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
                let told = PackAccess { space: SpaceKind::Generic, access, bytes, addresses };
                self.weak(who, &site, &told, (&[lanes.mask], access));
            }
        }
    }

    /// Lanes read texels.
    fn looked_up(&mut self, who: Who, site: &Site, mask: u32, (addresses, bytes): (&[u64; 32], u64)) {
        let launch = &self.launches[who.launch];
        let before = Arc::clone(launch.complete.as_ref().unwrap_or(&launch.knowledge.generic));
        for lane in lanes_of(mask) {
            let target = self.generic_target(who, addresses[lane as usize]);
            let clock = Arc::clone(&self.warp(who).group(lane).knowledge.generic);
            let entry = Entry::of_lanes(self.time, who.home.cta, who.warp, 1 << lane, who.site);
            let mut by = Accessor::new(who.home, (who.warp, 1 << lane), &clock, entry, (site, Access::Load));
            by.proxied = Some(&before);
            self.touch(who, &by, (target, bytes));
        }
    }

    /// A warpgroup reads factors of a product.
    fn multiplied(&mut self, who: Who, site: &Site, mask: u32, (addresses, bytes): (&[u64; 32], u64)) {
        let agent = self.block(who.launch, who.block).agent(products_of(who.warp));
        let mut all = Knowledge::default();
        for warp in who.warp..who.warp + WARPGROUP {
            all.join(&self.released(Who { warp, ..who }, !0));
        }
        let entry = Entry::of_agent(self.time, who.home.cta, agent, 1, who.site);
        let mut by = Accessor::new(who.home, (who.warp, 1), &all.generic, entry, (site, Access::Load));
        by.proxied = Some(&all.proxied);
        let mut rest = lanes_of(mask).map(|lane| addresses[lane as usize]).peekable();
        while let Some(start) = rest.next() {
            let mut end = start + bytes;
            while rest.next_if_eq(&end).is_some() {
                end += bytes;
            }
            let target = self.generic_target(who, start);
            self.touch(who, &by, (target, end - start));
        }
    }
}
