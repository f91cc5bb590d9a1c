//! Memory that a graph allocates and frees.
//!
//! Its address is fixed when the node is made and stays the same in every launch. Whether it is *live* is decided when a
//! launch is submitted: a launch that finds memory live from the one before is an error, unless the graph was
//! instantiated so that it is freed then. The address stays valid to kernels all the time: what uses memory before it is
//! allocated or after it is freed is not noticed.
//!
//! As on an H200, memory counts as used from the first upload or launch of its graph, and until unused memory is given
//! back (`cuDeviceGraphMemTrim`): also when it has been freed and its graph is gone. What is live outlives its graph.
//! Unused memory serves new nodes of the same size.

use crate::allocation::MemoryKind;
use crate::context::Context;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::lock;
use crate::stream::Marker;
use machine::memory::DeviceMemory;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

/// Bytes that graphs use on a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// In allocations of graphs that have been uploaded or launched, until they are given back.
    pub used: u64,
    /// The most that was used since it was reset.
    pub used_high: u64,
}

/// The memory of a device's graphs.
#[derive(Debug, Default)]
pub struct GraphMemory {
    usage: Mutex<Usage>,
    known: Mutex<BTreeMap<u64, Weak<GraphAllocation>>>,
    /// What counts as used.
    used: Mutex<Vec<Arc<GraphAllocation>>>,
}

impl GraphMemory {
    /// How much there is.
    pub fn usage(&self) -> Usage {
        *lock(&self.usage)
    }

    /// Lets the highest value begin anew with the present one.
    pub fn reset(&self) {
        let mut usage = lock(&self.usage);
        usage.used_high = usage.used;
    }

    /// Gives back what is neither live nor of a graph that there still is.
    pub fn trim(&self) {
        let mut used = lock(&self.used);
        let (unused, stays): (Vec<_>, Vec<_>) = used.drain(..).partition(GraphAllocation::is_unused);
        *used = stays;
        drop(used);
        drop(unused);
    }

    /// Unused memory of a kind and size, which counts as used still.
    fn take(&self, kind: MemoryKind, bytes: u64) -> Option<Arc<GraphAllocation>> {
        let used = lock(&self.used);
        let fits = |known: &&Arc<GraphAllocation>| (known.kind, known.bytes) == (kind, bytes);
        used.iter().filter(fits).find(|known| GraphAllocation::is_unused(known)).cloned()
    }

    /// Frees what a graph has allocated at an address, at a place in a stream's order; whether there is such.
    pub(crate) fn free(&self, address: u64, place: Marker) -> Result<bool> {
        let found = lock(&self.known).get(&address).and_then(Weak::upgrade);
        match found {
            None => Ok(false),
            Some(allocation) if allocation.set_live(false) => {
                allocation.used_until(place);
                Ok(true)
            }
            Some(_) => Err(Error::InvalidValue),
        }
    }
}

impl Device {
    /// The memory of its graphs.
    pub fn graph_memory(&self) -> Arc<GraphMemory> {
        self.extensions.get()
    }
}

/// Memory of a graph.
#[derive(Debug)]
pub struct GraphAllocation {
    memory: Arc<DeviceMemory>,
    account: Arc<GraphMemory>,
    ordinal: usize,
    kind: MemoryKind,
    address: u64,
    bytes: u64,
    live: AtomicBool,
    /// Whether it is among what counts as used.
    counted: AtomicBool,
    /// The place in a stream's order behind which it is not used, unless it is live.
    last: Mutex<Option<Marker>>,
}

impl GraphAllocation {
    /// Takes memory for a graph: the device's, or managed memory.
    pub fn new(context: &Context, kind: MemoryKind, bytes: u64) -> Result<Arc<Self>> {
        context.usable()?;
        let memory = match kind {
            MemoryKind::Device => context.machine().shared_memory(),
            MemoryKind::Managed => context.device().process().common()?,
            MemoryKind::Host | MemoryKind::Registered => return Err(Error::NotSupported),
        };
        if bytes == 0 {
            return Err(Error::InvalidValue);
        }
        let account = context.device().graph_memory();
        if let Some(known) = account.take(kind, bytes) {
            return Ok(known);
        }
        let address = memory.allocate(bytes).or_else(|_| {
            account.trim();
            memory.allocate(bytes)
        })?;
        let made = Arc::new(Self {
            memory: Arc::clone(memory),
            account,
            ordinal: context.device().ordinal(),
            kind,
            address,
            bytes,
            live: AtomicBool::new(false),
            counted: AtomicBool::new(false),
            last: Mutex::default(),
        });
        lock(&made.account.known).insert(address, Arc::downgrade(&made));
        Ok(made)
    }

    /// Its first byte.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The device that it is on.
    pub fn ordinal(&self) -> usize {
        self.ordinal
    }

    /// Whether it is the device's memory, or managed.
    pub fn kind(&self) -> MemoryKind {
        self.kind
    }

    /// Whether nobody but the account knows of it, and nothing is in it.
    fn is_unused(self: &Arc<Self>) -> bool {
        let passed = || lock(&self.last).as_ref().is_none_or(Marker::passed);
        !self.is_live() && Arc::strong_count(self) == 1 && passed()
    }

    pub(super) fn used_until(&self, place: Marker) {
        *lock(&self.last) = Some(place);
    }

    pub(super) fn is_live(&self) -> bool {
        self.live.load(Ordering::Acquire)
    }

    /// Whether that changes anything.
    pub(super) fn set_live(&self, live: bool) -> bool {
        self.live.swap(live, Ordering::AcqRel) != live
    }

    /// Its graph is uploaded or launched.
    pub(super) fn count(self: &Arc<Self>) {
        if self.counted.swap(true, Ordering::AcqRel) {
            return;
        }
        lock(&self.account.used).push(Arc::clone(self));
        let mut usage = lock(&self.account.usage);
        usage.used += self.bytes;
        usage.used_high = usage.used_high.max(usage.used);
    }
}

impl Drop for GraphAllocation {
    fn drop(&mut self) {
        if *self.counted.get_mut() {
            lock(&self.account.usage).used -= self.bytes;
        }
        lock(&self.account.known).remove(&self.address);
        // It was allocated when the node was made.
        let _ = self.memory.free(self.address);
    }
}
