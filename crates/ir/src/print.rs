//! Typed instructions as text: `mul_int mode=wide type=u32 d=%rd4 a=%r1 b=4`.
//!
//! Fields stand in the order of the instruction table, with their names. What is not there is not printed.

use crate::cfg::{Block, Cfg};
use crate::instruction::{FieldValue, Instruction};
use crate::lower::Function;
use crate::operand::{Address, Argument, Callees, Def, Lookup, Part, PartDef, Predicate, Value};
use ptx::ast::Selector;
use ptx::module::{AddressBase, Guard, RegId, Symbol, VarId};
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// Constants below this are printed as decimal numbers, others in hexadecimal.
const SMALL: u64 = 1 << 16;

impl fmt::Display for Function<'_> {
    /// Its registers, then block by block; with `{:#}` each instruction below its text in PTX.
    /// [`Function::parse`] reads it back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "function {}", self.declaration.name)?;
        let notation = Notation::new(self);
        for line in notation.registers_by_type() {
            writeln!(f, "{line}")?;
        }
        for (index, block) in notation.cfg.blocks.iter().enumerate() {
            writeln!(f, "{}", header(index, block))?;
            for i in block.first..block.end {
                if f.alternate() {
                    writeln!(f, "    # {}", self.source_line(i))?;
                }
                match &self.instructions[i as usize] {
                    Ok(typed) => writeln!(f, "    {}", notation.line(typed))?,
                    Err(reject) => writeln!(f, "    {UNTYPED}{reject}")?,
                }
            }
        }
        Ok(())
    }
}

/// What stands before the reason why an instruction has no typed form.
pub(crate) const UNTYPED: &str = "untyped: ";

/// `block2: -> block3, block0`.
pub(crate) fn header(index: usize, block: &Block) -> String {
    let successors: Vec<_> = block.successors.iter().map(|to| format!("block{}", to.0)).collect();
    let arrow = if successors.is_empty() { "" } else { " -> " };
    format!("block{index}:{arrow}{}", successors.join(", "))
}

/// How a function's registers, variables and blocks are called in text.
pub struct Notation<'a> {
    pub(crate) function: &'a Function<'a>,
    pub(crate) cfg: Cfg,
    registers: Vec<String>,
    variables: Vec<String>,
    register_of: HashMap<String, RegId>,
    variable_of: HashMap<String, VarId>,
}

/// A name for each of some things; where several have one name, their numbers tell them apart.
fn distinct<'n>(names: impl Iterator<Item = &'n str> + Clone) -> Vec<String> {
    let mut count: HashMap<&str, u32> = HashMap::new();
    names.clone().for_each(|name| *count.entry(name).or_default() += 1);
    let name = |(i, name): (usize, &'n str)| match count[name] {
        1 => name.to_owned(),
        _ => format!("{name}#{i}"),
    };
    names.enumerate().map(name).collect()
}

/// A name for each register of a function.
pub(crate) fn register_names(function: &Function<'_>) -> Vec<String> {
    distinct(function.body.registers.iter().map(|r| function.module.text(r.name)))
}

impl<'a> Notation<'a> {
    /// The names in a function.
    pub fn new(function: &'a Function<'a>) -> Self {
        Self::with_registers(function, Cfg::new(function), register_names(function))
    }

    /// The names in a function that has other registers than its body.
    pub(crate) fn with_registers(function: &'a Function<'a>, cfg: Cfg, registers: Vec<String>) -> Self {
        let variables = distinct(function.module.variables.iter().map(|variable| &*variable.name));
        let register_of = registers.iter().cloned().zip((0..).map(RegId)).collect();
        let variable_of = variables.iter().cloned().zip((0..).map(VarId)).collect();
        Self { function, cfg, registers, variables, register_of, variable_of }
    }

