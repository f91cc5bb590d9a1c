//! The blocks of a kernel with who comes before whom, dominators in both directions, and loops.

use crate::allocate::{Block, blocks};
use crate::code::Code;
use ir::dominance::{DominatorTree, Graph, immediate_dominators};

/// Where control goes.
pub(crate) struct Flow {
    pub(crate) blocks: Vec<Block>,
    pub(crate) predecessors: Vec<Vec<usize>>,
    dominators: Vec<Option<u32>>,
    tree: DominatorTree,
}

/// A natural loop.
pub(crate) struct Loop {
    pub(crate) header: usize,
    /// Its blocks in order, the header among them.
    pub(crate) blocks: Vec<usize>,
}

impl Flow {
    pub(crate) fn new(code: &Code) -> Self {
        let blocks = blocks(code);
        let mut predecessors = vec![Vec::new(); blocks.len()];
        for (from, block) in blocks.iter().enumerate() {
            for &to in &block.successors {
                if !predecessors[to].contains(&from) {
                    predecessors[to].push(from);
                }
            }
        }
        // In front of the kernel and its routines, which are called from several places, is a block that is none.
        let root = blocks.len();
        let is_entry = |block: usize| block == 0 || code.is_routine(&code.lines[blocks[block].lines.start]);
        let graph = Graph::new(root + 1, |node, add| match blocks.get(node as usize) {
            Some(block) => block.successors.iter().for_each(|&next| add(next as u32)),
            None => (0..root).filter(|&block| is_entry(block)).for_each(|block| add(block as u32)),
        });
        let dominators = immediate_dominators(&graph, root as u32);
        let tree = DominatorTree::new(&dominators, root as u32);
        Self { blocks, predecessors, dominators, tree }
    }

    /// The reachable blocks, each behind its dominators.
    pub(crate) fn order(&self) -> impl Iterator<Item = usize> + '_ {
        self.tree.order.iter().map(|&node| node as usize).filter(|&node| node < self.blocks.len())
    }

    /// Whether a block can be reached at all.
    pub(crate) fn is_reachable(&self, block: usize) -> bool {
        self.dominators[block].is_some()
    }

    /// The nearest block that every way to a block passes.
    pub(crate) fn above(&self, block: usize) -> Option<usize> {
        self.dominators[block].map(|it| it as usize).filter(|&it| it < self.blocks.len())
    }

    /// Whether every way to `block` passes `by`; both are reachable.
    pub(crate) fn dominates(&self, by: usize, block: usize) -> bool {
        self.tree.dominates(by as u32, block as u32)
    }

    /// The block that all ways from each block to the end pass first; none if that is the end itself.
    pub(crate) fn post_dominators(&self) -> Vec<Option<usize>> {
        let end = self.blocks.len();
        let graph = Graph::new(end + 1, |node, add| match self.predecessors.get(node as usize) {
            Some(before) => before.iter().for_each(|&it| add(it as u32)),
            None => (0..end).filter(|&it| self.leaves(it)).for_each(|it| add(it as u32)),
        });
        let found = immediate_dominators(&graph, end as u32);
        (0..end).map(|block| found[block].map(|it| it as usize).filter(|&it| it < end)).collect()
    }

    /// Whether a block ends the kernel for some lane.
    fn leaves(&self, block: usize) -> bool {
        self.blocks[block].successors.is_empty()
    }

    /// All natural loops, those of one header together.
    pub(crate) fn loops(&self) -> Vec<Loop> {
        let mut found = Vec::new();
        for header in self.order() {
            let latches: Vec<usize> = self.predecessors[header]
                .iter()
                .copied()
                .filter(|&it| self.is_reachable(it) && self.dominates(header, it))
                .collect();
            if latches.is_empty() {
                continue;
            }
            let mut inside = vec![header];
            let mut pending = latches;
            while let Some(block) = pending.pop() {
                if !inside.contains(&block) {
                    inside.push(block);
                    pending.extend(self.predecessors[block].iter().filter(|&&it| self.is_reachable(it)));
                }
            }
            inside.sort_unstable();
            found.push(Loop { header, blocks: inside });
        }
        found
    }
}
