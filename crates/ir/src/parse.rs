//! Typed instructions from the lines that [`Notation`] prints, and functions from blocks of them.
//!
//! Names are those of a function of a checked module, which the text may change but not extend: its registers, labels'
//! blocks, variables, tables and prototypes. So a pass can be tested by what it makes of a text, and whatever is printed
//! can be read back.

use crate::cfg::Cfg;
use crate::instruction::{Instruction, Op, Reject, Source};
use crate::lower::Function;
use crate::operand::{Address, Argument, Callees, Def, Lookup, Part, PartDef, Predicate, Space, Value};
use crate::print::{Notation, UNTYPED, header};
use ptx::ast::Selector;
use ptx::isa::{Effects, Modifier, Sem, Slot, SpecialRegister};
use ptx::module::{AddressBase, FuncId, Guard, LabelId, PrototypeId, RegId, Symbol, TableId, VarId};
use std::fmt;

impl Notation<'_> {
    /// The instruction that a line is.
    ///
    /// # Errors
    /// If it is none of this function's: what is wrong.
    pub fn parse(&self, line: &str) -> Result<Instruction, Reject> {
        let words = words(line);
        let mut rest = words.as_slice();
        let mut guard = None;
        if let [first, after @ ..] = rest
            && let Some(text) = first.strip_prefix('@')
        {
            let (negated, name) = text.strip_prefix('!').map_or((false, text), |name| (true, name));
            guard = Some(Guard { register: self.parse_register(name)?, negated });
            rest = after;
        }
        let [name, fields @ ..] = rest else { return Err("an instruction is missing".to_owned()) };
        let sem = Sem::ALL.into_iter().find(|sem| sem.text() == name);
        let sem = sem.ok_or_else(|| format!("`{name}` is not an instruction"))?;
        let read = vec![false; fields.len()];
        let mut text = Text { notation: self, effects: sem.effects(), fields, read };
        let op = Op::build(sem, &mut text)?;
        match text.read.iter().position(|read| !read) {
            Some(unread) => Err(format!("`{}` is no field of `{name}`", text.fields[unread])),
            None => Ok(Instruction { guard, op }),
        }
    }

    pub(crate) fn parse_register(&self, name: &str) -> Result<RegId, Reject> {
        self.register_named(name).ok_or_else(|| format!("there is no register `{name}`"))
    }

    pub(crate) fn parse_value(&self, text: &str) -> Result<Value, Reject> {
        if text == "_" {
            return Ok(Value::Unused);
        }
        if let Some(name) = text.strip_prefix('&') {
            let (name, offset) = offset_of(name)?;
            return Ok(Value::Symbol { symbol: self.parse_symbol(name)?, offset });
        }
        if text.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(Value::Constant(number(text)?));
        }
        match self.parse_register(text) {
            Ok(register) => Ok(Value::Register(register)),
            Err(none) => special(text).ok_or(none),
        }
    }

    fn parse_symbol(&self, name: &str) -> Result<Symbol, Reject> {
        match self.parse_variable(name) {
            Ok(variable) => Ok(Symbol::Variable(variable)),
            Err(none) => self.parse_callee(name).map(Symbol::Function).map_err(|_| none),
        }
    }

    fn parse_variable(&self, name: &str) -> Result<VarId, Reject> {
        self.variable_named(name).ok_or_else(|| format!("there is no variable `{name}`"))
    }

    fn parse_callee(&self, name: &str) -> Result<FuncId, Reject> {
        self.function.module.function(name).ok_or_else(|| format!("there is no function `{name}`"))
    }
}

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// The line, from 1.
    pub line: u32,
    /// What is wrong.
    pub why: String,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl std::error::Error for TextError {}

