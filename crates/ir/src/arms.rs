//! Facts for if-conversion: where a branch has arms so small and harmless that both can be executed under a mask, or their
//! results selected, in place of a branch.

use crate::cfg::{BlockId, Cfg};
use crate::instruction::Op;
use crate::lower::Function;
use ptx::isa::Convergence;

/// What both ways of a conditional branch do until they meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conditional {
    /// The block that ends with the branch.
    pub head: BlockId,
    /// The block that is executed where it is taken, unless that is where the ways meet.
    pub taken: Option<BlockId>,
    /// The block that is executed where it is not.
    pub fallen: Option<BlockId>,
    /// Where they meet.
    pub join: BlockId,
    /// How many instructions the arms have, branches left out.
    pub length: u32,
    /// What is in the way of executing both arms.
    pub does: ArmEffect,
}

/// The worst that an arm does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ArmEffect {
    /// Results alone: they can be selected.
    Nothing,
    /// It accesses memory, for each thread by itself: it needs a mask.
    Memory,
    /// It meets or waits for other threads, calls, or has other effects: only a branch will do.
    Other,
}

/// The triangles and diamonds of a function: branches of which each arm is a block that nothing else leads to, or
/// nothing, and whose arms meet in one block.
pub fn conditionals(function: &Function<'_>, cfg: &Cfg) -> Vec<Conditional> {
    let heads = (0..cfg.blocks.len() as u32).map(BlockId).filter(|id| cfg.is_reachable(*id));
    heads.filter_map(|head| conditional(function, cfg, head)).collect()
}

fn conditional(function: &Function<'_>, cfg: &Cfg, head: BlockId) -> Option<Conditional> {
    let block = &cfg.blocks[head.index()];
    let [taken, fallen] = block.successors[..] else { return None };
    let is_branch = matches!(function.instruction(block.end - 1)?.op, Op::Bra(_));
    // Where a block leads that is an arm.
    let past = |arm: BlockId| {
        let block = &cfg.blocks[arm.index()];
        let alone = block.predecessors == [head] && block.exit.is_none();
        match block.successors[..] {
            [next] if alone && next != arm => Some(next),
            _ => None,
        }
    };
    let (taken, fallen, join) = match (past(taken), past(fallen)) {
        (Some(a), Some(b)) if a == b => (Some(taken), Some(fallen), a),
        (Some(next), _) if next == fallen => (Some(taken), None, fallen),
        (_, Some(next)) if next == taken => (None, Some(fallen), taken),
        _ => return None,
    };
    let (mut length, mut does) = (0, ArmEffect::Nothing);
    for arm in [taken, fallen].into_iter().flatten() {
        let bounds = &cfg.blocks[arm.index()];
        for instruction in (bounds.first..bounds.end).filter_map(|index| function.instruction(index)) {
            if !matches!(instruction.op, Op::Bra(_)) {
                length += 1;
                does = does.max(effect(&instruction.op));
            }
        }
    }
    (is_branch && join != head).then_some(Conditional { head, taken, fallen, join, length, does })
}

fn effect(op: &Op) -> ArmEffect {
    let effects = op.effects();
    let alone = effects.convergence == Convergence::Thread
        && effects.barrier.is_none()
        && effects.fence.is_none()
        && effects.groups.is_none()
        && effects.asynchronous.is_none()
        && !effects.waits
        && effects.state == ptx::isa::State::NONE
        && effects.flow == ptx::isa::Flow::Next;
    match (effects.is_pure(), alone) {
        (true, _) => ArmEffect::Nothing,
        (false, true) => ArmEffect::Memory,
        (false, false) => ArmEffect::Other,
    }
}
