//! SSA form from register form: parameters where definitions meet, then one walk down the dominator tree that gives
//! every definition a value of its own and every use the value that reaches it.

use super::history::{Change, History};
use super::{Block, Definition, Instruction, Ssa, TooManyJoins};
use crate::cfg::{BlockId, Cfg, Exit};
use crate::dominance::DominatorTree;
use crate::exchange::OperandMut;
use crate::instruction::Access;
use crate::joins::Joins;
use crate::liveness::Liveness;
use crate::lower::Function;
use crate::operand::Value;
use ptx::module::{Param, RegId};

impl<'a> Ssa<'a> {
    /// The SSA form of a function with the graph of its body and its liveness.
    ///
    /// # Errors
    /// If the definitions of its registers meet in more places than its size lets expect.
    pub fn new(function: &'a Function<'a>, cfg: Cfg, liveness: &Liveness) -> Result<Self, TooManyJoins> {
        let dominators: Vec<_> = cfg.dominators().iter().map(|block| block.map(|block| block.0)).collect();
        let tree = DominatorTree::new(&dominators, 0);
        let joins = joins(function, &cfg, liveness, &dominators)?;
        let mut builder = Builder::new(function, &cfg, &tree);
        builder.place_parameters(&joins, liveness);
        builder.walk(&joins);
        let Builder { values, blocks, changes, .. } = builder;
        Ok(Self { function, cfg, tree, values, blocks, history: History::new(changes, liveness) })
    }
}

/// Where several definitions meet of a register that is live at the begin of some block. If it is live at the begin of the
/// function, that counts as a definition.
fn joins(
    function: &Function<'_>,
    cfg: &Cfg,
    liveness: &Liveness,
    dominators: &[Option<u32>],
) -> Result<Joins, TooManyJoins> {
    let mut definitions: Vec<Vec<BlockId>> = vec![vec![]; function.body.registers.len()];
    let mut crosses = vec![false; definitions.len()];
    liveness.crossing().iter().for_each(|register| crosses[register.index()] = true);
    liveness.live_in(BlockId(0)).for_each(|register| definitions[register.index()].push(BlockId(0)));
    for (id, block) in (0..).map(BlockId).zip(&cfg.blocks).filter(|(id, _)| cfg.is_reachable(*id)) {
        for index in block.first..block.end {
            function.registers(index, &mut |register, access| {
                // A second one in the same block meets nothing new; one in the entry is another than the function's begin.
                let of = &mut definitions[register.index()];
                if access != Access::Read && crosses[register.index()] && of.last() != Some(&id) {
                    of.push(id);
                }
            });
        }
    }
    let joins = Joins::new(cfg, dominators, function.body.instructions.len(), &definitions);
    if joins.too_many.contains(&true) { Err(TooManyJoins) } else { Ok(joins) }
}

/// The form as far as it has been made.
struct Builder<'b, 'a> {
    function: &'a Function<'a>,
    cfg: &'b Cfg,
    tree: &'b DominatorTree,
    values: Vec<Definition>,
    blocks: Vec<Block>,
    changes: Vec<Change>,
    /// How many values each register has.
    versions: Vec<u32>,
    /// The value of each register at the present place.
    current: Vec<Option<RegId>>,
    /// What to put back when the walk leaves a part of the tree.
    replaced: Vec<(RegId, Option<RegId>)>,
}

impl<'b, 'a> Builder<'b, 'a> {
    fn new(function: &'a Function<'a>, cfg: &'b Cfg, tree: &'b DominatorTree) -> Self {
        let registers = function.body.registers.len();
        Self {
            function,
            cfg,
            tree,
            values: vec![],
            blocks: vec![Block::default(); cfg.blocks.len()],
            changes: vec![],
            versions: vec![0; registers],
            current: vec![None; registers],
            replaced: vec![],
        }
    }

    /// A further value of a register.
    fn define(&mut self, register: RegId) -> RegId {
        let version = self.versions[register.index()];
        self.versions[register.index()] += 1;
        let ty = self.function.body.registers[register.index()].ty;
        self.values.push(Definition { register, version, ty });
        RegId(self.values.len() as u32 - 1)
    }

