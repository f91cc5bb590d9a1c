//! What is live where: the registers that an instruction leaves to those after it, and so what an engine must keep where
//! a CTA's threads wait for one another.

use crate::cfg::{BlockId, Cfg, Exit};
use crate::instruction::Access;
use crate::liveness::Liveness;
use crate::lower::Function;
use ptx::isa::Meeting;
use ptx::module::{Param, RegId};
use std::collections::BTreeSet;

/// The registers whose values are needed behind a barrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtBarrier {
    /// The instruction that waits.
    pub instruction: u32,
    /// Who waits there.
    pub meeting: Meeting,
    /// What is live behind it, in order.
    pub live: Vec<RegId>,
}

/// What is live across every barrier of the CTA or the cluster at which threads wait.
pub fn across_barriers(function: &Function<'_>, cfg: &Cfg, liveness: &Liveness) -> Vec<AtBarrier> {
    let mut found = Vec::new();
    for (id, block) in (0..).map(BlockId).zip(&cfg.blocks).filter(|(id, _)| cfg.is_reachable(*id)) {
        let waits = |index: u32| {
            let barrier = function.instruction(index)?.op.effects().barrier?;
            barrier.waits.then_some(barrier.of)
        };
        if !(block.first..block.end).any(|index| waits(index).is_some()) {
            continue;
        }
        let mut live = live_out(function, cfg, liveness, id);
        for index in (block.first..block.end).rev() {
            let Some(instruction) = function.instruction(index) else { continue };
            if let Some(meeting) = waits(index) {
                found.push(AtBarrier { instruction: index, meeting, live: live.iter().copied().collect() });
            }
            instruction.registers(&mut |register, access| {
                if access == Access::Write {
                    live.remove(&register);
                }
            });
            instruction.registers(&mut |register, access| {
                if access != Access::Write {
                    live.insert(register);
                }
            });
        }
    }
    found.sort_by_key(|barrier| barrier.instruction);
    found
}

/// The registers that are live where a block ends.
fn live_out(function: &Function<'_>, cfg: &Cfg, liveness: &Liveness, id: BlockId) -> BTreeSet<RegId> {
    let block = &cfg.blocks[id.index()];
    let mut live: BTreeSet<RegId> = block.successors.iter().flat_map(|to| liveness.live_in(*to)).collect();
    if block.exit == Some(Exit::Return) {
        live.extend(function.declaration.returns.iter().filter_map(|param| match param {
            Param::Register(register) => Some(*register),
            Param::Memory(_) | Param::RegisterType(_) => None,
        }));
    }
    live
}
