//! Launches: what is checked before a kernel is submitted, and how it is run.

use crate::check::Checking;
use crate::context::Context;
use crate::debug::Debugging;
use crate::device_runtime::{DeviceRuntime, EnclosingGraph};
use crate::error::{Error, Result};
use crate::health::Health;
use crate::limits::Limits;
use crate::lock;
use crate::module::Function;
use crate::operation::Operation;
use crate::priority::{Gate, LEAST};
use crate::replay::Replay;
use abi::names::demangled;
use machine::{Launch, LaunchError, LaunchOptions, LaunchReport, Neighbours, Time};
use sanitizer::Host;
use std::sync::{Arc, LazyLock};

pub use crate::module::Configuration;

/// Threads of the host. To ask it takes longer than to run a small kernel.
static HOST_THREADS: LazyLock<usize> =
    LazyLock::new(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get));

/// What comes of running a launch.
type Outcome = std::result::Result<LaunchReport, LaunchError>;

/// A launch that has been checked.
#[derive(Clone)]
pub struct PreparedLaunch {
    function: Arc<Function>,
    machine: Arc<machine::Device>,
    configuration: Configuration,
    nonportable_cluster: bool,
    params: Vec<u8>,
    priority: i32,
    overlaps: bool,
    gate: Arc<Gate>,
    limits: Arc<Limits>,
    /// Where on the host it was asked for, if that is to be told.
    host: Option<Host>,
}

impl PreparedLaunch {
    /// What is launched.
    pub fn function(&self) -> &Arc<Function> {
        &self.function
    }

    /// How.
    pub fn configuration(&self) -> Configuration {
        self.configuration
    }

    /// How urgent it is: the lower, the more.
    pub fn priority(&self) -> i32 {
        self.priority
    }

    /// The same with another priority.
    pub fn with_priority(mut self: Arc<Self>, priority: i32) -> Arc<Self> {
        Arc::make_mut(&mut self).priority = priority;
        self
    }

    /// The same, which may begin before the kernel before it in its stream has ended, if that lets it; or may not.
    pub fn with_overlap(mut self: Arc<Self>, overlaps: bool) -> Arc<Self> {
        Arc::make_mut(&mut self).overlaps = overlaps;
        self
    }

    /// A launch of the same kernel in another configuration or with other parameters, as urgent.
    pub(crate) fn changed(&self, configuration: Configuration, params: Vec<u8>) -> Result<Arc<Self>> {
        let context = self.function.module().context()?;
        let made = context.prepare_launch(&self.function, configuration, params)?;
        Ok(made.with_attributes_of(self))
    }

    /// The same, as urgent as another and overlapping if that does.
    pub fn with_attributes_of(self: Arc<Self>, other: &Self) -> Arc<Self> {
        self.with_priority(other.priority).with_overlap(other.overlaps)
    }

    /// Whether it may do so.
    pub fn overlaps(&self) -> bool {
        self.overlaps
    }

    /// The bytes of its parameters.
    pub fn params(&self) -> &[u8] {
        &self.params
    }

    fn launch(&self, params: Vec<u8>) -> Launch<'_> {
        Launch {
            kernel: self.function.kernel(),
            grid: self.configuration.grid,
            block: self.configuration.block,
            cluster: self.configuration.cluster,
            nonportable_cluster: self.nonportable_cluster,
            dynamic_shared: self.configuration.dynamic_shared,
            params,
        }
    }

    /// Runs it, among its neighbours in a stream or as part of a graph.
    pub(crate) fn run(
        &self,
        health: &Health,
        neighbours: Option<Neighbours<'_>>,
        graph: Option<&dyn EnclosingGraph>,
    ) {
        if !health.executes() {
            return;
        }
        let Configuration { grid, block, .. } = self.configuration;
        let name = demangled(self.function.name());
        log::debug!("kernel {name} on {grid:?} blocks of {block:?} threads");
        let _pass = self.gate.enter(self.priority);
        let workspace = if self.configuration.cooperative { Workspace::new(&self.machine) } else { Ok(None) };
        let workspace = match workspace {
            Ok(workspace) => workspace,
            Err(error) => return health.note(Err(error)),
        };
        let launch = self.launch(self.params.clone());
        let _turn = health.turn();
        let debugging = health.debugging(&launch);
        let threads = match health.checking() {
            Some(checking) if debugging.is_some() || graph.is_some() || !self.spreads(checking, &launch) => 1,
            Some(_) | None => *HOST_THREADS,
        };
        let runtime =
            || DeviceRuntime::new(&self.function, &self.limits, health, graph).asked_at(self.host.as_ref());
        let first = runtime().spread_over(&self.machine, threads);
        let options = LaunchOptions {
            threads,
            stack: self.limits.stack(),
            heap: self.limits.heap(),
            grid_workspace: workspace.as_ref().map_or(0, |workspace| workspace.address),
            neighbours,
            asynchrony: health.asynchrony(),
            masks: health.masks(),
            time: Time::Host,
            engine: health.engine(),
            system: Some(&first),
            ..LaunchOptions::default()
        };
        let mut result = match debugging {
            Some(debugging) => self.debug(debugging, &launch, &options, health, graph),
            None => self.launch_checked(&launch, &options, health, graph),
        };
        if first.is_undone() {
            let options = LaunchOptions { threads: 1, system: Some(&runtime()), ..options };
            result = self.launch_checked(&launch, &options, health, graph);
        }
        match result {
            Ok(report) => health.warn(&report.misuses),
            Err(LaunchError::Fault(fault)) => health.fault(&fault),
            Err(error) => health.note(Err(Error::of_launch(&error))),
        }
    }
}

