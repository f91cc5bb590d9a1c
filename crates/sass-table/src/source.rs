//! The notation of the tables, and a table as it was read: what the learner makes, and what is compiled in.
//!
//! A table is text, a line each, some of which stand in a file of their own that the architectures share:
//! - `set NAME WIDTH STRING...` lists what a field of WIDTH bits prints, code by code; no two sets are the same. `_` is a code that no legal
//!   instruction has, `X*5` is five times X, `R{0..254}` is R0, R1 and so on to R254. Strings with blanks or special
//!   characters stand in double quotes.
//! - `form OPCODE [BITS=VALUE]... [rest=WORD] : TEMPLATE` is one form. Forms of one opcode are tried in their order.
//!   BITS=VALUE are further conditions; `rest` gives bits that an assembler sets where the text does not say:
//!   what NVIDIA's compiler has there.
//! - `split OPCODE BITS` is for the learner: it learns every code of these bits by itself, as a form.
//! - `#` begins a comment: how what follows is known.
//!
//! In a template `{NAME@BITS}` prints a set's string for the field; `{{` and `}}` are braces. These names are numbers:
//! `hex`, `shex` (signed), `f16`, `bf16`, `f32`, `f64h` (the upper half), `rel` (a branch's target: an offset from
//! the next instruction), with `<<N` behind the bits where the field counts units of 2^N. `{mem ...}` is the inside of
//! a memory operand: `r:SET@` register, `s:SET@` its suffix, `u:SET@` uniform register, `o@` signed offset or `p@`
//! unsigned; what is RZ
//! or 0 is left out, but RZ stays if `keep` is given. `wrap` prints an offset unsigned where RZ is left out. Where nothing is left stands
//! 0x0, or RZ (URZ where that is the register) with `none`, or with `wrap` unless `zero` is given.

use std::collections::HashMap;
use std::fmt;

use crate::bits::Bits;
use crate::float::Float;
use crate::table::{OPCODE_MASK, opcode_bits};
use crate::template;

/// What a field of few bits prints for each code; `None` where no legal instruction has the code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Set {
    /// How the templates call it.
    pub name: Box<str>,
    /// What is printed, code by code: a power of two of them.
    pub strings: Vec<Option<Box<str>>>,
}

impl Set {
    /// How many bits a field has that prints it.
    pub fn width(&self) -> u32 {
        self.strings.len().trailing_zeros()
    }
}

/// A field and the number of the set that it prints.
pub type Listed = template::Listed<u32>;

/// The inside of a memory operand.
pub type Memory = template::Memory<u32>;

/// What stands at one place of a form's text.
pub type Piece = template::Piece<Box<str>, u32, Box<Memory>>;

/// The words that share one template.
#[derive(Clone, Debug)]
pub struct Form {
    /// A word belongs to the form if it has `value` under `mask`, and no earlier form of the opcode took it.
    pub mask: u128,
    /// The bits under `mask`.
    pub value: u128,
    /// Bits that an assembler sets where the text does not say.
    pub rest: u128,
    /// The template.
    pub pieces: Vec<Piece>,
    /// What comments before the form say of it.
    pub remark: Option<Box<str>>,
    /// Where the table has it.
    pub line: Line,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Line {
    /// The file's name.
    pub file: Box<str>,
    /// The line, from 1.
    pub number: usize,
}

/// A line that is no part of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// Where it is.
    pub line: Line,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line.file, self.line.number, self.message)
    }
}

impl std::error::Error for BadLine {}

/// A table that was read.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Its sets.
    pub sets: Vec<Set>,
    /// Its forms.
    pub forms: Vec<Form>,
    /// The bits of an opcode whose codes are learned apart.
    pub splits: HashMap<usize, Bits>,
    /// For each 13-bit opcode its forms.
    opcodes: HashMap<usize, (u32, u32)>,
    /// The sets by their names, and by what they print.
    names: HashMap<Box<str>, u32>,
    known: HashMap<Vec<Option<Box<str>>>, u32>,
    /// The comments since the last form.
    remarks: Vec<Box<str>>,
}

impl Source {
    /// Reads texts, each with the name of its file: sets before the forms that use them.
    ///
    /// # Errors
    /// A line is not understood.
    pub fn read(texts: &[(&str, &str)]) -> Result<Source, BadLine> {
        let mut source = Source::default();
        for &(file, text) in texts {
            for (number, line) in (1..).zip(text.lines()) {
                let at = Line { file: file.into(), number };
                source.read_line(line, &at).map_err(|message| BadLine { line: at, message })?;
            }
            source.remarks.clear();
        }
        Ok(source)
    }

    /// The number of a set that prints these strings; it is added if there is none.
    pub fn set_of(&mut self, strings: Vec<Option<Box<str>>>) -> u32 {
        let next = self.sets.len() as u32;
        let number = *self.known.entry(strings.clone()).or_insert(next);
        if number == next {
            self.sets.push(Set { name: "".into(), strings });
        }
        number
    }

