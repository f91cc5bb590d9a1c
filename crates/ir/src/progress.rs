//! Which functions need an engine that lets lanes run one by one.
//!
//! An engine that executes the lanes of a warp together, and warps one after another between barriers, is right as long as
//! no thread waits for what another thread does. Where one spins, the other must get its turn: a warp's, or even a
//! lane's of the same warp. What is found here is what a function may do; most that load in a loop never wait.

use crate::cfg::BlockId;
use crate::instruction::{FieldValue, Op};
use crate::loops::Loop;
use crate::operand::Value;
use crate::shape::Group;
use crate::shape::converged::Converged;
use crate::ssa::{Definitions, Ssa};
use ptx::isa::{Convergence, Order};
use ptx::module::RegId;
use std::collections::HashSet;

/// A loop whose end depends on what other threads write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spin {
    /// The loop's header.
    pub header: BlockId,
    /// The instruction of the register form whose result decides.
    pub waits_for: u32,
    /// Whether lanes of one warp can leave in different rounds, so that one may wait for another of the same warp.
    pub among_lanes: bool,
}

/// Why a function needs lanes or warps that run by themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Loops that may wait for other threads.
    pub spins: Vec<Spin>,
    /// Instructions that the lanes of a warp execute together by a mask that is not known to be of all of them.
    pub partial_masks: Vec<u32>,
    /// Instructions that lanes execute together where a branch has parted them, or can have.
    pub apart: Vec<u32>,
}

impl Progress {
    /// What a function may wait for.
    pub fn new(ssa: &Ssa<'_>, facts: &Converged) -> Self {
        let definitions = Definitions::new(ssa);
        let spins = facts.loops().all.iter().filter_map(|one| spin(ssa, facts, &definitions, one)).collect();
        let mut progress = Self { spins, ..Self::default() };
        for id in ssa.order() {
            for instruction in &ssa.blocks[id.index()].instructions {
                let op = &instruction.typed.op;
                if op.effects().convergence == Convergence::Thread {
                    continue;
                }
                if has_partial_mask(op, facts) {
                    progress.partial_masks.push(instruction.origin);
                }
                if instruction.typed.guard.is_some_and(|guard| facts.read(guard.register, id).group.is_none())
                {
                    progress.apart.push(instruction.origin);
                }
            }
        }
        progress.partial_masks.sort_unstable();
        progress.apart.sort_unstable();
        progress
    }

    /// Whether lanes of a warp may have to run one by one.
    pub fn needs_lanes(&self) -> bool {
        self.spins.iter().any(|spin| spin.among_lanes)
            || !self.partial_masks.is_empty()
            || !self.apart.is_empty()
    }

    /// Whether warps may have to take turns between barriers.
    pub fn needs_turns(&self) -> bool {
        !self.spins.is_empty()
    }
}

/// Whether a mask of lanes is not known to be of all.
fn has_partial_mask(op: &Op, facts: &Converged) -> bool {
    let mut partial = false;
    op.fields(&mut |name, field| {
        if let ("membermask", FieldValue::Value(mask)) = (name, field) {
            let known = match mask {
                Value::Constant(bits) => Some(*bits),
                Value::Register(register) => facts.constant(*register),
                Value::Special { .. } | Value::Symbol { .. } | Value::Unused => None,
            };
            partial |= known.map(|bits| bits as u32) != Some(u32::MAX);
        }
    });
    partial
}

/// Whether a way out of a loop depends on what is read, in the loop, of memory that others may write meanwhile.
fn spin(ssa: &Ssa<'_>, facts: &Converged, definitions: &Definitions, one: &Loop) -> Option<Spin> {
    for &(from, _) in &one.exits {
        let Some(last) = ssa.blocks[from.index()].instructions.last() else { continue };
        let Some(guard) = last.typed.guard else { continue };
        let waits_for = reads_of_others(ssa, facts, definitions, one, guard.register);
        if let Some(waits_for) = waits_for {
            let among_lanes = facts.branch(from) < Some(Group::Warp);
            return Some(Spin { header: one.header, waits_for, among_lanes });
        }
    }
    None
}

/// The instruction of a loop from which a value comes and that reads memory as others write it.
fn reads_of_others(
    ssa: &Ssa<'_>,
    facts: &Converged,
    definitions: &Definitions,
    one: &Loop,
    value: RegId,
) -> Option<u32> {
    let id = facts.loops().of(one.header)?;
    let mut seen = HashSet::from([value]);
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        let Some(instruction) = definitions.of(ssa, value) else {
            for (from, argument) in definitions.arguments(ssa, value) {
                if let Value::Register(read) = argument
                    && facts.loops().contains(id, from)
                    && seen.insert(*read)
                {
                    pending.push(*read);
                }
            }
            continue;
        };
        let inside = facts.loops().contains(id, ssa.cfg.block_of(instruction.origin));
        if !inside {
            continue;
        }
        if may_see_others(&instruction.typed.op) {
            return Some(instruction.origin);
        }
        instruction.reads(&mut |read| {
            if seen.insert(read) {
                pending.push(read);
            }
        });
    }
    None
}

/// Whether an instruction reads memory in an order that others' writes are meant to be seen in, or waits.
pub fn may_see_others(op: &Op) -> bool {
    let effects = op.effects();
    if effects.memory.is_empty() && !effects.waits {
        return false;
    }
    let mut order = effects.order;
    op.fields(&mut |_, field| {
        if let FieldValue::Order(named) = field {
            order = Some(named);
        }
    });
    order != Some(Order::Weak) || effects.waits
}
