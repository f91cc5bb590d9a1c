//! The description of an instruction set, from which everything else follows: forms, each a template over fields.
//!
//! A table is text (`isa/*.sass`), a line each:
//! - `set NAME WIDTH STRING...` lists what a field of WIDTH bits prints, code by code. `_` is a code that no legal
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
use std::sync::OnceLock;

use crate::bits::Bits;
use crate::float::Float;
use crate::trie::Trie;

/// What a field of few bits prints for each code; `None` where no legal instruction has the code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Set {
    pub(crate) width: u32,
    pub(crate) strings: Vec<Option<Box<str>>>,
}

/// The inside of a memory operand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Memory {
    pub(crate) register: Option<(u32, Bits)>,
    pub(crate) suffix: Option<(u32, Bits)>,
    pub(crate) uniform: Option<(u32, Bits)>,
    pub(crate) offset: Option<Bits>,
    pub(crate) shift: u8,
    pub(crate) signed: bool,
    pub(crate) keep: bool,
    pub(crate) wrap: bool,
    pub(crate) none: bool,
}

/// What stands at one place of a form's text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Piece {
    Text(Box<str>),
    Set { set: u32, bits: Bits },
    Hex { bits: Bits, shift: u8, signed: bool },
    Relative { bits: Bits, shift: u8 },
    Float { bits: Bits, format: Float },
    Memory(Box<Memory>),
}

impl Piece {
    /// The bits of the word that the piece shows.
    fn mask(&self) -> u128 {
        match self {
            Piece::Text(_) => 0,
            Piece::Set { bits, .. }
            | Piece::Hex { bits, .. }
            | Piece::Relative { bits, .. }
            | Piece::Float { bits, .. } => bits.mask(),
            Piece::Memory(memory) => {
                let sets = [memory.register, memory.suffix, memory.uniform];
                let bits = sets.into_iter().flatten().map(|(_, bits)| bits).chain(memory.offset);
                bits.fold(0, |mask, bits| mask | bits.mask())
            }
        }
    }
}

/// The words that share one template.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    /// A word belongs to the form if it has `value` under `mask` and no earlier form of the opcode took it.
    pub(crate) mask: u128,
    pub(crate) value: u128,
    /// Bits that an assembler sets where the text does not say.
    pub(crate) rest: u128,
    pub(crate) pieces: Vec<Piece>,
    /// For each piece the bits of those behind it.
    pub(crate) later: Vec<u128>,
    /// The pieces whose set lacks some codes.
    pub(crate) partial: Vec<(u32, Bits)>,
}

/// All forms of an architecture.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) sets: Vec<Set>,
    /// For each set its strings by their letters, made when it is first asked for.
    tries: Vec<OnceLock<Trie>>,
    pub(crate) forms: Vec<Form>,
    /// For each 13-bit opcode its forms.
    opcodes: Vec<(u32, u32)>,
    /// The forms that a mnemonic may be.
    pub(crate) mnemonics: HashMap<Box<str>, Vec<u32>>,
    /// The bits of an opcode whose codes are learned apart.
    pub(crate) splits: HashMap<usize, Bits>,
}

/// The 13-bit opcode: bit 91 above bits 11-0.
pub(crate) fn opcode(word: u128) -> usize {
    (word as usize & 0xfff) | ((word >> 91) as usize & 1) << 12
}

/// The bits of the 13-bit opcode in the word.
pub(crate) fn opcode_bits(opcode: usize) -> u128 {
    (opcode as u128 & 0xfff) | (opcode as u128 >> 12) << 91
}

pub(crate) const OPCODE_MASK: u128 = 0xfff | 1 << 91;

impl Table {
    /// The form of a word, if the word is legal.
    #[inline]
    pub(crate) fn form_of(&self, word: u128) -> Option<u32> {
        let &(first, end) = self.opcodes.get(opcode(word))?;
        let at = (first..end).find(|&at| {
            let form = &self.forms[at as usize];
            word & form.mask == form.value
        })?;
        let form = &self.forms[at as usize];
        form.partial
            .iter()
            .all(|(set, bits)| self.sets[*set as usize].strings[bits.get(word) as usize].is_some())
            .then_some(at)
    }

    /// The word of a form, with bits that nothing settles changed so that no form before it takes the word.
    pub(crate) fn past_earlier(&self, at: u32, mut word: u128, known: u128) -> u128 {
        let first = self.forms_of(opcode(word)).start;
        for earlier in self.forms.get(first..at as usize).unwrap_or_default() {
            if word & earlier.mask == earlier.value {
                let free = earlier.mask & !known;
                word ^= free & free.wrapping_neg();
            }
        }
        word
    }

    /// The forms of an opcode, in the order in which they are tried.
    pub(crate) fn forms_of(&self, opcode: usize) -> std::ops::Range<usize> {
        let (first, end) = self.opcodes[opcode];
        first as usize..end as usize
    }

    /// The strings of a set by their letters.
    pub(crate) fn trie(&self, set: u32) -> &Trie {
        self.tries[set as usize]
            .get_or_init(|| Trie::new(self.sets[set as usize].strings.iter().map(Option::as_deref)))
    }

