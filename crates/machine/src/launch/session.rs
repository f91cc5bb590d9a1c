//! Running what the host launches: a grid, and all that its threads lead to.

use super::check::{STACK, Shape, check_extents};
use super::device::Device;
use super::family::{self, Member};
use super::kernel::Kernel;
use super::request::{Launch, LaunchError, LaunchOptions, LaunchReport};
use crate::compiled::Promise;
use crate::dependents::Dependents;
use crate::device_runtime::DeviceRuntime;
use crate::exec::unclaimed::Unclaimed;
use crate::exec::{Grid, thread_numbers};
use crate::fault::{Fault, Trap};
use crate::image::Image;
use crate::lanes::LANES;
use crate::location::Location;
use crate::memory::View;
use crate::misuse::{Masks, Misuse, Misuses};
use crate::observe::Observer;
use crate::run::grid;
use crate::run::work::{Plan, Stop};
use crate::system::System;
use crate::texture::table::{Handle, Object};
use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes that device-side `malloc` may take, as `cudaLimitMallocHeapSize` by default.
const HEAP: i64 = 8 << 20;

impl Device {
    /// Checks a launch and finds what it runs.
    pub(crate) fn prepare(
        &self,
        launch: &Launch<'_>,
        options: &LaunchOptions<'_>,
    ) -> Result<Prepared, LaunchError> {
        check_extents(launch)?;
        let shape = self.shape(launch)?;
        let image = Self::image(launch, options.purpose())?;
        let local = image.local_bytes(options.stack.unwrap_or(STACK));
        self.check_resources(launch, image.static_shared, local)?;
        Ok(Prepared { shape, image, local })
    }

    /// Runs a kernel, and what it launches, to the end.
    pub fn launch(
        &self,
        launch: &Launch<'_>,
        options: &LaunchOptions<'_>,
    ) -> Result<LaunchReport, LaunchError> {
        let prepared = self.prepare(launch, options)?;
        let heap = options.heap.map_or(HEAP, |bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
        let objects = self.objects.snapshot();
        let _running = self.memory.kernel_guard();
        let beyond = self.reach.snapshot();
        let _running_beyond = beyond.guards();
        let threads = match options.threads {
            0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            n => n,
        };
        let session = Session {
            device: self,
            memory: beyond.view(&self.memory),
            objects: &objects,
            heap: AtomicI64::new(heap),
            threads,
            started: std::time::Instant::now(),
            misuses: Mutex::default(),
            compiled: Mutex::default(),
            options,
        };
        let warp_instructions = match prepared.image.launches_grids() {
            true => family::run(&session, launch, &prepared)?,
            false => session.run(launch, &prepared, None, 0)?,
        };
        let elapsed = session.started.elapsed();
        let misuses = session.misuses.into_inner().unwrap_or_else(PoisonError::into_inner);
        let compiled = session.compiled.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(LaunchReport { warp_instructions, elapsed, threads, compiled, misuses })
    }
}

/// A launch that has been checked: what it runs, and how it is divided.
#[derive(Debug)]
pub(crate) struct Prepared {
    shape: Shape,
    image: Arc<Image>,
    /// Bytes of local memory of a thread.
    local: u32,
}

/// What is the same for a grid that the host has launched and all that it leads to.
pub(crate) struct Session<'a> {
    pub(crate) device: &'a Device,
    pub(crate) memory: View<'a>,
    objects: &'a HashMap<Handle, Object>,
    /// Bytes of the heap that device-side `malloc` may still take.
    heap: AtomicI64,
    /// Host threads.
    pub(crate) threads: usize,
    started: std::time::Instant,
    /// What the grids have done wrong.
    misuses: Mutex<Vec<Misuse>>,
    /// What became of the engine.
    compiled: Mutex<Option<Result<(), String>>>,
    pub(crate) options: &'a LaunchOptions<'a>,
}

