//! Memory that a graph allocates and frees.
//!
//! Its address is fixed when the node is made and stays the same in every launch. Whether it is *live* is decided when a
//! launch is submitted: a launch that finds memory live from the one before is an error, unless the graph was
//! instantiated so that it is freed then. The address stays valid to kernels all the time: what uses memory before it is
//! allocated or after it is freed is not noticed.

use super::{Graph, Node, Task};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::lock;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

/// Bytes that graphs use on a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// In live allocations.
    pub used: u64,
    /// The most that was used since it was reset.
    pub used_high: u64,
    /// In all allocations.
    pub reserved: u64,
    /// The most that was reserved since it was reset.
    pub reserved_high: u64,
}

/// The memory of a device's graphs.
#[derive(Debug, Default)]
pub struct GraphMemory {
    usage: Mutex<Usage>,
    known: Mutex<BTreeMap<u64, Weak<GraphAllocation>>>,
}

impl GraphMemory {
    /// How much there is.
    pub fn usage(&self) -> Usage {
        *lock(&self.usage)
    }

    /// Lets the highest values begin anew with the present ones.
    pub fn reset(&self, used: bool, reserved: bool) {
        let mut usage = lock(&self.usage);
        if used {
            usage.used_high = usage.used;
        }
        if reserved {
            usage.reserved_high = usage.reserved;
        }
    }

    fn change(&self, used: i64, reserved: i64) {
        let mut usage = lock(&self.usage);
        usage.used = usage.used.saturating_add_signed(used);
        usage.reserved = usage.reserved.saturating_add_signed(reserved);
        usage.used_high = usage.used_high.max(usage.used);
        usage.reserved_high = usage.reserved_high.max(usage.reserved);
    }

    /// Frees what a graph has allocated at an address; whether there is such.
    pub(crate) fn free(&self, address: u64) -> Result<bool> {
        let found = lock(&self.known).get(&address).and_then(Weak::upgrade);
        match found {
            None => Ok(false),
            Some(allocation) if allocation.set_live(false) => Ok(true),
            Some(_) => Err(Error::InvalidValue),
        }
    }
}

/// Memory of a graph.
#[derive(Debug)]
pub struct GraphAllocation {
    machine: Arc<machine::Device>,
    account: Arc<GraphMemory>,
    ordinal: usize,
    address: u64,
    bytes: u64,
    live: AtomicBool,
}

impl GraphAllocation {
    /// Takes memory for a graph.
    pub fn new(context: &Context, bytes: u64) -> Result<Arc<Self>> {
        context.usable()?;
        if bytes == 0 {
            return Err(Error::InvalidValue);
        }
        let machine = Arc::clone(context.machine());
        let address = machine.memory().allocate(bytes)?;
        let account = Arc::clone(context.device().graph_memory());
        account.change(0, bytes as i64);
        let ordinal = context.device().ordinal();
        let live = AtomicBool::new(false);
        let made = Arc::new(Self { machine, account, ordinal, address, bytes, live });
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

    pub(super) fn is_live(&self) -> bool {
        self.live.load(Ordering::Acquire)
    }

    /// Whether that changes anything.
    pub(super) fn set_live(&self, live: bool) -> bool {
        let changes = self.live.swap(live, Ordering::AcqRel) != live;
        if changes {
            let bytes = self.bytes as i64;
            self.account.change(if live { bytes } else { -bytes }, 0);
        }
        changes
    }
}

impl Drop for GraphAllocation {
    fn drop(&mut self) {
        self.set_live(false);
        self.account.change(0, -(self.bytes as i64));
        lock(&self.account.known).remove(&self.address);
        // It was allocated when the node was made.
        let _ = self.machine.memory().free(self.address);
    }
}

impl Graph {
    /// The memory that its nodes allocate, and the addresses of what they free.
    pub(crate) fn memory(&self) -> (Vec<Arc<GraphAllocation>>, Vec<u64>) {
        let (mut allocated, mut freed) = (Vec::new(), Vec::new());
        for node in self.nodes() {
            match node.task() {
                Task::Allocate(allocation) => allocated.push(allocation),
                Task::Free(address) => freed.push(address),
                _ => {}
            }
        }
        (allocated, freed)
    }

    /// That there is memory to free, and that what the graph allocates is freed once only.
    pub(super) fn check_free(&self, address: u64) -> Result<()> {
        if address == 0 {
            return Err(Error::InvalidValue);
        }
        let freed = |node: &Arc<Node>| matches!(node.task(), Task::Free(other) if other == address);
        if self.nodes().iter().any(freed) { Err(Error::InvalidValue) } else { Ok(()) }
    }
}
