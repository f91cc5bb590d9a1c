//! Value shapes: how a register's values in the lanes of a warp relate, whatever the order in which threads run.
//!
//! With independent thread scheduling the lanes of a warp may stand anywhere, so nothing here relies on their running
//! together. A value is described only if it comes from one definition on every path: then what any lane reads is the
//! value of one expression of launch constants and lane numbers, and the time at which each lane computes it does not
//! matter. Where paths bring several definitions together, as at the head of a loop that advances a pointer, lanes in
//! different rounds hold unrelated values, and the result is [`Shape::Varying`].
//!
//! Compilers that leave SSA form reuse a register: nvcc reads `%tid.x` into the register that later counts a loop, and
//! uses it for addresses in between. So the values are those of SSA form: the walk goes down the dominator tree, a
//! definition replaces a register's value below it, and where paths with different definitions meet (the iterated
//! dominance frontier), the value is unknown. [`Shapes::at`] tells what an instruction reads. [`Shapes::of`] speaks of a
//! register as a whole: it has one definition, not guarded, that dominates every use. So an [`Shape::Invariant`] one can
//! be stored once for the whole CTA, by whichever thread comes first.
//!
//! In a warp whose lanes are known to run together, a pointer that a loop advances is affine again. That is
//! [`converged`], which knows the same of instructions, but whose results hold under another contract.
//!
//! # Rows
//!
//! In a CTA of 16 by 16 threads, a warp has two rows: `%tid.x` counts up to 15 twice, and `%tid.y` has two values. So shapes
//! hold in aligned groups of lanes, as long as a row of threads is ([`Shapes::lanes`]); in most launches that is the whole
//! warp, and of values that do not depend on `%tid` it always is.
//!
//! # Affine is a fact, except after widening
//!
//! [`Shape::Affine`] holds modulo the register's width. When a 32-bit value is extended to 64 bits (`mul.wide`,
//! `cvt.s64.s32`), it still holds only if the 32-bit value does not wrap between lanes. Where that cannot be proven, the
//! shape is kept and is then a **hint** that the consumer checks at run time: compute lane 0's and lane 31's values (or
//! those of the first and last active lane of each group) and see whether they are `stride` times their distance apart. The check is
//! complete. Strides that could wrap more than once in a warp are not extended at all, so the error is zero up to some
//! lane and one constant from there on; values that depend on two different extensions, whose errors might cancel in the
//! last lane only, are `Varying`; and a stride of 0 is always a fact.
//!
//! # Known bits
//!
//! Compilers take numbers apart with `and` and `shr`, and put them together with `or`: `%tid.x & 31` is the lane, `%tid.x
//! >> 5` is the same in all lanes. So the analysis also knows which bits are zero in every lane, and which are in lane
//! 0: see `shape/value.rs`.
//!
//! Predicates are not described.

pub mod converged;
mod threads;
mod transfer;
mod value;

use crate::cfg::{Block, BlockId, Cfg};
use crate::dominance::DominatorTree;
use crate::instruction::Access;
use crate::joins::Joins;
use crate::lower::Function;
use ptx::module::{Param, RegId};
use ptx::types::ScalarType;
use value::{Value, WARP};

/// How the values of a register relate, whenever and in whatever order threads run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// The same for every thread of the CTA, and the same each time it is computed.
    Invariant,
    /// `value(lane) = value(lane 0) + stride * lane`, modulo the register's width, in groups of [`Shapes::lanes`] lanes;
    /// after widening it is a hint to be checked, see the module's documentation. With a stride of 0, always a fact, all
    /// lanes of a group hold the same value, though not all of the CTA.
    Affine {
        /// The step from one lane to the next, sign-extended from the register's width.
        stride: i64,
    },
    /// Nothing is known.
    Varying,
}

/// Threads that hold the same value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// Those of a warp.
    Warp,
    /// Those of a CTA.
    Cta,
    /// All of the grid.
    Grid,
}

