//! Shapes of values where lanes run together: the divergence analysis for engines that execute a warp as a vector.
//!
//! **Contract.** The lanes that execute an instruction together started the function together, took the same number of
//! rounds of every loop around it, and met where [`Cfg::reconvergence`](crate::Cfg::reconvergence) says. What is said of
//! a value holds among those lanes, and for the CTA or the grid among all threads whose rounds have the same numbers. An
//! interpreter whose lanes may stand anywhere asks [`Shapes`](super::Shapes) instead.
//!
//! So a pointer that a loop advances is affine in each round, and a counter is uniform. Two things make values differ
//! that are computed alike (Karrenberg and Hack 2012; Rosemann, Moll and Hack 2021):
//!
//! - **Joins.** Where paths from a branch meet on which threads disagree, a parameter is one value for some and another
//!   for others. Which blocks those are is found by letting each way from the branch carry a label until labels meet
//!   ([`divergence`]); a join that only one way reaches stays what it was.
//! - **Rounds.** What a loop computed, and threads read after they left it in different rounds, is a value of different
//!   rounds.
//!
//! It begins with the best that could be and goes round until nothing changes. Should that take too long, or the graph
//! have circles that are no natural loops, joins count as unknown, and one more walk gives the answer.

mod divergence;

use super::threads::Threads;
use super::transfer::Context;
use super::value::Value;
use super::{Group, LaneOrder, Shape};
use crate::cfg::BlockId;
use crate::instruction::{FieldValue, Op};
use crate::loops::Loops;
use crate::operand::Value as Source;
use crate::signature;
use crate::ssa::{Instruction, Ssa};
use divergence::Divergence;
use ptx::module::RegId;
use ptx::types::ScalarType;
use std::borrow::Cow;

/// Walks after which bits that alternate are forgotten, and after which joins are given up.
const FEW_BITS_AFTER: usize = 4;
const MOST_WALKS: usize = 24;

/// What is known of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The threads for which it is the same.
    pub group: Option<Group>,
    /// How the lanes of a warp relate.
    pub shape: Shape,
    /// The size of the aligned groups of lanes in which they do.
    pub lanes: u32,
    /// How it follows from thread numbers.
    pub threads: Option<ThreadSteps>,
    /// Whether the shape is a hint, to be checked in a group's first and last lane: see [the module](super).
    pub hint: bool,
    /// How many low bits are zero in every thread.
    pub zero_bits: u32,
}

/// `u + x * %tid.x + y * %tid.y + z * %tid.z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadSteps {
    /// `x`, `y` and `z`.
    pub steps: [i64; 3],
    /// The threads for which `u` is the same.
    pub of: Group,
    /// Whether it surely holds; if not, it does unless a number of fewer bits wrapped before it was extended.
    pub exact: bool,
}

/// What is known of all values of a function.
#[derive(Clone, Debug)]
pub struct Converged {
    values: Vec<Value>,
    /// The block that defines each value.
    defining: Vec<BlockId>,
    loops: Loops,
    divergence: Divergence,
}

impl Converged {
    /// The facts about a function whose threads are numbered like that.
    pub fn new(ssa: &Ssa<'_>, lanes: LaneOrder) -> Self {
        let types: Vec<ScalarType> = ssa.values.iter().map(|value| value.ty).collect();
        let loops = Loops::with_tree(&ssa.cfg, &ssa.tree);
        let mut walk = Walk {
            ssa,
            lanes,
            seen: vec![false; types.len()],
            converged: Self {
                values: types.iter().map(|ty| Value::unknown(ty.bits())).collect(),
                defining: defining(ssa),
                divergence: Divergence::new(&ssa.cfg, &loops),
                loops,
            },
            types,
            few_bits: false,
        };
        let order = walk.converged.divergence.order().to_vec();
        for round in 0..MOST_WALKS {
            walk.few_bits = round > FEW_BITS_AFTER;
            if walk.converged.divergence.has_given_up() || !walk.walk(&order) {
                break;
            }
            if round + 1 == MOST_WALKS {
                walk.converged.divergence.give_up();
            }
        }
        if walk.converged.divergence.has_given_up() {
            walk.walk(&order);
        }
        walk.converged
    }

    /// What is known of a value where it is defined.
    pub fn of(&self, value: RegId) -> Fact {
        fact(&self.values[value.index()])
    }

    /// What is known of a value that a block reads: it can be from different rounds of a loop that it has left.
    pub fn read(&self, value: RegId, block: BlockId) -> Fact {
        fact(&self.value_in(value, block))
    }