    /// Reads a table; the message names the line.
    pub(crate) fn read(text: &str) -> Result<Table, String> {
        let mut table = Table { opcodes: vec![(0, 0); 8192], ..Table::default() };
        let mut names = HashMap::new();
        for (number, line) in text.lines().enumerate() {
            table
                .read_line(line, &mut names)
                .ok_or_else(|| format!("line {}: not understood: {line}", number + 1))?;
        }
        for at in 0..table.forms.len() {
            for name in table.mnemonics_of(at) {
                let forms = table.mnemonics.entry(name).or_default();
                if forms.last() != Some(&(at as u32)) {
                    forms.push(at as u32);
                }
            }
        }
        Ok(table)
    }

    /// Adds a set; its number.
    pub(crate) fn add(&mut self, set: Set) -> u32 {
        self.sets.push(set);
        self.tries.push(OnceLock::new());
        self.sets.len() as u32 - 1
    }

    fn read_line(&mut self, line: &str, names: &mut HashMap<String, u32>) -> Option<()> {
        let line = line.trim_start();
        if let Some(rest) = line.strip_prefix("set ") {
            let (name, rest) = rest.split_once(' ')?;
            let (width, strings) = rest.split_once(' ')?;
            let width: u32 = width.parse().ok().filter(|&it| it <= 16)?;
            let strings = read_strings(strings)?;
            if strings.len() != 1 << width {
                return None;
            }
            names.insert(name.to_string(), self.sets.len() as u32);
            self.add(Set { width, strings });
        } else if let Some(rest) = line.strip_prefix("split ") {
            let (opcode, bits) = rest.split_once(' ')?;
            self.splits.insert(read_opcode(opcode)?, bits.parse().ok()?);
        } else if let Some(rest) = line.strip_prefix("form ") {
            let (head, template) = rest.split_once(" : ")?;
            let mut head = head.split(' ');
            let opcode = read_opcode(head.next()?)?;
            let mut form = Form {
                mask: OPCODE_MASK,
                value: opcode_bits(opcode),
                rest: 0,
                pieces: self.read_template(template, names)?,
                later: Vec::new(),
                partial: Vec::new(),
            };
            let mut later = 0;
            for piece in form.pieces.iter().rev() {
                form.later.push(later);
                later |= piece.mask();
            }
            form.later.reverse();
            for condition in head {
                let (bits, value) = condition.split_once('=')?;
                let value = u128::from_str_radix(value.strip_prefix("0x")?, 16).ok()?;
                if bits == "rest" {
                    form.rest = value;
                    continue;
                }
                let bits: Bits = bits.parse().ok()?;
                form.mask |= bits.mask();
                form.value = bits.put(form.value, value as u64);
            }
            for piece in &form.pieces {
                if let &Piece::Set { set, bits } = piece
                    && self.sets[set as usize].strings.iter().any(|it| it.is_none())
                {
                    form.partial.push((set, bits));
                }
            }
            let at = self.forms.len() as u32;
            let range = &mut self.opcodes[opcode];
            if range.1 != at || range.0 == range.1 {
                if range.0 != range.1 {
                    return None;
                }
                *range = (at, at);
            }
            range.1 = at + 1;
            self.forms.push(form);
        } else if !line.is_empty() && !line.starts_with('#') {
            return None;
        }
        Some(())
    }

    fn read_template(&self, template: &str, names: &HashMap<String, u32>) -> Option<Vec<Piece>> {
        let mut pieces = Vec::new();
        let mut text = String::new();
        let mut rest = template;
        while let Some(first) = rest.chars().next() {
            if let Some(after) = rest.strip_prefix("{{").or_else(|| rest.strip_prefix("}}")) {
                text.push(first);
                rest = after;
            } else if let Some(after) = rest.strip_prefix('{') {
                let (inside, after) = after.split_once('}')?;
                if !text.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut text).into()));
                }
                pieces.push(self.read_piece(inside, names)?);
                rest = after;
            } else {
                text.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
        if !text.is_empty() {
            pieces.push(Piece::Text(text.into()));
        }
        Some(pieces)
    }

    fn read_set(&self, name: &str, bits: &str, names: &HashMap<String, u32>) -> Option<(u32, Bits)> {
        let &set = names.get(name)?;
        let bits: Bits = bits.parse().ok()?;
        (self.sets[set as usize].width == bits.width()).then_some((set, bits))
    }

    fn read_piece(&self, inside: &str, names: &HashMap<String, u32>) -> Option<Piece> {
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
                        let field = Some(self.read_set(name, bits, names)?);
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
            _ => {
                let (set, bits) = self.read_set(name, bits, names)?;
                Some(Piece::Set { set, bits })
            }
        }
    }

    /// Everything that may stand as the mnemonic of a form: the letters and digits behind the guard, up to the first
    /// dot or blank.
    fn mnemonics_of(&self, form: usize) -> Vec<Box<str>> {
        let mut heads = vec![String::new()];
        for piece in &self.forms[form].pieces {
            let options: Vec<&str> = match piece {
                Piece::Text(text) => vec![text],
                Piece::Set { set, .. } => {
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

impl Float {
    /// The name of the format in a template.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Float::F16 => "f16",
            Float::Bf16 => "bf16",
            Float::F32 => "f32",
            Float::F64High => "f64h",
        }
    }
}
