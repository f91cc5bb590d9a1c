//! What holds of a function in either form, checked: for tests of what makes and changes functions.
//!
//! In both forms the registers of an instruction have types that a form of the instruction table takes there, guards are
//! predicates, and blocks lead where their last instructions say. In SSA form also:
//!
//! - a value has one definition, which dominates its uses; an argument is used where its edge begins;
//! - an edge has an argument for each parameter of the block that it leads to, of the parameter's type;
//! - what does more than compute results is what the register form has, in its blocks and in its order. So nothing that
//!   lanes execute together, that accesses memory or that ends a block is added, left out, doubled or moved to where other
//!   lanes would execute it.
//!
//! Whether all threads that must meet at a barrier get there is no such law. A program may have a barrier in a branch on which
//! threads could disagree and never do, or that threads which have ended need not reach, and PTX allows it: so nothing that
//! passes do could be told from what was there. Where lanes that execute something together may have been parted is a fact for
//! engines, [`Progress::apart`](crate::progress::Progress::apart); threads that do not meet are a fault when they run.

use crate::cfg::{BlockId, Cfg, Exit};
use crate::instruction::{FieldValue, Instruction};
use crate::lower::Function;
use crate::operand::{Space, Value};
use crate::print::Notation;
use crate::signature;
use crate::ssa::Ssa;
use ptx::isa::{Opcode, TypeRule, compatible};
use ptx::module::{AddressBase, RegId};
use ptx::types::{ScalarType, TypeKind};
use std::fmt;

/// Something that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The function.
    pub function: String,
    /// The block.
    pub block: BlockId,
    /// The instruction as text, if it is about one.
    pub instruction: Option<String>,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, block{}", self.function, self.block.0)?;
        if let Some(instruction) = &self.instruction {
            write!(f, ", `{instruction}`")?;
        }
        write!(f, ": {}", self.what)
    }
}

impl Function<'_> {
    /// Everything that does not hold of the register form.
    pub fn verify(&self) -> Vec<Violation> {
        let mut violations = Vec::new();
        let cfg = Cfg::new(self);
        let types: Vec<ScalarType> = self.body.registers.iter().map(|register| register.ty).collect();
        let mut notation = None;
        for (id, block) in (0..).map(BlockId).zip(&cfg.blocks) {
            for index in block.first..block.end {
                let Some(instruction) = self.instruction(index) else { continue };
                if let Err(what) = operands(instruction, &types) {
                    let notation = notation.get_or_insert_with(|| Notation::new(self));
                    violations.push(Violation {
                        function: self.declaration.name.clone(),
                        block: id,
                        instruction: Some(notation.line(instruction)),
                        what,
                    });
                }
            }
        }
        violations
    }
}

/// The registers of an instruction against the forms of the table.
fn operands(instruction: &Instruction, types: &[ScalarType]) -> Result<(), String> {
    let mut all_known = true;
    instruction.registers(&mut |register, _| all_known &= register.index() < types.len());
    if !all_known {
        return Err("a register is not there".to_owned());
    }
    if instruction.guard.is_some_and(|guard| types[guard.register.index()] != ScalarType::Pred) {
        return Err("the guard is no predicate".to_owned());
    }
    let mut first_reason = None;
    for opcode in signature::opcodes(&instruction.op) {
        match fits(&opcode, instruction, types) {
            Ok(()) => return Ok(()),
            Err(reason) => first_reason = first_reason.or(Some(reason)),
        }
    }
    Err(first_reason.unwrap_or_else(|| "no form of the instruction table has these fields".to_owned()))
}