/// The lines of a text that say something, with their numbers.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (u32, &str)> {
    let lines = (1..).zip(text.lines()).map(|(number, line)| (number, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

impl<'a> Function<'a> {
    /// The function that a text is, as [`Display`](fmt::Display) prints it. It has the names, the labels and the length of
    /// this one, and other instructions.
    ///
    /// # Errors
    /// If the text is none, or its blocks are not where its instructions say.
    pub fn parse(&self, text: &str) -> Result<Self, TextError> {
        let notation = Notation::new(self);
        let mut expected = vec![format!("function {}", self.declaration.name)];
        expected.extend(notation.registers_by_type());
        let mut expected = expected.into_iter();
        let mut headers = Vec::new();
        let mut instructions = Vec::new();
        for (line, content) in lines(text) {
            let error = |why: String| TextError { line, why };
            if let Some(expected) = expected.next() {
                if content != expected {
                    return Err(error(format!("`{expected}` is expected")));
                }
            } else if content.starts_with("block") {
                headers.push((line, content, instructions.len() as u32));
            } else if let Some(reject) = content.strip_prefix(UNTYPED) {
                instructions.push(Err(reject.to_owned()));
            } else {
                instructions.push(Ok(notation.parse(content).map_err(error)?));
            }
        }
        let last = text.lines().count() as u32;
        if instructions.len() != self.instructions.len() {
            let (found, count) = (instructions.len(), self.instructions.len());
            return Err(TextError { line: last, why: format!("{found} instructions in place of {count}") });
        }
        let function = Self { instructions, ..self.clone() };
        let cfg = Cfg::new(&function);
        let mut blocks = cfg.blocks.iter().enumerate();
        for (line, content, first) in headers {
            let known = blocks.next().filter(|(_, block)| block.first == first);
            let known = known.map(|(index, block)| header(index, block));
            if known.as_deref() != Some(content) {
                let why =
                    known.map_or("no block begins here".to_owned(), |header| format!("it is `{header}`"));
                return Err(TextError { line, why });
            }
        }
        match blocks.next() {
            Some((index, _)) => Err(TextError { line: last, why: format!("block{index} is missing") }),
            None => Ok(function),
        }
    }
}

/// The words of a line; blanks within brackets and braces do not part them.
pub(crate) fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut depth = 0_usize;
    for c in line.trim().chars() {
        match c {
            '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if c == ' ' && depth == 0 {
            words.push(String::new());
        } else if let Some(word) = words.last_mut() {
            word.push(c);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The fields of an instruction in a text.
struct Text<'a> {
    notation: &'a Notation<'a>,
    effects: &'static Effects,
    fields: &'a [String],
    /// Which of them have been asked for.
    read: Vec<bool>,
}

impl<'a> Text<'a> {
    /// The text behind `name=`.
    fn field(&mut self, name: &str) -> Option<&'a str> {
        let is_it = |field: &String| field.strip_prefix(name).is_some_and(|rest| rest.starts_with('='));
        let index = self.fields.iter().position(is_it)?;
        self.read[index] = true;
        Some(&self.fields[index][name.len() + 1..])
    }

    fn convert<T>(
        &mut self,
        name: &str,
        convert: impl Fn(&Self, &str) -> Result<T, Reject>,
    ) -> Result<Option<T>, Reject> {
        let text = self.field(name);
        text.map(|text| convert(self, text).map_err(|why| format!("{name}: {why}"))).transpose()
    }

    fn one_def(&self, text: &str) -> Result<Def, Reject> {
        match text {
            "_" => Ok(Def(None)),
            name => Ok(Def(Some(self.notation.parse_register(name)?))),
        }
    }

    fn value_of(&self, text: &str) -> Result<Value, Reject> {
        self.notation.parse_value(text)
    }

    fn list<T>(
        &self,
        text: &str,
        one: impl Fn(&Self, &str) -> Result<T, Reject>,
    ) -> Result<Box<[T]>, Reject> {
        let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
        let inner = inner.ok_or_else(|| format!("`{text}` is not a list"))?;
        parts(inner).into_iter().map(|part| one(self, part)).collect()
    }
}

/// The parts of a list between commas that no bracket encloses.
pub(crate) fn parts(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    let last = text[start..].trim();
    if !last.is_empty() {
        parts.push(last);
    }
    parts
}

fn number(text: &str) -> Result<u64, Reject> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("`{text}` is not a number"))
}

/// `name+8` or `name-8`.
fn offset_of(text: &str) -> Result<(&str, i64), Reject> {
    // Names may have signs of other kinds, but none of these behind their first character.
    let Some(at) = text.char_indices().skip(1).find(|(_, c)| matches!(c, '+' | '-')).map(|(at, _)| at) else {
        return Ok((text, 0));
    };
    let offset = text[at..].parse().map_err(|_| format!("`{}` is not an offset", &text[at..]))?;
    Ok((&text[..at], offset))
}

fn special(text: &str) -> Option<Value> {
    let (name, component) = match text.split_once('.') {
        Some((name, component)) => (name, "xyzw".find(component)? as u8),
        None => (text, 0),
    };
    let register = SpecialRegister::from_text(name)?;
    Some(Value::Special { register, component })
}

/// What stands before a selector, and the selector.
fn selected(text: &str) -> (&str, Option<Selector>) {
    let split = text.rsplit_once('.').and_then(|(name, part)| Some((name, Selector::from_text(part)?)));
    split.map_or((text, None), |(name, selector)| (name, Some(selector)))
}

