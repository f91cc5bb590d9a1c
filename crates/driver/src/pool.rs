//! Memory pools: memory that streams allocate and free in their order (CUDA programming guide, "Stream Ordered Memory
//! Allocator").
//!
//! What a stream frees stays with the pool, with the place in the stream's order where it was freed. The next
//! allocation takes it up if that place lies before its own: in the same stream always, in another one when the place is
//! passed or, when there is no other memory, by waiting for it. What a pool keeps unused beyond its release threshold
//! it gives back when the program waits for something.
//!
//! Every allocation is one of the machine's own, so that an access beyond its end is found.

use crate::capture::CaptureInfo;
use crate::context::Context;
use crate::device::{Device, Process};
use crate::error::{Error, Result};
use crate::graph::Task;
use crate::graph::memory::GraphAllocation;
use crate::memory::{Allocation, MemoryKind};
use crate::stream::{Marker, Operation, Stream};
use crate::{Id, lock};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, Weak};

/// What a pool may do, and what it has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// Bytes that it keeps when the program waits for something.
    pub release_threshold: u64,
    /// Whether memory is reused in another stream that waits for an event behind its freeing.
    pub follow_events: bool,
    /// Whether memory is reused in another stream once the place where it was freed is passed.
    pub opportunistic: bool,
    /// Whether another stream may be made to wait so that memory can be reused.
    pub internal_dependencies: bool,
    /// Bytes taken from the device.
    pub reserved: u64,
    /// The most of them.
    pub reserved_high: u64,
    /// Bytes in allocations.
    pub used: u64,
    /// The most of them.
    pub used_high: u64,
}

/// A pool of a device.
#[derive(Debug)]
pub struct Pool {
    id: Id,
    ordinal: usize,
    machine: Arc<machine::Device>,
    /// The most that it may reserve.
    most: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    statistics: Statistics,
    unused: Vec<Block>,
    /// Other devices that may use its memory.
    access: BTreeSet<usize>,
}

/// Memory that was freed.
#[derive(Debug)]
struct Block {
    address: u64,
    bytes: u64,
    /// Behind its freeing.
    freed: Marker,
}

impl Statistics {
    fn reserve(&mut self, bytes: u64) {
        self.reserved += bytes;
        self.reserved_high = self.reserved_high.max(self.reserved);
    }

    fn take(&mut self, bytes: u64) {
        self.used += bytes;
        self.used_high = self.used_high.max(self.used);
    }
}

impl Block {
    /// Whether it is large enough, and not so large that most of it would be wasted.
    fn fits(&self, bytes: u64) -> bool {
        bytes <= self.bytes && self.bytes / 2 <= bytes.next_multiple_of(machine::memory::PAGE)
    }
}

/// The pools of a device.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    default: Mutex<Option<Arc<Pool>>>,
    current: Mutex<Option<Arc<Pool>>>,
    all: Mutex<Vec<Weak<Pool>>>,
}

impl Pools {
    /// The program has waited for something: pools give back what they need not keep.
    pub(crate) fn settle(&self) {
        for pool in lock(&self.all).iter().filter_map(Weak::upgrade) {
            pool.trim(pool.statistics().release_threshold);
        }
    }
}

impl Process {
    /// The pool that an allocation is of, which no longer is.
    pub(crate) fn disown(&self, address: u64) -> Option<Arc<Pool>> {
        lock(&self.pooled).remove(&address)
    }
}

impl Device {
    /// A new pool, of no more than `most` bytes if that is not 0.
    pub fn create_pool(&self, most: u64) -> Result<Arc<Pool>> {
        let statistics = Statistics {
            release_threshold: 0,
            follow_events: true,
            opportunistic: true,
            internal_dependencies: true,
            reserved: 0,
            reserved_high: 0,
            used: 0,
            used_high: 0,
        };
        let state = Mutex::new(State { statistics, unused: Vec::new(), access: BTreeSet::new() });
        let most = if most == 0 { u64::MAX } else { most };
        let machine = Arc::clone(self.machine()?);
        let pool = Arc::new(Pool { id: Id::next(), ordinal: self.ordinal(), machine, most, state });
        let mut all = lock(&self.pools().all);
        all.retain(|other| other.strong_count() > 0);
        all.push(Arc::downgrade(&pool));
        Ok(pool)
    }

