//! A grid that the host has launched, and all that it leads to: what its threads launch, what those launch, and so on
//! (CUDA programming guide, "Dynamic Parallelism").
//!
//! ```text
//! device runtime ──launch──▶ Order: what may begin ──▶ host threads, beside the launching grid
//!                                      ▲ ended                │
//!                                      └──────────────────────┘
//! ```
//!
//! [`Order`] knows what comes after what. Here are the host threads: while the first grid runs, others run what it
//! launches; then its own thread joins them, until all is complete. With one host thread that alone does everything, in
//! the order of the launches. The first failure, of whichever grid, stops all.

use super::kernel::Kernel;
use super::module::LoadedModule;
use super::request::{Launch, LaunchError};
use super::session::{Prepared, Session};
use crate::device_runtime::{
    BUFFER, DeviceRuntime, GraphAnswer, GraphStream, KernelAttributes, NodeChange, Refusal, Request, Rows,
};
use crate::exec::function_at;
use crate::fault::{Access, Fault, Trap};
use crate::order::{Id, InOrder, Order, ROOT, Stream};
use crate::system::System;
use ptx::module::FuncId;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope};
use std::time::Duration;

/// Grids that may be launched and not begun, if nobody says another number (`cudaLimitDevRuntimePendingLaunchCount`).
const PENDING: usize = 2048;

/// Streams, and events for each grid that may be pending, that may be there at a time.
const MOST_STREAMS: usize = 1 << 16;
const EVENTS_PER_LAUNCH: usize = 2;

/// The handles of streams and events that grids make begin here; what is smaller names streams that are always there.
const FIRST_HANDLE: u64 = 1 << 32;

/// Bytes that a copy moves at a time: what memory lets through at once.
const CHUNK: u64 = 4096;

/// How long a launch waits for another thread to make room for it, before it is refused.
const PATIENCE: Duration = Duration::from_millis(50);

/// Grids that may be pending where there is one host thread, which begins none before the launching grid has ended.
const PENDING_ALONE: usize = 1 << 16;

/// What comes after what.
#[derive(Debug)]
enum Task {
    Grid(Box<(Request, Prepared, Vec<u8>)>),
    /// Copies rows, or fills them if there is nothing to copy. The extent: bytes, rows, slices.
    Move {
        to: Rows,
        from: Option<Rows>,
        value: u8,
        extent: [u64; 3],
    },
}

struct State {
    order: Order<Task>,
    /// Buffers for parameters: those that are free, and what is to be launched with the others.
    free: Vec<u64>,
    taken: HashMap<u64, Option<Request>>,
    /// Which grid has made a stream.
    streams: HashMap<u64, Id>,
    /// Which grid has made an event, and what was last launched where it was recorded. As with streams, no other grid may
    /// use it, so that nothing can wait for what waits for it.
    events: HashMap<u64, (Id, Option<Id>)>,
    /// Texts that device code was given the addresses of.
    texts: HashMap<&'static str, u64>,
    failure: Option<LaunchError>,
    /// Host threads that were called for help, and threads with nothing to do.
    helpers: usize,
    idle: usize,
    /// Grids, copies and fills that run.
    running: usize,
    /// Whether it was of no use to wait for room since the last of them has ended.
    saturated: bool,
}

/// See the module.
pub(crate) struct Family<'a> {
    session: &'a Session<'a>,
    module: &'a LoadedModule,
    state: Mutex<State>,
    /// There may be something to do; something has ended.
    changed: Condvar,
    ended: Condvar,
    stopped: AtomicBool,
    issued: AtomicU64,
    handles: AtomicU64,
    pending: usize,
}

/// A grid's place in its family.
#[derive(Clone, Copy)]
pub(crate) struct Member<'a> {
    pub(crate) family: &'a Family<'a>,
    pub(crate) id: Id,
    help: &'a (dyn Fn() + Sync),
}

