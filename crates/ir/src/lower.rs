//! From a checked function to typed instructions.
//!
//! An instruction of PTX becomes one typed instruction, at the same index, so that places in the source need no map. What
//! an instruction means is fixed here, for all engines.

use crate::instruction::{Access, Instruction, Op, Reject, Source};
use crate::operand::{Address, Argument, Callees, Def, Lookup, Part, PartDef, Predicate, Space, Value};
use ptx::isa::{
    Count, Effects, Mnemonic, Modifier, Opcode, OperandKind, Sem, Slot, SpaceRule, SpecialRegister,
};
use ptx::module::{AddressBase, Body, FuncId, LabelId, Module, Operand, RegId, Symbol, TableId};
use ptx::types::{ScalarType, TypeKind, Version};

/// A function of a checked module with its typed instructions.
#[derive(Clone, Debug)]
pub struct Function<'a> {
    /// The module.
    pub module: &'a Module,
    /// Which function of it.
    pub id: FuncId,
    /// Its declaration.
    pub declaration: &'a ptx::module::Function,
    /// Its code as it was written.
    pub body: &'a Body,
    /// A typed instruction for each of the body's, or why there is none: its form has no semantic function, or an operand
    /// is what only ptxas understands. It then counts as one that does nothing.
    pub instructions: Vec<Result<Instruction, Reject>>,
}

impl<'a> Function<'a> {
    /// Lowers a function; `None` if it is only declared.
    pub fn lower(module: &'a Module, id: FuncId) -> Option<Self> {
        let declaration = &module.functions[id.index()];
        let body = declaration.body.as_ref()?;
        let instructions = body.instructions.iter().map(|i| lower(module, body, i)).collect();
        Some(Self { module, id, declaration, body, instructions })
    }

    /// The functions that it calls by name, once each.
    pub fn callees(&self) -> Vec<FuncId> {
        let mut callees: Vec<_> = self
            .instructions
            .iter()
            .filter_map(|instruction| match instruction {
                Ok(Instruction { op: Op::Call(call), .. }) => Some(call.function),
                _ => None,
            })
            .collect();
        callees.sort_unstable();
        callees.dedup();
        callees
    }

    /// An instruction, if it has a typed form.
    pub fn instruction(&self, index: u32) -> Option<&Instruction> {
        self.instructions[index as usize].as_ref().ok()
    }

    /// The place of an instruction in the source and its text: `12: add.s32 %r1, %r2, 4;`.
    pub fn source_line(&self, index: u32) -> String {
        let source = &self.module.source;
        let span = self.body.instructions[index as usize].span;
        let text = source.text().get(span.start as usize..span.end as usize).unwrap_or_default();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        format!("{}: {text}", source.line_column(span.start).0)
    }

    /// Visits the registers of an instruction, as [`Instruction::registers`] does.
    pub fn registers(&self, index: u32, visit: &mut dyn FnMut(RegId, Access)) {
        if let Some(instruction) = self.instruction(index) {
            instruction.registers(visit);
        }
    }
}

/// The last version of which conversions from and to 64 bits do not flush subnormals by themselves.
const EARLY: Version = Version { major: 1, minor: 4 };

fn lower(
    module: &Module,
    body: &Body,
    instruction: &ptx::module::Instruction,
) -> Result<Instruction, Reject> {
    let opcode = module.opcode(instruction);
    let Some(sem) = opcode.sem() else {
        return Err(format!("instruction `{}`", opcode.text()));
    };
    let operands = body.operands(instruction);
    let mut source = Checked { opcode, effects: sem.effects(), module, body, operands };
    let op = Op::build(sem, &mut source)?;
    Ok(Instruction { guard: instruction.guard, op })
}

/// The fields of an instruction of a checked module.
struct Checked<'a> {
    opcode: &'a Opcode,
    effects: &'static Effects,
    module: &'a Module,
    body: &'a Body,
    operands: &'a [Operand],
}

