//! Memory pools: memory that streams allocate and free in their order (CUDA programming guide, "Stream Ordered Memory
//! Allocator").
//!
//! What a stream frees stays with the pool, with the place in the stream's order where it was freed. The next
//! allocation takes it up if that place lies before its own: in the same stream always, in another one when the place is
//! passed or, when there is no other memory, by waiting for it. What a pool keeps unused beyond its release threshold
//! it gives back when the program waits for something.
//!
//! A pool's memory is a device's, page-locked memory of the host, or managed memory. Every allocation is one of the
//! machine's own, so that an access beyond its end is found.
//!
//! A pool that other processes share is known to them by a file that names it; they see the allocations that they are
//! told of one by one ([`crate::ipc`]), and allocate nothing from it.

use crate::capture::CaptureInfo;
use crate::context::Context;
use crate::device::{Device, Process};
use crate::error::{Error, Result};
use crate::graph::Task;
use crate::graph::memory::GraphAllocation;
use crate::managed::Location;
use crate::memory::{Allocation, MemoryKind};
use crate::stream::{Marker, Operation, Stream};
use crate::{Driver, Id, lock};
use machine::memory::DeviceMemory;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, Weak};

/// Whose memory a pool has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Home {
    /// The device's of this ordinal.
    Device(usize),
    /// The host's, page-locked; on a NUMA node if one is named.
    Host(Option<i32>),
    /// Managed memory, and where it is best.
    Managed(Option<Location>),
}

impl Home {
    /// What memory of the pool is allocated as.
    fn kind(self) -> MemoryKind {
        match self {
            Self::Device(_) => MemoryKind::Device,
            Self::Host(_) => MemoryKind::Host,
            Self::Managed(_) => MemoryKind::Managed,
        }
    }
}

/// Which processes a pool is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// This one.
    Private,
    /// This one, and others that it lets use what it allocates.
    Exported,
    /// Another one, which lets this one use what it allocates.
    Imported(Origin),
}

/// What tells a pool from all others of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The process that made it.
    pub process: u32,
    /// What it is there.
    pub id: Id,
}

impl Sharing {
    /// Whether a pool is another process's.
    pub fn imported(self) -> bool {
        matches!(self, Self::Imported(_))
    }
}

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

/// A pool.
#[derive(Debug)]
pub struct Pool {
    id: Id,
    home: Home,
    sharing: Sharing,
    memory: Arc<DeviceMemory>,
    /// The most that it may reserve.
    most: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    statistics: Statistics,
    unused: Vec<Block>,
    /// Devices, besides that whose memory it is, that may use it.
    access: BTreeSet<usize>,
}

/// Memory that was freed.
#[derive(Debug)]
struct Block {
    address: u64,
    bytes: u64,
    /// Behind its freeing.
    freed: Marker,
    /// What other streams had to do then: a GPU's memory goes after that, though no order says so.
    before: Vec<Marker>,
}

impl Statistics {
    /// Memory from the device goes into an allocation.
    fn grow(&mut self, bytes: u64) {
        self.reserved += bytes;
        self.reserved_high = self.reserved_high.max(self.reserved);
        self.take(bytes);
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

/// The pools of a process.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    places: Mutex<BTreeMap<Home, Place>>,
    all: Mutex<Vec<Weak<Pool>>>,
}

/// The pools for memory of one kind and place.
#[derive(Debug)]
struct Place {
    /// The one that is there from the beginning.
    default: Arc<Pool>,
    /// The one that is used where none is named.
    current: Arc<Pool>,
}

impl Pools {
    /// The program has waited for something: pools give back what they need not keep.
    pub(crate) fn settle(&self) {
        let pools: Vec<Arc<Pool>> = lock(&self.all).iter().filter_map(Weak::upgrade).collect();
        for pool in pools {
            let keep = lock(&pool.state).statistics.release_threshold;
            pool.trim(keep);
        }
    }

