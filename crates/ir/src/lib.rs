//! A checked PTX function as a control-flow graph, with the analyses that engines build on.
//!
//! ```text
//! ptx::module::Body --Cfg::new--> Cfg --+-- dominators, reconvergence points
//!                                       +-- Liveness --intervals--> allocate_slots
//!                                       +-- Shapes
//! ```
//!
//! | `instruction`, `operand` | what is an instruction, with its operands and modifiers by name |
//! | `lower` | which typed instruction is one of PTX |
//! | file | question it answers |
//! | --- | --- |
//! | `cfg` | where can control go, and which instructions run one after another |
//! | `dominance` | which blocks does every path pass through |
//! | `access` | which registers does an instruction read and write |
//! | `liveness` | where does a register's value still matter |
//! | `slots` | which registers can share storage |
//! | `shape` | which values are equal, or a fixed step apart, in all lanes |
//!
//! The input is a checked module, so handles are in range and operands stand where the instruction table says. Nothing
//! here panics on one, and everything is near-linear in the size of the body: a kernel of 100,000 instructions must not
//! be felt when its module is loaded.

mod cfg;
mod dominance;
pub mod instruction;
mod liveness;
mod lower;
pub mod operand;
mod parse;
mod print;
mod shape;
mod slots;

pub use cfg::{Block, BlockId, Cfg, Exit};
pub use instruction::{Access, Instruction, Op};
pub use liveness::{Interval, Liveness};
pub use lower::Function;
pub use print::Notation;
pub use shape::{LaneOrder, Shape, Shapes};
pub use slots::{Slots, allocate_slots};
