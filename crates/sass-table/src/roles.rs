//! The notation in which operands get their names: which are written, how many registers they are.
//!
//! What an operand is to its instruction follows from the mnemonic and holds for all architectures. A line each:
//! - `width NAME N [PATTERN=N]...` says how many registers an operand has: the first pattern that the instruction's words
//!   have decides, or else the number behind the name.
//! - `operands MNEMONIC... : NAME... = NAME...` names the operands in their order, those before `=` are written. A mnemonic may have
//!   several lines; the first with places for all of a form's operands holds.
//! - `flow KIND MNEMONIC...` says where control goes: `branch`, `leave` or `wait` (for scoreboards).
//! - `#` begins a comment.
//!
//! A name is `a`: a register of any kind, a constant or a number; `@p`: a predicate; `[a]`: an address; `#b`: a barrier of the CTA; `%p`: all
//! predicates that the mask in the last operand has; `_`: something that names no register. `a:N` has N registers, `a:WIDTH` as many as a width says, `a:N!` only at a multiple of N, `a?` may be left
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

/// How many registers, by the words of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Width {
    otherwise: u8,
    cases: Vec<(Pattern, Box<str>)>,
}

/// Facts about mnemonics.
#[derive(Clone, Debug, Default)]
pub struct Roles {
    signatures: HashMap<Box<str>, Vec<Signature>>,
    widths: HashMap<Box<str>, Width>,
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
        let (what, rest) = line.split_once(' ').ok_or("neither a width nor operands nor a flow")?;
        match what {
            "width" => {
                let (name, rest) = rest.split_once(' ').ok_or("a width has a name and a number")?;
                let width = Width::read(rest)?;
                let before = self.widths.insert(name.into(), width);
                if before.is_some() { Err(format!("there is another width {name}")) } else { Ok(()) }
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
            _ => Err(format!("{what} is neither width nor operands nor flow")),
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

impl Width {
    fn read(text: &str) -> Result<Width, String> {
        let mut parts = text.split_whitespace();
        let unread = |part: &str| format!("{part} is no part of a width");
        let otherwise = parts.next().and_then(|it| it.parse().ok()).ok_or_else(|| unread(text))?;
        let mut cases = Vec::new();
        for part in parts {
            let (pattern, count) = part.split_once('=').ok_or_else(|| unread(part))?;
            let pattern = pattern.strip_prefix('.').ok_or_else(|| unread(part))?;
            let words = |it: &str| it.split('|').map(Into::into).collect();
            if value(count, Some(8)).is_none() {
                return Err(unread(part));
            }
            cases.push((pattern.split('.').map(words).collect(), count.into()));
        }
        Ok(Width { otherwise, cases })
    }

    /// Whether a word matters for it.
    pub fn cares_for(&self, word: &str) -> bool {
        let mut all = self.cases.iter().flat_map(|it| it.0.iter().flatten());
        all.any(|pattern| matches(pattern, word).is_some())
    }

    /// How many registers an instruction with these words has there.
    pub fn of(&self, words: &[&str]) -> u8 {
        let found = self.cases.iter().find_map(|(pattern, count)| {
            let mut number = None;
            let mut words = words.iter();
            let has = |any: &Vec<Box<str>>| {
                let found = words.find_map(|word| any.iter().find_map(|pattern| matches(pattern, word)));
                number = found.flatten().or(number);
                found.is_some()
            };
            if pattern.iter().all(has) { value(count, number) } else { None }
        });
        found.unwrap_or(self.otherwise)
    }
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

/// `4`, `n`, `n/2`.
fn value(text: &str, number: Option<u32>) -> Option<u8> {
    let (first, divisor) = text.split_once('/').unwrap_or((text, "1"));
    let first: u32 = if first == "n" { number? } else { first.parse().ok()? };
    u8::try_from(first.checked_div(divisor.parse().ok()?)?).ok()
}
