//! Memory and events that several processes of a machine use.
//!
//! What is exchanged are files: an allocation that is exported becomes one at its place, and so does the page with the
//! counters of an event that is made for this. How another process comes by the file is the border's business.

use crate::context::Context;
use crate::device::Process;
use crate::error::{Error, Result};
use crate::memory::{Allocation, MemoryKind};
use crate::pool::{Origin, Pool, Sharing};
use crate::{Driver, Id, lock};
use machine::memory::DeviceMemory;
use machine::memory::shared::{Shared, identity};
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long a wait for another process sleeps between two looks.
const PAUSE: Duration = Duration::from_micros(20);
/// How often it looks before it sleeps.
const LOOKS: u32 = 500;
/// Bytes of the page of an event: how often it was recorded, and which record was reached last.
const PAGE: u64 = 4096;

/// The memory of other processes that this one uses.
#[derive(Debug, Default)]
pub(crate) struct Imports(Mutex<HashMap<u64, Import>>);

/// An allocation of another process.
#[derive(Debug)]
struct Import {
    identity: u64,
    /// The ordinal of the device that it counts for.
    device: usize,
    /// How often it is open.
    users: usize,
}

impl Imports {
    /// Whether the allocation at an address is another process's.
    pub(crate) fn has(&self, address: u64) -> bool {
        lock(&self.0).contains_key(&address)
    }

    /// Its context is gone. Whether there was such.
    pub(crate) fn forget(&self, address: u64) -> bool {
        lock(&self.0).remove(&address).is_some()
    }

    /// Closes an allocation once; whether that was the last time, `None` if there is no such.
    pub(crate) fn close(&self, address: u64) -> Option<bool> {
        let mut imports = lock(&self.0);
        let import = imports.get_mut(&address)?;
        import.users -= 1;
        let last = import.users == 0;
        if last {
            imports.remove(&address);
        }
        Some(last)
    }
}

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

impl Process {
    /// The address of an allocation of another process, which counts for a device; a new one is adopted.
    fn import(
        &self,
        device: usize,
        file: OwnedFd,
        adopt: impl FnOnce(OwnedFd) -> Result<u64>,
    ) -> Result<u64> {
        let identity = identity(&file).map_err(|_| Error::InvalidHandle)?;
        let mut imports = lock(&self.imports.0);
        let mut open = imports.iter_mut();
        let same = open.find(|(_, import)| (import.identity, import.device) == (identity, device));
        if let Some((&address, import)) = same {
            import.users += 1;
            return Ok(address);
        }
        let address = adopt(file).map_err(|error| match error {
            Error::OutOfMemory => error,
            _ => Error::InvalidHandle,
        })?;
        imports.insert(address, Import { identity, device, users: 1 });
        Ok(address)
    }
}

impl Context {
    /// Lets other processes use the allocation around an address; waits for the context's work.
    pub fn export_memory(&self, address: u64) -> Result<Shared> {
        self.usable()?;
        let known = self.allocation_of(address).filter(|known| known.kind == MemoryKind::Device);
        let known = known.ok_or(Error::InvalidValue)?;
        let process = self.device().process();
        if process.imports.has(known.address) || lock(&process.pooled).contains_key(&known.address) {
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
        if !process.imports.close(address).ok_or(Error::InvalidValue)? {
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

/// The counters of an event that several processes use.
#[derive(Debug)]
pub(crate) struct Signal {
    memory: Arc<DeviceMemory>,
    address: u64,
}

impl Signal {
    /// Counters of a new event.
    pub(crate) fn new(process: &Process) -> Result<Arc<Self>> {
        let memory = Arc::clone(process.common()?);
        let address = memory.allocate(PAGE)?;
        Ok(Arc::new(Self { memory, address }))
    }

    /// Those of an event of another process.
    pub(crate) fn open(process: &Process, file: OwnedFd) -> Result<Arc<Self>> {
        let memory = Arc::clone(process.common()?);
        let address = memory.adopt(file, PAGE).map_err(|_| Error::InvalidHandle)?;
        Ok(Arc::new(Self { memory, address }))
    }

    pub(crate) fn share(&self) -> Result<Shared> {
        Ok(self.memory.share(self.address)?)
    }

    fn counter(&self, index: u64) -> &std::sync::atomic::AtomicU64 {
        self.memory.counter(self.address + 8 * index).expect("the page is there as long as the event")
    }

    /// The event is recorded once more: the number of this record.
    pub(crate) fn record(&self) -> u64 {
        self.counter(0).fetch_add(1, Ordering::SeqCst) + 1
    }

    /// The number of the last record.
    pub(crate) fn recorded(&self) -> u64 {
        self.counter(0).load(Ordering::SeqCst)
    }

    /// A record is reached.
    pub(crate) fn reach(&self, number: u64) {
        self.counter(1).fetch_max(number, Ordering::SeqCst);
    }

    /// Whether a record is reached.
    pub(crate) fn reached(&self, number: u64) -> bool {
        self.counter(1).load(Ordering::SeqCst) >= number
    }

    /// Waits until a record is reached, in whichever process.
    pub(crate) fn wait(&self, number: u64) {
        let mut looks = 0;
        while !self.reached(number) {
            looks += 1;
            if looks < LOOKS { std::hint::spin_loop() } else { std::thread::sleep(PAUSE) }
        }
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        // It is there: nobody else knows of it.
        let _ = self.memory.free(self.address);
    }
}