    /// `registers b32 %r1, %r2`: a line for each type.
    pub(crate) fn registers_by_type(&self) -> Vec<String> {
        let mut by_type: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, register) in self.registers.iter().zip(&self.function.body.registers) {
            by_type.entry(register.ty.name()).or_default().push(name);
        }
        by_type.into_iter().map(|(ty, names)| format!("registers {ty} {}", names.join(", "))).collect()
    }

    /// An instruction as a line.
    pub fn line(&self, instruction: &Instruction) -> String {
        let mut line = String::new();
        if let Some(Guard { register, negated }) = instruction.guard {
            line = format!("@{}{} ", if negated { "!" } else { "" }, self.register(register));
        }
        line.push_str(instruction.op.sem().text());
        instruction.op.fields(&mut |name, value| {
            line.push(' ');
            if !matches!(value, FieldValue::Flag(_)) {
                line.push_str(name);
                line.push('=');
            }
            line.push_str(&self.value(value));
        });
        line
    }

    pub(crate) fn register_named(&self, name: &str) -> Option<RegId> {
        self.register_of.get(name).copied()
    }

    pub(crate) fn variable_named(&self, name: &str) -> Option<VarId> {
        self.variable_of.get(name).copied()
    }

    pub(crate) fn register(&self, register: RegId) -> &str {
        &self.registers[register.index()]
    }

    fn variable(&self, id: VarId) -> &str {
        &self.variables[id.index()]
    }

    fn value(&self, value: FieldValue<'_>) -> String {
        match value {
            FieldValue::Type(ty) => ty.name().to_owned(),
            FieldValue::Order(order) => order.name().to_owned(),
            FieldValue::Scope(scope) => scope.name().to_owned(),
            FieldValue::Space(space) => space.name().to_owned(),
            FieldValue::Shape(shape) => format!("m{}n{}k{}", shape.m, shape.n, shape.k),
            FieldValue::Flag(modifier) | FieldValue::Modifier(modifier) => modifier.text()[1..].to_owned(),
            FieldValue::Def(def) => self.def(def),
            FieldValue::Defs(all) | FieldValue::Updates(all) => braces(all.iter().map(|def| self.def(def))),
            FieldValue::Value(value) => self.source(value),
            FieldValue::Values(all) => braces(all.iter().map(|value| self.source(value))),
            FieldValue::Predicate(Predicate { value, negated }) => {
                format!("{}{}", if *negated { "!" } else { "" }, self.source(value))
            }
            FieldValue::Constant(bits) => constant(bits),
            FieldValue::Address(address) => self.address(address),
            FieldValue::Lookup(lookup) => self.lookup(lookup),
            FieldValue::Part(Part { value, selector, negated }) => {
                format!("{}{}{}", if *negated { "-" } else { "" }, self.source(value), part(*selector))
            }
            FieldValue::PartDef(PartDef { register, selector }) => {
                format!("{}{}", self.def(register), part(*selector))
            }
            FieldValue::Label(label) => {
                format!("block{}", self.cfg.block_of(self.function.body.labels[label.index()].target).0)
            }
            FieldValue::Function(id) => self.function.module.functions[id.index()].name.clone(),
            FieldValue::Results(all) | FieldValue::Arguments(all) => {
                braces(all.iter().map(|argument| match argument {
                    Argument::Variable(id) => self.variable(*id).to_owned(),
                    Argument::Value(value) => self.source(value),
                }))
            }
            FieldValue::Targets(table) => format!("table{}", table.0),
            FieldValue::Callees(Callees::Prototype(prototype)) => format!("prototype{}", prototype.0),
            FieldValue::Callees(Callees::Table(table)) => format!("table{}", table.0),
        }
    }

    fn def(&self, def: &Def) -> String {
        def.0.map_or("_", |register| self.register(register)).to_owned()
    }

    pub(crate) fn source(&self, value: &Value) -> String {
        match *value {
            Value::Register(register) => self.register(register).to_owned(),
            Value::Constant(bits) => constant(bits),
            Value::Special { register, component } if register.components() > 1 => {
                format!("{}.{}", register.text(), ["x", "y", "z", "w"][usize::from(component & 3)])
            }
            Value::Special { register, .. } => register.text().to_owned(),
            Value::Symbol { symbol: Symbol::Variable(id), offset } => {
                format!("&{}{}", self.variable(id), offset_of(offset))
            }
            Value::Symbol { symbol: Symbol::Function(id), offset } => {
                format!("&{}{}", self.function.module.functions[id.index()].name, offset_of(offset))
            }
            Value::Unused => "_".to_owned(),
        }
    }

    fn address(&self, address: &Address) -> String {
        let Address { base, offset, space } = *address;
        let place = match base {
            AddressBase::Register(register) => format!("{}{}", self.register(register), offset_of(offset)),
            AddressBase::Variable(id) => format!("{}{}", self.variable(id), offset_of(offset)),
            AddressBase::Absolute => format!("{offset:#x}"),
        };
        format!("[{place}]:{}", space.name())
    }

    fn lookup(&self, lookup: &Lookup) -> String {
        let mut parts = vec![self.source(&lookup.object)];
        parts.extend(lookup.sampler.as_ref().map(|sampler| self.source(sampler)));
        parts.push(braces(lookup.coordinates.iter().map(|value| self.source(value))));
        format!("[{}]", parts.join(", "))
    }
}

fn constant(bits: u64) -> String {
    if bits < SMALL { bits.to_string() } else { format!("{bits:#x}") }
}

fn offset_of(offset: i64) -> String {
    if offset == 0 { String::new() } else { format!("{offset:+}") }
}

fn braces(parts: impl Iterator<Item = String>) -> String {
    format!("{{{}}}", parts.collect::<Vec<_>>().join(", "))
}

fn part(selector: Option<Selector>) -> String {
    selector.map_or(String::new(), |selector| format!(".{selector}"))
}
