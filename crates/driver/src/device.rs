//! The devices of a process.

use crate::capture::Captures;
use crate::check::Checking;
use crate::context::Context;
use crate::copy::HostMemory;
use crate::error::{Error, Result};
use crate::graph::exec::Exec;
use crate::graph::memory::GraphMemory;
use crate::ipc::Imports;
use crate::lock;
use crate::memory::Allocation;
use crate::peer::Peers;
use crate::pool::{Pool, Pools};
use crate::priority::Gate;
use crate::virtual_memory::Mappings;
use crate::warnings::Warnings;
use machine::memory::{Bounds, DeviceMemory};
use machine::{DeviceOptions, Masks, Profile};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;
use std::sync::{Arc, Mutex, OnceLock, Weak};

/// Told of every kernel that stopped with a fault, of those that cannot be run at all, and of what they do that a GPU would
/// not have noticed.
pub type Report = dyn Fn(&dyn Display) + Send + Sync;

/// Whether kernels run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Execution {
    /// They do.
    #[default]
    Full,
    /// Launches are checked and keep their order, but nothing is executed: a test of a program that passes all the same
    /// does not test the execution.
    Skipped,
}

/// What a program may want otherwise.
#[derive(Clone, Default)]
pub struct Settings {
    /// Whether kernels run.
    pub execution: Execution,
    /// The most bytes of global memory that each device may have.
    pub memory_limit: Option<u64>,
    /// Who watches kernels, if somebody does.
    pub checking: Option<Arc<Checking>>,
    /// Where memory ends for kernels.
    pub bounds: Bounds,
    /// What is done with lanes that execute a `.sync` operation whose member mask leaves them out.
    pub masks: Masks,
    /// The attributes of devices, for kernels that ask, numbered as `cudaDeviceAttr` numbers them.
    pub attribute: Option<fn(&Device, u32) -> Option<i32>>,
}

/// All devices, and what they share.
pub struct Driver {
    devices: Vec<Arc<Device>>,
    process: Arc<Process>,
}

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
    /// Graphs that kernels may launch, by the handles that kernels know them by.
    pub(crate) launchable: Mutex<HashMap<u64, Weak<Exec>>>,
    /// The pools that allocations are from.
    pub(crate) pooled: Mutex<HashMap<u64, Arc<Pool>>>,
    pub(crate) captures: Captures,
    pub(crate) mappings: Mappings,
    pub(crate) imports: Imports,
    pub(crate) pools: Pools,
    pub(crate) warnings: Warnings,
}

/// One virtual GPU.
pub struct Device {
    ordinal: usize,
    profile: Profile,
    process: Arc<Process>,
    machine: OnceLock<std::result::Result<Arc<machine::Device>, Error>>,
    primary: Mutex<Primary>,
    gate: Arc<Gate>,
    graph_memory: Arc<GraphMemory>,
    peers: Peers,
}

/// The primary context and how often it is retained.
#[derive(Default)]
struct Primary {
    context: Option<Arc<Context>>,
    users: usize,
    flags: u32,
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.devices).finish()
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Device {} ({})", self.ordinal, self.profile.name)
    }
}

impl Driver {
    /// Devices with these profiles. Their memory is reserved when it is first used.
    pub fn new(profiles: Vec<Profile>, host: Box<dyn HostMemory>, report: Box<Report>) -> Self {
        Self::with_settings(profiles, host, report, Settings::default())
    }

    /// The same with other settings than the usual ones.
    pub fn with_settings(
        profiles: Vec<Profile>,
        host: Box<dyn HostMemory>,
        report: Box<Report>,
        settings: Settings,
    ) -> Self {
        let process = Arc::new(Process {
            host,
            report,
            devices: profiles.len(),
            settings,
            machines: Mutex::default(),
            common: OnceLock::new(),
            allocations: Mutex::default(),
            launchable: Mutex::default(),
            pooled: Mutex::default(),
            captures: Captures::default(),
            mappings: Mappings::default(),
            imports: Imports::default(),
            pools: Pools::default(),
            warnings: Warnings::default(),
        });
        let device = |(ordinal, profile)| {
            Arc::new(Device {
                ordinal,
                profile,
                process: Arc::clone(&process),
                machine: OnceLock::new(),
                primary: Mutex::default(),
                gate: Arc::default(),
                graph_memory: Arc::default(),
                peers: Peers::default(),
            })
        };
        let devices = profiles.into_iter().enumerate().map(device).collect();
        Self { devices, process }
    }

    /// The allocation that an address lies in, whichever context made it.
    pub fn allocation_of(&self, address: u64) -> Option<Allocation> {
        self.process.allocation_of(address)
    }

    /// The context that made an allocation.
    pub fn owner_of(&self, address: u64) -> Option<Arc<Context>> {
        self.process.allocation_of(address)?.owner()
    }

    /// The device in whose memory an address lies, and the range around it: an allocation or a variable of a module.
    pub fn range_of(&self, address: u64) -> Option<(usize, u64, u64)> {
        self.devices.iter().find_map(|device| {
            let machine = device.machine.get()?.as_ref().ok()?;
            let (start, bytes) = machine.memory().allocation_of(address)?;
            Some((device.ordinal, start, bytes))
        })
    }

