//! Launches, and how many blocks of a kernel fit on a device.

use crate::context::{Context, Health};
use crate::device_runtime::DeviceRuntime;
use crate::error::{Error, Result};
use crate::graph::environment::Member;
use crate::limits::Limits;
use crate::lock;
use crate::module::Function;
use crate::priority::{Gate, LEAST};
use crate::stream::{Operation, Stream};
use machine::{Launch, LaunchError, LaunchOptions, Neighbours, Profile, Time};
use std::sync::{Arc, LazyLock};

/// How a kernel is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// CTAs in each dimension.
    pub grid: [u32; 3],
    /// Threads of a CTA in each dimension.
    pub block: [u32; 3],
    /// CTAs of a cluster in each dimension, if the launch says it.
    pub cluster: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// Whether all CTAs must be resident together.
    pub cooperative: bool,
}

/// Threads of the host. To ask it takes longer than to run a small kernel.
static HOST_THREADS: LazyLock<usize> =
    LazyLock::new(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get));

/// A launch that has been checked.
#[derive(Clone)]
pub struct Work {
    function: Arc<Function>,
    machine: Arc<machine::Device>,
    configuration: Configuration,
    nonportable_cluster: bool,
    params: Vec<u8>,
    priority: i32,
    overlaps: bool,
    gate: Arc<Gate>,
    limits: Arc<Limits>,
}

impl Work {
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

    /// Whether it may do so.
    pub fn overlaps(&self) -> bool {
        self.overlaps
    }

    /// The bytes of its parameters.
    pub fn params(&self) -> &[u8] {
        &self.params
    }