impl Checked<'_> {
    /// The operand that the table calls so, and its place. An optional one that was not written is not there.
    fn operand(&self, name: &str) -> Option<(usize, Operand)> {
        if self.has_depth_for_offset() {
            match name {
                "e" => return None,
                "f" => return self.written("e"),
                _ => {}
            }
        }
        self.written(name)
    }

    fn written(&self, name: &str) -> Option<(usize, Operand)> {
        let index = self.opcode.data().operands.iter().position(|spec| spec.identifier() == name)?;
        let operand = *self.operands.get(index)?;
        (operand != Operand::Absent).then_some((index, operand))
    }

    /// Whether subnormals are flushed though `.ftz` is not written: for `sm_1x` by all instructions of `.f32` that can be
    /// asked to, but until PTX 1.4 by no conversion from or to 64 bits (sections of the instructions; ptxas 13.0 does so
    /// on later devices, too).
    fn flushes_anyway(&self) -> bool {
        if self.module.arch.sm >= 20 || !self.opcode.data().slots.iter().any(|spec| spec.slot == Slot::Ftz) {
            return false;
        }
        let types = || self.opcode.modifiers.iter().filter_map(|(_, modifier)| modifier.scalar_type());
        let early = self.opcode.mnemonic() == Mnemonic::Cvt && self.module.version <= EARLY;
        types().any(|ty| ty == ScalarType::F32) && !(early && types().any(|ty| ty.bits() == 64))
    }

    /// Whether what stands in place of a lookup's offset is the depth to compare with: an H200 takes a lone register that
    /// is no integer for that.
    fn has_depth_for_offset(&self) -> bool {
        if !matches!(self.opcode.sem(), Some(Sem::Tex | Sem::Tld4)) {
            return false;
        }
        let takes_depth = self.opcode.data().operands.iter().any(|spec| spec.identifier() == "f");
        match self.written("e") {
            Some((_, Operand::Register(register))) if takes_depth => {
                let kind = self.body.registers[register.index()].ty.kind();
                !matches!(kind, TypeKind::Signed | TypeKind::Unsigned)
            }
            _ => false,
        }
    }

    fn convert<T>(
        &self,
        name: &str,
        as_what: &str,
        convert: impl Fn(&Self, Operand) -> Option<T>,
    ) -> Result<Option<T>, Reject> {
        let Some((_, operand)) = self.operand(name) else { return Ok(None) };
        let converted = convert(self, operand).ok_or_else(|| format!("operand {operand:?} as {as_what}"))?;
        Ok(Some(converted))
    }

    /// Refuses a vector of another length than a modifier says: ptxas takes some. What is dropped has none.
    fn check_length(&self, index: usize, operand: Operand) -> Result<(), Reject> {
        let kind = self.opcode.data().operands[index].kind;
        let (OperandKind::Vector { count: Count::Of(_), .. }, Some(length)) =
            (kind, self.opcode.operand_length(index))
        else {
            return Ok(());
        };
        let elements = match operand {
            Operand::Vector(list) => self.body.elements(&list).len() as u32,
            Operand::Sink => length,
            _ => 1,
        };
        match elements == length {
            true => Ok(()),
            false if length == 1 => Err("a vector in place of a register".to_owned()),
            false => Err(format!("a vector of {elements} in place of one of {length}")),
        }
    }

    /// Whether a special register stands for all elements of an operand.
    fn is_whole(&self, index: usize, register: SpecialRegister) -> bool {
        let kind = self.opcode.data().operands[index].kind;
        matches!(kind, OperandKind::Vector { whole: true, .. }) && register.components() == 4
    }

    /// The elements of a vector; a lone operand is a vector of one.
    fn elements(&self, operand: Operand) -> Vec<Operand> {
        match operand {
            Operand::Vector(list) => self.body.elements(&list).to_vec(),
            Operand::Absent => Vec::new(),
            alone => vec![alone],
        }
    }

    /// The elements of an operand, each of which must be what is said.
    fn list<T>(
        &self,
        name: &str,
        as_what: &str,
        convert: impl Fn(Operand) -> Option<T>,
    ) -> Result<Option<Box<[T]>>, Reject> {
        let Some((index, operand)) = self.operand(name) else { return Ok(None) };
        self.check_length(index, operand)?;
        let one = |element| convert(element).ok_or_else(|| format!("operand {element:?} as {as_what}"));
        self.elements(operand).into_iter().map(one).collect::<Result<_, _>>().map(Some)
    }

    fn all<T>(&self, operand: Operand, convert: impl Fn(Operand) -> Option<T>) -> Option<Box<[T]>> {
        self.elements(operand).into_iter().map(convert).collect()
    }
}