    /// Notes for an allocation whether copies are to be over when their calls return.
    pub fn set_synchronous(&self, address: u64, synchronous: bool) -> Result<()> {
        let start = self.allocation_of(address).ok_or(Error::InvalidValue)?.address;
        let mut allocations = lock(&self.process.allocations);
        allocations.get_mut(&start).ok_or(Error::InvalidValue)?.synchronous = synchronous;
        Ok(())
    }

    pub(crate) fn process(&self) -> &Arc<Process> {
        &self.process
    }

    /// All devices, by ordinal.
    pub fn devices(&self) -> &[Arc<Device>] {
        &self.devices
    }

    /// The device with this ordinal.
    pub fn device(&self, ordinal: i32) -> Result<&Arc<Device>> {
        usize::try_from(ordinal).ok().and_then(|i| self.devices.get(i)).ok_or(Error::InvalidDevice)
    }
}

impl Device {
    /// Its number in the process.
    pub fn ordinal(&self) -> usize {
        self.ordinal
    }

    /// What it is.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// 16 bytes that no other device of the process has, the same in every run.
    pub fn uuid(&self) -> [u8; 16] {
        let mut uuid = *b"warploom\0\0\0\0\0\0\0\0";
        uuid[8..10].copy_from_slice(&self.profile.sm.to_be_bytes());
        uuid[12..].copy_from_slice(&(self.ordinal as u32).to_be_bytes());
        uuid
    }

    /// The order in which its kernels begin.
    pub(crate) fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    /// The memory of its graphs.
    pub fn graph_memory(&self) -> &Arc<GraphMemory> {
        &self.graph_memory
    }

    /// The devices whose memory its kernels reach.
    pub(crate) fn peers(&self) -> &Peers {
        &self.peers
    }

    pub(crate) fn process(&self) -> &Arc<Process> {
        &self.process
    }

    /// The machine behind it, made when first asked for.
    pub fn machine(&self) -> Result<&Arc<machine::Device>> {
        let made = self.machine.get_or_init(|| {
            let options = DeviceOptions {
                memory_limit: self.process.settings.memory_limit,
                bounds: self.process.settings.bounds,
                ..DeviceOptions::default()
            };
            let machine = machine::Device::new(self.profile.clone(), options)?;
            self.process.admit(&machine)?;
            Ok(machine)
        });
        made.as_ref().map_err(|&error| error)
    }

    /// The primary context, made on first use. Every call is to be matched by [`Device::release_primary`].
    pub fn retain_primary(self: &Arc<Self>) -> Result<Arc<Context>> {
        let mut primary = lock(&self.primary);
        let context = match &primary.context {
            Some(context) => Arc::clone(context),
            None => Context::new(self, primary.flags)?,
        };
        primary.context = Some(Arc::clone(&context));
        primary.users += 1;
        Ok(context)
    }

    /// Undoes one [`Device::retain_primary`]; the last one destroys the context.
    pub fn release_primary(&self) -> Result<Option<Arc<Context>>> {
        let mut primary = lock(&self.primary);
        if primary.context.is_none() {
            return Err(Error::InvalidContext);
        }
        primary.users = primary.users.saturating_sub(1);
        let gone = if primary.users == 0 { primary.context.take() } else { None };
        drop(primary);
        gone.iter().for_each(|context| context.destroy());
        Ok(gone)
    }

    /// Destroys the primary context, whoever uses it.
    pub fn reset_primary(&self) -> Option<Arc<Context>> {
        let gone = lock(&self.primary).context.take();
        gone.iter().for_each(|context| context.destroy());
        gone
    }

    /// Whether this is the primary context.
    pub(crate) fn has_primary(&self, id: crate::Id) -> bool {
        lock(&self.primary).context.as_ref().is_some_and(|context| context.id() == id)
    }

    /// The primary context's flags, and whether it exists.
    pub fn primary_state(&self) -> (u32, bool) {
        let primary = lock(&self.primary);
        (primary.flags, primary.context.is_some())
    }

    /// Flags for the primary context.
    pub fn set_primary_flags(&self, flags: u32) {
        let mut primary = lock(&self.primary);
        primary.flags = flags;
        if let Some(context) = &primary.context {
            context.set_flags(flags);
        }
    }
}

#[cfg(test)]
impl Process {
    /// A process that only a test has.
    pub(crate) fn of_test() -> Arc<Self> {
        struct Nothing;
        impl HostMemory for Nothing {
            fn read(&self, _: u64, _: usize, _: &mut dyn FnMut(&[u8])) {}
            fn write(&self, _: u64, _: usize, _: &mut dyn FnMut(&mut [u8])) {}
            fn share(&self, _: u64, _: u64) -> Option<machine::memory::HostRange> {
                None
            }
        }
        Arc::clone(Driver::new(Vec::new(), Box::new(Nothing), Box::new(|_| ())).process())
    }
}

impl Process {
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

    pub(crate) fn add_machine(&self, machine: &Arc<machine::Device>) {
        lock(&self.machines).push(Arc::clone(machine));
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