impl Session<'_> {
    /// Runs a grid alone, after others have issued so many warp instructions; those that it issues itself.
    pub(crate) fn run(
        &self,
        launch: &Launch<'_>,
        prepared: &Prepared,
        member: Option<Member<'_>>,
        issued: u64,
    ) -> Result<u64, LaunchError> {
        let Some(system) = self.options.system else {
            let first = member.is_none_or(|member| member.is_first());
            // Who watches the kernel of the host's knows no other, unless it says so.
            let observer = self.options.observer.filter(|observer| first || observer.follows_children());
            return self.run_watched(launch, prepared, member, issued, observer);
        };
        let mut result = Ok(0);
        system.watch(launch, &mut |observer| {
            result = self.run_watched(launch, prepared, member, issued, observer);
            match &result {
                Err(LaunchError::Fault(fault)) => Some((**fault).clone()),
                _ => None,
            }
        });
        result
    }

    fn run_watched(
        &self,
        launch: &Launch<'_>,
        prepared: &Prepared,
        member: Option<Member<'_>>,
        issued: u64,
        observer: Option<&dyn Observer>,
    ) -> Result<u64, LaunchError> {
        let (device, options, Prepared { shape, image, local }) = (self.device, self.options, prepared);
        let first = member.is_none_or(|member| member.is_first());
        let static_shared = image.static_shared;
        let shared = static_shared + launch.dynamic_shared;
        let misuses = Misuses::default();
        let threads_per_cta: u32 = launch.block.iter().product();
        let packs = (threads_per_cta as usize).div_ceil(LANES * image.warps);
        let grid = Grid {
            memory: self.memory,
            module: launch.kernel.module().executed(image.purpose),
            image,
            params: &launch.params,
            grid: shape.grid,
            block: launch.block,
            tid: thread_numbers(launch.block, packs * image.warps),
            packs_pass_barriers: packs == 1 && image.barriers_are_whole(),
            cluster: shape.cluster.unwrap_or([1; 3]),
            unclaimed: Unclaimed::new(if first { options.first_cluster } else { 0 }, shape.clusters()),
            explicit_cluster: shape.cluster.is_some(),
            shared_start: device.profile.shared_start(),
            reserved_shared: device.profile.reserved_shared(),
            static_shared,
            dynamic_shared: launch.dynamic_shared,
            shared_end: device.bounds.shared(shared),
            local: *local,
            multiprocessors: device.profile.multiprocessors,
            warp_slots: device.profile.threads_per_multiprocessor / LANES as u32,
            grid_id: device.launches.fetch_add(1, Ordering::Relaxed) + 1,
            workspace: if first { options.grid_workspace } else { 0 },
            started: self.started,
            time: options.time,
            clock_khz: device.profile.clock_khz,
            output: &device.output,
            objects: self.objects,
            opaque: &launch.kernel.module().opaque,
            constants: &launch.kernel.module().constants,
            dependents: Dependents::new(options.neighbours.filter(|_| first), shape.grid),
            heap: &self.heap,
            asynchrony: options.asynchrony,
            masks: options.masks,
            misuses: &misuses,
            observer,
            graph: options.system.map_or(0, System::current_graph),
            runtime: member.as_ref().map(|member| member as &dyn DeviceRuntime),
        };
        let per_multiprocessor = device.profile.resident_ctas(threads_per_cta, shared).max(1);
        let plan = Plan {
            threads: self.threads,
            resident: (device.profile.multiprocessors * per_multiprocessor) as usize,
            scheduler: options.scheduler,
            first_cluster: if first { options.first_cluster } else { 0 },
            budget: options.budget.map(|budget| budget.saturating_sub(issued)),
            observer,
            cancel: options.cancel,
            stopped: member.map(|member| member.family.stopped()),
            progress: options.progress.filter(|_| first),
        };
        let promise = self.promise(launch.kernel, &grid);
        grid.tell_begin(&|| launch.kernel.variables().lasting(grid.shared_start));
        let result = grid::run(&grid, &plan, promise.as_ref());
        promise.iter().for_each(|promise| self.note_outcome(promise.outcome()));
        let issued =
            result.map_err(|stop| LaunchError::Fault(Box::new(describe(*stop, launch, image, options))))?;
        self.note(described(misuses, launch.kernel, image));
        Ok(issued)
    }

    /// The compiled code of a grid, now or later, if there is an engine and nothing stands against it.
    fn promise(&self, kernel: Kernel<'_>, grid: &Grid<'_>) -> Option<Promise<'_>> {
        let engine = self.options.engine?;
        let observed = grid.observer.is_some() || self.options.masks == Masks::Exact;
        let against = match () {
            () if observed => Some("somebody observes its instructions"),
            () if grid.image.purpose.calls => Some("functions are called"),
            () if grid.runtime.is_some() => Some("it can launch grids"),
            () if grid.explicit_cluster => Some("a launch in clusters"),
            () if grid.image.postpones() => {
                Some("asynchronous operations that complete later than they are issued")
            }
            () => None,
        };
        let unit = kernel.module().unit(engine, kernel.id(), grid.block);
        match against {
            Some(why) => {
                unit.decline(engine, why);
                self.note_outcome(Err(why.to_owned()));
                None
            }
            None => Some(Promise::new(unit, engine)),
        }
    }

    /// What became of the engine in a grid.
    fn note_outcome(&self, outcome: Result<(), String>) {
        *self.compiled.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
    }

    /// Adds what a grid has done wrong to what others of the same kernel have.
    fn note(&self, found: Vec<Misuse>) {
        let mut all = self.misuses.lock().unwrap_or_else(PoisonError::into_inner);
        for misuse in found {
            let same = |known: &&mut Misuse| {
                known.kernel == misuse.kernel && known.location.ptx == misuse.location.ptx
            };
            match all.iter_mut().find(same) {
                Some(known) => known.times += misuse.times,
                None => all.push(misuse),
            }
        }
    }
}

/// All that a grid has done wrong, with everything that can be told of its places.
fn described(misuses: Misuses, kernel: Kernel<'_>, image: &Image) -> Vec<Misuse> {
    let describe = |(pc, kind, times): (u32, _, u64)| {
        let origin = image.origins[pc as usize];
        let (function, instruction) = kernel.module().written(image, origin);
        let location = Location::of(kernel.module().module(), function, instruction);
        Misuse { kind, times, kernel: kernel.name().to_owned(), location }
    };
    misuses.noted().map(describe).collect()
}

/// The fault of a stopped grid, with everything that can be told of its place.
fn describe(stop: Stop, launch: &Launch<'_>, image: &Image, options: &LaunchOptions<'_>) -> Fault {
    let kernel = launch.kernel;
    let mut fault = Fault {
        trap: Trap::Cancelled,
        kernel: kernel.name().to_owned(),
        function: None,
        location: Location::default(),
        block: None,
        thread: None,
        scheduler: options.scheduler.to_string(),
    };
    match stop {
        Stop::Cancelled => {}
        Stop::Budget { awaited } => {
            fault.trap = Trap::BudgetExhausted { budget: options.budget.unwrap_or(0), awaited };
        }
        Stop::Trap { cta, thread, trap, pc } => {
            fault.trap = trap.trap;
            fault.block = Some(cta);
            fault.thread = thread;
            let (function, instruction) = kernel.module().written(image, image.origins[pc as usize]);
            let module = kernel.module().module();
            if function != kernel.id() {
                fault.function = Some(module.functions[function.index()].name.clone());
            }
            fault.location = Location::of(module, function, instruction);
        }
    }
    fault
}