    fn make(&self, home: Home, sharing: Sharing, memory: Arc<DeviceMemory>, most: u64) -> Arc<Pool> {
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
        let pool = Arc::new(Pool { id: Id::next(), home, sharing, memory, most, state });
        let mut all = lock(&self.all);
        all.retain(|other| other.strong_count() > 0);
        all.push(Arc::downgrade(&pool));
        pool
    }

    /// What there is at a place; its memory is asked for if nothing has been there.
    fn at<T>(
        &self,
        home: Home,
        memory: impl FnOnce() -> Result<Arc<DeviceMemory>>,
        use_: impl FnOnce(&mut Place) -> T,
    ) -> Result<T> {
        let mut places = lock(&self.places);
        if let Some(place) = places.get_mut(&home) {
            return Ok(use_(place));
        }
        let default = self.make(home, Sharing::Private, memory()?, 0);
        let mut place = Place { current: Arc::clone(&default), default };
        let used = use_(&mut place);
        places.insert(home, place);
        Ok(used)
    }
}

impl Process {
    /// The pool that an allocation is of.
    fn pool_of(&self, address: u64) -> Option<Arc<Pool>> {
        lock(&self.pooled).get(&address).cloned()
    }

    /// Notes an allocation of a pool.
    pub(crate) fn note_pooled(&self, pool: &Arc<Pool>, allocation: Allocation) {
        if let (Some(pages), Home::Managed(Some(best))) = (&allocation.pages, pool.home) {
            pages.prefer(best);
        }
        lock(&self.pooled).insert(allocation.address, Arc::clone(pool));
        lock(&self.allocations).insert(allocation.address, allocation);
    }

    /// The pool that an allocation is of, which no longer is.
    pub(crate) fn disown(&self, address: u64) -> Option<Arc<Pool>> {
        lock(&self.pooled).remove(&address)
    }
}

impl Device {
    /// The pool that allocations are from which name none.
    fn current_pool(&self) -> Result<Arc<Pool>> {
        let memory = || Ok(Arc::clone(self.machine()?.shared_memory()));
        self.process().pools.at(Home::Device(self.ordinal()), memory, |place| Arc::clone(&place.current))
    }
}

impl Driver {
    /// The memory that pools at a place take theirs from.
    fn memory_at(&self, home: Home) -> Result<Arc<DeviceMemory>> {
        let device = |ordinal: usize| self.devices().get(ordinal).ok_or(Error::InvalidDevice);
        match home {
            Home::Device(ordinal) => Ok(Arc::clone(device(ordinal)?.machine()?.shared_memory())),
            // The host is taken to have one node.
            Home::Host(Some(node)) | Home::Managed(Some(Location::Node(node))) if node != 0 => {
                Err(Error::InvalidValue)
            }
            Home::Managed(Some(Location::Device(ordinal))) if device(ordinal).is_err() => {
                Err(Error::InvalidValue)
            }
            Home::Host(_) | Home::Managed(_) => Ok(Arc::clone(self.process().common()?)),
        }
    }

    fn at<T>(&self, home: Home, use_: impl FnOnce(&mut Place) -> T) -> Result<T> {
        self.process().pools.at(home, || self.memory_at(home), use_)
    }

    /// A new pool, of no more than `most` bytes if that is not 0.
    pub fn create_pool(&self, home: Home, sharing: Sharing, most: u64) -> Result<Arc<Pool>> {
        Ok(self.process().pools.make(home, sharing, self.memory_at(home)?, most))
    }

    /// The pool that is there from the beginning.
    pub fn default_pool(&self, home: Home) -> Result<Arc<Pool>> {
        self.at(home, |place| Arc::clone(&place.default))
    }

    /// The pool that is used where none is named.
    pub fn current_pool(&self, home: Home) -> Result<Arc<Pool>> {
        self.at(home, |place| Arc::clone(&place.current))
    }

    /// Sets it.
    pub fn set_current_pool(&self, home: Home, pool: &Arc<Pool>) -> Result<()> {
        if pool.home != home || pool.sharing.imported() {
            return Err(Error::InvalidValue);
        }
        self.at(home, |place| place.current = Arc::clone(pool))
    }

