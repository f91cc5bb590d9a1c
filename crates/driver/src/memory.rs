//! Allocations, and what a pointer is.
//!
//! Device memory lies in its device's range of addresses, page-locked and managed memory in a range that all devices
//! have in common. Both are addresses of the process, so that program and kernels use the same bytes at the same
//! address. Memory of the program that it registers keeps its address, too: kernels reach it as long as it is
//! registered. An allocation belongs to the context that made it, and every other one can use it.

use crate::context::Context;
use crate::device::Driver;
use crate::error::{Error, Result};
use crate::lock;

pub use crate::allocation::{Allocation, MemoryKind};

/// The alignment of rows that [`Context::allocate_pitched`] gives.
pub const PITCH: u64 = 512;

impl Context {
    /// Allocates memory that both devices and the program can use.
    pub fn allocate(&self, kind: MemoryKind, bytes: u64, flags: u32) -> Result<u64> {
        self.usable()?;
        self.permit_unsafe()?;
        if bytes == 0 {
            return Err(Error::InvalidValue);
        }
        let process = self.device().process();
        let of_device = kind == MemoryKind::Device;
        let memory = if of_device { self.machine().shared_memory() } else { process.common()? };
        let address = memory.allocate(bytes)?;
        let allocation = self.allocation(kind, address, bytes, flags);
        lock(&process.allocations).insert(address, allocation);
        if let Some(checking) = process.checking().filter(|_| of_device) {
            checking.allocated(address, bytes);
        }
        Ok(address)
    }

    /// Allocates rows whose starts are aligned: the address and the distance of rows.
    pub fn allocate_pitched(&self, width: u64, height: u64) -> Result<(u64, u64)> {
        let pitch = width.checked_next_multiple_of(PITCH).ok_or(Error::OutOfMemory)?;
        let bytes = pitch.checked_mul(height).ok_or(Error::OutOfMemory)?;
        Ok((self.allocate(MemoryKind::Device, bytes, 0)?, pitch))
    }

    /// Frees device memory and managed memory when all work of its context is done.
    pub fn free(&self, address: u64) -> Result<()> {
        self.free_if(address, |kind| matches!(kind, MemoryKind::Device | MemoryKind::Managed))
    }

    /// Frees page-locked memory when all work of its context is done.
    pub fn free_host(&self, address: u64) -> Result<()> {
        self.free_if(address, |kind| kind == MemoryKind::Host)
    }

    fn free_if(&self, address: u64, fits: impl Fn(MemoryKind) -> bool) -> Result<()> {
        self.usable()?;
        self.permit_unsafe()?;
        let process = self.device().process();
        if process.imports().has(address) {
            // What another process has allocated ends as it began: by a handle, or as memory of a pool.
            return match self.pool_of(address) {
                Some(_) => self.close_imported(address),
                None => Err(Error::InvalidValue),
            };
        }
        let find = || lock(&process.allocations).get(&address).filter(|known| fits(known.kind)).cloned();
        let Some(known) = find() else {
            let of_graph = fits(MemoryKind::Device)
                && self.device().graph_memory().free(address, self.legacy_stream().marker())?;
            return if of_graph { Ok(()) } else { Err(Error::InvalidValue) };
        };
        self.drain()?;
        if let Some(owner) =
            known.context.and_then(|id| self.of_process(id)).filter(|owner| owner.id() != self.id())
        {
            owner.drain()?;
        }
        if lock(&process.allocations).remove(&address).is_none() {
            return Err(Error::InvalidValue);
        }
        process.checking().iter().for_each(|checking| checking.freed(address));
        if let Some(pool) = process.disown(address) {
            if let Some(checking) = process.checking() {
                checking.gave_back(address, known.bytes, checking.times_taken(address));
            }
            self.give_back(&pool, address, known.bytes, self.legacy_stream().marker());
            return Ok(());
        }
        process.free(address)
    }

    /// Ends all that the context has allocated and registered.
    pub(crate) fn free_all(&self) {
        let process = self.device().process();
        let mut gone = Vec::new();
        lock(&process.allocations).retain(|_, allocation| {
            let stays = allocation.context != Some(self.id());
            if !stays {
                gone.push(allocation.clone());
            }
            stays
        });
        for allocation in gone {
            let imported = process.imports().forget(allocation.address);
            let pool = process.disown(allocation.address).filter(|_| !imported);
            if let Some(pool) = pool {
                let freed = self.legacy_stream().marker();
                self.give_back(&pool, allocation.address, allocation.bytes, freed);
            } else if allocation.owned() {
                // It was in the list, so its memory has it; a refusal would only mean that it has gone already.
                let _ = process.free(allocation.address);
            } else {
                process.withdraw(allocation.address);
            }
        }
    }

    /// Lets kernels of all devices use memory of the program at its own address.
    pub fn register(&self, address: u64, bytes: u64, flags: u32) -> Result<()> {
        self.usable()?;
        let end = address.checked_add(bytes).filter(|_| address != 0 && bytes != 0);
        let end = end.ok_or(Error::InvalidValue)?;
        let process = self.device().process();
        if process.memory_of(address).is_some() {
            return Err(Error::HostMemoryAlreadyRegistered);
        }
        let mut allocations = lock(&process.allocations);
        let before = allocations.range(..end).next_back();
        if before.is_some_and(|(&start, other)| start + other.bytes > address) {
            return Err(Error::HostMemoryAlreadyRegistered);
        }
        let range = process.host.share(address, bytes).ok_or(Error::InvalidValue)?;
        for machine in process.machines() {
            machine.reach().share(range.clone());
        }
        allocations.insert(address, self.allocation(MemoryKind::Registered, address, bytes, flags));
        Ok(())
    }

    /// The range around an address that is memory of the driver: an allocation or a variable of a module.
    pub fn range_of(&self, address: u64) -> Option<(u64, u64)> {
        self.device().process().memory_of(address)?.allocation_of(address)
    }

    /// Bytes of memory that are free, and that there are.
    pub fn memory_info(&self) -> (u64, u64) {
        let memory = self.machine().memory();
        (memory.limit().saturating_sub(memory.used()), memory.limit())
    }
}

impl Driver {
    /// Undoes [`Context::register`]; waits for kernels that can still use the memory.
    pub fn unregister(&self, address: u64) -> Result<()> {
        let process = self.process();
        let mut allocations = lock(&process.allocations);
        match allocations.get(&address) {
            None => return Err(Error::HostMemoryNotRegistered),
            // What the driver has allocated is freed.
            Some(known) if known.owned() => return Err(Error::InvalidValue),
            Some(_) => allocations.remove(&address),
        };
        drop(allocations);
        process.withdraw(address);
        Ok(())
    }
}