fn fits(opcode: &Opcode, instruction: &Instruction, types: &[ScalarType]) -> Result<(), String> {
    let specs = opcode.data().operands;
    let mut wrong = Ok(());
    instruction.op.fields(&mut |name, field| {
        let Some(index) = specs.iter().position(|spec| spec.identifier() == name) else { return };
        let spec = &specs[index];
        if let FieldValue::Address(address) = field {
            let AddressBase::Register(base) = address.base else { return };
            let ty = types[base.index()];
            let integer = matches!(ty.kind(), TypeKind::Signed | TypeKind::Unsigned | TypeKind::Untyped);
            // An address of shared memory can be in a half.
            let wide = matches!(ty.bits(), 32 | 64) || ty.bits() == 16 && address.space == Space::Shared;
            if !integer || !wide {
                wrong = Err(format!("{name}: a {} is no address", ty.name()));
            }
            return;
        }
        if is_aggregate(&field) {
            return;
        }
        let Some(expected) = opcode.operand_type(index) else { return };
        field.registers(&mut |register, _| {
            let ty = types[register.index()];
            let fits = match spec.ty {
                TypeRule::AnyOf(_) | TypeRule::Address(_) => ty.bits() == expected.bits() || spec.loose,
                _ => compatible(expected, ty, spec.loose),
            };
            if !fits {
                wrong = Err(format!("{name}: a {} where a {} is expected", ty.name(), expected.name()));
            }
        });
    });
    wrong
}

/// Whether the registers of a field have types that the table does not give operand by operand.
fn is_aggregate(field: &FieldValue<'_>) -> bool {
    matches!(field, FieldValue::Lookup(_) | FieldValue::Results(_) | FieldValue::Arguments(_))
}

impl Ssa<'_> {
    /// Everything that does not hold of the SSA form.
    pub fn verify(&self) -> Vec<Violation> {
        let mut verifier = Verifier { ssa: self, violations: vec![], places: vec![None; self.values.len()] };
        verifier.collect_definitions();
        let types: Vec<ScalarType> = self.values.iter().map(|value| value.ty).collect();
        for id in self.order() {
            verifier.effects(id);
            for (place, instruction) in (0..).zip(&self.blocks[id.index()].instructions) {
                verifier.instruction(id, place, instruction, &types);
            }
            verifier.edges(id);
        }
        verifier.violations
    }
}

/// Where a value is defined, by block and instruction: parameters stand before all instructions.
type Definition = (BlockId, Option<u32>);

struct Verifier<'v, 'a> {
    ssa: &'v Ssa<'a>,
    violations: Vec<Violation>,
    places: Vec<Option<Definition>>,
}

impl Verifier<'_, '_> {
    fn report(&mut self, block: BlockId, place: Option<u32>, what: String) {
        let line = |place: u32| {
            let instruction = self.ssa.blocks[block.index()].instructions.get(place as usize)?;
            Some(Ssa::line(&self.ssa.notation(), instruction))
        };
        let instruction = place.and_then(line);
        let function = self.ssa.function.declaration.name.clone();
        self.violations.push(Violation { function, block, instruction, what });
    }

    fn name(&self, value: RegId) -> String {
        match self.ssa.values.get(value.index()) {
            Some(_) => self.ssa.notation().register(value).to_owned(),
            None => format!("value {}", value.0),
        }
    }

    fn collect_definitions(&mut self) {
        for id in self.ssa.order() {
            let block = &self.ssa.blocks[id.index()];
            let mut defined: Vec<(RegId, Option<u32>)> =
                block.parameters.iter().map(|value| (*value, None)).collect();
            for (place, instruction) in (0..).zip(&block.instructions) {
                instruction.writes(&mut |value| defined.push((value, Some(place))));
            }
            for (value, place) in defined {
                match self.places.get_mut(value.index()) {
                    None => self.report(id, place, format!("there is no value {}", value.0)),
                    Some(Some(_)) => {
                        let what = format!("{} has a definition already", self.name(value));
                        self.report(id, place, what);
                    }
                    Some(nowhere) => *nowhere = Some((id, place)),
                }
            }
        }
    }

    /// A use before the instruction at `place` of a block, or at its end.
    fn check_use(&mut self, value: RegId, block: BlockId, place: Option<u32>) {
        let dominated = match self.places.get(value.index()).copied().flatten() {
            None => false,
            Some((defining, at)) if defining == block => {
                at.is_none_or(|at| place.is_none_or(|place| at < place))
            }
            Some((defining, _)) => self.ssa.dominates(defining, block),
        };
        if !dominated {
            let what = format!("no definition of {} dominates this use", self.name(value));
            self.report(block, place, what);
        }
    }