fn def_of(operand: Operand) -> Option<Def> {
    match operand {
        Operand::Register(register) => Some(Def(Some(register))),
        Operand::Sink => Some(Def(None)),
        _ => None,
    }
}

fn value_of(operand: Operand) -> Option<Value> {
    Some(match operand {
        Operand::Register(register) => Value::Register(register),
        Operand::Immediate(bits) => Value::Constant(bits),
        Operand::Special { register, component } => Value::Special { register, component },
        Operand::SymbolAddress { symbol, offset } => Value::Symbol { symbol, offset },
        // `name[index]` is the address of an element; only a memory operand is the element itself.
        Operand::Address { base: AddressBase::Variable(id), offset } => {
            Value::Symbol { symbol: Symbol::Variable(id), offset }
        }
        // `[r]` where an object is meant.
        Operand::Address { base: AddressBase::Register(register), offset: 0 } => Value::Register(register),
        Operand::Function(function) => Value::Symbol { symbol: Symbol::Function(function), offset: 0 },
        Operand::Sink => Value::Unused,
        _ => return None,
    })
}

fn argument_of(operand: Operand) -> Option<Argument> {
    match operand {
        Operand::SymbolAddress { symbol: Symbol::Variable(id), .. } => Some(Argument::Variable(id)),
        other => value_of(other).map(Argument::Value),
    }
}

