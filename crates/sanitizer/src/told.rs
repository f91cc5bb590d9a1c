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
use crate::site::{Action, Pipe, Site};
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

/// The agent of what a warp has issued to the tensor core, likewise; and that of the first warp, with 32 for each pipe.
pub(crate) fn pipe_of(pipe: Pipe, warp: u16) -> u64 {
    PIPES + 32 * pipe as u64 + u64::from(warp)
}

const PIPES: u64 = 16;

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
                let told = PackAccess { space: SpaceKind::Generic, access, bytes, addresses, step: None };
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

    /// Lanes have issued something to the tensor core. It comes after what they know, and what one thread issues to one pipe is done
    /// in order; of shared memory it sees what the async proxy does.
    ///
    /// That is less than PTX asks for: of `tcgen05.fence` nothing is known, which compilers leave out where a barrier is.
    pub(crate) fn tensor_core(&mut self, launch: usize, lanes: Lanes, ranges: &[(u64, u64, Access)]) {
        let who = self.who(launch, lanes.block, lanes.warp, lanes.place);
        let site = *self.sites.get(who.site);
        let Action::Tensor(pipe) = site.action else { return };
        let agent = self.block(launch, lanes.block).agent(pipe_of(pipe, who.warp));
        // Loads and stores are of the whole warp.
        let (mut all, time) = (self.released(who, lanes.mask), self.time);
        all.learn(who.home.cta, agent, lanes.mask, time);
        let entry = Entry::of_agent(time, who.home.cta, agent, lanes.mask, who.site);
        for &(address, bytes, access) in ranges {
            let target = self.generic_target(who, address);
            let mut by =
                Accessor::new(who.home, (who.warp, lanes.mask), &all.generic, entry, (&site, access));
            by.proxied = if target.is_tensor_memory() { None } else { Some(&all.proxied) };
            self.touch(who, &by, (target, bytes));
        }
        self.tick();
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