    fn instruction(
        &mut self,
        id: BlockId,
        place: u32,
        instruction: &crate::ssa::Instruction,
        types: &[ScalarType],
    ) {
        instruction.reads(&mut |value| self.check_use(value, id, Some(place)));
        if let Err(what) = operands(&instruction.typed, types) {
            self.report(id, Some(place), what);
            return;
        }
        let mut written = Vec::new();
        instruction.writes(&mut |value| written.push(value));
        let keeps = instruction.typed.guard.is_some() || updates(&instruction.typed);
        let expected = if keeps { written.len() } else { 0 };
        if instruction.kept.len() != expected {
            let what = format!("{} values are kept in place of {expected}", instruction.kept.len());
            self.report(id, Some(place), what);
        }
        for (kept, value) in instruction.kept.iter().zip(written) {
            self.check_type(id, Some(place), *kept, types[value.index()]);
        }
    }

    fn check_type(&mut self, id: BlockId, place: Option<u32>, value: Value, expected: ScalarType) {
        if let Value::Register(register) = value
            && let Some(definition) = self.ssa.values.get(register.index())
            && !compatible(expected, definition.ty, false)
        {
            let (name, ty) = (self.name(register), definition.ty.name());
            self.report(id, place, format!("{name} is a {ty} where a {} is expected", expected.name()));
        }
    }

    fn edges(&mut self, id: BlockId) {
        let (block, graph) = (&self.ssa.blocks[id.index()], &self.ssa.cfg.blocks[id.index()]);
        let outgoing = block.arguments.iter().flatten().chain(&block.returns);
        for value in outgoing.copied() {
            if let Value::Register(register) = value {
                self.check_use(register, id, None);
            }
        }
        if block.arguments.len() != graph.successors.len() {
            let (has, needs) = (block.arguments.len(), graph.successors.len());
            self.report(id, None, format!("{has} edges in place of {needs}"));
        }
        if !block.returns.is_empty() && graph.exit != Some(Exit::Return) {
            self.report(id, None, "results where nothing returns".to_owned());
        }
        for (to, arguments) in graph.successors.iter().zip(&block.arguments) {
            let parameters = &self.ssa.blocks[to.index()].parameters;
            if arguments.len() != parameters.len() {
                let (has, needs) = (arguments.len(), parameters.len());
                self.report(id, None, format!("{has} arguments for the {needs} parameters of block{}", to.0));
            }
            for (argument, parameter) in arguments.iter().zip(parameters) {
                if let Some(parameter) = self.ssa.values.get(parameter.index()) {
                    self.check_type(id, None, *argument, parameter.ty);
                }
            }
        }
    }

    /// What does more than compute results, against the register form.
    fn effects(&mut self, id: BlockId) {
        let Ssa { function, cfg, blocks, .. } = self.ssa;
        let instructions = &blocks[id.index()].instructions;
        let bounds = &cfg.blocks[id.index()];
        let mut origins = instructions.iter().map(|instruction| instruction.origin);
        let mut last = None;
        if origins.any(|origin| last.replace(origin).is_some_and(|last| last >= origin)) {
            self.report(id, None, "instructions are not in the order of the register form".to_owned());
        }
        let does_more = |instruction: &Instruction| !instruction.op.effects().is_pure();
        let here = instructions.iter().filter(|instruction| does_more(&instruction.typed));
        let mut here = here.map(|instruction| (instruction.origin, instruction.typed.op.sem()));
        let there = (bounds.first..bounds.end).filter_map(|index| {
            let instruction = function.instruction(index).filter(|instruction| does_more(instruction))?;
            Some((index, instruction.op.sem()))
        });
        for (index, sem) in there {
            if here.next() != Some((index, sem)) {
                let what = format!("`{}` of instruction {index} is not here, or moved", sem.text());
                self.report(id, None, what);
                return;
            }
        }
        if let Some((origin, sem)) = here.next() {
            let what = format!("`{}` of instruction {origin} does not belong here", sem.text());
            self.report(id, None, what);
        }
        if !cfg.ends_with(function, id, instructions.last().map(|instruction| &instruction.typed)) {
            self.report(id, None, "the last instruction leads elsewhere".to_owned());
        }
    }
}

/// Whether an instruction reads and writes operands.
fn updates(instruction: &Instruction) -> bool {
    let mut updates = false;
    instruction.op.fields(&mut |_, field| updates |= matches!(field, FieldValue::Updates(_)));
    updates
}
