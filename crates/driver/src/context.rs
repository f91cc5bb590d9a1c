//! Contexts: what owns memory, code and streams, and fails as a whole.
//!
//! A kernel's fault ends its context: every later call on it returns that error, until the context is destroyed. What a
//! program gives its streams to do is in [`submit`](crate::submit), what it waits for in [`synchronize`](crate::synchronize).

use crate::allocation::{Allocation, MemoryKind};
use crate::device::{Device, Driver};
use crate::error::{Error, Result};
use crate::extensions::Extensions;
use crate::health::Health;
use crate::limits::{Limit, Limits};
use crate::operation::Operation;
use crate::priority;
use crate::stream::{Kind, Marker, Stream, Streams};
use crate::{Id, lock};
use machine::Profile;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};

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
    pub(crate) extensions: Extensions,
}

/// The contexts of a process, those that are gone perhaps among them.
#[derive(Default)]
struct Contexts(Mutex<HashMap<Id, Weak<Context>>>);

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Context {} of {:?}", self.id.0, self.device)
    }
}

impl Context {
    /// A context on a device.
    pub fn new(device: &Arc<Device>, flags: u32) -> Result<Arc<Self>> {
        let machine = Arc::clone(device.machine()?);
        let health = Health::new(device.process());
        let made = Arc::new_cyclic(|this| Self {
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
            extensions: Extensions::default(),
        });
        let contexts = device.process().extensions.get::<Contexts>();
        let mut contexts = lock(&contexts.0);
        contexts.retain(|_, known| known.strong_count() > 0);
        contexts.insert(made.id, Arc::downgrade(&made));
        Ok(made)
    }

    /// The context of the process with this identity, as long as it is there.
    pub(crate) fn of_process(&self, id: Id) -> Option<Arc<Self>> {
        find(&self.device.process().extensions, id)
    }

    /// Its identity.
    pub fn id(&self) -> Id {
        self.id
    }

    pub(crate) fn this(&self) -> Weak<Self> {
        Weak::clone(&self.this)
    }

    pub(crate) fn health(&self) -> &Health {
        &self.health
    }

    pub(crate) fn streams(&self) -> &Streams {
        &self.streams
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

    /// That it is used no more; whether it was until now.
    pub(crate) fn end(&self) -> bool {
        !self.destroyed.swap(true, Ordering::AcqRel)
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

    /// Adds an operation to a stream, captured or not; the place behind it.
    pub(crate) fn submit_now(
        &self,
        stream: &Arc<Stream>,
        operation: impl Operation + 'static,
    ) -> Result<Marker> {
        self.streams.submit(stream, Box::new(operation))
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

    /// An allocation of this context.
    pub(crate) fn allocation(&self, kind: MemoryKind, address: u64, bytes: u64, flags: u32) -> Allocation {
        let new = Allocation::new(kind, address, bytes, self.device.ordinal());
        Allocation { flags, context: Some(self.id), ..new }
    }

    /// The allocation that an address lies in, whichever context made it.
    pub fn allocation_of(&self, address: u64) -> Option<Allocation> {
        self.device.process().allocation_of(address)
    }

    pub(crate) fn limits(&self) -> &Arc<Limits> {
        &self.limits
    }

    /// A limit.
    pub fn limit(&self, limit: Limit) -> u64 {
        self.limits.get(limit)
    }

    /// Sets a limit, for launches from now on.
    pub fn set_limit(&self, limit: Limit, value: u64) -> Result<()> {
        self.usable()?;
        let value = match limit {
            Limit::Stack if value > Profile::MAX_LOCAL.into() => return Err(Error::InvalidValue),
            Limit::Stack => value.next_multiple_of(16),
            Limit::Heap if value > self.machine().memory().limit() => return Err(Error::OutOfMemory),
            // There is no cache to keep anything.
            Limit::PersistingL2 => 0,
            _ => value,
        };
        self.limits.set(limit, value);
        Ok(())
    }
}

impl Driver {
    /// The context that made an allocation.
    pub fn owner_of(&self, address: u64) -> Option<Arc<Context>> {
        find(&self.process().extensions, self.allocation_of(address)?.context?)
    }

    /// All contexts that have not ended.
    pub(crate) fn contexts(&self) -> Vec<Arc<Context>> {
        let known = self.process().extensions.get::<Contexts>();
        let known = lock(&known.0);
        known.values().filter_map(Weak::upgrade).collect()
    }
}

fn find(process: &Extensions, id: Id) -> Option<Arc<Context>> {
    lock(&process.get::<Contexts>().0).get(&id).and_then(Weak::upgrade)
}
