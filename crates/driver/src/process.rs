//! What all devices use of the process: its memory and theirs, allocations, settings.

use crate::allocation::{Allocation, MemoryKind};
use crate::check::Checking;
use crate::error::{Error, Result};
use crate::extensions::Extensions;
use crate::host::HostMemory;
use crate::lock;
use crate::settings::{Report, Settings};
use crate::warnings::Warnings;
use machine::memory::DeviceMemory;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

/// What all devices use of the process.
pub(crate) struct Process {
    pub(crate) host: Box<dyn HostMemory>,
    pub(crate) report: Box<Report>,
    /// How many devices there are.
    pub(crate) devices: usize,
    pub(crate) settings: Settings,
    /// The machines made so far, to find whose an address is.
    machines: Mutex<Vec<Arc<machine::Device>>>,
    /// Where page-locked and managed memory comes from, which all devices use.
    common: OnceLock<Result<Arc<DeviceMemory>>>,
    /// The allocations of all contexts, and what the program has registered.
    pub(crate) allocations: Mutex<BTreeMap<u64, Allocation>>,
    pub(crate) warnings: Warnings,
    pub(crate) extensions: Extensions,
    /// Whose turn it is to change memory, while launches are debugged.
    pub(crate) turns: Mutex<()>,
}

impl Process {
    pub(crate) fn new(
        devices: usize,
        host: Box<dyn HostMemory>,
        report: Box<Report>,
        settings: Settings,
    ) -> Self {
        Self {
            host,
            report,
            devices,
            settings,
            machines: Mutex::default(),
            common: OnceLock::new(),
            allocations: Mutex::default(),
            warnings: Warnings::default(),
            extensions: Extensions::default(),
            turns: Mutex::default(),
        }
    }

    /// A process that only a test has.
    #[cfg(test)]
    pub(crate) fn of_test() -> Arc<Self> {
        struct Nothing;
        impl HostMemory for Nothing {
            fn read(&self, _: u64, _: usize, _: &mut dyn FnMut(&[u8])) {}
            fn write(&self, _: u64, _: usize, _: &mut dyn FnMut(&mut [u8])) {}
            fn share(&self, _: u64, _: u64) -> Option<machine::memory::HostRange> {
                None
            }
        }
        Arc::new(Self::new(0, Box::new(Nothing), Box::new(|_| ()), Settings::default()))
    }

    /// Who watches kernels, if somebody does.
    pub(crate) fn checking(&self) -> Option<&Checking> {
        self.settings.checking.as_deref()
    }

    /// Page-locked and managed memory. It is reserved when it is first used.
    pub(crate) fn common(&self) -> Result<&Arc<DeviceMemory>> {
        let made = self.common.get_or_init(|| {
            let bytes = machine::memory::host_memory();
            let limit = self.settings.memory_limit.unwrap_or(bytes / 2);
            let memory = DeviceMemory::new(bytes, limit).map_err(|_| Error::OperatingSystem)?;
            Ok(Arc::new(memory.with_bounds(self.settings.bounds)))
        });
        made.as_ref().map_err(|&error| error)
    }

    /// The memory in whose range an address lies, allocated or not; `None` if it is the program's.
    pub(crate) fn memory_of(&self, address: u64) -> Option<Arc<DeviceMemory>> {
        let common = self.common.get().and_then(|common| common.as_ref().ok());
        if let Some(common) = common.filter(|common| common.reserves(address)) {
            return Some(Arc::clone(common));
        }
        let machines = lock(&self.machines);
        let of =
            machines.iter().map(|machine| machine.shared_memory()).find(|memory| memory.reserves(address));
        of.cloned()
    }

    /// Whether kernels can reach nothing but memory of one device.
    pub(crate) fn has_only_device_memory(&self) -> bool {
        let of_device = |allocation: &Allocation| allocation.kind == MemoryKind::Device;
        lock(&self.machines).len() == 1 && lock(&self.allocations).values().all(of_device)
    }

    /// The allocation that an address lies in.
    pub(crate) fn allocation_of(&self, address: u64) -> Option<Allocation> {
        let allocations = lock(&self.allocations);
        let (_, allocation) = allocations.range(..=address).next_back()?;
        (address - allocation.address < allocation.bytes).then(|| allocation.clone())
    }

    /// Whether a range is registered memory of the program.
    pub(crate) fn registered(&self, address: u64, bytes: u64) -> bool {
        self.allocation_of(address).is_some_and(|known| {
            known.kind == MemoryKind::Registered && bytes <= known.bytes - (address - known.address)
        })
    }

    /// Takes a new machine in: its kernels reach what kernels of all devices do.
    pub(crate) fn admit(&self, machine: &Arc<machine::Device>) -> Result<()> {
        machine.reach().attach(self.common()?);
        // Under the lock, so that nothing is registered in between.
        let allocations = lock(&self.allocations);
        for known in allocations.values().filter(|known| !known.owned()) {
            if let Some(range) = self.host.share(known.address, known.bytes) {
                machine.reach().share(range);
            }
        }
        lock(&self.machines).push(Arc::clone(machine));
        Ok(())
    }

    /// Gives memory back to where it came from.
    pub(crate) fn free(&self, address: u64) -> Result<()> {
        let memory = self.memory_of(address).ok_or(Error::InvalidValue)?;
        Ok(memory.free(address)?)
    }

    /// Takes registered memory away from the kernels of all devices.
    pub(crate) fn withdraw(&self, address: u64) {
        self.machines().iter().for_each(|machine| machine.reach().withdraw(address));
    }

    /// The machines made so far.
    pub(crate) fn machines(&self) -> Vec<Arc<machine::Device>> {
        lock(&self.machines).clone()
    }
}
