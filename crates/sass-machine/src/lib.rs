//! SASS of sm_90, executed on the host: what the cubins of our own [compiler](../../ptxas/src/lib.rs) and of our own assembly
//! compute, where there is no GPU. docs/sass-machine.md says what is executed.
//!
//! ```text
//! cubin ──image──▶ Program: kernels as words, variables, constants
//!                     │ Loaded: variables have addresses, relocations are carried out
//!                  decode: a word to a Step, by its text in the table of `sass`
//!                     │
//!                  grid ──▶ cta: warps in turn, barriers ──▶ warp: lanes at one place together ──▶ Step: compute | memory | collective
//! ```
//!
//! A launch is functional, where an instruction's result is there for the next one, or timed, where control codes are honoured: a result is
//! there after its latency or its scoreboard, and a dependence that a control code breaks is named.
//!
//! A vendor's binaries are not its input: what they contain is theirs, and was compiled under terms that may not allow to execute it
//! elsewhere. A cubin whose tool note does not name our assembler is refused unless the caller says that the code is their own.

mod access;
mod bulk;
mod chosen;
mod cluster;
mod collective;
mod cta;
mod decode;
mod fault;
mod grid;
mod groups;
mod image;
mod lanes;
mod mbarrier;
mod memory;
mod operand;
mod product;
mod registers;
mod sparsity;
mod step;
mod system;
mod tensor;
mod texture;
mod timing;
mod touched;
mod warp;
mod warpgroup;

pub use chosen::{BYTES, Grid, Resident};
pub use fault::{Fault, FaultKind};
pub use grid::{Broken, Launch, Loaded, Outcome};
pub use image::{Program, Refused};
pub use mbarrier::Completion;
pub use registers::LANES;
pub use touched::{Memory, Touched, Way};
