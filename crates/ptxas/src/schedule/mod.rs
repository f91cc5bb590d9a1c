//! Control codes: when an instruction may be issued. At `-O0` nothing overlaps ([`serial`]); above that what depends on nothing
//! need not wait ([`overlapped`]). The check of hazards in `cuasm` judges both.

mod kinds;
mod overlapped;
mod serial;

use crate::allocate::Allocation;
use crate::code::{Code, Line};

pub(crate) use kinds::{Latency, Weight, is_pure, latency, weight};

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

/// A mnemonic with its modifiers, without the bits that no text shows.
fn name(name: &str) -> &str {
    name.split(' ').next().unwrap_or(name)
}

/// The mnemonic alone.
fn head(name: &str) -> &str {
    name.split(['.', ' ']).next().unwrap_or(name)
}
