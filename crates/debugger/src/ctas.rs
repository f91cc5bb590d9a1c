//! How far the CTAs of a grid are.

use crate::engine::Blocks;
use crate::program::Grid;
use std::collections::HashSet;

/// See the module.
pub(crate) struct Ctas {
    pub(crate) grid: Grid,
    /// Whether it has begun.
    begun: bool,
    /// Those that have executed something and not ended, and those that have ended.
    open: HashSet<[u32; 3]>,
    ended: HashSet<[u32; 3]>,
    /// The cluster before which all have ended: where the launch was begun.
    first: u64,
}

impl Ctas {
    /// Those of a grid that begins with a cluster.
    pub(crate) fn new(grid: Grid, first: u64) -> Self {
        Self { grid, begun: false, open: HashSet::new(), ended: HashSet::new(), first }
    }

    /// A grid begins: that of the host, or the next one that kernels have launched.
    pub(crate) fn begin(&mut self, grid: Grid) {
        let number = self.grid.number + u32::from(self.begun);
        let first = if self.begun { 0 } else { self.first };
        *self = Self { begun: true, ..Self::new(Grid { number, ..grid }, first) };
    }

    /// A CTA executes something; whether that is its first, and no other one is under way, nor has one of its cluster ended.
    pub(crate) fn is_alone(&mut self, block: [u32; 3]) -> bool {
        let begins = self.open.insert(block);
        begins && self.open.len() == 1 && !self.members(block).any(|member| self.ended.contains(&member))
    }

    /// All threads of a CTA have exited.
    pub(crate) fn end(&mut self, block: [u32; 3]) {
        self.open.remove(&block);
        self.ended.insert(block);
    }

    /// Whether a CTA that has no threads has ended.
    pub(crate) fn has_ended(&self, block: [u32; 3]) -> bool {
        self.ended.contains(&block) || self.cluster(block) < self.first
    }

    /// How far all of them are, where these have threads.
    pub(crate) fn blocks(&self, mut under_way: Vec<[u32; 3]>) -> Blocks {
        under_way.sort_unstable_by_key(|&[x, y, z]| [z, y, x]);
        let count = |extents: [u32; 3]| extents.iter().map(|&extent| u64::from(extent)).product::<u64>();
        let most = count(self.grid.extent);
        let ended = (self.first * count(self.grid.cluster) + self.ended.len() as u64).min(most);
        let not_begun = most.saturating_sub(ended + under_way.len() as u64);
        Blocks { under_way, ended, not_begun }
    }

    /// The number of a CTA's cluster, as launches count them.
    pub(crate) fn cluster(&self, block: [u32; 3]) -> u64 {
        let Grid { extent, cluster, .. } = self.grid;
        let along = |axis: usize| u64::from(block[axis] / cluster[axis]);
        let count = |axis: usize| u64::from(extent[axis] / cluster[axis]);
        along(0) + count(0) * (along(1) + count(1) * along(2))
    }

    /// The CTAs of a CTA's cluster.
    fn members(&self, block: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
        let cluster @ [nx, ny, nz] = self.grid.cluster;
        let start = [0, 1, 2].map(|axis: usize| block[axis] / cluster[axis] * cluster[axis]);
        (0..nx * ny * nz)
            .map(move |rank| [start[0] + rank % nx, start[1] + rank / nx % ny, start[2] + rank / (nx * ny)])
    }
}