/// How the threads of a CTA are numbered into lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LaneOrder {
    /// `%tid.x` of lane l is l plus `%tid.x` of lane 0, which is a multiple of 32; `%tid.y` and `%tid.z` are the same in
    /// all lanes. So it is if the CTA is one-dimensional or its first dimension is a multiple of 32.
    ConsecutiveX,
    /// The same in each aligned group of so many lanes, a power of two below 32 by which the first dimension can be
    /// divided.
    Rows(u32),
    /// Nothing is known.
    Unknown,
}

impl LaneOrder {
    /// The order in a CTA of these dimensions.
    pub fn of_block(dimensions: [u32; 3]) -> Self {
        let [x, y, z] = dimensions;
        let row = if y <= 1 && z <= 1 { WARP } else { 1 << x.trailing_zeros().min(WARP.trailing_zeros()) };
        match row {
            WARP => Self::ConsecutiveX,
            1 => Self::Unknown,
            row => Self::Rows(row),
        }
    }

    /// The size of the groups of lanes in which `%tid.x` counts, if there are any.
    fn row(self) -> Option<u32> {
        match self {
            Self::ConsecutiveX => Some(WARP),
            Self::Rows(row) => (row.is_power_of_two() && row <= WARP).then_some(row),
            Self::Unknown => None,
        }
    }
}

/// The shapes of a function's values.
#[derive(Clone, Debug)]
pub struct Shapes {
    registers: Vec<Known>,
    /// What instructions read from registers that have no shape as a whole, where it has one, in order.
    reads: Vec<(u32, RegId, Known)>,
}

/// A shape, and the size of the groups of lanes in which it holds.
type Known = (Shape, u32);

impl Shapes {
    /// Those of a function in which somebody may change registers while it runs.
    pub fn unknown(function: &Function<'_>) -> Self {
        Self { registers: vec![(Shape::Varying, WARP); function.body.registers.len()], reads: vec![] }
    }

    /// The shapes in a function with the graph of its body.
    pub fn new(function: &Function<'_>, cfg: &Cfg, lanes: LaneOrder) -> Self {
        let body = function.body;
        let dominators: Vec<_> = cfg.dominators().iter().map(|block| block.map(|block| block.0)).collect();
        let tree = DominatorTree::new(&dominators, 0);
        let definitions = Definitions::new(function, cfg);
        let whole = definitions.whole(function, cfg, &tree);
        let blocks = definitions.blocks();
        let joins = Joins::new(cfg, &dominators, body.instructions.len(), &blocks);

        let types: Vec<ScalarType> = body.registers.iter().map(|register| register.ty).collect();
        let unknown = |register: RegId| Value::unknown(body.registers[register.index()].ty.bits());
        let mut shapes = Self::unknown(function);
        let mut values: Vec<Value> = (0..body.registers.len() as u32).map(|r| unknown(RegId(r))).collect();
        // The blocks on the path from the entry: where their part of the tree ends, and how many replaced values there
        // were before.
        let mut path: Vec<(usize, usize)> = Vec::new();
        let mut replaced: Vec<(RegId, Value)> = Vec::new();
        for (place, &id) in tree.order.iter().enumerate() {
            while let Some((_, before)) = path.pop_if(|(end, _)| *end <= place) {
                for (register, value) in replaced.drain(before..).rev() {
                    values[register.index()] = value;
                }
            }
            path.push((tree.end(id), replaced.len()));
            let mut replace = |values: &mut Vec<Value>, register: RegId, value: Value| {
                replaced.push((register, std::mem::replace(&mut values[register.index()], value)));
            };
            for &register in &joins.at[id as usize] {
                replace(&mut values, register, unknown(register));
            }
            let block = &cfg.blocks[id as usize];
            for index in block.first..block.end {
                let Some(instruction) = function.instruction(index) else { continue };
                let opcode = function.module.opcode(&body.instructions[index as usize]);
                let context =
                    transfer::Context { function, lanes, types: &types, values: &values, together: false };
                let mut results = context.results(opcode, &instruction.op);
                // Predicates are not described.
                results.retain(|(register, _)| types[register.index()] != ScalarType::Pred);
                instruction.registers(&mut |register, access| match access {
                    Access::Read => {
                        let value = &values[register.index()];
                        if value.shape() != Shape::Varying && !whole[register.index()] {
                            shapes.reads.push((index, register, (value.shape(), value.lanes())));
                        }
                    }
                    Access::Write | Access::ReadWrite => replace(&mut values, register, unknown(register)),
                });
                if instruction.guard.is_some() {
                    continue;
                }
                for (register, value) in results {
                    if !joins.too_many[register.index()] {
                        replace(&mut values, register, value);
                    }
                    if whole[register.index()] {
                        shapes.registers[register.index()] = (value.shape(), value.lanes());
                    }
                }
            }
        }
        shapes.reads.sort_unstable_by_key(|(index, register, _)| (*index, *register));
        shapes
    }

