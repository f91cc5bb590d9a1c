//! Typed instructions as text: `mul_int mode=wide type=u32 d=%rd4 a=%r1 b=4`.
//!
//! Fields stand in the order of the instruction table, with their names. What is not there is not printed.

use crate::cfg::Cfg;
use crate::instruction::{FieldValue, Instruction};
use crate::lower::Function;
use crate::operand::{Address, Argument, Callees, Def, Lookup, Part, PartDef, Predicate, Value};
use ptx::ast::Selector;
use ptx::module::{AddressBase, Guard, RegId, Symbol, VarId};
use std::fmt;

/// Constants below this are printed as decimal numbers, others in hexadecimal.
const SMALL: u64 = 1 << 16;

impl fmt::Display for Function<'_> {
    /// Block by block. An instruction that has no typed form is told as a comment.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "function {}", self.declaration.name)?;
        let cfg = Cfg::new(self);
        for (index, block) in cfg.blocks.iter().enumerate() {
            write!(f, "block{index}:")?;
            for (i, successor) in block.successors.iter().enumerate() {
                write!(f, "{}block{}", if i == 0 { " -> " } else { ", " }, successor.0)?;
            }
            writeln!(f)?;
            for i in block.first..block.end {
                match &self.instructions[i as usize] {
                    Ok(typed) => writeln!(f, "    {}", Printed { function: self, cfg: &cfg, typed })?,
                    Err(reject) => writeln!(f, "    # {reject}")?,
                }
            }
        }
        Ok(())
    }
}

/// A typed instruction with what its names are.
struct Printed<'a> {
    function: &'a Function<'a>,
    cfg: &'a Cfg,
    typed: &'a Instruction,
}

impl fmt::Display for Printed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Guard { register, negated }) = self.typed.guard {
            write!(f, "@{}{} ", if negated { "!" } else { "" }, self.register(register))?;
        }
        f.write_str(self.typed.op.sem().text())?;
        let mut result = Ok(());
        self.typed.op.fields(&mut |name, value| {
            if result.is_ok() {
                result = match value {
                    FieldValue::Flag(modifier) => write!(f, " {}", &modifier.text()[1..]),
                    value => write!(f, " {name}={}", self.value(value)),
                };
            }
        });
        result
    }
}

impl Printed<'_> {
    fn register(&self, register: RegId) -> &str {
        self.function.module.text(self.function.body.registers[register.index()].name)
    }

    fn variable(&self, id: VarId) -> &str {
        &self.function.module.variables[id.index()].name
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

    fn source(&self, value: &Value) -> String {
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
