//! What kernels ask the driver through the device runtime (CUDA programming guide, "Dynamic Parallelism"). The machine
//! runs what they launch; here is what it does not know: limits that the program has set, attributes, who watches.

use crate::context::Context;
use crate::health::Health;
use crate::limits::{Limit, Limits};
use crate::module::Function;
use machine::observe::Observer;
use machine::system::{GraphAnswer, GraphStream, KernelAttributes, NodeChange, RunGrid, System};
use machine::{Device, Kernel, Launch};
use sanitizer::Host;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The graph that a kernel is in, as the kernel may use it.
pub(crate) trait EnclosingGraph: Sync {
    /// The handle of the graph, if kernels may launch it.
    fn current(&self) -> u64;
    /// A kernel of the graph launches the one with a handle.
    fn launch(&self, context: &Context, handle: u64, stream: GraphStream) -> GraphAnswer;
}

/// The driver behind a launch of the host's.
pub(crate) struct DeviceRuntime<'a> {
    function: &'a Function,
    /// The limits of its context.
    limits: &'a Limits,
    health: &'a Health,
    /// The graph that the kernel is in.
    graph: Option<&'a dyn EnclosingGraph>,
    /// A debugger, which watches the grid that begins first, and the others if it says so.
    observer: Option<&'a dyn Observer>,
    /// Where on the host it was asked for.
    host: Option<&'a Host>,
    begun: AtomicBool,
    /// The host threads of a launch that is checked on several, and whether what it has done was undone.
    spread: Option<(&'a Device, usize)>,
    undone: AtomicBool,
}

impl<'a> DeviceRuntime<'a> {
    /// Of a launch of a function, in a graph or not.
    pub(crate) fn new(
        function: &'a Function,
        limits: &'a Limits,
        health: &'a Health,
        graph: Option<&'a dyn EnclosingGraph>,
    ) -> Self {
        let (begun, undone) = Default::default();
        Self { function, limits, health, graph, observer: None, host: None, begun, spread: None, undone }
    }

    /// The same of a launch that is checked on so many host threads. Where that finds anything [it is undone](Self::is_undone).
    pub(crate) fn spread_over(self, device: &'a Device, threads: usize) -> Self {
        Self { spread: Some((device, threads)).filter(|(_, threads)| *threads > 1), ..self }
    }

    /// Whether the launch is as if it had not been, and is to run again on one host thread.
    pub(crate) fn is_undone(&self) -> bool {
        self.undone.load(Ordering::Relaxed)
    }

    /// The same of a launch that was asked for at a place on the host.
    pub(crate) fn asked_at(self, host: Option<&'a Host>) -> Self {
        Self { host, ..self }
    }

    /// The same where somebody watches the grid that the host has launched.
    pub(crate) fn with_observer(self, observer: Option<&'a dyn Observer>) -> Self {
        Self { observer, ..self }
    }
}

/// The limits that kernels may ask for, numbered as `cudaLimit` numbers them. A depth of kernels that wait for others is
/// not among them, since on devices with compute capability 9.0 none can wait.
fn limit(number: u32) -> Option<Limit> {
    Some(match number {
        0 => Limit::Stack,
        1 => Limit::Printf,
        2 => Limit::Heap,
        4 => Limit::PendingLaunches,
        5 => Limit::L2Granularity,
        6 => Limit::PersistingL2,
        _ => return None,
    })
}

impl DeviceRuntime<'_> {
    fn context(&self) -> Option<Arc<Context>> {
        self.function.module().context().ok()
    }

    fn entry(&self, kernel: Kernel<'_>) -> Option<Arc<Function>> {
        self.function.module().function(kernel.name()).ok()
    }
}

impl System for DeviceRuntime<'_> {
    fn admits(&self, launch: &Launch<'_>) -> bool {
        let threads = launch.block.iter().product::<u32>();
        self.entry(launch.kernel).is_some_and(|function| {
            launch.dynamic_shared <= function.max_dynamic_shared() && threads <= function.max_threads()
        })
    }

    fn observes(&self) -> bool {
        self.observer.is_some() || self.health.checking().is_some()
    }

    fn watch(&self, launch: &Launch<'_>, run: &mut RunGrid<'_>) {
        if let Some(observer) = self.observer {
            let first = !self.begun.swap(true, Ordering::Relaxed);
            return drop(run(Some(observer).filter(|observer| first || observer.follows_children())));
        }
        let Some(checking) = self.health.checking() else { return drop(run(None)) };
        let watch = checking.begin(launch, self.host);
        let found = self.health.found();
        let fault = match self.spread {
            None => run(Some(&watch)),
            Some((device, threads)) => {
                let spread = watch.spread(device, threads);
                let whole = spread.is_some_and(|spread| {
                    let fault = run(Some(&spread));
                    spread.settle(fault.is_none())
                });
                self.undone.store(!whole, Ordering::Relaxed);
                None
            }
        };
        found.into_iter().for_each(|found| found.compare(&watch));
        checking.end(watch, fault.as_ref());
    }

    fn pending_launches(&self) -> usize {
        let most = self.limits.get(Limit::PendingLaunches);
        usize::try_from(most).unwrap_or(usize::MAX)
    }

    fn device(&self) -> (u32, u32) {
        let device = self.context().map(|context| Arc::clone(context.device()));
        device.map_or((0, 0), |device| (device.ordinal() as u32, device.process().devices as u32))
    }

    fn attribute(&self, attribute: u32) -> Option<i32> {
        let context = self.context()?;
        let device = context.device();
        device.process().settings.attribute.and_then(|of| of(device.profile(), device.ordinal(), attribute))
    }

    fn limit(&self, number: u32) -> Option<u64> {
        limit(number).map(|limit| self.limits.get(limit))
    }

    fn kernel(&self, kernel: Kernel<'_>) -> KernelAttributes {
        let function = self.entry(kernel);
        let function = function.as_deref();
        let local = function.and_then(Function::usage).map_or(0, |usage| usage.local);
        KernelAttributes {
            shared: kernel.static_shared().into(),
            constant: function.map_or(0, Function::constant_bytes),
            local: local.into(),
            threads: function.map_or(0, Function::max_threads),
            registers: function.map_or(0, Function::registers),
            target: function.map_or(0, Function::sm).into(),
        }
    }

    fn resident_ctas(&self, kernel: Kernel<'_>, threads: u32, dynamic_shared: u32) -> u32 {
        let (context, function) = (self.context(), self.entry(kernel));
        context
            .zip(function)
            .map_or(0, |(context, function)| context.fitting_blocks(&function, threads, dynamic_shared))
    }

    fn current_graph(&self) -> u64 {
        self.graph.map_or(0, |graph| graph.current())
    }

    fn launch_graph(&self, handle: u64, stream: GraphStream) -> GraphAnswer {
        let (Some(graph), Some(context)) = (self.graph, self.context()) else {
            return GraphAnswer::Refused;
        };
        if handle == 0 {
            return GraphAnswer::Refused;
        }
        graph.launch(&context, handle, stream)
    }

    fn change_nodes(&self, changes: &[NodeChange]) -> GraphAnswer {
        self.context().map_or(GraphAnswer::Refused, |context| context.change_nodes(changes))
    }
}
