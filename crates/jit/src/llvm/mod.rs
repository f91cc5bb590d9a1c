//! From LLVM's text to object files.

mod compile;
mod ending;
mod host;
mod library;
mod packed;
mod thread;

pub use compile::Effort;
pub(crate) use compile::compile;
pub(crate) use ending::used_here;
pub(crate) use host::{Host, has_masks};
pub use library::{BROUGHT, FUNCTIONS, INITIALISERS, NoLlvm, brought};
pub(crate) use library::{available, opened_file, wish};
pub use packed::Unpacked;
pub(crate) use packed::unpacked;
