//! The notation in which operands get their names: which are written, how many registers they are.
//!
//! What an operand is to its instruction follows from the mnemonic and holds for all architectures. A line each:
//! - `width NAME N [PATTERN=N]...` says how many registers an operand has: the first pattern that the instruction's words
//!   have decides, or else the number behind the name. N may be a sum's name, less another number, each perhaps divided: `s-s/2`, one at least.
//! - `width NAME ones&MASK`: as many as ones are left of the number that is an operand by itself, one at least.
//! - `sum NAME PATTERN=N...` is what the patterns add up to that the words have.
//! - `operands MNEMONIC... : NAME... = NAME...` names the operands in their order, those before `=` are written. A mnemonic may have
//!   several lines; the first with places for all of a form's operands holds.
//! - `flow KIND MNEMONIC...` says where control goes: `branch`, `leave` or `wait` (for scoreboards).
//! - `#` begins a comment.
//!
//! A name is `a`: a register of any kind, a constant or a number; `@p`: a predicate; `[a]`: an address; `#b`: a barrier of the CTA; `%p`: all
//! predicates that the mask in the last operand has; `$a`: a uniform register; `_`: something that names no register. `a:N` has N registers, `a:WIDTH` as many as a width says, `a:N!` only at a multiple of N, `a?` may be left
//! out, `+a` is read and written, `<a` only read although it stands with those that are
//! written. `...` is anything to the end.
//!
//! A pattern `.A.B|C` are words that follow one another in this order, though not at once; `*` in a word is any text, and `{n}` a number, by which
//! `n`, `n/2` and so on may stand behind the `=`. Words are the modifiers, and then those of operands that are no registers.

use std::collections::HashMap;

use crate::source::{BadLine, Line};

/// What a name in a line stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A register, a constant or a number.
    Value,
    /// A predicate.
    Predicate,
    /// An address.
    Address,
    /// A barrier of the CTA.
    Barrier,
    /// All predicates of a mask.
    Predicates,
    /// A uniform register.
    Uniform,
    /// Something without registers.
    Nothing,
    /// Anything to the end.
    Rest,
}

/// How many registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Count {
    /// Always as many.
    Fixed(u8),
    /// As a width says.
    Width(Box<str>),
}

/// An operand's name in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Its name.
    pub name: Box<str>,
    /// What may stand there.
    pub kind: Kind,
    /// How many registers it has.
    pub count: Count,
    /// It may be left out.
    pub optional: bool,
    /// It stands at a multiple of its width.
    pub aligned: bool,
    /// It is read.
    pub read: bool,
    /// It is written.
    pub written: bool,
}

/// A line about mnemonics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The operands in their order.
    pub roles: Vec<Role>,
    /// Where it stands.
    pub line: Line,
}

/// Where control goes behind an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Flow {
    /// To the next one.
    #[default]
    Next,
    /// To its target.
    Branch,
    /// To a place that the instruction does not name, or to none.
    Leave,
    /// To the next one, when the scoreboards that it names are clear.
    Wait,
}

/// Words of which an instruction has one of each list.
type Pattern = Vec<Vec<Box<str>>>;

/// Numbers by patterns.
type Cases<T> = Vec<(Pattern, T)>;

/// How many registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Width {
    /// By the words of an instruction: by the first pattern that they have.
    Words {
        /// If they have none.
        otherwise: Number,
        /// The patterns.
        cases: Cases<Number>,
    },
    /// As many as ones are left of the operand that is a number, if these bits are kept.
    Ones(u64),
}

/// A number of registers: the first term less the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number(Vec<Term>);

/// A part of a number, divided.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    of: Quantity,
    divisor: i32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Quantity {
    Fixed(i32),
    /// What stands for `{n}` in the pattern.
    Matched,
    Sum(Cases<i32>),
}

/// Facts about mnemonics.
#[derive(Clone, Debug, Default)]
pub struct Roles {
    signatures: HashMap<Box<str>, Vec<Signature>>,
    widths: HashMap<Box<str>, Width>,
    sums: HashMap<Box<str>, Cases<i32>>,
    flows: HashMap<Box<str>, Flow>,
}

impl Roles {
    /// Reads a text.
    ///
    /// # Errors
    /// A line is not understood.
    pub fn read(file: &str, text: &str) -> Result<Roles, BadLine> {
        let mut roles = Roles::default();
        for (number, line) in (1..).zip(text.lines()) {
            let at = Line { file: file.into(), number };
            roles.read_line(line.trim(), &at).map_err(|message| BadLine { line: at, message })?;
        }
        Ok(roles)
    }

    /// The lines about a mnemonic.
    pub fn of(&self, mnemonic: &str) -> &[Signature] {
        self.signatures.get(mnemonic).map_or(&[], Vec::as_slice)
    }