impl PreparedLaunch {
    /// Whether checks let it run on several host threads, and nobody can tell if they have it undone and run again.
    fn spreads(&self, checking: &Checking, launch: &Launch<'_>) -> bool {
        let context = self.function.module().context();
        context.is_ok_and(|context| context.device().process().has_only_device_memory())
            && checking.spreads((&self.machine, *HOST_THREADS), launch)
    }

    /// Lets the machine run it, once more under each schedule that the checks want.
    fn launch_checked(
        &self,
        launch: &Launch<'_>,
        options: &LaunchOptions<'_>,
        health: &Health,
        graph: Option<&dyn EnclosingGraph>,
    ) -> Outcome {
        let before = health.checking().filter(|_| graph.is_none() && !self.overlaps);
        let before = before.and_then(|checking| Replay::prepare(checking, &self.machine, &self.function));
        let result = self.machine.launch(launch, options);
        if let (Some(replay), Ok(report)) = (before, &result) {
            replay.run(launch, options, report);
        }
        result
    }

    /// Lets a debugger run it. What it begins with is the debugger's, what a kernel may ask of the driver the driver's.
    fn debug(
        &self,
        debugging: &dyn Debugging,
        launch: &Launch<'_>,
        own: &LaunchOptions<'_>,
        health: &Health,
        graph: Option<&dyn EnclosingGraph>,
    ) -> Outcome {
        debugging.launch(&self.machine, self.function.module().loaded(), launch, &|launch, wanted| {
            let runtime = DeviceRuntime::new(&self.function, &self.limits, health, graph);
            let runtime = runtime.with_observer(wanted.observer);
            let (stack, heap, grid_workspace) = (own.stack, own.heap, own.grid_workspace);
            let options = LaunchOptions { stack, heap, grid_workspace, system: Some(&runtime), ..*wanted };
            self.machine.launch(launch, &options)
        })
    }
}

impl Operation for Arc<PreparedLaunch> {
    fn name(&self) -> &'static str {
        "launch"
    }

    fn overlaps(&self) -> bool {
        self.overlaps
    }

    fn run(self: Box<Self>, health: &Health, neighbours: Option<Neighbours<'_>>) {
        PreparedLaunch::run(&self, health, neighbours, None);
    }
}

/// What barriers of a whole grid need (`this_grid().sync()` of cooperative groups): the size of the workspace in its
/// first word, in the second the barrier, which counts arrivals and must begin at zero.
struct Workspace {
    machine: Arc<machine::Device>,
    address: u64,
}

impl Workspace {
    /// Bytes, more than compilers are known to use.
    const BYTES: u32 = 64;

    fn new(machine: &Arc<machine::Device>) -> Result<Option<Self>> {
        let address = machine.memory().allocate(Self::BYTES.into())?;
        let workspace = Self { machine: Arc::clone(machine), address };
        machine.memory().write(address, &Self::BYTES.to_le_bytes())?;
        Ok(Some(workspace))
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // It is there: nobody else knows of it.
        let _ = self.machine.memory().free(self.address);
    }
}

impl Context {
    /// Checks a launch.
    pub fn prepare_launch(
        &self,
        function: &Arc<Function>,
        configuration: Configuration,
        params: Vec<u8>,
    ) -> Result<Arc<PreparedLaunch>> {
        self.usable()?;
        if function.module().context()?.id() != self.id() {
            return Err(Error::InvalidContext);
        }
        let limits = function.limits();
        let work = PreparedLaunch {
            function: Arc::clone(function),
            machine: Arc::clone(self.machine()),
            configuration,
            nonportable_cluster: limits.nonportable_cluster,
            params,
            priority: LEAST,
            overlaps: false,
            gate: Arc::clone(self.device().gate()),
            limits: Arc::clone(Context::limits(self)),
            host: self.device().process().checking().and_then(Checking::here),
        };
        let mut checked = lock(&function.checked);
        if *checked != Some(configuration) {
            self.check(&work, function)?;
            *checked = Some(configuration);
        }
        drop(checked);
        Ok(Arc::new(work))
    }

    fn check(&self, work: &PreparedLaunch, function: &Arc<Function>) -> Result<()> {
        let Configuration { grid, block, dynamic_shared, cooperative, cluster } = work.configuration;
        if dynamic_shared > function.max_dynamic_shared() {
            return Err(Error::InvalidValue);
        }
        let threads = block.iter().product();
        if threads > function.stated_threads() {
            return Err(Error::InvalidValue);
        }
        // What was given for parameters has been measured by who gave it; here it only stands for its size.
        let launch = work.launch(vec![0; function.parameter_bytes()]);
        self.machine().check(&launch).map_err(|error| match (error, cluster) {
            (LaunchError::InvalidConfiguration(_), Some(_)) => Error::InvalidClusterSize,
            (error, _) => {
                if let LaunchError::Unsupported(unsupported) = &error {
                    (self.device().process().report)(unsupported);
                }
                Error::of_launch(&error)
            }
        })?;
        if threads > function.max_threads() {
            return Err(Error::LaunchOutOfResources);
        }
        if cooperative {
            let room = self.resident_blocks(function, threads, dynamic_shared);
            let room = room * self.device().profile().multiprocessors;
            if grid.iter().map(|&extent| u64::from(extent)).product::<u64>() > u64::from(room) {
                return Err(Error::CooperativeLaunchTooLarge);
            }
        }
        Ok(())
    }
}
