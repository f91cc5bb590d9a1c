//! A CTA: its packs and its barriers. Its shared memory is in [`crate::common`].

use super::barrier::{self, BARRIERS, Barrier};
use super::pack::Pack;
use crate::exec::{Grid, LaneTrap, Threads};
use crate::lanes::{EMPTY, LANES};
use crate::looks::Looks;
use crate::observe::Happening;
use crate::ops::time::Clock;
use std::collections::HashMap;

/// A resident CTA.
pub(crate) struct Cta {
    pub(super) packs: Vec<Pack>,
    barriers: Vec<Barrier>,
    /// Packs with a thread that has not exited.
    running: usize,
}

/// Where a CTA is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// `%ctaid`.
    pub(super) ctaid: [u32; 3],
    /// `%cluster_ctarank`.
    pub(super) rank: u32,
    /// The place in residency, from which `%smid` follows.
    pub(super) slot: u32,
}

impl Cta {
    /// A CTA whose threads stand at the kernel's entry.
    pub(super) fn new(grid: &Grid<'_>, place: Place) -> Self {
        let threads = grid.block.iter().map(|&b| b as usize).product::<usize>();
        let warps = threads.div_ceil(LANES);
        let pack_warps = grid.image.warps;
        let packs = (0..warps.div_ceil(pack_warps))
            .map(|p| Pack::new(grid, pack_threads(grid, place, p * pack_warps, warps)))
            .collect::<Vec<_>>();
        Self { running: packs.len(), packs, barriers: vec![Barrier::new(warps); BARRIERS] }
    }

    /// A pack has exited. Returns whether it was the last.
    pub(super) fn exit(&mut self, grid: &Grid<'_>) -> bool {
        self.running -= 1;
        self.release_barriers(grid);
        if let (Some(observer), 0, [pack, ..]) = (grid.observer, self.running, &*self.packs) {
            observer.happening(&Happening::BlockDone { block: pack.threads.ctaid });
        }
        self.running == 0
    }

    /// Counts the arrivals of a pack at barriers.
    pub(super) fn arrive(&mut self, pack: usize, grid: &Grid<'_>) -> Result<(), (LaneTrap, u32)> {
        barrier::count_arrivals(&mut self.packs[pack], &mut self.barriers, grid)?;
        self.release_barriers(grid);
        Ok(())
    }

    /// Releases every complete barrier. Returns whether there was one.
    pub(super) fn release_barriers(&mut self, grid: &Grid<'_>) -> bool {
        barrier::release_complete(&mut self.packs, &mut self.barriers, grid)
    }

    /// The pack and the trap of threads that wait at a barrier that nobody can complete.
    pub(super) fn barrier_never_completes(&self) -> Option<(usize, LaneTrap, u32)> {
        barrier::never_complete(&self.packs, &self.barriers)
    }
}

/// The threads of the pack that starts at warp `first_warp`.
fn pack_threads(grid: &Grid<'_>, place: Place, first_warp: usize, warps: usize) -> Threads {
    let [bx, by, bz] = grid.block.map(|b| b as usize);
    let pack_warps = grid.image.warps.min(warps - first_warp);
    let mut tid = [0, 1, 2].map(|_| vec![[0; LANES]; grid.image.warps]);
    let mut live = EMPTY;
    for warp in 0..pack_warps {
        for lane in 0..LANES {
            let thread = (first_warp + warp) * LANES + lane;
            if thread < bx * by * bz {
                live[warp] |= 1 << lane;
                let at = [thread % bx, thread / bx % by, thread / (bx * by)];
                for (plane, at) in tid.iter_mut().zip(at) {
                    plane[warp][lane] = at as u32;
                }
            }
        }
    }
    Threads {
        ctaid: place.ctaid,
        rank: place.rank,
        slot: place.slot,
        first_warp: first_warp as u32,
        warps: pack_warps,
        tid,
        live,
        at_cluster_barrier: EMPTY,
        cluster_phase: EMPTY,
        local: vec![0; grid.local as usize * LANES * grid.image.warps],
        last_errors: HashMap::new(),
        looks: Looks::default(),
        clock: Clock::default(),
    }
}