    /// The pool that an allocation is of.
    pub fn pool_of(&self, address: u64) -> Option<Arc<Pool>> {
        self.process().pool_of(address)
    }

    /// A pool is to be used no more, except for what is allocated from it.
    pub fn forget_pool(&self, pool: &Pool) -> Result<()> {
        if let Some(place) = lock(&self.process().pools.places).get_mut(&pool.home) {
            if place.default.id == pool.id {
                return Err(Error::InvalidValue);
            }
            if place.current.id == pool.id {
                place.current = Arc::clone(&place.default);
            }
        }
        pool.trim(0);
        Ok(())
    }
}

impl Pool {
    /// Its identity.
    pub fn id(&self) -> Id {
        self.id
    }

    /// Whose memory it has.
    pub fn home(&self) -> Home {
        self.home
    }

    /// Which processes it is for.
    pub fn sharing(&self) -> Sharing {
        self.sharing
    }

    pub(crate) fn memory(&self) -> &DeviceMemory {
        &self.memory
    }

    /// What memory of it is allocated as.
    pub(crate) fn kind(&self) -> MemoryKind {
        self.home.kind()
    }

    /// The ordinal of the device that its memory counts for; the first one if it is not a device's.
    pub(crate) fn device(&self) -> usize {
        if let Home::Device(ordinal) = self.home { ordinal } else { 0 }
    }

    /// What it may do, and what it has done; only the process that made it knows.
    pub fn statistics(&self) -> Result<Statistics> {
        self.own()?;
        Ok(lock(&self.state).statistics)
    }

    /// Changes what it may do, or its highest values.
    pub fn configure(&self, change: impl FnOnce(&mut Statistics)) -> Result<()> {
        self.own()?;
        change(&mut lock(&self.state).statistics);
        Ok(())
    }

    /// That this process has made it.
    fn own(&self) -> Result<()> {
        if self.sharing.imported() { Err(Error::InvalidValue) } else { Ok(()) }
    }

    /// Whether a device has been given its memory, or has it anyway. Page-locked and managed memory can be used by all
    /// devices in any case, which is not so with CUDA.
    pub fn accessible(&self, ordinal: usize) -> bool {
        self.home == Home::Device(ordinal) || lock(&self.state).access.contains(&ordinal)
    }

    /// Lets a device use its memory, or keeps it from that. Memory of a device can be given to devices that can access it.
    pub fn set_access(&self, driver: &Driver, other: &Device, usable: bool) -> Result<()> {
        let owner = match self.home {
            Home::Device(ordinal) => Some(driver.devices().get(ordinal).ok_or(Error::InvalidDevice)?),
            Home::Host(_) | Home::Managed(_) => None,
        };
        // A device cannot be kept from its own memory.
        if let Some(owner) = owner.filter(|owner| !other.can_access(owner)) {
            let own = owner.ordinal() == other.ordinal();
            return if usable && own { Ok(()) } else { Err(Error::InvalidDevice) };
        }
        let mut state = lock(&self.state);
        let changes = match usable {
            true => state.access.insert(other.ordinal()),
            false => state.access.remove(&other.ordinal()),
        };
        match owner.filter(|_| changes) {
            Some(owner) if usable => other.open_peer(owner),
            Some(owner) => other.close_peer(owner),
            None => Ok(()),
        }
    }

    /// Gives unused memory back until no more than `keep` bytes are reserved.
    pub fn trim(&self, keep: u64) {
        let mut state = lock(&self.state);
        let State { statistics, unused, .. } = &mut *state;
        unused.retain(|block| {
            let over = || block.freed.passed() && block.before.iter().all(Marker::reached);
            if statistics.reserved <= keep || !over() {
                return true;
            }
            statistics.reserved -= block.bytes;
            // The pool has allocated it.
            let _ = self.memory.free(block.address);
            false
        });
    }

