//! Contexts: what owns memory, code and streams, and fails as a whole.
//!
//! A kernel's fault ends its context: every later call on it returns that error, until the context is destroyed. Each
//! host thread has a stack of contexts, the top of which is current.

use crate::Id;
use crate::check::Checking;
use crate::device::{Device, Execution, Process};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::limits::Limits;
use crate::priority;
use crate::stream::{Kind, Marker, Operation, Stream, Streams};
use crate::thread::with_contexts;
use machine::Fault;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

/// A context.
pub struct Context {
    id: Id,
    device: Arc<Device>,
    machine: Arc<machine::Device>,
    flags: AtomicU32,
    destroyed: AtomicBool,
    /// How often the program has attached to it, its creation counted in.
    uses: AtomicU32,
    health: Arc<Health>,
    streams: Streams,
    this: Weak<Self>,
    limits: Arc<Limits>,
    /// The devices whose memory its kernels may use.
    peers: Mutex<Vec<Arc<Device>>>,
}

/// Whether a context has failed, and of what.
pub(crate) struct Health {
    error: OnceLock<Error>,
    process: Arc<Process>,
}

impl std::fmt::Debug for Health {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.error)
    }
}

impl Health {
    /// Why the context has failed.
    pub(crate) fn error(&self) -> Option<Error> {
        self.error.get().copied()
    }

    /// Of a context that only a test has.
    #[cfg(test)]
    pub(crate) fn healthy() -> Arc<Self> {
        Arc::new(Self { error: OnceLock::new(), process: crate::device::Process::of_test() })
    }

    /// Who watches kernels, if somebody does.
    pub(crate) fn checking(&self) -> Option<&Checking> {
        self.process.settings.checking.as_deref()
    }

    /// Whether kernels run.
    pub(crate) fn executes(&self) -> bool {
        self.process.settings.execution == Execution::Full
    }

    /// The first failure stays.
    pub(crate) fn note(&self, result: Result<()>) {
        if let Err(error) = result {
            self.error.get_or_init(|| error);
        }
    }

    /// What is done with lanes that member masks leave out.
    pub(crate) fn masks(&self) -> machine::Masks {
        self.process.settings.masks
    }

    /// Tells of what a GPU would not have noticed.
    pub(crate) fn warn(&self, misuses: &[machine::Misuse]) {
        for misuse in misuses.iter().filter(|misuse| self.process.warnings.is_new(misuse)) {
            (self.process.report)(&format_args!("warning: {misuse}"));
        }
    }

    pub(crate) fn fault(&self, fault: &Fault) {
        self.note(Err(Error::of_trap(&fault.trap)));
        (self.process.report)(fault);
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Context {} of {:?}", self.id.0, self.device)
    }
}

impl Context {
    /// A context on a device.
    pub fn new(device: &Arc<Device>, flags: u32) -> Result<Arc<Self>> {
        let machine = Arc::clone(device.machine()?);
        let health = Arc::new(Health { error: OnceLock::new(), process: Arc::clone(device.process()) });
        Ok(Arc::new_cyclic(|this| Self {
            id: Id::next(),
            device: Arc::clone(device),
            machine,
            flags: AtomicU32::new(flags),
            destroyed: AtomicBool::new(false),
            uses: AtomicU32::new(1),
            streams: Streams::new(&health),
            health,
            this: Weak::clone(this),
            limits: Arc::default(),
            peers: Mutex::default(),
        }))
    }

    /// Its identity.
    pub fn id(&self) -> Id {
        self.id
    }

    pub(crate) fn limits(&self) -> &Arc<Limits> {
        &self.limits
    }

    pub(crate) fn peers(&self) -> &Mutex<Vec<Arc<Device>>> {
        &self.peers
    }

    pub(crate) fn this(&self) -> Weak<Self> {
        Weak::clone(&self.this)
    }

    /// Whether it is its device's primary context.
    pub fn is_primary(&self) -> bool {
        self.device.has_primary(self.id)
    }

    /// Its device.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// The machine that runs its kernels.
    pub fn machine(&self) -> &Arc<machine::Device> {
        &self.machine
    }

    /// The flags it was made with.
    pub fn flags(&self) -> u32 {
        self.flags.load(Ordering::Relaxed)
    }

    /// Gives it other flags.
    pub fn set_flags(&self, flags: u32) {
        self.flags.store(flags, Ordering::Relaxed);
    }

    /// Whether it can be used: it is neither destroyed nor failed.
    pub fn usable(&self) -> Result<()> {
        if self.destroyed.load(Ordering::Acquire) {
            return Err(Error::ContextIsDestroyed);
        }
        self.health.error().map_or(Ok(()), Err)
    }

    /// Counts one use more.
    pub fn attach(&self) {
        self.uses.fetch_add(1, Ordering::AcqRel);
    }