    /// The forms of an opcode, in the order in which they are tried.
    pub fn forms_of(&self, opcode: usize) -> std::ops::Range<usize> {
        let (first, end) = self.opcodes.get(&opcode).copied().unwrap_or_default();
        first as usize..end as usize
    }

    fn read_line(&mut self, line: &str, at: &Line) -> Result<(), String> {
        let line = line.trim_start();
        if let Some(remark) = line.strip_prefix('#') {
            self.remarks.push(remark.trim().into());
            return Ok(());
        }
        let remarks = std::mem::take(&mut self.remarks);
        if line.is_empty() {
            return Ok(());
        }
        match line.split_once(' ') {
            Some(("set", rest)) => self.read_set_line(rest),
            Some(("split", rest)) => self.read_split(rest).ok_or_else(|| "this is no split".to_owned()),
            Some(("form", rest)) => self.read_form(rest, &remarks, at),
            _ => Err("neither a set nor a form nor a split".to_owned()),
        }
    }

    fn read_set_line(&mut self, rest: &str) -> Result<(), String> {
        let unread = || "this is no set: a name, a width, strings".to_owned();
        let (name, rest) = rest.split_once(' ').ok_or_else(unread)?;
        let (width, strings) = rest.split_once(' ').ok_or_else(unread)?;
        let width: u32 = width.parse().ok().filter(|&it| it <= 16).ok_or_else(unread)?;
        let strings = read_strings(strings).ok_or_else(unread)?;
        if strings.len() != 1 << width {
            return Err(format!("a field of {width} bits has {} codes, not {}", 1 << width, strings.len()));
        }
        let number = self.sets.len() as u32;
        if let Some(&same) = self.known.get(&strings) {
            return Err(format!("the set {} prints the same", self.sets[same as usize].name));
        }
        if self.names.insert(name.into(), number).is_some() {
            return Err(format!("there is another set {name}"));
        }
        self.known.insert(strings.clone(), number);
        self.sets.push(Set { name: name.into(), strings });
        Ok(())
    }

    fn read_split(&mut self, rest: &str) -> Option<()> {
        let (opcode, bits) = rest.split_once(' ')?;
        self.splits.insert(read_opcode(opcode)?, bits.parse().ok()?);
        Some(())
    }

    fn read_form(&mut self, rest: &str, remarks: &[Box<str>], at: &Line) -> Result<(), String> {
        let (head, template) = rest.split_once(" : ").ok_or("a form has a template behind ` : `")?;
        let mut head = head.split(' ');
        let opcode = head.next().and_then(read_opcode).ok_or("a form begins with an opcode of 13 bits")?;
        let mut form = Form {
            mask: OPCODE_MASK,
            value: opcode_bits(opcode),
            rest: 0,
            pieces: self.read_template(template)?,
            remark: (!remarks.is_empty()).then(|| remarks.join("\n").into()),
            line: at.clone(),
        };
        for condition in head {
            let unread = || format!("{condition} is no condition: bits=0xvalue");
            let (bits, value) = condition.split_once("=0x").ok_or_else(unread)?;
            let value = u128::from_str_radix(value, 16).map_err(|_| unread())?;
            if bits == "rest" {
                form.rest = value;
                continue;
            }
            let bits: Bits = bits.parse().map_err(|()| unread())?;
            form.mask |= bits.mask();
            form.value = bits.put(form.value, value as u64);
        }
        let number = self.forms.len() as u32;
        let (_, end) = self.opcodes.entry(opcode).or_insert((number, number));
        if *end != number {
            return Err(format!("other forms of {opcode:#x} do not stand just before this one"));
        }
        *end += 1;
        self.forms.push(form);
        Ok(())
    }

