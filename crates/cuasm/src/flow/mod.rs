//! What instructions do to one another: control flow, registers read and written, latencies, broken dependences.

pub(crate) mod counts;
pub(crate) mod effects;
pub(crate) mod graph;
pub(crate) mod hazards;
pub(crate) mod latency;
mod pending;

pub use graph::dot;