    /// What a value always is, if that is known.
    pub fn constant(&self, value: RegId) -> Option<u64> {
        self.values[value.index()].known()
    }

    /// The threads that go the same way at the end of a block; all of the grid if there is one way.
    pub fn branch(&self, block: BlockId) -> Option<Group> {
        self.divergence.branch(block)
    }

    /// The function's loops.
    pub fn loops(&self) -> &Loops {
        &self.loops
    }

    fn value_in(&self, value: RegId, block: BlockId) -> Value {
        let known = &self.values[value.index()];
        let from = self.defining[value.index()];
        if from == block {
            return *known;
        }
        let mut together = Some(Group::Grid);
        for left in self.loops.around(from).take_while(|left| !self.loops.contains(*left, block)) {
            together = together.min(self.divergence.leave_together(left));
        }
        if together == Some(Group::Grid) { *known } else { known.of_different_rounds(together) }
    }
}

fn fact(value: &Value) -> Fact {
    let threads = value.threads().map(|Threads { steps, of, exact }| ThreadSteps { steps, of, exact });
    Fact {
        group: value.group(),
        shape: value.shape(),
        lanes: value.lanes(),
        threads,
        hint: value.is_hint(),
        zero_bits: value.alignment(),
    }
}

fn defining(ssa: &Ssa<'_>) -> Vec<BlockId> {
    let mut defining = vec![BlockId(0); ssa.values.len()];
    for id in ssa.order() {
        let block = &ssa.blocks[id.index()];
        block.parameters.iter().for_each(|value| defining[value.index()] = id);
        for instruction in &block.instructions {
            instruction.writes(&mut |value| defining[value.index()] = id);
        }
    }
    defining
}

struct Walk<'w, 'a> {
    ssa: &'w Ssa<'a>,
    lanes: LaneOrder,
    types: Vec<ScalarType>,
    /// The values of which something is known. Of the others the best is still possible.
    seen: Vec<bool>,
    converged: Converged,
    few_bits: bool,
}

impl Walk<'_, '_> {
    /// One walk over all blocks; whether anything changed.
    fn walk(&mut self, order: &[BlockId]) -> bool {
        let mut changed = false;
        for &id in order {
            let ssa = self.ssa;
            for (position, &parameter) in ssa.blocks[id.index()].parameters.iter().enumerate() {
                if let Some(value) = self.parameter(id, position, parameter) {
                    changed |= self.set(parameter, value);
                }
            }
            for instruction in &ssa.blocks[id.index()].instructions {
                changed |= self.instruction(id, instruction);
            }
            if ssa.cfg.blocks[id.index()].successors.len() > 1 {
                let group = self.condition(id);
                changed |= self.converged.divergence.lower(&ssa.cfg, &self.converged.loops, id, group);
            }
        }
        changed
    }

    fn set(&mut self, register: RegId, value: Value) -> bool {
        let index = register.index();
        let first = !std::mem::replace(&mut self.seen[index], true);
        let before = std::mem::replace(&mut self.converged.values[index], value);
        first || before != value
    }

    /// What comes into a block by its edges, as far as it is known.
    fn parameter(&self, id: BlockId, position: usize, parameter: RegId) -> Option<Value> {
        let width = self.types[parameter.index()].bits();
        let divergence = &self.converged.divergence;
        if id.0 == 0 || divergence.has_given_up() {
            // From outside, each thread may bring its own.
            return Some(Value::unknown(width));
        }
        let mut given: Option<(Source, Value)> = None;
        for &from in &self.ssa.cfg.blocks[id.index()].predecessors {
            let argument = *self.ssa.edge(from, id)?.get(position)?;
            let value = match argument {
                Source::Register(register) if !self.seen[register.index()] => continue,
                Source::Register(register) => self.converged.value_in(register, id),
                Source::Constant(bits) => Value::constant(bits, width),
                Source::Special { .. } | Source::Symbol { .. } | Source::Unused => Value::unknown(width),
            };
            given = Some(match given {
                None => (argument, value),
                Some((same, known)) if same == argument => (same, known),
                Some((other, known)) => {
                    (other, known.join(&value, divergence.arrive_together(id), width, self.few_bits))
                }
            });
        }
        given.map(|(_, value)| value)
    }

