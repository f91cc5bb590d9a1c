//! SSA form: every value has one definition, which dominates its uses.
//!
//! It is made on request from the register form ([`Ssa::new`]), in the same blocks, and a value's number is a [`RegId`]
//! into [`Ssa::values`]: so instructions, their fields and whatever matches on them are those of the register form.
//! Where paths meet, a block has **parameters**, and each edge passes **arguments** for them (instead of phi functions):
//! a register has one only where several of its definitions meet and it is still live (Cytron and others 1991, pruned by
//! liveness).
//!
//! An instruction under a guard defines its values whether or not the guard holds. Where it does not, the new value is
//! the one that the register held before: [`Instruction::kept`] names it, so that such an instruction is a select and no
//! branch. Operands that are read and written (the accumulator of `wgmma`) are the same: what was there before is kept
//! there, what comes out is a value of its own.
//!
//! The entry's parameters are the registers that are live when the function begins: `.reg` parameters, which the caller
//! gives, and registers that some path reads before it writes them, whose values are undefined.
//!
//! For a debugger, [`Ssa::value_at`] goes back from the registers that the source names to values.

mod construct;
mod history;
mod parse;
mod print;

use crate::cfg::{BlockId, Cfg};
use crate::dominance::DominatorTree;
use crate::instruction::Access;
use crate::lower::Function;
use crate::operand::Value;
use history::History;
use ptx::module::{Param, RegId};
use ptx::types::ScalarType;

/// A function in SSA form.
#[derive(Clone, Debug)]
pub struct Ssa<'a> {
    /// The function in register form.
    pub function: &'a Function<'a>,
    /// Its graph, which the SSA form shares.
    pub cfg: Cfg,
    /// Which blocks dominate which.
    pub(crate) tree: DominatorTree,
    /// The values.
    pub values: Vec<Definition>,
    /// A block for each of the graph; unreachable ones are empty.
    pub blocks: Vec<Block>,
    history: History,
}

/// What a value stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The register that holds it.
    pub register: RegId,
    /// Which of the register's values it is.
    pub version: u32,
    /// The register's type.
    pub ty: ScalarType,
}

/// A block with the values that come into it and go out of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// The values that are defined where it begins.
    pub parameters: Vec<RegId>,
    /// Its instructions.
    pub instructions: Vec<Instruction>,
    /// For each successor an argument for each of its parameters.
    pub arguments: Vec<Vec<Value>>,
    /// What the `.reg` return parameters hold, if it returns.
    pub returns: Vec<Value>,
}

/// An instruction that reads and defines values.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// The instruction of the register form that it comes from.
    pub origin: u32,
    /// What it is; its registers are values.
    pub typed: crate::Instruction,
    /// If it is guarded or updates operands: for each value that it defines, in the order of its fields, the one that
    /// stays where nothing is written.
    pub kept: Box<[Value]>,
}

/// Where the values of a form are defined, as long as no pass changes it.
#[derive(Clone, Debug)]
pub struct Definitions {
    places: Vec<Option<(BlockId, u32)>>,
    parameters: Vec<Option<(BlockId, u32)>>,
}

impl Definitions {
    /// Those of a form.
    pub fn new(ssa: &Ssa<'_>) -> Self {
        let (mut places, mut parameters) = (vec![None; ssa.values.len()], vec![None; ssa.values.len()]);
        for id in ssa.order() {
            for (position, parameter) in (0..).zip(&ssa.blocks[id.index()].parameters) {
                parameters[parameter.index()] = Some((id, position));
            }
            for (place, instruction) in (0..).zip(&ssa.blocks[id.index()].instructions) {
                instruction.writes(&mut |value| places[value.index()] = Some((id, place)));
            }
        }
        Self { places, parameters }
    }

    /// What edges give a value that is a parameter, with the blocks that they come from.
    pub fn arguments<'s>(
        &self,
        ssa: &'s Ssa<'_>,
        value: RegId,
    ) -> impl Iterator<Item = (BlockId, &'s Value)> + use<'s> {
        let parameter = self.parameters.get(value.index()).copied().flatten();
        parameter.into_iter().flat_map(move |(block, position)| {
            let predecessors = ssa.cfg.blocks[block.index()].predecessors.iter();
            predecessors
                .filter_map(move |from| Some((*from, ssa.edge(*from, block)?.get(position as usize)?)))
        })
    }

    /// The instruction that defines a value, if it is no parameter.
    pub fn of<'s>(&self, ssa: &'s Ssa<'_>, value: RegId) -> Option<&'s Instruction> {
        let (block, place) = self.places.get(value.index()).copied().flatten()?;
        ssa.blocks[block.index()].instructions.get(place as usize)
    }
}

/// Why a function has no SSA form: finding where its registers' definitions meet would take time out of proportion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyJoins;

impl std::fmt::Display for TooManyJoins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("definitions of registers meet in too many places")
    }
}

impl std::error::Error for TooManyJoins {}

impl Instruction {
    /// Visits every value that it reads: guard, operands, and what is kept.
    pub fn reads(&self, visit: &mut dyn FnMut(RegId)) {
        self.typed.registers(&mut |value, access| match access {
            Access::Read => visit(value),
            Access::Write | Access::ReadWrite => {}
        });
        self.kept.iter().for_each(|kept| {
            if let Value::Register(value) = kept {
                visit(*value);
            }
        });
    }

    /// Visits every value that it defines, in the order of its fields.
    pub fn writes(&self, visit: &mut dyn FnMut(RegId)) {
        self.typed.registers(&mut |value, access| match access {
            Access::Read => {}
            Access::Write | Access::ReadWrite => visit(value),
        });
    }
}

impl Ssa<'_> {
    /// The reachable blocks, each after those that dominate it.
    pub fn order(&self) -> impl DoubleEndedIterator<Item = BlockId> + '_ {
        self.tree.order.iter().copied().map(BlockId)
    }

    /// Whether every path to `block` passes through `dominator`; both are reachable.
    pub fn dominates(&self, dominator: BlockId, block: BlockId) -> bool {
        self.tree.dominates(dominator.0, block.0)
    }

    /// The arguments that an edge passes.
    pub fn edge(&self, from: BlockId, to: BlockId) -> Option<&[Value]> {
        let successors = self.cfg.blocks[from.index()].successors.iter();
        let index = successors.into_iter().position(|successor| *successor == to)?;
        self.blocks[from.index()].arguments.get(index).map(Vec::as_slice)
    }

    /// Whether a parameter of the entry comes from the caller; the others are undefined.
    pub fn is_argument(&self, value: RegId) -> bool {
        let register = self.values[value.index()].register;
        self.function.declaration.params.contains(&Param::Register(register))
    }

    /// What a register of the register form holds before one of its instructions runs, unless nothing reads it from there
    /// on, or a pass has removed it.
    pub fn value_at(&self, register: RegId, instruction: u32) -> Option<Value> {
        let block = self.cfg.block_of(instruction);
        self.cfg.is_reachable(block).then(|| self.history.at(&self.tree, register, block, instruction))?
    }

    /// Forgets that registers held values which are no longer defined.
    pub(crate) fn forget(&mut self, is_defined: impl Fn(RegId) -> bool) {
        self.history.forget(is_defined);
    }

    /// Says of registers that held some values that they held others, which are the same.
    pub(crate) fn rename_history(&mut self, with: impl Fn(RegId) -> Option<Value>) {
        self.history.replace(with);
    }
}