/// Runs a grid and all that it leads to; the warp instructions issued.
pub(crate) fn run(
    session: &Session<'_>,
    launch: &Launch<'_>,
    prepared: &Prepared,
) -> Result<u64, LaunchError> {
    let family = Family {
        session,
        module: launch.kernel.module(),
        state: Mutex::new(State {
            order: Order::new(),
            free: Vec::new(),
            taken: HashMap::new(),
            streams: HashMap::new(),
            events: HashMap::new(),
            texts: HashMap::new(),
            failure: None,
            helpers: 0,
            idle: 0,
            running: 1,
            saturated: false,
        }),
        changed: Condvar::new(),
        ended: Condvar::new(),
        stopped: AtomicBool::new(false),
        issued: AtomicU64::new(0),
        handles: AtomicU64::new(FIRST_HANDLE),
        pending: match session.options.system.map_or(PENDING, |system| system.pending_launches()) {
            pending if session.threads == 1 => pending.max(PENDING_ALONE),
            pending => pending,
        },
    };
    std::thread::scope(|scope| family.begin(scope, launch, prepared));
    let state = family.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    let buffers = state.free.into_iter().chain(state.taken.into_keys());
    for address in buffers.chain(state.texts.into_values()) {
        // It was allocated for this; device code that has freed it has harmed only itself.
        let _ = session.memory.free(address);
    }
    state.failure.map_or(Ok(family.issued.into_inner()), Err)
}

impl Family<'_> {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a grid of it has failed.
    pub(crate) fn stopped(&self) -> &AtomicBool {
        &self.stopped
    }

    fn fail(&self, failure: LaunchError) {
        self.state().failure.get_or_insert(failure);
        self.stopped.store(true, Ordering::Relaxed);
        self.changed.notify_all();
        self.ended.notify_all();
    }

    /// Notes that something has ended.
    fn end(&self, state: &mut State, id: Id) {
        state.order.end(id);
        state.running -= 1;
        state.saturated = false;
        self.changed.notify_all();
        self.ended.notify_all();
    }

    fn begin<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        launch: &Launch<'_>,
        prepared: &Prepared,
    ) {
        self.run_grid(ROOT, launch, prepared, scope);
        self.end(&mut self.state(), ROOT);
        self.work(scope);
    }

    /// Runs what may begin until all is complete.
    fn work<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        let mut state = self.state();
        loop {
            if state.order.complete() || self.stopped.load(Ordering::Relaxed) {
                self.changed.notify_all();
                return;
            }
            let Some((id, task)) = state.order.begin() else {
                // Joins may have completed the rest.
                if !state.order.complete() {
                    state.idle += 1;
                    state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                    state.idle -= 1;
                }
                continue;
            };
            state.running += 1;
            drop(state);
            match task {
                Task::Grid(grid) => {
                    let (request, prepared, params) = *grid;
                    let launch = self.launch_of(request, params);
                    launch.iter().for_each(|launch| self.run_grid(id, launch, &prepared, scope));
                }
                Task::Move { to, from, value, extent } => self.move_bytes(to, from, value, extent),
            }
            state = self.state();
            self.end(&mut state, id);
        }
    }

    fn run_grid<'scope>(
        &'scope self,
        id: Id,
        launch: &Launch<'_>,
        prepared: &Prepared,
        scope: &'scope Scope<'scope, '_>,
    ) {
        let help = || {
            // If the host has no more threads, those that are there do the work.
            let helper = Builder::new().name("grids".to_owned());
            if helper.spawn_scoped(scope, || self.work(scope)).is_err() {
                self.state().helpers -= 1;
            }
        };
        let member = Member { family: self, id, help: &help };
        let issued = self.issued.load(Ordering::Relaxed);
        match self.session.run(launch, prepared, Some(member), issued) {
            Ok(issued) => drop(self.issued.fetch_add(issued, Ordering::Relaxed)),
            Err(failure) => self.fail(failure),
        }
    }

    fn launch_of(&self, request: Request, params: Vec<u8>) -> Option<Launch<'_>> {
        Some(Launch {
            kernel: self.module.entry(request.kernel)?,
            grid: request.grid,
            block: request.block,
            cluster: None,
            nonportable_cluster: false,
            dynamic_shared: request.dynamic_shared,
            params,
        })
    }

    /// Copies or fills; outside of memory it is a fault of the family.
    fn move_bytes(&self, to: Rows, from: Option<Rows>, value: u8, [width, height, depth]: [u64; 3]) {
        let mut bytes = vec![value; width.min(CHUNK) as usize];
        for row in 0..height.saturating_mul(depth) {
            let of = |rows: Rows| {
                let offset = (row / height).wrapping_mul(rows.slice);
                rows.address.wrapping_add(offset).wrapping_add((row % height).wrapping_mul(rows.pitch))
            };
            for start in (0..width).step_by(CHUNK as usize) {
                let part = &mut bytes[..(width - start).min(CHUNK) as usize];
                let memory = &self.session.memory;
                let source = from.map(|from| of(from).wrapping_add(start));
                let bad = match source {
                    Some(source) if !memory.read_block(source, part) => Some((source, Access::Load)),
                    _ => None,
                };
                let target = of(to).wrapping_add(start);
                let bad =
                    bad.or_else(|| (!memory.write_block(target, part)).then_some((target, Access::Store)));
                if let Some((address, access)) = bad {
                    let bytes = part.len() as u64;
                    let trap = Trap::IllegalAddress { address, bytes, access, nearby: None };
                    let fault = Fault::of_system(trap, "copy or fill of the device runtime");
                    return self.fail(LaunchError::Fault(Box::new(fault)));
                }
            }
            if self.stopped.load(Ordering::Relaxed) {
                return;
            }
        }
    }
}

