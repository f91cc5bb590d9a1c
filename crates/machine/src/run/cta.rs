//! A CTA: its packs and its barriers. Its shared memory is in [`crate::common`].

use super::barrier::Barriers;
use super::pack::{Pack, Position};
use crate::asynchrony::fragments::Fragments;
use crate::exec::{Grid, LaneTrap, LocalMemory, Threads};
use crate::lanes::{EMPTY, LANES};
use crate::matrix::workspace::Workspace;
use crate::observe::Happening;
use crate::spinning::SpinDetector;
use crate::time::Clock;
use std::collections::HashMap;

/// A resident CTA.
pub(crate) struct Cta {
    pub(super) packs: Vec<Pack>,
    barriers: Barriers,
    /// Packs with a thread that has not exited.
    running: usize,
}

impl Cta {
    /// The storage of a CTA. No thread is in it yet.
    pub(super) fn new(grid: &Grid<'_>) -> Self {
        let warps = (0..grid.warps()).step_by(grid.image.warps);
        Self {
            packs: warps.map(|first_warp| Pack::new(grid, first_warp)).collect(),
            barriers: Barriers::default(),
            running: 0,
        }
    }

    /// Puts the threads of a CTA at the kernel's entry, whoever was here before.
    pub(super) fn begin(&mut self, grid: &Grid<'_>, position: Position) {
        self.packs.iter_mut().for_each(|pack| pack.begin(grid, position));
        self.barriers.clear();
        self.running = self.packs.len();
    }

    /// `%ctaid`, as long as it has a thread that has not exited.
    pub(super) fn resident(&self) -> Option<[u32; 3]> {
        self.packs.first().filter(|_| self.running > 0).map(|pack| pack.threads.ctaid)
    }

    /// Its number in its cluster.
    pub(super) fn rank(&self) -> usize {
        self.packs.first().map_or(0, |pack| pack.threads.rank as usize)
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
        self.barriers.count_arrivals(&mut self.packs[pack], grid)?;
        self.release_barriers(grid);
        Ok(())
    }

    /// Releases every complete barrier. Returns whether there was one.
    pub(super) fn release_barriers(&mut self, grid: &Grid<'_>) -> bool {
        self.barriers.release_complete(&mut self.packs, grid)
    }

    /// The pack and the trap of threads that wait at a barrier that nobody can complete.
    pub(super) fn barrier_never_completes(&self) -> Option<(usize, LaneTrap, u32)> {
        self.barriers.never_complete(&self.packs)
    }
}

impl Threads {
    /// The storage of the threads of the pack that begins with a warp of its CTA.
    pub(crate) fn new(grid: &Grid<'_>, first_warp: usize) -> Self {
        Self {
            ctaid: [0; 3],
            rank: 0,
            slot: 0,
            first_warp: first_warp as u32,
            warps: grid.image.warps.min(grid.warps() - first_warp),
            live: EMPTY,
            at_cluster_barrier: EMPTY,
            cluster_phase: EMPTY,
            targets: vec![[0; LANES]; grid.image.warps],
            local: LocalMemory::new(grid.image.warps, grid.local as usize),
            last_errors: HashMap::new(),
            spinning: SpinDetector::default(),
            matrices: Workspace::default(),
            fragments: Fragments::default(),
            clock: Clock::default(),
        }
    }

    /// Whether a warp of their CTA is one of theirs.
    pub(crate) fn has(&self, warp: u32) -> bool {
        (warp.wrapping_sub(self.first_warp) as usize) < self.warps
    }

    /// Makes them those of a CTA. Nothing is left of those that were here before.
    pub(crate) fn begin(&mut self, grid: &Grid<'_>, Position { ctaid, rank, slot }: Position) {
        (self.ctaid, self.rank, self.slot) = (ctaid, rank, slot);
        let mut threads = grid.threads() - self.first_warp as usize * LANES;
        for live in &mut self.live[..grid.image.warps] {
            let here = threads.min(LANES);
            *live = ((1_u64 << here) - 1) as u32;
            threads -= here;
        }
        (self.at_cluster_barrier, self.cluster_phase) = (EMPTY, EMPTY);
        self.local.clear();
        self.last_errors.clear();
        self.fragments.clear();
        (self.spinning, self.clock) = (SpinDetector::default(), Clock::default());
    }
}