    /// Counts one use less; whether that was the last.
    pub fn detach(&self) -> bool {
        self.uses.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Waits for its work, then gives its memory back and ends its streams.
    pub fn destroy(&self) {
        if self.destroyed.swap(true, Ordering::AcqRel) {
            return;
        }
        self.end_captures();
        self.streams.synchronize();
        self.streams.close();
        self.close_peers();
        self.health.checking().iter().for_each(|checking| checking.finish());
        self.free_all();
    }

    /// The legacy default stream.
    pub fn legacy_stream(&self) -> Arc<Stream> {
        self.streams.legacy()
    }

    /// The calling thread's default stream.
    pub fn per_thread_stream(&self) -> Result<Arc<Stream>> {
        self.streams.per_thread()
    }

    /// A new stream. A priority outside of what there is becomes the nearest that there is.
    pub fn create_stream(&self, non_blocking: bool, priority: i32) -> Result<Arc<Stream>> {
        self.usable()?;
        let kind = if non_blocking { Kind::NonBlocking } else { Kind::Blocking };
        let priority = priority.clamp(priority::GREATEST, priority::LEAST);
        self.device.gate().announce(priority);
        self.streams.create(kind, priority)
    }

    /// Gives a stream up; what was submitted to it still runs.
    pub fn destroy_stream(&self, stream: &Arc<Stream>) {
        self.streams.remove(stream);
    }

    /// Adds an operation to a stream; to the graph, if the stream is captured.
    pub fn submit(&self, stream: &Arc<Stream>, operation: Operation) -> Result<()> {
        self.usable()?;
        match self.captured(stream, operation)? {
            Some(operation) => self.submit_now(stream, operation).map(drop),
            None => Ok(()),
        }
    }

    /// Adds an operation to a stream that is not captured; the place behind it.
    pub(crate) fn submit_now(&self, stream: &Arc<Stream>, operation: Operation) -> Result<Marker> {
        self.streams.submit(stream, operation)
    }

    /// Runs an operation on this thread at its place in a stream's order.
    pub fn run_now(&self, stream: &Arc<Stream>, operation: Operation) -> Result<()> {
        self.usable()?;
        self.refuse_capture(stream)?;
        self.streams.settle(stream);
        self.usable()?;
        operation.run(&self.health);
        self.usable()
    }

    /// Records an event.
    pub fn record(&self, event: &Arc<Event>, stream: &Arc<Stream>) -> Result<()> {
        self.record_as(event, stream, false)
    }

    /// Records an event; an external record in a captured stream is a node of the graph.
    pub fn record_as(&self, event: &Arc<Event>, stream: &Arc<Stream>, external: bool) -> Result<()> {
        self.usable()?;
        if self.capture_record(event, stream, external)? {
            return Ok(());
        }
        let record = event.record();
        let marker = self.streams.submit(stream, Operation::Record(Arc::clone(&record)))?;
        event.recorded(marker, record);
        Ok(())
    }

    /// Lets a stream wait for an event; it then takes part in the capture in which the event was recorded, if any. An
    /// external wait in a captured stream is a node of the graph.
    pub fn wait(&self, event: &Arc<Event>, stream: &Arc<Stream>, external: bool) -> Result<()> {
        self.usable()?;
        if self.capture_wait(event, stream, external)? {
            return Ok(());
        }
        match event.marker() {
            Some(marker) if !marker.passed() => self.submit_now(stream, Operation::Wait(marker)).map(drop),
            _ => Ok(()),
        }
    }

    /// Records an event behind all work of the context.
    pub fn record_all(&self, event: &Arc<Event>) -> Result<()> {
        self.usable()?;
        self.nothing_captured()?;
        let markers = self.streams.markers();
        let stream = self.streams.create(Kind::NonBlocking, 0)?;
        let wait = |marker| self.submit_now(&stream, Operation::Wait(marker)).map(drop);
        let recorded = markers.into_iter().try_for_each(wait).and_then(|()| self.record(event, &stream));
        self.streams.remove(&stream);
        recorded
    }

    /// Lets all later work of the context wait for an event.
    pub fn wait_all(&self, event: &Event) -> Result<()> {
        self.usable()?;
        self.nothing_captured()?;
        event.usable()?;
        event.marker().map_or(Ok(()), |marker| self.streams.await_everywhere(&marker))
    }

    /// Waits for a stream.
    pub fn synchronize_stream(&self, stream: &Arc<Stream>) -> Result<()> {
        self.usable()?;
        self.refuse_capture(stream)?;
        self.streams.settle(stream);
        self.device.process().pools.settle();
        self.usable()
    }

    /// Whether all work of a stream is done.
    pub fn query_stream(&self, stream: &Arc<Stream>) -> Result<()> {
        self.usable()?;
        self.refuse_capture(stream)?;
        if stream.marker().passed() { Ok(()) } else { Err(Error::NotReady) }
    }

    /// The ends of what its streams have to do.
    pub(crate) fn pending(&self) -> Vec<Marker> {
        self.streams.markers()
    }

    /// Waits for all that was submitted, also while streams are captured: what is captured has not been submitted.
    pub fn settle(&self) -> Result<()> {
        self.drain()
    }

    /// Waits for all that was submitted, for a purpose of the driver's own.
    pub(crate) fn drain(&self) -> Result<()> {
        self.streams.synchronize();
        self.usable()
    }

    /// Waits for all work of the context.
    pub fn synchronize(&self) -> Result<()> {
        self.usable()?;
        self.nothing_captured()?;
        self.drain()?;
        self.device.process().pools.settle();
        self.usable()
    }
}

/// The current context of this thread.
pub fn current() -> Option<Arc<Context>> {
    with_contexts(|stack| stack.last().cloned())
}

/// The current context, which must be usable.
pub fn current_usable() -> Result<Arc<Context>> {
    let context = current().ok_or(Error::InvalidContext)?;
    context.usable()?;
    Ok(context)
}

/// Makes a context current above the present one.
pub fn push(context: Arc<Context>) {
    with_contexts(|stack| stack.push(context));
}

/// Takes the current context off the stack.
pub fn pop() -> Option<Arc<Context>> {
    with_contexts(Vec::pop)
}

/// Puts a context in the place of the current one; `None` only takes that away.
pub fn set_current(context: Option<Arc<Context>>) {
    with_contexts(|stack| {
        stack.pop();
        stack.extend(context);
    });
}
