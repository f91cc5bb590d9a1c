//! The build-time generator of the instruction table: it reads `crates/ptx/isa/*.isa` and writes Rust.
//!
//! | file | stage |
//! | --- | --- |
//! | `model` | what the table says, as plain data |
//! | `parse` | text of the table to model; every error is `file:line: message` |
//! | `effect` | what a semantic function does beside computing results |
//! | `emit` | model to the Rust source of the enums and static tables |
//!
//! The notation is described in `crates/ptx/isa/README.md`.

pub(crate) mod effect;
pub(crate) mod emit;
pub(crate) mod model;
pub(crate) mod parse;

/// A mistake in the table: where, and what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableError {
    /// File name as given to the parser.
    pub(crate) file: String,
    /// Line, from 1.
    pub(crate) line: usize,
    /// One sentence, lower case.
    pub(crate) message: String,
}

impl std::fmt::Display for TableError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}
