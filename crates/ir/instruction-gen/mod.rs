//! The build-time generator of the typed instructions: it reads the instruction table as any program does, and writes
//! a struct for each semantic function.
//!
//! | file | stage |
//! | --- | --- |
//! | `shape` | which fields an instruction has: modifiers and operands over all forms of its semantic function |
//! | `emit` | these to Rust source |

pub(crate) mod emit;
pub(crate) mod shape;
