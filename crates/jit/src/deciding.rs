//! Which blocks decide how often a thread comes to others.
//!
//! Threads that part at the end of a block meet again at its reconvergence point, so it decides about what lies between. If a thread may
//! leave the kernel there, it decides about all that others may come to later.

use crate::divergence::Bits;
use crate::order::successors;
use ir::instruction::Op;
use ir::{Cfg, Function};

/// Blocks that decide, and about which others each does.
pub(crate) struct Deciding(Vec<(usize, Bits)>);

impl Deciding {
    pub(crate) fn new(function: &Function<'_>, cfg: &Cfg, blocks: &[usize]) -> Self {
        let meets = cfg.reconvergence();
        let may_leave = |block: usize| {
            let last = cfg.blocks[block].end.checked_sub(1).and_then(|last| function.instruction(last));
            last.is_none_or(|i| matches!(i.op, Op::Ret(_) | Op::Exit(_)))
                || cfg.blocks[block].successors.is_empty()
        };
        let decided = |block: usize| {
            let count = successors(cfg, block).count();
            if count < 2 && !may_leave(block) {
                return None;
            }
            if !may_leave(block)
                && let Some(meet) = meets[block]
            {
                let between = walk(cfg, block, Some(meet.index()));
                if !between.iter().any(may_leave) {
                    return Some((block, between));
                }
            }
            Some((block, walk(cfg, block, None)))
        };
        Self(blocks.iter().filter_map(|&block| decided(block)).collect())
    }

    /// The blocks that decide about a place.
    pub(crate) fn about(&self, place: usize) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().filter(move |(_, decided)| decided.has(place)).map(|&(block, _)| block)
    }
}

/// The blocks that are come to from the end of one, not through a place.
fn walk(cfg: &Cfg, from: usize, without: Option<usize>) -> Bits {
    let mut reached = Bits::new(cfg.blocks.len());
    let mut pending: Vec<usize> = successors(cfg, from).collect();
    while let Some(block) = pending.pop() {
        if Some(block) != without && !reached.has(block) {
            reached.add(block);
            pending.extend(successors(cfg, block));
        }
    }
    reached
}
