//! The PTX memory consistency model: what a litmus test may do, and why.
//!
//! ```text
//! dialect, from_ptx ──▶ Program ──unfold──▶ partial executions ◀──search── choices: reads-from, Fence-SC, coherence
//!                                                 │
//!                     model/*.model ──plan──▶ consistency ──▶ answer: verdict, outcomes, race, liveness
//!                                                                          │
//!                                            checker ◀── execution or proof ┘
//! ```
//!
//! The model is not code: it is relations in files, read by [`language`] and compiled by [`plan`]. [`facts`] gives the base
//! relations of an execution, whoever made it: a litmus test here, or a trace of real kernels later. [`checker`] knows the
//! axioms a second time, and verifies every answer.
//!
//! `docs/memory-model.md` has the definitions, their sources, and the differences between the models.

pub mod answer;
mod barrier;
pub mod catalogue;
pub mod certificate;
pub mod checker;
mod consistency;
pub mod cpp;
pub mod definitions;
pub mod dialect;
pub mod draw;
pub mod event;
pub mod explain;
pub mod facts;
pub mod from_kernel;
pub mod from_ptx;
pub mod generate;
pub mod histogram;
pub mod interleaving;
pub mod judge;
pub mod kernel;
pub mod language;
pub mod layout;
pub mod model;
pub mod mutants;
pub mod once;
pub mod plan;
pub mod program;
pub mod relation;
mod replay;
pub mod search;
mod symmetry;
mod text;
mod unfold;
