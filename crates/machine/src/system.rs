//! What device code asks of more than the machine: of the driver, if there is one.

pub use crate::device_runtime::{GraphAnswer, GraphStream, KernelAttributes, NodeChange, NodeField};

use crate::fault::Fault;
use crate::launch::{Kernel, Launch};
use crate::observe::Observer;

/// Runs a grid, watched or not. What it returns is for who watches.
pub type RunGrid<'r> = dyn FnMut(Option<&dyn Observer>) -> Option<Fault> + 'r;

/// What stands around the machine. Numbers are those of the CUDA runtime's interface for kernels.
pub trait System: Sync {
    /// Whether a kernel may launch this, of which the machine's own checks approve.
    fn admits(&self, launch: &Launch<'_>) -> bool;
    /// Whether [`Self::watch`] may name an observer.
    fn observes(&self) -> bool;
    /// Calls `run` once: a grid runs, either the one that the host has launched or one that it has led to.
    fn watch(&self, launch: &Launch<'_>, run: &mut RunGrid<'_>);
    /// Grids that may be launched and not begun.
    fn pending_launches(&self) -> usize;
    /// Which of the devices it is, and how many there are.
    fn device(&self) -> (u32, u32);
    /// An attribute of a device; `None` if there is no such attribute.
    fn attribute(&self, attribute: u32) -> Option<i32>;
    /// A limit; `None` if there is no such limit.
    fn limit(&self, limit: u32) -> Option<u64>;
    /// What is known of a kernel.
    fn kernel(&self, kernel: Kernel<'_>) -> KernelAttributes;
    /// CTAs of so many threads that a multiprocessor holds, each with so much dynamic shared memory.
    fn resident_ctas(&self, kernel: Kernel<'_>, threads: u32, dynamic_shared: u32) -> u32;
    /// The handle of the graph that a kernel is in, if kernels may launch that graph; otherwise 0.
    fn current_graph(&self) -> u64;
    /// Launches the graph with a handle.
    fn launch_graph(&self, graph: u64, stream: GraphStream) -> GraphAnswer;
    /// Changes what kernel nodes of graphs do from now on: all of them, or none if one is refused.
    fn change_nodes(&self, changes: &[NodeChange]) -> GraphAnswer;
}
