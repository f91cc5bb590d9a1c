//! Memory and events that several processes of a machine use.
//!
//! What is exchanged are files: an allocation that is exported becomes one at its place, and so does the page with the
//! counters of an event that is made for this. How another process comes by the file is the C library's business.

use crate::allocation::{Allocation, MemoryKind};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::pool::{Origin, Pool, Sharing};
use crate::{Driver, Id, lock};
use machine::memory::shared::Shared;
use std::os::fd::OwnedFd;
use std::sync::Arc;

impl Driver {
    /// Lets other processes use an allocation of a pool that they share: where it is, and the pool.
    pub fn export_pooled(&self, address: u64) -> Result<(Shared, Id)> {
        let shares = |pool: &Arc<Pool>| pool.sharing() == Sharing::Exported;
        let pool = self.pool_of(address).filter(shares).ok_or(Error::InvalidValue)?;
        Ok((pool.memory().share(address)?, pool.id()))
    }

    /// The address of an allocation of another process's pool, which has to be this one, and which is `bytes` long; the
    /// same for one that is open already.
    pub fn import_pooled(&self, pool: &Arc<Pool>, origin: Origin, file: OwnedFd, bytes: u64) -> Result<u64> {
        if pool.sharing() != Sharing::Imported(origin) {
            return Err(Error::InvalidValue);
        }
        let (process, device) = (self.process(), pool.device());
        process.import(device, file, |file| {
            let address = pool.adopt(file, bytes)?;
            process.note_pooled(pool, Allocation::new(pool.kind(), address, bytes, device));
            Ok(address)
        })
    }
}

impl Context {
    /// Lets other processes use the allocation around an address; waits for the context's work.
    pub fn export_memory(&self, address: u64) -> Result<Shared> {
        self.usable()?;
        let known = self.allocation_of(address).filter(|known| known.kind == MemoryKind::Device);
        let known = known.ok_or(Error::InvalidValue)?;
        let process = self.device().process();
        if process.imports().has(known.address) || process.pool_of(known.address).is_some() {
            return Err(Error::InvalidValue);
        }
        self.drain()?;
        let memory = process.memory_of(known.address).ok_or(Error::InvalidValue)?;
        Ok(memory.share(known.address)?)
    }

    /// The address of an allocation of another process, which is `bytes` long; the same for one that is open already.
    pub fn import_memory(&self, file: OwnedFd, bytes: u64) -> Result<u64> {
        self.usable()?;
        let process = self.device().process();
        process.import(self.device().ordinal(), file, |file| {
            let address = self.machine().memory().adopt(file, bytes)?;
            let allocation = self.allocation(MemoryKind::Device, address, bytes, 0);
            lock(&process.allocations).insert(address, allocation);
            Ok(address)
        })
    }

    /// Undoes one [`Context::import_memory`]; the last one waits for the context's work.
    pub fn close_imported(&self, address: u64) -> Result<()> {
        self.usable()?;
        let process = self.device().process();
        if !process.imports().close(address).ok_or(Error::InvalidValue)? {
            return Ok(());
        }
        self.drain()?;
        let allocation = lock(&process.allocations).remove(&address).ok_or(Error::InvalidValue)?;
        match process.disown(address) {
            Some(pool) => {
                self.give_back(&pool, address, allocation.bytes, self.legacy_stream().marker());
            }
            None => process.free(address)?,
        }
        Ok(())
    }
}