    fn read_template(&self, template: &str) -> Result<Vec<Piece>, String> {
        let mut pieces = Vec::new();
        let mut text = String::new();
        let mut rest = template;
        while let Some(first) = rest.chars().next() {
            if let Some(after) = rest.strip_prefix("{{").or_else(|| rest.strip_prefix("}}")) {
                text.push(first);
                rest = after;
            } else if let Some(after) = rest.strip_prefix('{') {
                let (inside, after) = after.split_once('}').ok_or("a field does not end")?;
                if !text.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut text).into()));
                }
                let piece = self.read_piece(inside);
                pieces
                    .push(piece.ok_or_else(|| format!("{{{inside}}} is no field, or its set is not known"))?);
                rest = after;
            } else {
                text.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
        if !text.is_empty() {
            pieces.push(Piece::Text(text.into()));
        }
        Ok(pieces)
    }

    fn read_set(&self, name: &str, bits: &str) -> Option<Listed> {
        let &set = self.names.get(name)?;
        let bits: Bits = bits.parse().ok()?;
        (self.sets[set as usize].width() == bits.width()).then_some(Listed { set, bits })
    }

    fn read_piece(&self, inside: &str) -> Option<Piece> {
        if let Some(parts) = inside.strip_prefix("mem").filter(|it| it.is_empty() || it.starts_with(' ')) {
            let mut memory = Memory {
                register: None,
                suffix: None,
                uniform: None,
                offset: None,
                shift: 0,
                signed: true,
                keep: false,
                wrap: false,
                none: false,
            };
            for part in parts.split_whitespace() {
                match part.split_once('@') {
                    Some((sign @ ("o" | "p"), bits)) => {
                        let (bits, shift) = read_shift(bits)?;
                        (memory.offset, memory.shift) = (Some(bits), shift);
                        memory.signed = sign == "o";
                    }
                    Some((name, bits)) => {
                        let (term, name) = name.split_once(':')?;
                        let field = Some(self.read_set(name, bits)?);
                        match term {
                            "r" => memory.register = field,
                            "s" => memory.suffix = field,
                            "u" => memory.uniform = field,
                            _ => return None,
                        }
                    }
                    None if part == "keep" => memory.keep = true,
                    None if part == "wrap" => (memory.wrap, memory.none) = (true, true),
                    None if part == "none" => memory.none = true,
                    None if part == "zero" => memory.none = false,
                    None => return None,
                }
            }
            return Some(Piece::Memory(Box::new(memory)));
        }
        let (name, bits) = inside.split_once('@')?;
        if let Some(format) = Float::ALL.into_iter().find(|it| it.name() == name) {
            let bits: Bits = bits.parse().ok()?;
            return (bits.width() == format.width()).then_some(Piece::Float { bits, format });
        }
        match name {
            "hex" | "shex" => {
                let (bits, shift) = read_shift(bits)?;
                Some(Piece::Hex { bits, shift, signed: name == "shex" })
            }
            "rel" => {
                let (bits, shift) = read_shift(bits)?;
                Some(Piece::Relative { bits, shift })
            }
            _ => self.read_set(name, bits).map(Piece::Set),
        }
    }

    /// Everything that may stand as the mnemonic of a form: the letters and digits behind the guard, up to the first
    /// dot or blank.
    pub fn mnemonics_of(&self, form: usize) -> Vec<Box<str>> {
        let mut heads = vec![String::new()];
        for piece in &self.forms[form].pieces {
            let options: Vec<&str> = match piece {
                Piece::Text(text) => vec![text],
                Piece::Set(Listed { set, .. }) => {
                    let strings = &self.sets[*set as usize].strings;
                    let mut options: Vec<&str> = strings.iter().flatten().map(|it| &**it).collect();
                    if options.iter().any(|it| it.starts_with('@')) {
                        continue;
                    }
                    options.sort_unstable();
                    options.dedup();
                    options
                }
                _ => break,
            };
            heads =
                heads.iter().flat_map(|head| options.iter().map(move |it| format!("{head}{it}"))).collect();
            if heads.iter().all(|it| it.contains(['.', ' '])) || heads.len() > 256 {
                break;
            }
        }
        heads.sort_unstable();
        heads.dedup();
        heads.iter().map(|it| it.split(['.', ' ']).next().unwrap_or("").into()).collect()
    }
}

fn read_opcode(text: &str) -> Option<usize> {
    usize::from_str_radix(text.strip_prefix("0x")?, 16).ok().filter(|&it| it < 8192)
}

fn read_shift(bits: &str) -> Option<(Bits, u8)> {
    let (bits, shift) = bits.split_once("<<").unwrap_or((bits, "0"));
    Some((bits.parse().ok()?, shift.parse().ok().filter(|&it| it < 16)?))
}

/// The strings of a `set` line.
fn read_strings(text: &str) -> Option<Vec<Option<Box<str>>>> {
    let mut strings = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (word, after): (Option<String>, &str) = if let Some(after) = rest.strip_prefix('"') {
            let end = after.find('"')?;
            (Some(after[..end].to_string()), &after[end + 1..])
        } else {
            let end = rest.find([' ', '*']).unwrap_or(rest.len());
            (Some(rest[..end].to_string()).filter(|it| it != "_"), &rest[end..])
        };
        let (times, after) = match after.strip_prefix('*') {
            Some(after) => {
                let end = after.find(' ').unwrap_or(after.len());
                (after[..end].parse::<usize>().ok()?, &after[end..])
            }
            None => (1, after),
        };
        if times > 1 << 16 || strings.len() > 1 << 16 {
            return None;
        }
        match word.as_deref().and_then(read_range) {
            Some((before, first, last, behind)) => {
                strings.extend((first..=last).map(|it| Some(format!("{before}{it}{behind}").into())));
            }
            None => strings.extend(std::iter::repeat_n(word.map(Into::into), times)),
        }
        rest = after.strip_prefix(' ').unwrap_or(after);
    }
    Some(strings)
}

/// `R{0..254}` taken apart.
fn read_range(word: &str) -> Option<(&str, u32, u32, &str)> {
    let (before, rest) = word.split_once('{')?;
    let (range, behind) = rest.split_once('}')?;
    let (first, last) = range.split_once("..")?;
    Some((before, first.parse().ok()?, last.parse().ok().filter(|&it: &u32| it < 1 << 16)?, behind))
}
