//! Control codes: when an instruction may be issued. At `-O0` nothing overlaps ([`serial`]); above that what depends on nothing
//! need not wait ([`overlapped`]). The check of hazards in `cuasm` judges both.

mod overlapped;
mod serial;

use crate::allocate::Allocation;
use crate::code::{Code, Instruction, Line};

/// How much is done for speed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// Each instruction waits for the one before it.
    #[default]
    Serial,
    /// An instruction waits for what it needs.
    Overlapped,
}

/// The control code of each line, in cuasm's spelling; of a label nothing.
pub(crate) fn controls(level: Level, code: &Code, allocation: &Allocation) -> Vec<String> {
    match level {
        Level::Serial => {
            let of = |line: &Line| match line {
                Line::Label(_) => String::new(),
                Line::Instruction(one) => serial::control(name(&one.name)).to_owned(),
            };
            code.lines.iter().map(of).collect()
        }
        Level::Overlapped => overlapped::controls(code, allocation),
    }
}

/// Whether an instruction does nothing but write its results.
pub(crate) fn is_pure(one: &Instruction) -> bool {
    one.written > 0 && overlapped::is_pure(one)
}

/// A mnemonic with its modifiers, without the bits that no text shows.
fn name(name: &str) -> &str {
    name.split(' ').next().unwrap_or(name)
}

/// The mnemonic alone.
fn head(name: &str) -> &str {
    name.split(['.', ' ']).next().unwrap_or(name)
}
