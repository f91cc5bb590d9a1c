//! From LLVM's text to machine code.

mod compile;
mod library;

pub(crate) use compile::{Object, available};
pub use library::NoLlvm;
