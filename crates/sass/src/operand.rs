//! What an instruction names, for control flow and dependences: read off its text, so that it holds for every form.
//!
//! The text says which registers stand where. It does not say which of them are written and how wide they are.

use std::fmt;

use crate::instruction::Instruction;

/// A thing that an operand names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Name {
    /// `R5`; RZ is not named.
    Register(u8),
    /// `UR5`; URZ is not named.
    Uniform(u8),
    /// `P2`; PT is not named.
    Predicate(u8),
    /// `UP2`; UPT is not named.
    UniformPredicate(u8),
    /// `B3`, a convergence barrier.
    Barrier(u8),
    /// `SB3`, a scoreboard.
    Scoreboard(u8),
    /// `c[bank][offset]`; without offset if a register takes part in it.
    Constant(u8, Option<i32>),
}

/// A name and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// What is named.
    pub name: Name,
    /// Which operand of the text it belongs to: 0 is the first behind the mnemonic. `None` is the guard.
    pub index: Option<u8>,
    /// It stands in brackets: part of an address or a descriptor.
    pub bracketed: bool,
    /// It is `.64` there: a pair of registers.
    pub pair: bool,
    /// Its byte in the text of [`Instruction::print`].
    pub at: usize,
}

impl Instruction {
    /// The text up to the first blank behind the guard: mnemonic and modifiers, as in `IMAD.WIDE.U32`.
    pub fn head(text: &str) -> &str {
        let text = if text.starts_with('@') { text.split_once(' ').map_or("", |it| it.1) } else { text };
        text.split(' ').next().unwrap_or("")
    }

    /// Everything that the text names, in its order. `text` is what [`Instruction::print`] gave.
    pub fn operands(text: &str) -> Operands<'_> {
        let guarded = text.starts_with('@');
        Operands { text, at: 0, index: None, in_guard: guarded, seen_head: false, depth: 0 }
    }
}

/// The iterator of [`Instruction::operands`].
#[derive(Clone)]
pub struct Operands<'a> {
    text: &'a str,
    at: usize,
    index: Option<u8>,
    in_guard: bool,
    seen_head: bool,
    depth: u32,
}

impl fmt::Debug for Operands<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

impl Iterator for Operands<'_> {
    type Item = Operand;

    fn next(&mut self) -> Option<Operand> {
        let text = self.text.as_bytes();
        while let Some(&byte) = text.get(self.at) {
            let at = self.at;
            match byte {
                b' ' if self.in_guard => self.in_guard = false,
                b' ' if !self.seen_head => (self.seen_head, self.index) = (true, Some(0)),
                b',' => self.index = self.index.map(|it| it.saturating_add(1)),
                b'[' => self.depth += 1,
                b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            if !byte.is_ascii_alphanumeric() {
                self.at += 1;
                continue;
            }
            let len = text[at..].iter().take_while(|it| it.is_ascii_alphanumeric() || **it == b'_').count();
            self.at += len;
            let modifier = at > 0 && (text[at - 1] == b'.' || text[at - 1] == b'?');
            if modifier || !(self.seen_head || self.in_guard) {
                continue;
            }
            let word = &self.text[at..at + len];
            let name = match word {
                "c" if text.get(self.at) == Some(&b'[') => self.constant(),
                _ => name_of(word),
            };
            if let Some(name) = name {
                return Some(Operand {
                    name,
                    index: self.index,
                    bracketed: self.depth > 0,
                    pair: self.text[at + len..].starts_with(".64"),
                    at,
                });
            }
        }
        None
    }
}

impl Operands<'_> {
    /// The bank and offset behind a `c`.
    fn constant(&self) -> Option<Name> {
        let rest = &self.text[self.at..];
        let (bank, rest) = rest.strip_prefix("[0x")?.split_once(']')?;
        let offset = rest.trim_start().strip_prefix('[')?.split(']').next()?;
        let (sign, digits) = offset.strip_prefix('-').map_or((1, offset), |it| (-1, it));
        let offset =
            digits.strip_prefix("0x").and_then(|it| i32::from_str_radix(it, 16).ok()).map(|it| sign * it);
        Some(Name::Constant(u8::from_str_radix(bank, 16).ok()?, offset))
    }
}

fn name_of(word: &str) -> Option<Name> {
    let digits = word.find(|c: char| c.is_ascii_digit())?;
    let number: u8 = word[digits..].parse().ok()?;
    Some(match &word[..digits] {
        "R" => Name::Register(number),
        "UR" => Name::Uniform(number),
        "P" => Name::Predicate(number),
        "UP" => Name::UniformPredicate(number),
        "B" => Name::Barrier(number),
        "SB" => Name::Scoreboard(number),
        _ => return None,
    })
}
