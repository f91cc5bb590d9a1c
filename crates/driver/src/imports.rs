//! The memory of other processes that this one uses.

use crate::error::{Error, Result};
use crate::lock;
use crate::process::Process;
use machine::memory::shared::identity;
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

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

impl Process {
    /// The memory of other processes that this one uses.
    pub(crate) fn imports(&self) -> Arc<Imports> {
        self.extensions.get()
    }

    /// The address of an allocation of another process, which counts for a device; a new one is adopted.
    pub(crate) fn import(
        &self,
        device: usize,
        file: OwnedFd,
        adopt: impl FnOnce(OwnedFd) -> Result<u64>,
    ) -> Result<u64> {
        let identity = identity(&file).map_err(|_| Error::InvalidHandle)?;
        let known = self.imports();
        let mut imports = lock(&known.0);
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