    /// Where control goes.
    pub fn flow(&self, mnemonic: &str) -> Flow {
        self.flows.get(mnemonic).copied().unwrap_or_default()
    }

    /// The mnemonics that are told of.
    pub fn mnemonics(&self) -> impl Iterator<Item = &str> {
        self.signatures.keys().chain(self.flows.keys()).map(|it| &**it)
    }

    /// A width by its name: [`Roles::read`] has seen that there is one.
    pub fn width(&self, name: &str) -> Option<&Width> {
        self.widths.get(name)
    }

    fn read_line(&mut self, line: &str, at: &Line) -> Result<(), String> {
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let (what, rest) = line.split_once(' ').ok_or("neither a width nor a sum nor operands nor a flow")?;
        match what {
            "width" => {
                let (name, rest) = rest.split_once(' ').ok_or("a width has a name and a number")?;
                let width = self.read_width(rest)?;
                let before = self.widths.insert(name.into(), width);
                if before.is_some() { Err(format!("there is another width {name}")) } else { Ok(()) }
            }
            "sum" => {
                let (name, rest) = rest.split_once(' ').ok_or("a sum has a name and patterns")?;
                let cases = rest.split_whitespace().map(|part| {
                    let (pattern, number) = read_case(part)?;
                    Ok((pattern, number.parse().map_err(|_| unread(part))?))
                });
                let before = self.sums.insert(name.into(), cases.collect::<Result<_, String>>()?);
                if before.is_some() { Err(format!("there is another sum {name}")) } else { Ok(()) }
            }
            "flow" => {
                let (kind, names) = rest.split_once(' ').ok_or("a flow has a kind and mnemonics")?;
                let flow = match kind {
                    "branch" => Flow::Branch,
                    "leave" => Flow::Leave,
                    "wait" => Flow::Wait,
                    _ => return Err(format!("{kind} is no kind of flow: branch, leave, wait")),
                };
                self.flows.extend(names.split_whitespace().map(|it| (it.into(), flow)));
                Ok(())
            }
            "operands" => {
                let (names, rest) = rest.split_once(':').ok_or("mnemonics, a colon, operands")?;
                let signature = Signature { roles: self.read_roles(rest)?, line: at.clone() };
                for name in names.split_whitespace() {
                    self.signatures.entry(name.into()).or_default().push(signature.clone());
                }
                Ok(())
            }
            _ => Err(format!("{what} is neither width nor sum nor operands nor flow")),
        }
    }

    fn read_roles(&self, text: &str) -> Result<Vec<Role>, String> {
        let (written, read) = text.split_once('=').unwrap_or(("", text));
        let written = written.split_whitespace().map(|word| self.read_role(word, true));
        let read = read.split_whitespace().map(|word| self.read_role(word, false));
        written.chain(read).collect()
    }

    fn read_role(&self, word: &str, written: bool) -> Result<Role, String> {
        let (both, rest) = word.strip_prefix('+').map_or((false, word), |rest| (true, rest));
        let (written, rest) = rest.strip_prefix('<').map_or((written, rest), |rest| (false, rest));
        let (optional, rest) = rest.strip_suffix('?').map_or((false, rest), |rest| (true, rest));
        let bracketed = rest.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let (kind, rest) = match (rest, rest.as_bytes().first()) {
            ("_", _) => (Kind::Nothing, "_"),
            ("...", _) => (Kind::Rest, "..."),
            (_, Some(b'@')) => (Kind::Predicate, &rest[1..]),
            (_, Some(b'#')) => (Kind::Barrier, &rest[1..]),
            (_, Some(b'%')) => (Kind::Predicates, &rest[1..]),
            (_, Some(b'$')) => (Kind::Uniform, &rest[1..]),
            (_, Some(b'[')) => (Kind::Address, bracketed.ok_or("a bracket does not end")?),
            _ => (Kind::Value, rest),
        };
        let (aligned, rest) = rest.strip_suffix('!').map_or((false, rest), |rest| (true, rest));
        let (name, count) = match rest.split_once(':') {
            None => (rest, Count::Fixed(1)),
            Some((name, count)) => match count.parse() {
                Ok(count) => (name, Count::Fixed(count)),
                Err(_) if self.widths.contains_key(count) => (name, Count::Width(count.into())),
                Err(_) => return Err(format!("there is no width {count} before this line")),
            },
        };
        if name.is_empty() {
            return Err(format!("{word} has no name"));
        }
        let (read, written) = (!written || both, written || both);
        Ok(Role { name: name.into(), kind, count, optional, aligned, read, written })
    }
}