    /// The shape of a register, whenever it is read. Whoever computes an [`Shape::Invariant`] one once must compute it
    /// from what an active lane holds: its operands may be registers that other lanes have gone on to reuse.
    pub fn of(&self, register: RegId) -> Shape {
        self.registers[register.index()].0
    }

    /// The size of the aligned groups of lanes in which a register has its shape: 32, or less under
    /// [`LaneOrder::Rows`].
    pub fn lanes(&self, register: RegId) -> u32 {
        self.registers[register.index()].1
    }

    /// The shape of what an instruction reads from a register, and the size of the groups of lanes in which it holds. It
    /// can be better than that of the register as a whole, whose other values lanes may hold at other instructions.
    pub fn at(&self, instruction: u32, register: RegId) -> (Shape, u32) {
        match self.reads.binary_search_by_key(&(instruction, register), |(at, register, _)| (*at, *register))
        {
            Ok(found) => self.reads[found].2,
            Err(_) => self.registers[register.index()],
        }
    }
}

/// Where the registers of a function get their values.
struct Definitions {
    /// For each register the blocks that define it, with the instruction if it is whole, in order.
    of: Vec<Vec<(BlockId, Option<u32>)>>,
}

impl Definitions {
    fn new(function: &Function<'_>, cfg: &Cfg) -> Self {
        let mut of = vec![vec![]; function.body.registers.len()];
        let declaration = function.declaration;
        for parameter in declaration.params.iter().chain(&declaration.returns) {
            if let Param::Register(register) = parameter {
                of[register.index()].push((BlockId(0), None));
            }
        }
        for (id, block) in reachable(cfg) {
            for index in block.first..block.end {
                function.registers(index, &mut |register, access| match access {
                    Access::Read => {}
                    Access::Write => of[register.index()].push((id, Some(index))),
                    Access::ReadWrite => of[register.index()].push((id, None)),
                });
            }
        }
        Self { of }
    }

    /// The blocks that define each register.
    fn blocks(&self) -> Vec<Vec<BlockId>> {
        self.of.iter().map(|definitions| definitions.iter().map(|(block, _)| *block).collect()).collect()
    }

    /// The registers with one definition, a whole one, that dominates every use.
    fn whole(&self, function: &Function<'_>, cfg: &Cfg, tree: &DominatorTree) -> Vec<bool> {
        let mut whole: Vec<bool> =
            self.of.iter().map(|definitions| matches!(definitions[..], [(_, Some(_))])).collect();
        for (id, block) in reachable(cfg) {
            for index in block.first..block.end {
                function.registers(index, &mut |register, access| {
                    if let (Access::Read, [(defining, Some(at))]) = (access, &self.of[register.index()][..]) {
                        whole[register.index()] &=
                            if *defining == id { *at < index } else { tree.dominates(defining.0, id.0) };
                    }
                });
            }
        }
        whole
    }
}

fn reachable(cfg: &Cfg) -> impl Iterator<Item = (BlockId, &Block)> {
    (0..).map(BlockId).zip(&cfg.blocks).filter(|(id, _)| cfg.is_reachable(*id))
}
