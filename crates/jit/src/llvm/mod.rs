//! From LLVM's text to object files.

mod compile;
mod host;
mod library;
mod thread;

pub(crate) use compile::{OPTIONS, compile};
pub(crate) use host::Host;
pub use library::NoLlvm;
pub(crate) use library::{available, opened_file, wish};