    /// Gives the entry a parameter for each register that is live there, and the other blocks one for each register of
    /// which several definitions meet, if it is live.
    fn place_parameters(&mut self, joins: &Joins, liveness: &Liveness) {
        // The last block at which each register was found to be live.
        let mut live_at = vec![u32::MAX; self.versions.len()];
        for &id in &self.tree.order {
            let mut live: Vec<RegId> = liveness.live_in(BlockId(id)).collect();
            if id != 0 {
                live.iter().for_each(|register| live_at[register.index()] = id);
                live.clear();
                live.extend(joins.at[id as usize].iter().filter(|register| live_at[register.index()] == id));
            }
            live.sort_unstable();
            live.dedup();
            let parameters = live.into_iter().map(|register| self.define(register)).collect();
            self.blocks[id as usize].parameters = parameters;
        }
    }

    fn set(&mut self, register: RegId, value: Option<RegId>, block: BlockId, from: u32) {
        self.replaced.push((register, std::mem::replace(&mut self.current[register.index()], value)));
        let place = self.tree.place(block.0);
        self.changes.push(Change { register, place, block, from, value: value.map(Value::Register) });
    }

    /// The value that reaches a use. Without one the register is undefined there, and not live: liveness that is larger
    /// than need be, as in very large functions, asks for such.
    fn reaching(&self, register: RegId) -> Value {
        self.current[register.index()].map_or(Value::Unused, Value::Register)
    }

    fn walk(&mut self, joins: &Joins) {
        // The blocks on the path from the entry: where their part of the tree ends, and how many replaced values there
        // were before.
        let mut path: Vec<(usize, usize)> = Vec::new();
        for (place, &id) in self.tree.order.iter().enumerate() {
            while let Some((_, before)) = path.pop_if(|(end, _)| *end <= place) {
                for (register, value) in self.replaced.drain(before..).rev() {
                    self.current[register.index()] = value;
                }
            }
            path.push((self.tree.end(id), self.replaced.len()));
            self.block(BlockId(id), &joins.at[id as usize]);
        }
    }

    fn block(&mut self, id: BlockId, joined: &[RegId]) {
        let bounds = &self.cfg.blocks[id.index()];
        for &register in joined {
            self.set(register, None, id, bounds.first);
        }
        for parameter in self.blocks[id.index()].parameters.clone() {
            self.set(self.values[parameter.index()].register, Some(parameter), id, bounds.first);
        }
        for index in bounds.first..bounds.end {
            if let Some(instruction) = self.function.instruction(index) {
                let renamed = self.rename(instruction.clone(), id, index);
                self.blocks[id.index()].instructions.push(renamed);
            }
        }
        for &to in &bounds.successors {
            let parameters = &self.blocks[to.index()].parameters;
            let arguments =
                parameters.iter().map(|p| self.reaching(self.values[p.index()].register)).collect();
            self.blocks[id.index()].arguments.push(arguments);
        }
        if bounds.exit == Some(Exit::Return) {
            let returns = self.function.declaration.returns.iter().filter_map(|param| match param {
                Param::Register(register) => Some(self.reaching(*register)),
                Param::Memory(_) | Param::RegisterType(_) => None,
            });
            self.blocks[id.index()].returns = returns.collect();
        }
    }

    /// An instruction with values in the place of registers.
    fn rename(&mut self, mut typed: crate::Instruction, block: BlockId, index: u32) -> Instruction {
        typed.operands_mut(&mut |operand| match operand {
            OperandMut::Write(_) | OperandMut::Update(_) => {}
            OperandMut::Base(register) => {
                // A use is live, so that a value reaches it.
                if let Some(value) = self.current[register.index()] {
                    *register = value;
                }
            }
            OperandMut::Read(value) => {
                if let Value::Register(register) = *value {
                    *value = self.reaching(register);
                }
            }
        });
        let mut keeps = typed.guard.is_some();
        let mut kept = Vec::new();
        typed.operands_mut(&mut |operand| {
            let (register, updated) = match operand {
                OperandMut::Write(register) => (register, false),
                OperandMut::Update(register) => (register, true),
                OperandMut::Base(_) | OperandMut::Read(_) => return,
            };
            keeps |= updated;
            kept.push(self.reaching(*register));
            let value = self.define(*register);
            self.set(*register, Some(value), block, index + 1);
            *register = value;
        });
        let kept = if keeps { kept.into() } else { Box::default() };
        Instruction { origin: index, typed, kept }
    }
}