    /// The pool that is there from the beginning.
    pub fn default_pool(&self) -> Result<Arc<Pool>> {
        let mut default = lock(&self.pools().default);
        if default.is_none() {
            *default = Some(self.create_pool(0)?);
        }
        default.clone().ok_or(Error::Unknown)
    }

    /// The pool that allocations are from which name none.
    pub fn current_pool(&self) -> Result<Arc<Pool>> {
        let current = lock(&self.pools().current).clone();
        current.map_or_else(|| self.default_pool(), Ok)
    }

    /// Sets it.
    pub fn set_current_pool(&self, pool: &Arc<Pool>) -> Result<()> {
        if pool.ordinal != self.ordinal() {
            return Err(Error::InvalidValue);
        }
        *lock(&self.pools().current) = Some(Arc::clone(pool));
        Ok(())
    }

    /// A pool is to be used no more, except for what is allocated from it.
    pub fn forget_pool(&self, pool: &Pool) -> Result<()> {
        if lock(&self.pools().default).as_ref().is_some_and(|default| default.id == pool.id) {
            return Err(Error::InvalidValue);
        }
        let mut current = lock(&self.pools().current);
        current.take_if(|current| current.id == pool.id);
        drop(current);
        pool.trim(0);
        Ok(())
    }
}

impl Pool {
    /// Its identity.
    pub fn id(&self) -> Id {
        self.id
    }

    /// The device whose memory it has.
    pub fn ordinal(&self) -> usize {
        self.ordinal
    }

    /// What it may do, and what it has done.
    pub fn statistics(&self) -> Statistics {
        lock(&self.state).statistics
    }

    /// Changes what it may do, or its highest values.
    pub fn configure(&self, change: impl FnOnce(&mut Statistics)) {
        change(&mut lock(&self.state).statistics);
    }

    /// Whether a device may use its memory.
    pub fn accessible(&self, ordinal: usize) -> bool {
        ordinal == self.ordinal || lock(&self.state).access.contains(&ordinal)
    }

    /// Lets another device use its memory, which is memory of `owner`, or keeps it from that.
    pub fn set_access(&self, other: &Device, owner: &Device, usable: bool) -> Result<()> {
        let mut state = lock(&self.state);
        match usable {
            true if state.access.insert(other.ordinal()) => other.open_peer(owner),
            false if state.access.remove(&other.ordinal()) => other.close_peer(owner),
            _ => Ok(()),
        }
    }

    /// Gives unused memory back until no more than `keep` bytes are reserved.
    pub fn trim(&self, keep: u64) {
        let mut state = lock(&self.state);
        let State { statistics, unused, .. } = &mut *state;
        unused.retain(|block| {
            if statistics.reserved <= keep || !block.freed.passed() {
                return true;
            }
            statistics.reserved -= block.bytes;
            // The pool has allocated it.
            let _ = self.machine.memory().free(block.address);
            false
        });
    }

    /// Memory for a stream: address and size, and what the stream must wait for first.
    fn take(&self, bytes: u64, stream: &Stream) -> Result<(u64, u64, Option<Marker>)> {
        let mut state = lock(&self.state);
        let State { statistics, unused, .. } = &mut *state;
        let opportunistic = statistics.opportunistic;
        let ready = |block: &Block| block.freed.is_of(stream) || (opportunistic && block.freed.passed());
        let best = |wanted: &dyn Fn(&Block) -> bool, unused: &[Block]| {
            let fitting = unused.iter().enumerate().filter(|(_, block)| wanted(block));
            fitting.min_by_key(|(_, block)| block.bytes).map(|(index, _)| index)
        };
        if let Some(index) = best(&|block| block.fits(bytes) && ready(block), unused) {
            let block = unused.swap_remove(index);
            statistics.take(block.bytes);
            return Ok((block.address, block.bytes, None));
        }
        let room = self.most - statistics.reserved.min(self.most);
        let mut error = Error::OutOfMemory;
        if bytes <= room {
            match self.machine.memory().allocate(bytes) {
                Ok(address) => {
                    statistics.reserve(bytes);
                    statistics.take(bytes);
                    return Ok((address, bytes, None));
                }
                Err(refused) => error = refused.into(),
            }
        }
        // There is no other memory: any that is large enough, or else give back what is unused and try once more.
        let any = |block: &Block| bytes <= block.bytes && (ready(block) || statistics.internal_dependencies);
        if let Some(index) = best(&any, unused) {
            let block = unused.swap_remove(index);
            statistics.take(block.bytes);
            let wait = (!block.freed.is_of(stream) && !block.freed.passed()).then_some(block.freed);
            return Ok((block.address, block.bytes, wait));
        }
        drop(state);
        self.trim(0);
        let mut state = lock(&self.state);
        if bytes > self.most - state.statistics.reserved.min(self.most) {
            return Err(error);
        }
        let address = self.machine.memory().allocate(bytes)?;
        state.statistics.reserve(bytes);
        state.statistics.take(bytes);
        Ok((address, bytes, None))
    }