impl Source for Text<'_> {
    fn modifier(&mut self, slot: Slot) -> Option<Modifier> {
        let text = self.field(slot.text())?;
        Modifier::ALL.into_iter().find(|modifier| &modifier.text()[1..] == text)
    }

    fn flag(&mut self, _: Slot, modifier: Modifier) -> bool {
        let found = self.fields.iter().position(|field| field == &modifier.text()[1..]);
        found.is_some_and(|index| {
            self.read[index] = true;
            true
        })
    }

    fn effects(&self) -> &'static Effects {
        self.effects
    }

    fn def(&mut self, name: &str) -> Result<Option<Def>, Reject> {
        self.convert(name, Self::one_def)
    }

    fn defs(&mut self, name: &str) -> Result<Option<Box<[Def]>>, Reject> {
        self.convert(name, |this, text| this.list(text, Self::one_def))
    }

    fn value(&mut self, name: &str) -> Result<Option<Value>, Reject> {
        self.convert(name, Self::value_of)
    }

    fn values(&mut self, name: &str) -> Result<Option<Box<[Value]>>, Reject> {
        self.convert(name, |this, text| this.list(text, Self::value_of))
    }

    fn predicate(&mut self, name: &str) -> Result<Option<Predicate>, Reject> {
        self.convert(name, |this, text| {
            let (negated, value) = text.strip_prefix('!').map_or((false, text), |value| (true, value));
            Ok(Predicate { value: this.notation.parse_value(value)?, negated })
        })
    }

    fn constant(&mut self, name: &str) -> Result<Option<u64>, Reject> {
        self.convert(name, |_, text| number(text))
    }

    fn address(&mut self, name: &str) -> Result<Option<Address>, Reject> {
        self.convert(name, |this, text| {
            let wrong = || format!("`{text}` is not an address");
            let (place, space) = text.split_once("]:").ok_or_else(wrong)?;
            let place = place.strip_prefix('[').ok_or_else(wrong)?;
            let space = Space::ALL.into_iter().find(|known| known.name() == space).ok_or_else(wrong)?;
            if place.starts_with(|c: char| c.is_ascii_digit()) {
                let offset = number(place)? as i64;
                return Ok(Address { base: AddressBase::Absolute, offset, space });
            }
            let (base, offset) = offset_of(place)?;
            let base = match this.notation.parse_register(base) {
                Ok(register) => AddressBase::Register(register),
                Err(_) => AddressBase::Variable(this.notation.parse_variable(base)?),
            };
            Ok(Address { base, offset, space })
        })
    }

    fn lookup(&mut self, name: &str) -> Result<Option<Lookup>, Reject> {
        self.convert(name, |this, text| {
            let wrong = || format!("`{text}` is not an object with coordinates");
            let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).ok_or_else(wrong)?;
            let (object, sampler, coordinates) = match parts(inner)[..] {
                [object, coordinates] => (object, None, coordinates),
                [object, sampler, coordinates] => (object, Some(sampler), coordinates),
                _ => return Err(wrong()),
            };
            Ok(Lookup {
                object: this.notation.parse_value(object)?,
                sampler: sampler.map(|sampler| this.notation.parse_value(sampler)).transpose()?,
                coordinates: this.list(coordinates, Self::value_of)?,
            })
        })
    }

    fn part(&mut self, name: &str) -> Result<Option<Part>, Reject> {
        self.convert(name, |this, text| {
            let (negated, text) = text.strip_prefix('-').map_or((false, text), |text| (true, text));
            let (value, selector) = selected(text);
            Ok(Part { value: this.notation.parse_value(value)?, selector, negated })
        })
    }

    fn part_def(&mut self, name: &str) -> Result<Option<PartDef>, Reject> {
        self.convert(name, |this, text| {
            let (register, selector) = selected(text);
            Ok(PartDef { register: this.one_def(register)?, selector })
        })
    }

    fn label(&mut self, name: &str) -> Result<Option<LabelId>, Reject> {
        self.convert(name, |this, text| {
            let block = text.strip_prefix("block").and_then(|number| number.parse::<u32>().ok());
            let Notation { function, cfg, .. } = this.notation;
            let labels = &function.body.labels;
            let found = labels.iter().position(|label| Some(cfg.block_of(label.target).0) == block);
            found.map(|label| LabelId(label as u32)).ok_or_else(|| format!("no label stands before `{text}`"))
        })
    }

    fn function(&mut self, name: &str) -> Result<Option<FuncId>, Reject> {
        self.convert(name, |this, text| this.notation.parse_callee(text))
    }

    fn arguments(&mut self, name: &str) -> Result<Option<Box<[Argument]>>, Reject> {
        self.convert(name, |this, text| {
            this.list(text, |this, one| match this.notation.parse_variable(one) {
                Ok(variable) => Ok(Argument::Variable(variable)),
                Err(_) => this.notation.parse_value(one).map(Argument::Value),
            })
        })
    }

    fn targets(&mut self, name: &str) -> Result<Option<TableId>, Reject> {
        self.convert(name, |_, text| numbered(text, "table").map(TableId))
    }

    fn callees(&mut self, name: &str) -> Result<Option<Callees>, Reject> {
        self.convert(name, |_, text| match numbered(text, "table") {
            Ok(table) => Ok(Callees::Table(TableId(table))),
            Err(_) => numbered(text, "prototype").map(|number| Callees::Prototype(PrototypeId(number))),
        })
    }
}

/// `table3`.
fn numbered(text: &str, name: &str) -> Result<u32, Reject> {
    let number = text.strip_prefix(name).and_then(|number| number.parse().ok());
    number.ok_or_else(|| format!("`{text}` is not a {name}"))
}