impl<'a> Member<'a> {
    /// Whether it is the grid that the host has launched.
    pub(crate) fn is_first(&self) -> bool {
        self.id == ROOT
    }

    /// Waits until another launch may be pending. Silicon runs what is launched while the launching grid goes on, faster
    /// than one thread launches; a host must be given time for that. Nobody waits for what cannot come.
    fn room(&self) -> Result<MutexGuard<'a, State>, Refusal> {
        let family = self.family;
        let mut state = family.state();
        while state.order.waiting() >= family.pending {
            let hopeless = !state.order.any_ready() && state.running == 1;
            if state.saturated || hopeless || family.stopped.load(Ordering::Relaxed) {
                return Err(Refusal::Pending);
            }
            let waited = family.ended.wait_timeout(state, PATIENCE);
            let (next, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = next;
            state.saturated |= timeout.timed_out();
        }
        Ok(state)
    }

    fn submit(&self, stream: Stream, task: Option<Task>, point: Option<Id>) -> Result<(), Refusal> {
        let family = self.family;
        let mut state = self.room()?;
        state.order.submit(self.id, stream, task, point);
        let helpers = family.session.threads.saturating_sub(1);
        let wants_help = state.order.any_ready() && state.idle == 0 && state.helpers < helpers;
        state.helpers += usize::from(wants_help);
        drop(state);
        match wants_help {
            true => (self.help)(),
            false => family.changed.notify_one(),
        }
        Ok(())
    }

    /// An event of this grid: what was last launched where it was recorded.
    fn event<'s>(&self, state: &'s mut State, handle: u64) -> Result<&'s mut Option<Id>, Refusal> {
        match state.events.get_mut(&handle) {
            Some((owner, point)) if *owner == self.id => Ok(point),
            _ => Err(Refusal::Handle),
        }
    }

    fn system(&self) -> Option<&'a dyn System> {
        self.family.session.options.system
    }

    /// What the system says of a kernel.
    fn of_kernel<T>(&self, kernel: FuncId, ask: impl Fn(&dyn System, Kernel<'_>) -> T) -> Option<T> {
        Some(ask(self.system()?, self.family.module.entry(kernel)?))
    }
}

