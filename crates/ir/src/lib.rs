//! A checked PTX function as a control-flow graph, with the analyses that engines build on.
//!
//! ```text
//! ptx::module::Body --lower--> Function --Cfg::new--> Cfg --+-- dominators, reconvergence points
//!                                                           +-- Liveness --intervals--> allocate_slots
//!                                                           +-- Shapes
//!                                                           +-- Ssa --+-- pass
//! ```
//!
//! | file | question it answers |
//! | --- | --- |
//! | `instruction`, `operand` | what is an instruction, with its operands and modifiers by name |
//! | `rounding` | which rounding does a modifier say |
//! | `choice` | which types and constants of `numerics` does an instruction say |
//! | `exchange` | which operands of an instruction can be exchanged |
//! | `lanewise` | what does an instruction compute, lane by lane |
//! | `inline` | what are kernels with the code of what they call |
//! | `lower` | which typed instruction is one of PTX |
//! | `print`, `parse` | how is an instruction, or a function, written as text |
//! | `cfg` | where can control go, and which instructions run one after another |
//! | `dominance`, `joins` | which blocks does every path pass through; where do definitions meet |
//! | `liveness` | where does a register's value still matter |
//! | `live_ranges` | what is live before each instruction, how much at once, and what behind a barrier |
//! | `loops`, `induction` | which blocks are loops; what do they count, and how far |
//! | `analysis` | all of that, as notes for people |
//! | `arms` | which branches can be executed without one |
//! | `slots` | which registers can share storage |
//! | `shuffle` | which lane does a shuffle read |
//! | `shape` | which values are equal, or a fixed step apart, in all lanes |
//! | `shape/converged` | the same, and what is the same in a CTA or the grid, where lanes run together |
//! | `pointers` | which parameters of a kernel are addresses |
//! | `progress` | which functions wait for other threads, or part lanes that must meet |
//! | `ssa` | which definition does a use read |
//! | `pass` | what can be folded, shared or left out before an engine sees it |
//! | `signature`, `verify` | which form of the table is a typed instruction; is a function in either form sound |
//!
//! The input is a checked module, so handles are in range and operands stand where the instruction table says. Nothing
//! here panics on one, and everything is near-linear in the size of the body: a kernel of 100,000 instructions must not
//! be felt when its module is loaded.

pub mod analysis;
pub mod arms;
mod cfg;
pub mod choice;
pub mod dominance;
pub mod exchange;
pub mod induction;
pub mod inline;
#[macro_use]
pub mod instruction;
mod joins;
pub mod lanewise;
pub mod live_ranges;
mod liveness;
pub mod loops;
mod lower;
pub mod operand;
mod parse;
pub mod pass;
pub mod pointers;
mod print;
pub mod progress;
mod rounding;
pub mod shape;
pub mod shuffle;
mod signature;
mod slots;
pub mod ssa;
mod verify;

pub use cfg::{Block, BlockId, Cfg, Exit};
pub use instruction::{Access, Instruction, Op};
pub use liveness::{Interval, Liveness};
pub use lower::Function;
pub use parse::TextError;
pub use print::Notation;
pub use rounding::Rounds;
pub use shape::converged::Converged;
pub use shape::{Group, LaneOrder, Shape, Shapes};
pub use slots::{Slots, allocate_slots};
pub use ssa::Ssa;
pub use verify::Violation;
