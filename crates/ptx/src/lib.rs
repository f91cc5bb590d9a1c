//! The PTX language: the instruction table, lexer, parser, resolution, checks, diagnostics and printer.
//!
//! ```text
//! text --syntax--> ast::Module --resolve, check--> Checked<module::Module> --> ir, machine
//!                  ast::Module --print--> canonical text
//! ```
//!
//! The instruction set stands once, as data, in `crates/ptx/isa/`; the build script turns it into the tables that
//! [`isa`] exposes and that every stage here matches against.

pub mod ast;
pub mod check;
mod compile;
pub mod diagnostic;
pub mod isa;
pub mod module;
pub mod print;
pub mod resolve;
pub mod section;
pub mod source;
pub mod syntax;
pub mod types;

pub use compile::{Compiled, check, compile, explain};
