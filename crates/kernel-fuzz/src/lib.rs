//! A differential fuzzer of the engines: random structured kernels, whose memory must be the same whoever runs them.
//!
//! ```text
//! seed --generate--> Kernel: a tree of statements --print--> Case: PTX and a launch --engine--> Outcome
//!                       ▲                                                              interpreter, jit, SASS, silicon
//!                       └──────────────minimise, while the difference stays────────────────────┘
//! ```
//!
//! | module | what it alone knows |
//! | --- | --- |
//! | [`kernel`] | a kernel as a tree of statements; its text |
//! | `frame` | what stands around the statements: registers and their first values, memory, how results are stored |
//! | `vocabulary` | which instructions of the table compute results from registers, and how their operands are drawn |
//! | [`generate`](mod@generate) | random statements: control flow, memory, threads that work together |
//! | [`case`](mod@case) | a kernel as text with its launch and the contents of memory; the file of a finding |
//! | [`engine`] | running a case on the machine, interpreted and compiled |
//! | [`sass`] | running it as SASS of our own ptxas, without a GPU |
//! | [`registers`](mod@registers) | whether its debug information says where registers are |
//! | [`silicon`] | running it on a GPU; assembling it by NVIDIA's ptxas at two levels |
//! | [`remote`] | a GPU behind a process, which a kernel may ruin |
//! | [`minimise`](mod@minimise) | the smallest kernel for which something still holds |
//!
//! # Why results are determined
//! A difference is a finding only if the kernel means one thing. Therefore threads write places of their own, or cells that only one
//! associative and commutative operation is done to, with its result unused; they read what nobody writes, or what others
//! wrote before a barrier. Indices are masked, loops count. Barriers stand where the whole CTA comes by, warp operations where
//! whole warps do, and shuffles ask lanes that exist. Instructions are drawn from the instruction table, with all modifiers.
//! Statements keep these laws one by one, so that a kernel with some of them left out keeps them too.
//!
//! Kernels use only some kinds of statements each, so that what an engine refuses does not hide what it compiles, and so that
//! kinds meet in all mixtures (Groce et al., "Swarm testing", 2012).

pub mod case;
pub mod engine;
mod frame;
pub mod generate;
pub mod kernel;
pub mod minimise;
pub mod registers;
pub mod remote;
pub mod sass;
pub mod silicon;
mod vocabulary;

pub use case::Case;
pub use engine::{Engines, Outcome};
pub use generate::{FEWEST, STATEMENTS, generate};
pub use kernel::Kernel;
pub use minimise::minimise;
pub use remote::Remote;
