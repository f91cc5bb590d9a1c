//! What instructions do to one another: control flow, broken dependences along it, what a function needs.

pub(crate) mod counts;
pub(crate) mod graph;
pub(crate) mod hazards;

pub use graph::dot;
