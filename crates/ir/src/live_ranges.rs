//! Where each register is live, instruction by instruction: its live ranges, how much is live at once, and what an engine
//! must keep where a CTA's threads wait for one another.
//!
//! A register is live *before* an instruction if the value that it holds there may still be read. Its ranges are the
//! maximal runs of such instructions. Which value of the SSA form that is, [`Ssa::value_at`](crate::Ssa::value_before)
//! tells, so that the ranges of a value are those parts of its register's in which the register holds it.

use crate::cfg::{BlockId, Cfg, Exit};
use crate::instruction::Access;
use crate::liveness::Liveness;
use crate::lower::Function;
use ptx::isa::Meeting;
use ptx::module::{Param, RegId};
use std::collections::BTreeMap;
use std::ops::Range;

/// Registers that blocks leave live, in all of a function, at most.
const MOST_STEPS: usize = 1 << 25;

/// The live ranges of a function's registers.
#[derive(Clone, Debug)]
pub struct LiveRanges {
    /// Of each register, in order: the instructions before which it is live.
    ranges: Vec<Vec<Range<u32>>>,
    instructions: u32,
}

/// How much is live at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// Bits of all registers but predicates, each counted as a multiple of 32, as hardware holds them.
    pub bits: u32,
    /// Predicates.
    pub predicates: u32,
}

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

impl LiveRanges {
    /// The live ranges in a function with the graph of its body. What cannot be reached has none. `None` of a function
    /// where it would take time out of proportion: each block is asked about each register that is live in it.
    pub fn new(function: &Function<'_>, cfg: &Cfg, liveness: &Liveness) -> Option<Self> {
        let mut ranges: Vec<Vec<Range<u32>>> = vec![Vec::new(); function.body.registers.len()];
        let mut steps = 0;
        for (id, block) in (0..).map(BlockId).zip(&cfg.blocks).filter(|(id, _)| cfg.is_reachable(*id)) {
            // Going up: what is live, and before which instruction it is last.
            let mut live = BTreeMap::new();
            for register in live_out(function, cfg, liveness, id) {
                live.insert(register, block.end);
                steps += 1;
                if steps > MOST_STEPS {
                    return None;
                }
            }
            let mut of_block = Vec::new();
            for index in (block.first..block.end).rev() {
                let Some(instruction) = function.instruction(index) else { continue };
                instruction.registers(&mut |register, access| {
                    if access == Access::Write
                        && let Some(end) = live.remove(&register)
                    {
                        of_block.push((register, index + 1..end));
                    }
                });
                instruction.registers(&mut |register, access| {
                    if access != Access::Write {
                        live.entry(register).or_insert(index + 1);
                    }
                });
            }
            of_block.reverse();
            let from_above = live.into_iter().map(|(register, end)| (register, block.first..end));
            for (register, range) in from_above.chain(of_block).filter(|(_, range)| !range.is_empty()) {
                match ranges[register.index()].last_mut() {
                    Some(last) if last.end == range.start => last.end = range.end,
                    _ => ranges[register.index()].push(range),
                }
            }
        }
        Some(Self { ranges, instructions: function.body.instructions.len() as u32 })
    }

    /// The instructions before which a register is live, as maximal ranges in order.
    pub fn of(&self, register: RegId) -> &[Range<u32>] {
        &self.ranges[register.index()]
    }

    /// Whether a register is live before an instruction.
    pub fn is_live(&self, register: RegId, before: u32) -> bool {
        let ranges = self.of(register);
        let behind = ranges.partition_point(|range| range.end <= before);
        ranges.get(behind).is_some_and(|range| range.contains(&before))
    }

    /// The registers that are live before an instruction, in order.
    pub fn live(&self, before: u32) -> impl Iterator<Item = RegId> + '_ {
        (0..self.ranges.len() as u32).map(RegId).filter(move |register| self.is_live(*register, before))
    }

    /// How much is live before each instruction.
    pub fn pressure(&self, function: &Function<'_>) -> Vec<Pressure> {
        // What begins and ends before each instruction, summed up.
        let mut changes = vec![(0_i64, 0_i64); self.instructions as usize + 1];
        for (register, ranges) in function.body.registers.iter().zip(&self.ranges) {
            let (bits, predicates) = match register.ty.bits() {
                1 => (0, 1),
                bits => (i64::from(bits.next_multiple_of(32)), 0),
            };
            for range in ranges {
                for (at, sign) in [(range.start, 1), (range.end, -1)] {
                    let change = &mut changes[at as usize];
                    *change = (change.0 + sign * bits, change.1 + sign * predicates);
                }
            }
        }
        changes.truncate(self.instructions as usize);
        let mut now = (0, 0);
        let sums = changes.into_iter().map(|change| {
            now = (now.0 + change.0, now.1 + change.1);
            Pressure { bits: now.0 as u32, predicates: now.1 as u32 }
        });
        sums.collect()
    }

    /// The most that is live at once, and before which instruction first.
    pub fn most(&self, function: &Function<'_>) -> Option<(u32, Pressure)> {
        let all = (0..).zip(self.pressure(function));
        all.reduce(|most, one| if one.1.bits > most.1.bits { one } else { most })
    }

    /// What is live across every barrier of the CTA or the cluster at which threads wait.
    pub fn across_barriers(&self, function: &Function<'_>, cfg: &Cfg) -> Vec<AtBarrier> {
        let reachable = (0..).map(BlockId).zip(&cfg.blocks).filter(|(id, _)| cfg.is_reachable(*id));
        let mut found: Vec<_> = reachable
            .flat_map(|(_, block)| block.first..block.end)
            .filter_map(|instruction| {
                let barrier = function.instruction(instruction)?.op.effects().barrier?;
                let live = || self.live(instruction + 1).collect();
                barrier.waits.then(|| AtBarrier { instruction, meeting: barrier.of, live: live() })
            })
            .collect();
        found.sort_by_key(|barrier| barrier.instruction);
        found
    }
}

/// The registers that are live where a block ends.
fn live_out(
    function: &Function<'_>,
    cfg: &Cfg,
    liveness: &Liveness,
    id: BlockId,
) -> impl Iterator<Item = RegId> {
    let block = &cfg.blocks[id.index()];
    let returned = (block.exit == Some(Exit::Return)).then_some(&function.declaration.returns);
    let returned = returned.into_iter().flatten().filter_map(|param| match param {
        Param::Register(register) => Some(*register),
        Param::Memory(_) | Param::RegisterType(_) => None,
    });
    block.successors.iter().flat_map(|to| liveness.live_in(*to)).chain(returned)
}
