//! A debugger for kernels on the virtual GPU, forwards and backwards.
//!
//! ```text
//! Program ──Engine, on a thread──▶ launch, instruction by instruction ──Monitor──▶ Stop
//!    ▲                                        │                                     │
//!    └────────── checkpoints, execution anew ─┘        Session: breakpoints, focus, steps, backwards
//!                                                              ▲                    ▲
//!                                                    Console: commands          Adapter: DAP
//! ```
//!
//! A launch on one host thread under a fixed scheduler repeats itself exactly. So the number of instructions that were
//! issued before is the name of a moment, going back is executing again up to an earlier moment, and what holds there, the
//! whole launch holds still for. Faults are told the same way: the launch is executed again up to the instruction that faults.
//!
//! | file | what it knows |
//! | --- | --- |
//! | `program` | the launch, and global memory at its beginning |
//! | `engine` | the launch on a thread of its own; moments, checkpoints, stops |
//! | `history` | what was before: checkpoints, assignments |
//! | `plan` | what a launch is to run to; steps of a thread |
//! | `monitor` | whether a goal is reached: the observer of the launch |
//! | `ctas`, `watched` | what it keeps: how far CTAs are; memory that is watched |
//! | `session` | the state machine: forwards and backwards |
//! | `focus` | the thread that is looked at, of whatever CTA has threads |
//! | `assign` | what is assigned, to memory and registers |
//! | `breakpoints` | breakpoints and watchpoints |
//! | `target` | places that breakpoints name |
//! | `symbols` | what names stand for |
//! | `frames` | the calls around a thread, inlined ones among them |
//! | `expression`, `evaluate`, `operators`, `value` | expressions, their values, and how these are written |
//! | `output` | what the kernel prints, once |
//! | `console` | commands as text: a thin face of a session |
//! | [`dap`] | the Debug Adapter Protocol: another one |
//! | [`attached`] | the launches of a program, in its process |
//! | [`files`] | where source texts are looked for |
//!
//! Nothing here reads paths but `files`, for whoever has no other [`Sources`].

mod assign;
pub mod attached;
mod breakpoints;
mod console;
mod ctas;
pub mod dap;
mod engine;
mod evaluate;
mod expression;
pub mod files;
mod focus;
mod frames;
mod history;
mod monitor;
mod operators;
mod output;
mod plan;
mod program;
mod session;
mod symbols;
mod target;
mod value;
mod watched;

pub use breakpoints::{Breakpoint, Watchpoint};
pub use console::{COMMANDS, Command, Console, Reply, Sources};
pub use engine::{Blocks, Execute, Issued, Reason, Stop, Worker};
pub use evaluate::Scene;
pub use expression::{Expression, TypeName, parse};
pub use focus::Focus;
pub use frames::CallFrame;
pub use output::Printed;
pub use plan::{Calls, Unit, WatchKind};
pub use program::{Grid, Program};
pub use session::{Outcome, Session, Stops};
pub use symbols::Symbols;
pub use target::Target;
pub use value::{Format, Ty, Value, Where};

/// Why something cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An expression that has no value, or is none.
    #[error("{0}")]
    Expression(String),
    /// A command that cannot be followed now.
    #[error("{0}")]
    Command(String),
    /// Device memory.
    #[error(transparent)]
    Memory(#[from] machine::memory::MemoryError),
    /// The thread of the launch cannot be started.
    #[error("the launch cannot be started: {0}")]
    Thread(#[from] std::io::Error),
    /// The thread of the launch is gone.
    #[error("the launch is gone")]
    Gone,
}
