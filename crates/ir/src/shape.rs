//! Value shapes: how a register's values in the lanes of a warp relate, whatever the order in which threads run.
//!
//! With independent thread scheduling the lanes of a warp may stand anywhere, so nothing here relies on their running
//! together. A register is described only if it has one definition that is not guarded and that dominates every use:
//! then the value that any lane reads is the value of one expression of launch constants and lane numbers, and the time
//! at which each lane computes it does not matter. It also follows that an [`Shape::Invariant`] register can be stored
//! once for the whole CTA, by whichever thread comes first.
//!
//! Registers with several definitions, such as pointers that a loop advances, are [`Shape::Varying`]: lanes in
//! different iterations hold unrelated values. In a warp whose lanes are known to run together they are affine again.
//! An analysis for that case would start from these shapes, add the phi-like joins at loop headers, and hold only until
//! the warp diverges; it belongs beside this one, because its results need another contract.
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

mod transfer;
mod value;

use crate::access::{Access, registers};
use crate::cfg::{BlockId, Cfg};
use crate::dominance::DominatorTree;
use ptx::module::{Body, Function, Module, Param, RegId};
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

/// The shape of every register of a function.
#[derive(Clone, Debug)]
pub struct Shapes {
    shapes: Vec<(Shape, u32)>,
}

impl Shapes {
    /// The shapes in a function of `module` with the graph of its body.
    pub fn new(module: &Module, function: &Function, cfg: &Cfg, lanes: LaneOrder) -> Self {
        let Some(body) = &function.body else {
            return Self { shapes: vec![] };
        };
        let dominators: Vec<_> = cfg.dominators().iter().map(|block| block.map(|block| block.0)).collect();
        let tree = DominatorTree::new(&dominators, 0);
        let described = described(module, function, body, cfg, &tree);

        let mut values: Vec<Value> =
            body.registers.iter().map(|register| Value::unknown(register.ty.bits())).collect();
        for &block in &tree.order {
            let block = &cfg.blocks[block as usize];
            for index in block.first..block.end {
                let instruction = &body.instructions[index as usize];
                let context = transfer::Context { module, function, body, lanes, values: &values };
                let defined = context.results(instruction);
                for (register, value) in defined {
                    if described[register.index()] {
                        values[register.index()] = value;
                    }
                }
            }
        }
        Self { shapes: values.iter().map(|value| (value.shape(), value.lanes())).collect() }
    }

    /// The shape of a register.
    pub fn of(&self, register: RegId) -> Shape {
        self.shapes[register.index()].0
    }

    /// The size of the aligned groups of lanes in which a register has its shape: 32, or less under
    /// [`LaneOrder::Rows`].
    pub fn lanes(&self, register: RegId) -> u32 {
        self.shapes[register.index()].1
    }
}

/// The registers whose value is one expression: those with one whole definition that dominates every use.
fn described(
    module: &Module,
    function: &Function,
    body: &Body,
    cfg: &Cfg,
    tree: &DominatorTree,
) -> Vec<bool> {
    let mut described: Vec<bool> =
        body.registers.iter().map(|register| register.ty != ScalarType::Pred).collect();
    for parameter in function.params.iter().chain(&function.returns) {
        if let Param::Register(register) = parameter {
            described[register.index()] = false;
        }
    }

    let reachable = || (0..).map(BlockId).zip(&cfg.blocks).filter(|(id, _)| cfg.is_reachable(*id));
    let mut definition: Vec<Option<(BlockId, u32)>> = vec![None; body.registers.len()];
    for (id, block) in reachable() {
        for index in block.first..block.end {
            registers(module, body, &body.instructions[index as usize], &mut |register, access| {
                let first = access == Access::Read
                    || access == Access::Write && definition[register.index()].replace((id, index)).is_none();
                described[register.index()] &= first;
            });
        }
    }
    for (id, block) in reachable() {
        for index in block.first..block.end {
            registers(module, body, &body.instructions[index as usize], &mut |register, access| {
                if access == Access::Read && described[register.index()] {
                    described[register.index()] =
                        definition[register.index()].is_some_and(|(defining, at)| {
                            if defining == id { at < index } else { tree.dominates(defining.0, id.0) }
                        });
                }
            });
        }
    }
    described
}
