//! The devices of a process.

use crate::allocation::Allocation;
use crate::debug::Debugging;
use crate::error::{Error, Result};
use crate::extensions::Extensions;
use crate::host::HostMemory;
use crate::lock;
use crate::priority::Gate;
use crate::process::Process;
use crate::settings::{Report, Settings};
use machine::output::Output;
use machine::{DeviceOptions, Profile};
use std::sync::{Arc, OnceLock};

/// All devices, and what they share.
pub struct Driver {
    devices: Vec<Arc<Device>>,
    process: Arc<Process>,
}

/// One virtual GPU.
pub struct Device {
    ordinal: usize,
    profile: Profile,
    process: Arc<Process>,
    machine: OnceLock<Result<Arc<machine::Device>>>,
    gate: Arc<Gate>,
    pub(crate) extensions: Extensions,
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
        let process = Arc::new(Process::new(profiles.len(), host, report, settings));
        let device = |(ordinal, profile)| {
            Arc::new(Device {
                ordinal,
                profile,
                process: Arc::clone(&process),
                machine: OnceLock::new(),
                gate: Arc::default(),
                extensions: Extensions::default(),
            })
        };
        let devices = profiles.into_iter().enumerate().map(device).collect();
        Self { devices, process }
    }

    /// The allocation that an address lies in, whichever context made it.
    pub fn allocation_of(&self, address: u64) -> Option<Allocation> {
        self.process.allocation_of(address)
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

    pub(crate) fn process(&self) -> &Arc<Process> {
        &self.process
    }

    /// The machine behind it, made when first asked for.
    pub fn machine(&self) -> Result<&Arc<machine::Device>> {
        let made = self.machine.get_or_init(|| {
            let options = DeviceOptions {
                memory_limit: self.process.settings.memory_limit,
                bounds: self.process.settings.bounds,
                output: self.process.debugging().map_or_else(Output::default, Debugging::output),
            };
            let machine = machine::Device::new(self.profile.clone(), options)?;
            self.process.admit(&machine)?;
            Ok(machine)
        });
        made.as_ref().map_err(|&error| error)
    }
}