    /// Memory for a stream: address and size, and what the stream must wait for first.
    fn take(&self, bytes: u64, stream: &Stream) -> Result<(u64, u64, Option<Marker>)> {
        self.own()?;
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
            match self.reserve(bytes) {
                Ok(address) => {
                    statistics.grow(bytes);
                    return Ok((address, bytes, None));
                }
                Err(refused) => error = refused,
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
        let address = self.reserve(bytes)?;
        state.statistics.grow(bytes);
        Ok((address, bytes, None))
    }

    /// Memory that the pool has not had before. That of a pool which other processes use becomes theirs right away: later
    /// there may be work that writes to it, which an export would have to wait for.
    fn reserve(&self, bytes: u64) -> Result<u64> {
        let address = self.memory.allocate(bytes)?;
        if self.sharing == Sharing::Exported
            && let Err(error) = self.memory.share(address)
        {
            self.memory.free(address)?;
            return Err(error.into());
        }
        Ok(address)
    }

    /// Takes an allocation of another process in.
    pub(crate) fn adopt(&self, file: OwnedFd, bytes: u64) -> Result<u64> {
        let address = self.memory.adopt(file, bytes)?;
        lock(&self.state).statistics.grow(bytes);
        Ok(address)
    }

    /// Takes memory back that was freed at a place, when other streams had this to do.
    fn give_back(&self, address: u64, bytes: u64, freed: Marker, before: Vec<Marker>) {
        let mut state = lock(&self.state);
        state.statistics.used -= bytes;
        state.unused.push(Block { address, bytes, freed, before });
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for block in std::mem::take(&mut lock(&self.state).unused) {
            block.freed.wait();
            block.before.iter().for_each(Marker::wait);
            // The pool has allocated it.
            let _ = self.memory.free(block.address);
        }
    }
}

impl Context {
    /// Allocates memory at a place in a stream's order, from a pool or from the device's current one. In a captured
    /// stream it becomes memory of the graph. No bytes have the address 0.
    pub fn allocate_async(&self, pool: Option<&Arc<Pool>>, bytes: u64, stream: &Arc<Stream>) -> Result<u64> {
        self.usable()?;
        let captured = self.capture_of(stream)?.is_some();
        if bytes == 0 {
            return Ok(0);
        }
        if captured {
            let allocation = GraphAllocation::new(self, MemoryKind::Device, bytes)?;
            let address = allocation.address();
            self.capture_task(stream, Task::Allocate(allocation))?;
            return Ok(address);
        }
        let pool = pool.map_or_else(|| self.device().current_pool(), |pool| Ok(Arc::clone(pool)))?;
        let (address, bytes, wait) = pool.take(bytes, stream)?;
        if let Some(marker) = wait {
            self.submit_now(stream, Operation::Wait(marker))?;
        }
        self.device().process().note_pooled(&pool, self.allocation(pool.kind(), address, bytes, 0));
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
        let imported = self.pool_of(address).is_some_and(|pool| pool.sharing().imported());
        if imported && !process.imports.close(address).ok_or(Error::InvalidValue)? {
            return Ok(());
        }
        let mut allocations = lock(&process.allocations);
        let known = allocations.get(&address).cloned().filter(Allocation::owned);
        if known.is_some() {
            allocations.remove(&address);
        }
        drop(allocations);
        let Some(allocation) = known else {
            return if self.device().graph_memory().free(address, stream.marker())? {
                Ok(())
            } else {
                Err(Error::InvalidValue)
            };
        };
        if let Some(pool) = process.disown(address) {
            let freed = self.submit_now(stream, Operation::Free(Box::new(|| ())))?;
            self.give_back(&pool, address, allocation.bytes, freed);
            return Ok(());
        }
        let free = move || {
            // The allocation was in the list, so its memory has it.
            let _ = process.free(address);
        };
        self.submit_now(stream, Operation::Free(Box::new(free))).map(drop)
    }

    /// Memory that was freed at a place goes back to its pool.
    pub(crate) fn give_back(&self, pool: &Pool, address: u64, bytes: u64, freed: Marker) {
        pool.give_back(address, bytes, freed, self.pending());
    }

    /// The pool that an allocation is of.
    pub fn pool_of(&self, address: u64) -> Option<Arc<Pool>> {
        self.device().process().pool_of(address)
    }
}
