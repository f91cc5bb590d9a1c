//! What device code asks, through the functions of the device runtime, of what stands around its grid: of the family of grids
//! that launch one another, and of the system, if there is one.

use crate::order::{InOrder, Stream};
use ptx::module::FuncId;

/// Bytes of a buffer for parameters: the most that a grid launched by another can have.
pub(crate) const BUFFER: u32 = 4096;

/// A grid to be launched, as device code describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) kernel: FuncId,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) dynamic_shared: u32,
}

/// Rows of bytes in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) address: u64,
    /// From the beginning of one row to the next, and from one slice of rows to the next.
    pub(crate) pitch: u64,
    pub(crate) slice: u64,
}

/// Why something cannot be launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The machine or the system does not take it.
    Configuration,
    /// Too much is pending.
    Pending,
    /// There is no memory, or too many streams or events.
    Resources,
    /// A stream, an event or a buffer that is not there.
    Handle,
    /// It cannot be run at all, and with it the launching grid.
    Fatal,
}

/// What stands around a grid that may launch others.
pub(crate) trait DeviceRuntime: Sync {
    /// The kernel that a code address names.
    fn kernel(&self, address: u64) -> Option<FuncId>;
    /// A buffer for parameters, of what is launched if that is known already.
    fn buffer(&self, request: Option<Request>) -> Result<u64, Refusal>;
    /// Launches a grid with the parameters in a buffer, which is then free.
    fn launch(&self, request: Option<Request>, buffer: u64, stream: Stream) -> Result<(), Refusal>;
    /// Copies, or fills with a value if there is nothing to copy.
    fn move_bytes(
        &self,
        to: Rows,
        from: Option<Rows>,
        value: u8,
        extent: [u64; 3],
        stream: Stream,
    ) -> Result<(), Refusal>;
    /// Where a text is in memory.
    fn text(&self, text: &'static str) -> Result<u64, Refusal>;
    /// A new stream of this grid.
    fn make_stream(&self) -> Result<u64, Refusal>;
    /// Whether it is a stream of this grid.
    fn has_stream(&self, handle: u64) -> bool;
    /// Forgets a stream; what was launched there goes on.
    fn destroy_stream(&self, handle: u64) -> Result<(), Refusal>;
    /// A new event, which was not recorded yet.
    fn make_event(&self) -> Result<u64, Refusal>;
    /// Forgets an event.
    fn destroy_event(&self, handle: u64) -> Result<(), Refusal>;
    /// Lets an event name the place behind all that is in a stream.
    fn record(&self, event: u64, stream: InOrder) -> Result<(), Refusal>;
    /// Lets what is launched into a stream come after that place.
    fn wait(&self, event: u64, stream: InOrder) -> Result<(), Refusal>;
    /// Which of the devices it is, and how many there are; `None` if there is no system, which could not answer the rest.
    fn device(&self) -> Option<(u32, u32)>;
    /// An attribute of the device.
    fn attribute(&self, attribute: u32) -> Option<i32>;
    /// A limit.
    fn limit(&self, limit: u32) -> Option<u64>;
    /// What is known of a kernel.
    fn attributes(&self, kernel: FuncId) -> Option<KernelAttributes>;
    /// CTAs of so many threads that a multiprocessor holds, each with so much dynamic shared memory.
    fn resident_ctas(&self, kernel: FuncId, threads: u32, dynamic_shared: u32) -> Option<u32>;
    /// Launches the graph with a handle.
    fn launch_graph(&self, graph: u64, stream: GraphStream) -> Option<GraphAnswer>;
    /// Changes what kernel nodes of graphs do from now on: all of them, or none if one is refused.
    fn change_nodes(&self, changes: &[NodeChange]) -> Option<GraphAnswer>;
}

/// What came of the launch of a graph, or of changes of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphAnswer {
    /// The graph will run; the nodes are changed.
    Done,
    /// The graph may not be launched from here, or not so often; a node cannot be changed so.
    Refused,
    /// A handle that names no graph that kernels can launch, or no node that they can change.
    Unknown(u64),
}

/// A change of a kernel node (`cudaGraphKernelNodeUpdate`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeChange {
    /// The node's handle.
    pub node: u64,
    /// What changes.
    pub field: NodeField,
}

/// What of a kernel node changes (`cudaGraphKernelNodeField`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeField {
    /// The CTAs of its grid.
    Grid([u32; 3]),
    /// Bytes of its parameters.
    Parameters {
        /// Where they begin.
        offset: u64,
        /// What they become.
        bytes: Vec<u8>,
    },
    /// Whether it does anything.
    Enabled(bool),
}

/// Where kernels launch graphs to (CUDA programming guide, "Device Launch Modes").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphStream {
    /// At once; the launching graph is complete when it is.
    FireAndForget,
    /// When the launching graph, and all that it has fired, is complete.
    Tail,
    /// At once, as if what has launched the launching graph had launched it.
    Sibling,
}

/// What `cudaFuncGetAttributes` tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelAttributes {
    /// Bytes of shared memory of its variables.
    pub shared: u64,
    /// Bytes of constant memory of its module.
    pub constant: u64,
    /// Bytes of local memory of a thread.
    pub local: u64,
    /// The most threads of a CTA.
    pub threads: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// The target of its PTX and that of its code, compute capability times ten.
    pub target: u32,
}
