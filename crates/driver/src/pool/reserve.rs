//! One pool: what it has reserved, what of it is used and what is free again.

use crate::allocation::MemoryKind;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::managed::Location;
use crate::stream::{Marker, Stream};
use crate::{Driver, Id, lock};
use machine::memory::DeviceMemory;
use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

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
    pub(super) id: Id,
    pub(super) home: Home,
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

impl Pool {
    /// A pool that has reserved nothing; of no more than `most` bytes if that is not 0.
    pub(super) fn new(home: Home, sharing: Sharing, memory: Arc<DeviceMemory>, most: u64) -> Arc<Self> {
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
        Arc::new(Self { id: Id::next(), home, sharing, memory, most, state })
    }

    /// The program has waited for something: gives back what need not be kept.
    pub(super) fn settle(&self) {
        let keep = lock(&self.state).statistics.release_threshold;
        self.trim(keep);
    }

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
    pub(super) fn take(&self, bytes: u64, stream: &Stream) -> Result<(u64, u64, Option<Marker>)> {
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
    pub(super) fn give_back(&self, address: u64, bytes: u64, freed: Marker, before: Vec<Marker>) {
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
