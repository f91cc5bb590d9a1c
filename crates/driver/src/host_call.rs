//! Calls of the program's functions.

use crate::health::Health;
use crate::operation::Operation;
use machine::Neighbours;
use std::sync::Arc;

/// A function of the program's. It is called as often as a graph that holds it is launched.
#[derive(Clone)]
pub struct HostCall {
    /// What the C library knows the function by.
    pub function: u64,
    /// What the C library knows its argument by.
    pub argument: u64,
    /// Calls it.
    pub call: Arc<dyn Fn() + Send + Sync>,
}

impl Operation for HostCall {
    fn name(&self) -> &'static str {
        "host function"
    }

    fn needs_own_thread(&self) -> bool {
        true
    }

    fn run(self: Box<Self>, _: &Health, _: Option<Neighbours<'_>>) {
        (self.call)();
    }
}
