//! The SASS instruction sets of NVIDIA's GPUs, Turing to Blackwell: 128-bit words to text and back, exactly.
//!
//! One description of each architecture, a table of forms in `isa/`, is read four ways: it decodes and prints, parses
//! and encodes. [`decode`] finds the form of a word; an [`Instruction`] is the word with its form and prints itself;
//! [`parse()`] goes from text to word. Words that the table does not have are for the caller to keep as data.
//!
//! The text is nvdisasm's. What that does not show stands apart: [`Control`] codes in brackets before it, and bits
//! without any text as a residue behind it, so that text to word is exact. docs/sass.md describes all of it, and how
//! the tables were learned.
//!
//! What an instruction does to others stands beside: which registers it reads and writes ([`effects`]), when its results are there
//! ([`latency`]), and which dependences a control code breaks ([`hazards`]).

mod arch;
pub mod control;
pub mod describe;
pub mod device;
pub mod effects;
pub mod hazards;
mod instruction;
mod isa;
pub mod latency;
mod operand;
mod parse;
mod pattern;
mod pending;

pub use arch::{Arch, UnknownArch};
pub use control::{BadControl, Control};
pub use instruction::{Instruction, decode};
pub use operand::{Access, Flow, Guard, Name, Operand, SLOTS};
pub use parse::{Field, NoSymbols, ParseError, RESIDUE, Symbols, parse};
pub use pattern::{Numbers, Pattern, shape};