impl Roles {
    fn read_width(&self, text: &str) -> Result<Width, String> {
        if let Some(mask) = text.strip_prefix("ones&0x") {
            return u64::from_str_radix(mask, 16).map(Width::Ones).map_err(|_| unread(text));
        }
        let mut parts = text.split_whitespace();
        let otherwise = self.read_number(parts.next().unwrap_or(""))?;
        let cases = parts.map(|part| {
            let (pattern, number) = read_case(part)?;
            Ok((pattern, self.read_number(number)?))
        });
        Ok(Width::Words { otherwise, cases: cases.collect::<Result<_, String>>()? })
    }

    /// `4`, `n`, `n/2`, `s-s/2`.
    fn read_number(&self, text: &str) -> Result<Number, String> {
        let terms = text.split('-').map(|term| {
            let (of, divisor) = term.split_once('/').unwrap_or((term, "1"));
            let of = match (of, self.sums.get(of)) {
                ("n", _) => Quantity::Matched,
                (_, Some(sum)) => Quantity::Sum(sum.clone()),
                _ => Quantity::Fixed(of.parse().map_err(|_| unread(text))?),
            };
            let divisor = divisor.parse().ok().filter(|&it| it > 0).ok_or_else(|| unread(text))?;
            Ok(Term { of, divisor })
        });
        terms.collect::<Result<_, String>>().map(Number)
    }
}

fn unread(part: &str) -> String {
    format!("{part} is no part of a width")
}

/// `.A.B|C=4` as the pattern and what stands behind `=`.
fn read_case(part: &str) -> Result<(Pattern, &str), String> {
    let (pattern, number) = part.split_once('=').ok_or_else(|| unread(part))?;
    let pattern = pattern.strip_prefix('.').ok_or_else(|| unread(part))?;
    let words = |it: &str| it.split('|').map(Into::into).collect();
    Ok((pattern.split('.').map(words).collect(), number))
}

impl Width {
    /// Whether a word matters for it.
    pub fn cares_for(&self, word: &str) -> bool {
        let Width::Words { otherwise, cases } = self else { return false };
        let numbers = cases.iter().map(|it| &it.1).chain([otherwise]);
        let summed = numbers.flat_map(|it| &it.0).filter_map(|term| match &term.of {
            Quantity::Sum(cases) => Some(cases.iter().map(|it| &it.0)),
            _ => None,
        });
        let mut all = cases.iter().map(|it| &it.0).chain(summed.flatten()).flatten().flatten();
        all.any(|pattern| matches(pattern, word).is_some())
    }

    /// How many registers an instruction with these words has there, and this number as an operand.
    pub fn of(&self, words: &[&str], number: u64) -> u8 {
        match self {
            Width::Ones(mask) => (number & mask).count_ones().max(1) as u8,
            Width::Words { otherwise, cases } => {
                let found = cases.iter().find_map(|(pattern, number)| {
                    found(pattern, words).map(|matched| number.value(words, matched))
                });
                found.unwrap_or_else(|| otherwise.value(words, None))
            }
        }
    }
}

impl Number {
    fn value(&self, words: &[&str], matched: Option<u32>) -> u8 {
        let term = |term: &Term| {
            let whole = match &term.of {
                Quantity::Fixed(number) => *number,
                Quantity::Matched => matched.and_then(|it| it.try_into().ok()).unwrap_or(0),
                Quantity::Sum(cases) => {
                    let has = cases.iter().filter(|(pattern, _)| found(pattern, words).is_some());
                    has.map(|(_, number)| number).sum()
                }
            };
            whole / term.divisor
        };
        let mut terms = self.0.iter().map(term);
        let value = terms.next().unwrap_or(0) - terms.sum::<i32>();
        let least = i32::from(self.0.iter().any(|term| matches!(term.of, Quantity::Sum(_))));
        value.clamp(least, u8::MAX.into()) as u8
    }
}

/// Whether words have one of each list of a pattern, in order; with the number in the place of `{n}`, if there is one.
fn found(pattern: &Pattern, words: &[&str]) -> Option<Option<u32>> {
    let mut number = None;
    let mut words = words.iter();
    let has = |any: &Vec<Box<str>>| {
        let found = words.find_map(|word| any.iter().find_map(|pattern| matches(pattern, word)));
        number = found.flatten().or(number);
        found.is_some()
    };
    pattern.iter().all(has).then_some(number)
}

/// Whether a word is as a pattern says, and the number in the place of `{n}` if there is one.
fn matches(pattern: &str, word: &str) -> Option<Option<u32>> {
    let (pattern, open) = pattern.strip_suffix('*').map_or((pattern, false), |it| (it, true));
    let ends = |rest: &str| open || rest.is_empty();
    match pattern.split_once("{n}") {
        None => word.strip_prefix(pattern).filter(|rest| ends(rest)).map(|_| None),
        Some((before, after)) => {
            let rest = word.strip_prefix(before)?;
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let number = rest[..digits].parse().ok()?;
            rest[digits..].strip_prefix(after).filter(|rest| ends(rest)).map(|_| Some(number))
        }
    }
}
