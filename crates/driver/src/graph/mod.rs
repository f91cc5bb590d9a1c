//! Graphs: work and its order, described once and launched often (CUDA programming guide, "CUDA Graphs").
//!
//! ```text
//! Graph ── nodes, edges ──instantiate──▶ Exec ── Plan ──launch──▶ Stream ──▶ run: every step when those before it are done
//!   ▲ built by hand, or by stream capture    ▲ updated step by step, or from another graph
//! ```
//!
//! | module | what it alone knows |
//! | --- | --- |
//! | `nodes` | nodes and edges; changing and asking |
//! | `duplicate` | copies of graphs |
//! | [`task`] | what a node does |
//! | `plan` | the steps that are run, and why there may be none |
//! | [`exec`] | instantiation, updates of single nodes |
//! | `difference` | what may become of a node in an update |
//! | [`updatable`] | kernel nodes that kernels change |
//! | [`update`] | updates from another graph |
//! | [`run`] | running a plan: order, independent branches at the same time, conditional bodies |
//! | `environment` | what kernels of a graph launch |
//! | `launch` | launches by the host |
//! | [`memory`] | memory that a graph allocates and frees |
//! | [`user_object`] | what of the program's lives as long as a graph |
//! | [`dot`] | a graph as text for Graphviz |
//!
//! Nodes are shared objects with identities of the process, so that the C libraries may hand them out; a graph alone owns them.
//! A node's identity grows with every node made, which is the order that updates compare graphs by.

mod difference;
pub mod dot;
mod duplicate;
mod environment;
pub mod exec;
mod launch;
pub mod memory;
mod nodes;
mod plan;
pub mod run;
pub mod task;
pub mod updatable;
pub mod update;
pub mod user_object;

pub use difference::Difference;
pub use exec::Exec;
pub use nodes::{Attachment, DEEPEST, Edge, EdgeData, Graph, Node};
pub use plan::{Refusal, RefusalReason};
pub use task::{Condition, Conditional, ConditionalKind, Task, TaskKind};