impl Source for Checked<'_> {
    fn modifier(&mut self, slot: Slot) -> Option<Modifier> {
        match self.opcode.get(slot) {
            None if slot == Slot::Ftz && self.flushes_anyway() => Some(Modifier::Ftz),
            written => written,
        }
    }

    fn effects(&self) -> &'static Effects {
        self.effects
    }

    fn def(&mut self, name: &str) -> Result<Option<Def>, Reject> {
        self.convert(name, "a result", |_, operand| def_of(operand))
    }

    fn defs(&mut self, name: &str) -> Result<Option<Box<[Def]>>, Reject> {
        self.list(name, "a result", def_of)
    }

    fn value(&mut self, name: &str) -> Result<Option<Value>, Reject> {
        self.convert(name, "a value", |this, operand| match operand {
            // Braces around one value, as CUTLASS writes scale factors.
            Operand::Vector(list) => match *this.body.elements(&list) {
                [element] => value_of(element),
                _ => None,
            },
            alone => value_of(alone),
        })
    }

    fn values(&mut self, name: &str) -> Result<Option<Box<[Value]>>, Reject> {
        match self.operand(name) {
            // A special register as a vector of words.
            Some((index, Operand::Special { register, .. })) if self.is_whole(index, register) => {
                Ok(Some((0..4).map(|component| Value::Special { register, component }).collect()))
            }
            _ => self.list(name, "a value", value_of),
        }
    }

    fn predicate(&mut self, name: &str) -> Result<Option<Predicate>, Reject> {
        self.convert(name, "a predicate", |_, operand| match operand {
            Operand::NotPredicate(register) => {
                Some(Predicate { value: Value::Register(register), negated: true })
            }
            Operand::Register(_) | Operand::Immediate(_) | Operand::Special { .. } => {
                value_of(operand).map(|value| Predicate { value, negated: false })
            }
            _ => None,
        })
    }

    fn constant(&mut self, name: &str) -> Result<Option<u64>, Reject> {
        self.convert(name, "a constant", |_, operand| match operand {
            Operand::Immediate(bits) => Some(bits),
            _ => None,
        })
    }

    fn address(&mut self, name: &str) -> Result<Option<Address>, Reject> {
        let Some((index, operand)) = self.operand(name) else { return Ok(None) };
        let kind = self.opcode.data().operands[index].kind;
        let space = match kind {
            OperandKind::Address { space: SpaceRule::Of(slot) | SpaceRule::Mbarrier(slot) } => {
                self.opcode.get(slot).and_then(Space::from_modifier)
            }
            OperandKind::Address { space: SpaceRule::Fixed(space) } => Space::of_variables(space),
            // The address of an mbarrier as a value.
            OperandKind::Value { .. } => Some(Space::Shared),
            _ => None,
        };
        let space = space.unwrap_or(Space::Generic);
        match (operand, kind) {
            (Operand::Address { base, offset }, _) => Ok(Some(Address { base, offset, space })),
            (Operand::Register(register), OperandKind::Value { .. }) => {
                Ok(Some(Address { base: AddressBase::Register(register), offset: 0, space }))
            }
            (Operand::Immediate(offset), OperandKind::Value { .. }) => {
                Ok(Some(Address { base: AddressBase::Absolute, offset: offset as i64, space }))
            }
            (other, _) => Err(format!("operand {other:?} as an address")),
        }
    }

    fn lookup(&mut self, name: &str) -> Result<Option<Lookup>, Reject> {
        self.convert(name, "an object and coordinates", |this, operand| {
            let Operand::Vector(list) = operand else { return None };
            let (object, sampler, coordinates) = match *this.body.elements(&list) {
                [object, coordinates] => (object, None, coordinates),
                [object, sampler, coordinates] => (object, Some(sampler), coordinates),
                _ => return None,
            };
            let sampler = match sampler {
                Some(sampler) => Some(value_of(sampler)?),
                None => None,
            };
            let coordinates = this.all(coordinates, value_of)?;
            Some(Lookup { object: value_of(object)?, sampler, coordinates })
        })
    }

    fn part(&mut self, name: &str) -> Result<Option<Part>, Reject> {
        self.convert(name, "a part of a register", |_, operand| match operand {
            Operand::Part { register, selector, negated } => {
                Some(Part { value: Value::Register(register), selector, negated })
            }
            other => value_of(other).map(|value| Part { value, selector: None, negated: false }),
        })
    }

    fn part_def(&mut self, name: &str) -> Result<Option<PartDef>, Reject> {
        self.convert(name, "a part of a result", |_, operand| match operand {
            Operand::Part { register, selector, negated: false } => {
                Some(PartDef { register: Def(Some(register)), selector })
            }
            other => def_of(other).map(|register| PartDef { register, selector: None }),
        })
    }

    fn label(&mut self, name: &str) -> Result<Option<LabelId>, Reject> {
        self.convert(name, "a label", |_, operand| match operand {
            Operand::Label(label) => Some(label),
            _ => None,
        })
    }

    fn function(&mut self, name: &str) -> Result<Option<FuncId>, Reject> {
        self.convert(name, "a function", |_, operand| match operand {
            Operand::Function(function) => Some(function),
            _ => None,
        })
    }

    fn arguments(&mut self, name: &str) -> Result<Option<Box<[Argument]>>, Reject> {
        self.convert(name, "arguments", |this, operand| match operand {
            Operand::Sink => Some(Box::default()),
            other => this.all(other, argument_of),
        })
    }

    fn targets(&mut self, name: &str) -> Result<Option<TableId>, Reject> {
        self.convert(name, "a table of labels", |_, operand| match operand {
            Operand::Table(table) => Some(table),
            _ => None,
        })
    }

    fn callees(&mut self, name: &str) -> Result<Option<Callees>, Reject> {
        self.convert(name, "a prototype", |_, operand| match operand {
            Operand::Prototype(prototype) => Some(Callees::Prototype(prototype)),
            Operand::Table(table) => Some(Callees::Table(table)),
            _ => None,
        })
    }
}