    /// The limits of its context.
    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
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
        graph: Option<&Member<'_>>,
    ) {
        if !health.executes() {
            return;
        }
        let Configuration { grid, block, .. } = self.configuration;
        log::debug!("kernel {} on {grid:?} blocks of {block:?} threads", self.function.name());
        let _pass = self.gate.enter(self.priority);
        let workspace = if self.configuration.cooperative { Workspace::new(&self.machine) } else { Ok(None) };
        let workspace = match workspace {
            Ok(workspace) => workspace,
            Err(error) => return health.note(Err(error)),
        };
        let options = LaunchOptions {
            threads: if health.checking().is_some() { 1 } else { *HOST_THREADS },
            stack: self.limits.stack(),
            heap: self.limits.heap(),
            grid_workspace: workspace.as_ref().map_or(0, |workspace| workspace.address),
            neighbours,
            masks: health.masks(),
            time: Time::Host,
            system: Some(&DeviceRuntime { work: self, health, graph }),
            ..LaunchOptions::default()
        };
        let result = self.machine.launch(&self.launch(self.params.clone()), &options);
        match result {
            Ok(report) => health.warn(&report.misuses),
            Err(LaunchError::Fault(fault)) => health.fault(&fault),
            Err(error) => health.note(Err(Error::of_launch(&error))),
        }
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
    /// Launches a kernel: checks it now, runs it at its place in the stream's order.
    pub fn launch(
        &self,
        function: &Arc<Function>,
        configuration: Configuration,
        params: Vec<u8>,
        stream: &Arc<Stream>,
    ) -> Result<()> {
        let work = self.prepare_launch(function, configuration, params)?;
        // An H200 takes a kernel that can launch graphs as part of a graph alone.
        let launches_graphs = function.usage().is_some_and(|usage| usage.launches_graphs);
        if launches_graphs && self.capture_of(stream)?.is_none() {
            return Err(Error::NotSupported);
        }
        let work = if stream.priority() == LEAST { work } else { work.with_priority(stream.priority()) };
        self.submit(stream, Operation::Launch(work))
    }

    /// Checks a launch.
    pub fn prepare_launch(
        &self,
        function: &Arc<Function>,
        configuration: Configuration,
        params: Vec<u8>,
    ) -> Result<Arc<Work>> {
        self.usable()?;
        if function.module().context()?.id() != self.id() {
            return Err(Error::InvalidContext);
        }
        let limits = function.limits();
        let work = Work {
            function: Arc::clone(function),
            machine: Arc::clone(self.machine()),
            configuration,
            nonportable_cluster: limits.nonportable_cluster,
            params,
            priority: LEAST,
            overlaps: false,
            gate: Arc::clone(self.device().gate()),
            limits: Arc::clone(Context::limits(self)),
        };
        let mut checked = lock(&function.checked);
        if *checked != Some(configuration) {
            self.check(&work, function)?;
            *checked = Some(configuration);
        }
        drop(checked);
        Ok(Arc::new(work))
    }

    fn check(&self, work: &Work, function: &Arc<Function>) -> Result<()> {
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
        let profile = self.device().profile();
        if threads > function.max_threads() {
            return Err(Error::LaunchOutOfResources);
        }
        if cooperative {
            let room = self.resident_blocks(function, threads, dynamic_shared) * profile.multiprocessors;
            if grid.iter().map(|&extent| u64::from(extent)).product::<u64>() > u64::from(room) {
                return Err(Error::CooperativeLaunchTooLarge);
            }
        }
        Ok(())
    }

    /// How many blocks of a function reside on a multiprocessor.
    pub fn resident_blocks(&self, function: &Function, threads: u32, dynamic_shared: u32) -> u32 {
        if threads > function.max_threads() {
            0
        } else {
            self.fitting_blocks(function, threads, dynamic_shared)
        }
    }

    /// The same, however many threads the function allows a block to have.
    pub(crate) fn fitting_blocks(&self, function: &Function, threads: u32, dynamic_shared: u32) -> u32 {
        let profile = self.device().profile();
        let shared = function.static_shared().saturating_add(dynamic_shared);
        if threads == 0 || threads > Profile::MAX_THREADS || shared > profile.shared_per_cta_optin {
            return 0;
        }
        let by_registers = profile.ctas_by_registers(threads, function.registers());
        profile.resident_ctas(threads, shared).min(by_registers)
    }

    /// How many clusters of a function reside on the device. All blocks of a cluster are on multiprocessors of one
    /// group, of which not all devices have equally many: here a cluster takes any free places.
    pub fn resident_clusters(&self, function: &Function, configuration: &Configuration) -> Result<u32> {
        let size = self.cluster_size(function, configuration)?;
        let threads = configuration.block.iter().try_fold(1u32, |all, &n| all.checked_mul(n));
        let threads = threads.ok_or(Error::InvalidValue)?;
        let blocks = self.resident_blocks(function, threads, configuration.dynamic_shared);
        Ok(blocks * self.device().profile().multiprocessors / size)
    }

    /// Blocks of a cluster, as kernel and launch say it together.
    fn cluster_size(&self, function: &Function, configuration: &Configuration) -> Result<u32> {
        if !self.device().profile().has_clusters() {
            return Err(Error::InvalidClusterSize);
        }
        let required = function.bounds().req_nctapercluster;
        let extents = configuration.cluster.or(required).unwrap_or([1; 3]);
        let size = extents.iter().try_fold(1u32, |all, &n| all.checked_mul(n)).unwrap_or(u32::MAX);
        let fits = required.is_none_or(|required| required == extents);
        if size == 0 || size > Self::largest_cluster(function) || !fits {
            return Err(Error::InvalidClusterSize);
        }
        Ok(size)
    }

    /// The most blocks of a cluster of a function.
    pub fn largest_cluster(function: &Function) -> u32 {
        let (portable, most) = Profile::MAX_CLUSTER;
        let limit = if function.limits().nonportable_cluster { most } else { portable };
        function.bounds().max_clusterrank.map_or(limit, |rank| rank.min(limit))
    }

    /// The smallest grid that fills the device with blocks of the best size up to `limit`, and that size.
    pub fn potential_block_size(
        &self,
        function: &Function,
        dynamic_shared: &dyn Fn(u32) -> u32,
        limit: u32,
    ) -> (u32, u32) {
        let most = function.max_threads();
        let limit = if limit == 0 { most } else { limit.min(most) };
        let sizes = (1..=limit.div_ceil(32)).rev().map(|warps| (warps * 32).min(limit));
        let threads = |size: u32| self.resident_blocks(function, size, dynamic_shared(size)) * size;
        // Of equal ones the largest: it comes first, and `max_by_key` takes the last.
        let best = sizes.rev().max_by_key(|&size| threads(size)).unwrap_or(limit);
        let blocks = self.resident_blocks(function, best, dynamic_shared(best));
        (blocks * self.device().profile().multiprocessors, best)
    }

    /// Bytes of dynamic shared memory that each of `blocks` blocks on a multiprocessor can have.
    pub fn available_shared(&self, function: &Function, blocks: u32) -> u32 {
        let profile: &Profile = self.device().profile();
        let each =
            (profile.shared_per_multiprocessor / blocks.max(1)).saturating_sub(profile.reserved_shared());
        each.saturating_sub(function.static_shared()).min(function.max_dynamic_shared())
    }
}
