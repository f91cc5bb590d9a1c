//! Cubins as text that loses nothing, and back: [`disassemble`] and [`assemble`]. docs/cuasm.md describes the text.
//!
//! ```text
//! cubin ──cubin::elf──▶ Elf ──disasm──▶ text ──syntax──▶ statements ──asm──▶ Elf ──cubin::elf──▶ cubin
//!                        │                │
//!                        └─isa: a word ◀──┴─▶ the text of an instruction
//! ```
//!
//! The text says everything that no rule says: offsets, sizes, indices and counts are left out wherever they follow, so
//! that they follow an edit too. The rules stand in [`cubin::elf`] (where things lie in the file), in `defaults` (what
//! section headers refer to) and in `asm` (labels, relocations, attributes with code offsets). What a rule does not
//! give is written down, so every cubin reads back to the same bytes.

mod asm;
pub mod codes;
mod defaults;
mod disasm;
mod flow;
pub mod highlight;
mod info;
mod isa;
mod names;
mod relocations;
mod round_trip;
mod strings;
mod syntax;
mod target;

pub use asm::{Assembled, Options, Program, Wrong, assemble, assemble_with, parameter_offset, parameters_at};
pub use disasm::disassemble;
pub use flow::dot;
pub use round_trip::{Trip, round_trip};

/// Why a file cannot be written as text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// No cubin.
    #[error(transparent)]
    Elf(#[from] cubin::elf::Error),
    /// Something that the text form cannot say.
    #[error("{0}")]
    Form(&'static str),
}
