//! Kernels whose threads may wait for one another other than at barriers.
//!
//! A compiled CTA runs to its end on its host thread, and the lanes of a row run in lockstep. So a loop that looks at memory
//! until another thread has written it might never end, where the interpreter lets that thread run. Such loops look with
//! strong loads or with the results of atomic operations, and a branch in the loop depends on what they see; kernels that
//! have one are the interpreter's. A compare-and-swap that expects what the loop has last seen is no such look: it fails
//! only where another thread has got on.
//!
//! So are those with a loop that looks with plain loads and that only memory can end: nothing that decides about its end
//! changes from round to round but what is loaded from one place. Where every round has a CTA barrier, the CTA's
//! threads take turns, and only memory of the whole device counts.

use crate::Refusal;
use crate::order::{Loop, Order, successors};
use ir::instruction::{BrxIdx, Op};
use ir::operand::{Def, Space, Value};
use ir::{Access, Cfg, Function, Instruction};
use ptx::isa::Order as Strength;
use ptx::module::{AddressBase, RegId};
use std::collections::HashSet;

/// Refuses what may wait, and loops that nothing leaves.
pub(crate) fn refuse(function: &Function<'_>, cfg: &Cfg, order: &Order) -> Result<(), Refusal> {
    for ir_loop in &order.loops {
        let blocks = &order.blocks[ir_loop.first..ir_loop.end];
        let indices = blocks.iter().flat_map(|&block| cfg.blocks[block].first..cfg.blocks[block].end);
        let instructions: Vec<_> = indices.filter_map(|index| function.instruction(index)).collect();
        if decides_by_looks(&instructions) || only_memory_ends(function, cfg, order, ir_loop, &instructions) {
            return Err(Refusal::Waits);
        }
    }
    // Where all paths meet again is only known of blocks that have a path to the end.
    let mut ends: Vec<bool> = cfg.blocks.iter().map(|block| block.successors.is_empty()).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for &block in order.blocks.iter().rev() {
            if !ends[block] && successors(cfg, block).any(|to| ends[to]) {
                ends[block] = true;
                changed = true;
            }
        }
    }
    match order.blocks.iter().all(|&block| ends[block]) {
        true => Ok(()),
        false => Err(Refusal::Endless),
    }
}

/// Whether a guard in a loop depends on what a look at memory that others write has seen, or the loop sleeps.
fn decides_by_looks(instructions: &[&Instruction]) -> bool {
    let changing = changing(instructions);
    let looks = |op: &Op| match op {
        Op::Ld(ld) => ld.order != Strength::Weak,
        Op::Atom(atom) => atom.d != Def(None),
        Op::AtomCas(cas) => !matches!(cas.b, Value::Register(expected) if changing.contains(&expected)),
        op => op.effects().waits,
    };
    if instructions.iter().any(|instruction| instruction.op.effects().waits) {
        return true;
    }
    // The registers that guards and switches depend on.
    let mut decides: HashSet<RegId> =
        instructions.iter().filter_map(|instruction| Some(instruction.guard?.register)).collect();
    decides.extend(instructions.iter().filter_map(|instruction| match &instruction.op {
        Op::BrxIdx(BrxIdx { index: Value::Register(index), .. }) => Some(*index),
        _ => None,
    }));
    loop {
        let before = decides.len();
        for instruction in instructions {
            let (mut reads, mut counts) = (Vec::new(), false);
            instruction.registers(&mut |register, access| match access {
                Access::Read => reads.push(register),
                Access::Write | Access::ReadWrite => counts |= decides.contains(&register),
            });
            if counts && looks(&instruction.op) {
                return true;
            }
            if counts {
                decides.extend(reads);
            }
        }
        if decides.len() == before {
            return false;
        }
    }
}

/// Whether a loop ends, if at all, because of what it loads from a place that is the same in every round.
fn only_memory_ends(
    function: &Function<'_>,
    cfg: &Cfg,
    order: &Order,
    ir_loop: &Loop,
    instructions: &[&Instruction],
) -> bool {
    let changing = changing(instructions);
    let is_barrier = |instruction: &&Instruction| instruction.op.effects().barrier.is_some();
    let takes_turns = instructions.iter().any(is_barrier);
    let looks = |instruction: &&Instruction| match &instruction.op {
        Op::Ld(ld) => {
            let at_one_place = match ld.a.base {
                AddressBase::Register(register) => !changing.contains(&register),
                _ => true,
            };
            let others_write = match ld.a.space {
                Space::Const | Space::Param | Space::ParamEntry | Space::ParamFunc | Space::Local => false,
                Space::Shared | Space::SharedCta => !takes_turns,
                _ => true,
            };
            at_one_place && others_write
        }
        _ => false,
    };
    let inside =
        |block: usize| order.place[block].is_some_and(|at| (ir_loop.first..ir_loop.end).contains(&at));
    let blocks = &order.blocks[ir_loop.first..ir_loop.end];
    let mut exits = blocks.iter().filter(|&&block| successors(cfg, block).any(|to| !inside(to)));
    let changes = |block: &usize| {
        let last = function.instruction(cfg.blocks[*block].end.wrapping_sub(1));
        last.and_then(|last| last.guard).is_none_or(|guard| changing.contains(&guard.register))
    };
    !exits.any(changes) && instructions.iter().any(looks)
}

/// The registers whose values differ from round to round for other reasons than what is in memory.
fn changing(instructions: &[&Instruction]) -> HashSet<RegId> {
    let (mut once, mut changing) = (HashSet::new(), HashSet::new());
    let mut again = HashSet::new();
    for instruction in instructions {
        instruction.registers(&mut |register, access| {
            if access != Access::Read {
                changing.insert(register);
                if !once.insert(register) {
                    again.insert(register);
                }
            }
        });
    }
    loop {
        let before = changing.len();
        for instruction in instructions {
            let (mut same, mut results) = (true, Vec::new());
            instruction.registers(&mut |register, access| {
                same &= access == Access::Write || !changing.contains(&register);
                if access != Access::Read {
                    same &= !again.contains(&register);
                    results.push(register);
                }
            });
            if same {
                results.iter().for_each(|register| {
                    changing.remove(register);
                });
            }
        }
        if changing.len() == before {
            return changing;
        }
    }
}
