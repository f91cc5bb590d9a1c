//! Allocations of a context, and what a pointer is.
//!
//! Page-locked host memory and managed memory come from the same range as device memory: a device pointer is an address
//! of the process, so program and kernels can both use it as it is.

use crate::context::Context;
use crate::error::{Error, Result};
use crate::{Id, lock};

/// What memory was allocated as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKind {
    /// For the device.
    Device,
    /// Page-locked, for the program and the device.
    Host,
    /// Managed.
    Managed,
    /// The program's own, page-locked afterwards.
    Registered,
}

/// An allocation.
#[derive(Clone, Copy, Debug)]
pub struct Allocation {
    /// What as.
    pub kind: MemoryKind,
    /// First byte.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
    /// The flags it was made with.
    pub flags: u32,
    /// What tells it from all others.
    pub id: Id,
}

impl Allocation {
    /// Whether the memory is the context's.
    pub(crate) fn owned(&self) -> bool {
        self.kind != MemoryKind::Registered
    }
}

/// The alignment of rows that [`Context::allocate_pitched`] gives.
pub const PITCH: u64 = 512;

impl Context {
    /// Allocates memory that both the device and the program can use.
    pub fn allocate(&self, kind: MemoryKind, bytes: u64, flags: u32) -> Result<u64> {
        self.usable()?;
        self.permit_unsafe()?;
        if bytes == 0 {
            return Err(Error::InvalidValue);
        }
        let address = self.machine().memory().allocate(bytes)?;
        let allocation = Allocation { kind, address, bytes, flags, id: Id::next() };
        lock(&self.allocations).insert(address, allocation);
        Ok(address)
    }

    /// Allocates rows whose starts are aligned: the address and the distance of rows.
    pub fn allocate_pitched(&self, width: u64, height: u64) -> Result<(u64, u64)> {
        let pitch = width.checked_next_multiple_of(PITCH).ok_or(Error::OutOfMemory)?;
        let bytes = pitch.checked_mul(height).ok_or(Error::OutOfMemory)?;
        Ok((self.allocate(MemoryKind::Device, bytes, 0)?, pitch))
    }

    /// Frees memory when all work of the context is done.
    pub fn free(&self, address: u64) -> Result<()> {
        self.usable()?;
        self.permit_unsafe()?;
        if !lock(&self.allocations).get(&address).is_some_and(Allocation::owned) {
            return if self.device().graph_memory().free(address)? {
                Ok(())
            } else {
                Err(Error::InvalidValue)
            };
        }
        self.drain()?;
        let Some(allocation) = lock(&self.allocations).remove(&address) else {
            return Err(Error::InvalidValue);
        };
        if let Some(pool) = self.device().pools().disown(address) {
            pool.give_back(address, allocation.bytes, self.legacy_stream().marker());
            return Ok(());
        }
        Ok(self.machine().memory().free(address)?)
    }

    /// Notes that the program's own memory is page-locked.
    pub fn register(&self, address: u64, bytes: u64, flags: u32) -> Result<()> {
        self.usable()?;
        if address == 0 || bytes == 0 || address.checked_add(bytes).is_none() {
            return Err(Error::InvalidValue);
        }
        let mut allocations = lock(&self.allocations);
        let before = allocations.range(..address + bytes).next_back();
        if before.is_some_and(|(&start, other)| start + other.bytes > address) {
            return Err(Error::HostMemoryAlreadyRegistered);
        }
        let kind = MemoryKind::Registered;
        allocations.insert(address, Allocation { kind, address, bytes, flags, id: Id::next() });
        Ok(())
    }

    /// Undoes [`Context::register`].
    pub fn unregister(&self, address: u64) -> Result<()> {
        let mut allocations = lock(&self.allocations);
        match allocations.get(&address) {
            Some(allocation) if !allocation.owned() => {
                allocations.remove(&address);
                Ok(())
            }
            _ => Err(Error::HostMemoryNotRegistered),
        }
    }

    /// The allocation that an address lies in.
    pub fn allocation_of(&self, address: u64) -> Option<Allocation> {
        let allocations = lock(&self.allocations);
        let (_, allocation) = allocations.range(..=address).next_back()?;
        (address - allocation.address < allocation.bytes).then_some(*allocation)
    }

    /// The range around an address that is memory of the device: an allocation or a variable of a module.
    pub fn range_of(&self, address: u64) -> Option<(u64, u64)> {
        self.machine().memory().allocation_of(address)
    }

    /// Bytes of memory that are free, and that there are.
    pub fn memory_info(&self) -> (u64, u64) {
        let memory = self.machine().memory();
        (memory.limit().saturating_sub(memory.used()), memory.limit())
    }
}
