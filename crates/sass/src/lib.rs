//! The SASS instruction sets of NVIDIA's GPUs, Turing to Blackwell: 128-bit words to text and back, exactly.
//!
//! One description of each architecture, a table of forms in `isa/`, is read four ways: it decodes and prints, parses
//! and encodes. [`decode`] finds the form of a word; an [`Instruction`] is the word with its form and prints itself;
//! [`parse()`] goes from text to word. Words that the table does not have are for the caller to keep as data.
//!
//! The text is nvdisasm's. What that does not show stands apart: [`Control`] codes in brackets before it, and bits
//! without any text as a residue behind it, so that text to word is exact. docs/sass.md describes all of it, and how
//! the tables were learned.

mod arch;
pub mod control;
pub mod describe;
mod instruction;
mod isa;
mod operand;
mod parse;

pub use arch::{Arch, UnknownArch};
pub use control::{BadControl, Control};
pub use instruction::{Instruction, decode};
pub use operand::{Access, Flow, Guard, Name, Operand};
pub use parse::{Field, NoSymbols, ParseError, RESIDUE, Symbols, parse};