    /// Takes memory back that was freed at a place.
    pub(crate) fn give_back(&self, address: u64, bytes: u64, freed: Marker) {
        let mut state = lock(&self.state);
        state.statistics.used -= bytes;
        state.unused.push(Block { address, bytes, freed });
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for block in std::mem::take(&mut lock(&self.state).unused) {
            block.freed.wait();
            // The pool has allocated it.
            let _ = self.machine.memory().free(block.address);
        }
    }
}

impl Context {
    /// Allocates memory at a place in a stream's order, from a pool or from the device's current one. In a captured
    /// stream it becomes memory of the graph.
    pub fn allocate_async(&self, pool: Option<&Arc<Pool>>, bytes: u64, stream: &Arc<Stream>) -> Result<u64> {
        self.usable()?;
        if bytes == 0 {
            return Err(Error::InvalidValue);
        }
        if self.capture_of(stream)?.is_some() {
            let allocation = GraphAllocation::new(self, bytes)?;
            let address = allocation.address();
            self.capture_task(stream, Task::Allocate(allocation))?;
            return Ok(address);
        }
        let pool = pool.map_or_else(|| self.device().current_pool(), |pool| Ok(Arc::clone(pool)))?;
        let (address, bytes, wait) = pool.take(bytes, stream)?;
        if let Some(marker) = wait {
            self.submit_now(stream, Operation::Wait(marker))?;
        }
        let process = self.device().process();
        lock(&process.pooled).insert(address, pool);
        let allocation = self.allocation(MemoryKind::Device, address, bytes, 0);
        lock(&process.allocations).insert(address, allocation);
        Ok(address)
    }

    /// Frees memory at a place in a stream's order. Its address is unknown to the context from now on.
    pub fn free_async(&self, address: u64, stream: &Arc<Stream>) -> Result<()> {
        self.usable()?;
        if self.capture_of(stream)?.is_some() {
            let info: Option<CaptureInfo> = self.capture_info(stream);
            let known = info.is_some_and(|info| info.graph.memory().0.iter().any(|a| a.address() == address));
            if !known {
                return Err(Error::InvalidValue);
            }
            return self.capture_task(stream, Task::Free(address)).map(drop);
        }
        let process = Arc::clone(self.device().process());
        let mut allocations = lock(&process.allocations);
        let known = allocations.get(&address).cloned().filter(Allocation::owned);
        if known.is_some() {
            allocations.remove(&address);
        }
        drop(allocations);
        let Some(allocation) = known else {
            return if self.device().graph_memory().free(address)? {
                Ok(())
            } else {
                Err(Error::InvalidValue)
            };
        };
        if let Some(pool) = process.disown(address) {
            let freed = self.submit_now(stream, Operation::Free(Box::new(|| ())))?;
            pool.give_back(address, allocation.bytes, freed);
            return Ok(());
        }
        let free = move || {
            // The allocation was in the list, so its memory has it.
            let _ = process.free(address);
        };
        self.submit_now(stream, Operation::Free(Box::new(free))).map(drop)
    }

    /// The pool that an allocation is of.
    pub fn pool_of(&self, address: u64) -> Option<Arc<Pool>> {
        lock(&self.device().process().pooled).get(&address).cloned()
    }
}
