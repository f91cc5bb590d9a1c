//! Natural loops: the blocks from which control comes back to a header that dominates them, nested in one another.
//!
//! Back edges to one header make one loop. An edge backwards to a block that does not dominate its origin makes none:
//! such a circle has several entries, and nothing is said of it but that it is there ([`Loops::irreducible`]).

use crate::cfg::{BlockId, Cfg};
use crate::dominance::DominatorTree;

/// A loop: an index into [`Loops::all`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LoopId(pub u32);

impl LoopId {
    /// The handle as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A natural loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The block through which it is entered.
    pub header: BlockId,
    /// The smallest loop around it.
    pub parent: Option<LoopId>,
    /// How many loops it is in, itself included.
    pub depth: u32,
    /// The blocks that go back to the header.
    pub latches: Vec<BlockId>,
    /// The edges that leave it, by their origin and target.
    pub exits: Vec<(BlockId, BlockId)>,
}

/// The loops of a function.
#[derive(Clone, Debug, Default)]
pub struct Loops {
    /// Every loop, after those around it.
    pub all: Vec<Loop>,
    /// Whether there is a circle that is no natural loop.
    pub irreducible: bool,
    /// The smallest loop that each block is in.
    of: Vec<Option<LoopId>>,
}

impl Loops {
    /// The loops of a graph.
    pub fn new(cfg: &Cfg) -> Self {
        let dominators: Vec<_> = cfg.dominators().iter().map(|block| block.map(|block| block.0)).collect();
        Self::with_tree(cfg, &DominatorTree::new(&dominators, 0))
    }

    pub(crate) fn with_tree(cfg: &Cfg, tree: &DominatorTree) -> Self {
        // Found from the inside out: a header comes after those that it dominates.
        let mut found: Vec<(BlockId, Vec<BlockId>)> = Vec::new();
        let mut parents: Vec<Option<usize>> = Vec::new();
        let mut of: Vec<Option<usize>> = vec![None; cfg.blocks.len()];
        for &header in tree.order.iter().rev() {
            let back = |from: &&BlockId| tree.dominates(header, from.0);
            let latches: Vec<BlockId> =
                cfg.blocks[header as usize].predecessors.iter().filter(back).copied().collect();
            if latches.is_empty() {
                continue;
            }
            let this = found.len();
            parents.push(None);
            let mut pending = latches.clone();
            while let Some(block) = pending.pop() {
                match of[block.index()] {
                    None => {
                        of[block.index()] = Some(this);
                        if block.0 != header {
                            pending.extend(&cfg.blocks[block.index()].predecessors);
                        }
                    }
                    Some(inner) => {
                        // A loop that was found before: its outermost becomes a part of this one.
                        let mut outermost = inner;
                        while let Some(parent) = parents[outermost] {
                            outermost = parent;
                        }
                        if outermost != this {
                            parents[outermost] = Some(this);
                            let entry: BlockId = found[outermost].0;
                            let outside = |from: &&BlockId| !tree.dominates(entry.0, from.0);
                            pending.extend(cfg.blocks[entry.index()].predecessors.iter().filter(outside));
                        }
                    }
                }
            }
            of[header as usize] = of[header as usize].or(Some(this));
            found.push((BlockId(header), latches));
        }
        Self::nested(cfg, found, &parents, &of, is_irreducible(cfg, tree))
    }

    /// Numbers the loops from the outside in.
    fn nested(
        cfg: &Cfg,
        found: Vec<(BlockId, Vec<BlockId>)>,
        parents: &[Option<usize>],
        of: &[Option<usize>],
        irreducible: bool,
    ) -> Self {
        let count = found.len();
        let number = |old: usize| LoopId((count - 1 - old) as u32);
        let mut all: Vec<Loop> = Vec::with_capacity(count);
        for (old, (header, latches)) in found.into_iter().enumerate().rev() {
            let parent = parents[old].map(number);
            let depth = 1 + parent.map_or(0, |parent| all[parent.index()].depth);
            all.push(Loop { header, parent, depth, latches, exits: vec![] });
        }
        let of = of.iter().map(|of| of.map(number)).collect();
        let mut loops = Self { all, irreducible, of };
        for (id, block) in (0..).map(BlockId).zip(&cfg.blocks).filter(|(id, _)| cfg.is_reachable(*id)) {
            for &to in &block.successors {
                let mut inner = loops.of[id.index()];
                while let Some(left) = inner.filter(|of| !loops.contains(*of, to)) {
                    loops.all[left.index()].exits.push((id, to));
                    inner = loops.all[left.index()].parent;
                }
            }
        }
        loops
    }

    /// The smallest loop that a block is in.
    pub fn of(&self, block: BlockId) -> Option<LoopId> {
        self.of[block.index()]
    }

    /// The loops that a block is in, from the inside out.
    pub fn around(&self, block: BlockId) -> impl Iterator<Item = LoopId> + '_ {
        std::iter::successors(self.of(block), |inner| self.all[inner.index()].parent)
    }

    /// Whether a block is in a loop.
    pub fn contains(&self, id: LoopId, block: BlockId) -> bool {
        let depth = self.all[id.index()].depth;
        // Loops around a block have all depths from its own down to one.
        self.around(block).find(|around| self.all[around.index()].depth <= depth) == Some(id)
    }
}

/// Whether some edge closes a circle without leading to a block that dominates its origin: in any depth-first search of a
/// graph with such circles one of them goes back to a block on the path.
fn is_irreducible(cfg: &Cfg, tree: &DominatorTree) -> bool {
    let (mut seen, mut on_path) = (vec![false; cfg.blocks.len()], vec![false; cfg.blocks.len()]);
    let mut path = vec![(0, 0)];
    (seen[0], on_path[0]) = (true, true);
    while let Some((block, edge)) = path.last_mut() {
        let from = *block;
        let Some(to) = cfg.blocks[from].successors.get(*edge).map(|to| to.index()) else {
            on_path[from] = false;
            path.pop();
            continue;
        };
        *edge += 1;
        if on_path[to] && !tree.dominates(to as u32, from as u32) {
            return true;
        }
        if !std::mem::replace(&mut seen[to], true) {
            on_path[to] = true;
            path.push((to, 0));
        }
    }
    false
}