    fn instruction(&mut self, id: BlockId, instruction: &Instruction) -> bool {
        // What it reads from loops that it is not in.
        let mut replaced = Vec::new();
        instruction.reads(&mut |value| {
            let read = self.converged.value_in(value, id);
            let known = &mut self.converged.values[value.index()];
            if *known != read {
                replaced.push((value, std::mem::replace(known, read)));
            }
        });
        let results = self.results(instruction);
        let guard =
            instruction.typed.guard.map(|guard| self.converged.values[guard.register.index()].group());
        let kept: Vec<Value> = instruction.kept.iter().map(|kept| self.source(kept)).collect();
        for (value, known) in replaced.into_iter().rev() {
            self.converged.values[value.index()] = known;
        }
        let mut written = Vec::new();
        instruction.writes(&mut |value| written.push(value));
        let mut changed = false;
        for (position, value) in written.into_iter().enumerate() {
            let width = self.types[value.index()].bits();
            let result = results.iter().find(|(register, _)| *register == value).map(|(_, result)| *result);
            let result = result.unwrap_or(Value::unknown(width));
            let result = match (guard, kept.get(position)) {
                (Some(alike), Some(kept)) => result.join(kept, alike, width, self.few_bits),
                _ => result,
            };
            changed |= self.set(value, result);
        }
        changed
    }

    fn results(&self, instruction: &Instruction) -> Vec<(RegId, Value)> {
        let (function, op) = (self.ssa.function, &instruction.typed.op);
        let written = function.module.opcode(&function.body.instructions[instruction.origin as usize]);
        // A pass may have made another instruction of it.
        let opcode = match written.sem() {
            Some(sem) if sem == op.sem() => Some(Cow::Borrowed(written)),
            _ => signature::opcodes(op).next().map(Cow::Owned),
        };
        let Some(opcode) = opcode else { return vec![] };
        let values = &self.converged.values;
        let context = Context { function, lanes: self.lanes, types: &self.types, values, together: true };
        context.results(&opcode, op)
    }

    fn source(&self, source: &Source) -> Value {
        match source {
            Source::Register(register) => self.converged.values[register.index()],
            Source::Constant(bits) => Value::constant(*bits, 64),
            Source::Special { .. } | Source::Symbol { .. } | Source::Unused => Value::unknown(64),
        }
    }

    /// The threads for which what decides the way at the end of a block is the same.
    fn condition(&self, id: BlockId) -> Option<Group> {
        let group = |value: RegId| self.converged.value_in(value, id).group();
        let Some(last) = self.ssa.blocks[id.index()].instructions.last() else { return Some(Group::Grid) };
        let guard = last.typed.guard.map_or(Some(Group::Grid), |guard| group(guard.register));
        if let Op::BrxIdx(brx) = &last.typed.op
            && let Source::Register(index) = brx.index
        {
            return guard.min(group(index));
        }
        guard
    }
}

/// How the lanes of a warp access memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// All at one address, which is the same for so many threads.
    Uniform(Group),
    /// Side by side, in groups of so many lanes.
    Contiguous(u32),
    /// So many bytes apart, in groups of so many lanes.
    Strided(i64, u32),
    /// Anywhere.
    Scattered,
}

impl Converged {
    /// How an instruction of a block accesses memory at an address in a register, what it rests on, and to how many bytes
    /// its addresses are aligned.
    pub fn access(&self, instruction: &Instruction, block: BlockId) -> Option<(Pattern, Fact, u64)> {
        let (mut address, mut bits, mut elements) = (None, None, 1);
        instruction.typed.op.fields(&mut |name, field| {
            if let FieldValue::Address(found) = field {
                address = address.or(Some(*found));
            }
            if let (FieldValue::Type(ty), "type") = (&field, name) {
                bits = Some(ty.bits());
            }
            if let FieldValue::Defs(all) = field {
                elements = elements.max(all.len());
            }
            if let FieldValue::Values(all) = field {
                elements = elements.max(all.len());
            }
        });
        let address = address?;
        let ptx::module::AddressBase::Register(base) = address.base else { return None };
        let fact = self.read(base, block);
        let bytes = bits.map(|bits| i64::from(bits) / 8 * elements as i64);
        let pattern = match (fact.group, fact.shape) {
            (Some(group), _) => Pattern::Uniform(group),
            (None, Shape::Affine { stride }) if Some(stride) == bytes => Pattern::Contiguous(fact.lanes),
            (None, Shape::Affine { stride }) => Pattern::Strided(stride, fact.lanes),
            (None, Shape::Invariant | Shape::Varying) => Pattern::Scattered,
        };
        let zeros = fact.zero_bits.min(address.offset.trailing_zeros()).min(63);
        Some((pattern, fact, 1 << zeros))
    }
}