impl DeviceRuntime for Member<'_> {
    fn kernel(&self, address: u64) -> Option<FuncId> {
        self.family.module.entry(function_at(address)?).map(|kernel| kernel.id())
    }

    fn buffer(&self, request: Option<Request>) -> Result<u64, Refusal> {
        let family = self.family;
        let mut state = self.room()?;
        let address = match state.free.pop() {
            Some(address) => address,
            None => family.session.memory.allocate(BUFFER.into()).map_err(|_| Refusal::Resources)?,
        };
        state.taken.insert(address, request);
        Ok(address)
    }

    fn launch(&self, request: Option<Request>, buffer: u64, stream: Stream) -> Result<(), Refusal> {
        let family = self.family;
        let asked = family.state().taken.remove(&buffer).ok_or(Refusal::Handle)?;
        let mut params = vec![0; BUFFER as usize];
        let read = family.session.memory.read_block(buffer, &mut params);
        // Now somebody else may write into it.
        family.state().free.push(buffer);
        let request = request.or(asked).ok_or(Refusal::Handle)?;
        let kernel = family.module.entry(request.kernel).ok_or(Refusal::Configuration)?;
        let bytes = kernel.parameters().last().map_or(0, |last| last.offset + last.size);
        if !read || bytes > BUFFER {
            return Err(Refusal::Handle);
        }
        params.truncate(bytes as usize);
        let launch = family.launch_of(request, params).ok_or(Refusal::Configuration)?;
        let prepared = match family.session.device.prepare(&launch, family.session.options) {
            Ok(prepared) => prepared,
            Err(failure @ (LaunchError::Unsupported(_) | LaunchError::Fault(_))) => {
                family.fail(failure);
                return Err(Refusal::Fatal);
            }
            Err(_) => return Err(Refusal::Configuration),
        };
        if !family.session.options.system.is_none_or(|system| system.admits(&launch)) {
            return Err(Refusal::Configuration);
        }
        self.submit(stream, Some(Task::Grid(Box::new((request, prepared, launch.params)))), None)
    }

    fn move_bytes(
        &self,
        to: Rows,
        from: Option<Rows>,
        value: u8,
        extent: [u64; 3],
        stream: Stream,
    ) -> Result<(), Refusal> {
        self.submit(stream, Some(Task::Move { to, from, value, extent }), None)
    }

    fn text(&self, text: &'static str) -> Result<u64, Refusal> {
        let memory = &self.family.session.memory;
        let mut state = self.family.state();
        if let Some(&address) = state.texts.get(text) {
            return Ok(address);
        }
        let address = memory.allocate(text.len() as u64).map_err(|_| Refusal::Resources)?;
        state.texts.insert(text, address);
        if memory.write_block(address, text.as_bytes()) { Ok(address) } else { Err(Refusal::Resources) }
    }

    fn make_stream(&self) -> Result<u64, Refusal> {
        let mut state = self.family.state();
        if state.streams.len() >= MOST_STREAMS {
            return Err(Refusal::Resources);
        }
        let handle = self.family.handles.fetch_add(1, Ordering::Relaxed);
        state.streams.insert(handle, self.id);
        Ok(handle)
    }

    fn has_stream(&self, handle: u64) -> bool {
        self.family.state().streams.get(&handle) == Some(&self.id)
    }

    fn destroy_stream(&self, handle: u64) -> Result<(), Refusal> {
        let mut state = self.family.state();
        match state.streams.get(&handle) {
            Some(&owner) if owner == self.id => drop(state.streams.remove(&handle)),
            _ => return Err(Refusal::Handle),
        }
        Ok(())
    }

    fn make_event(&self) -> Result<u64, Refusal> {
        let mut state = self.family.state();
        if state.events.len() >= EVENTS_PER_LAUNCH.saturating_mul(self.family.pending) {
            return Err(Refusal::Resources);
        }
        let handle = self.family.handles.fetch_add(1, Ordering::Relaxed);
        state.events.insert(handle, (self.id, None));
        Ok(handle)
    }

    fn destroy_event(&self, handle: u64) -> Result<(), Refusal> {
        let mut state = self.family.state();
        self.event(&mut state, handle)?;
        state.events.remove(&handle);
        Ok(())
    }

    fn record(&self, event: u64, stream: InOrder) -> Result<(), Refusal> {
        let mut state = self.family.state();
        let point = state.order.last(self.id, stream);
        *self.event(&mut state, event)? = point;
        Ok(())
    }

    fn wait(&self, event: u64, stream: InOrder) -> Result<(), Refusal> {
        let point = *self.event(&mut self.family.state(), event)?;
        match point {
            Some(_) => self.submit(Stream::InOrder(stream), None, point),
            None => Ok(()),
        }
    }

    fn device(&self) -> Option<(u32, u32)> {
        self.system().map(System::device)
    }

    fn attribute(&self, attribute: u32) -> Option<i32> {
        self.system()?.attribute(attribute)
    }

    fn limit(&self, limit: u32) -> Option<u64> {
        self.system()?.limit(limit)
    }

    fn attributes(&self, kernel: FuncId) -> Option<KernelAttributes> {
        self.of_kernel(kernel, |system, kernel| system.kernel(kernel))
    }

    fn resident_ctas(&self, kernel: FuncId, threads: u32, dynamic_shared: u32) -> Option<u32> {
        self.of_kernel(kernel, |system, kernel| system.resident_ctas(kernel, threads, dynamic_shared))
    }

    fn launch_graph(&self, graph: u64, stream: GraphStream) -> Option<GraphAnswer> {
        Some(self.system()?.launch_graph(graph, stream))
    }

    fn change_nodes(&self, changes: &[NodeChange]) -> Option<GraphAnswer> {
        Some(self.system()?.change_nodes(changes))
    }
}
