//! Control codes: when an instruction may be issued. At `-O0` nothing overlaps ([`serial`]); above that what depends on nothing
//! need not wait ([`overlapped`]). The check of hazards in `cuasm` judges both.

mod kept;
mod kinds;
mod overlapped;
mod serial;

use crate::allocate::Allocation;
use crate::code::{Code, Line};
use sass::Control;

pub(crate) use kept::place;
pub(crate) use kinds::{Latency, NOBODYS_LOAD, Pipe, Weight, guard_cycles, is_pure, latency, weight};

/// How much is done for speed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// Each instruction waits for the one before it.
    #[default]
    Serial,
    /// An instruction waits for what it needs.
    Overlapped,
}

/// When a line is issued, and what is behind it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Issue {
    /// The control code; of a label it means nothing.
    pub(crate) control: Control,
    /// Those of `NOP`s behind the line, which wait for what no stall count is long enough for.
    pub(crate) pauses: Vec<Control>,
}

/// When each line is issued.
pub(crate) fn issues(level: Level, code: &Code, allocation: &Allocation) -> Vec<Issue> {
    match level {
        Level::Serial => {
            let of = |line: &Line| match line {
                Line::Label(_) => Issue::default(),
                Line::Instruction(one) => serial::issue(one, code.target),
            };
            code.lines.iter().map(of).collect()
        }
        Level::Overlapped => {
            let mut issues = overlapped::issues(code, allocation);
            kept::keep(code, allocation, &mut issues);
            issues
        }
    }
}
