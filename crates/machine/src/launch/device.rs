//! Devices.

use crate::memory::{Bounds, DeviceMemory, MemoryError, Reach, host_memory};
use crate::output::Output;
use crate::profile::Profile;
use crate::texture::table::Table;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// What a device is made with besides its profile.
#[derive(Debug, Default)]
pub struct DeviceOptions {
    /// Bytes of global memory; the profile's if `None`, but never more than half of the host's memory by default.
    pub memory_limit: Option<u64>,
    /// Where device code prints; standard output by default.
    pub output: Output,
    /// Where memory ends for kernels.
    pub bounds: Bounds,
}

/// A virtual GPU.
#[derive(Debug)]
pub struct Device {
    pub(super) profile: Profile,
    pub(super) memory: Arc<DeviceMemory>,
    pub(super) reach: Reach,
    pub(super) output: Output,
    pub(super) bounds: Bounds,
    pub(super) objects: Table,
    pub(super) launches: AtomicU64,
}

impl Device {
    /// A device with an empty memory.
    pub fn new(profile: Profile, options: DeviceOptions) -> Result<Arc<Self>, MemoryError> {
        let limit = options.memory_limit.unwrap_or_else(|| profile.memory.min(host_memory() / 2));
        let memory = Arc::new(DeviceMemory::new(profile.memory, limit)?.with_bounds(options.bounds));
        Ok(Arc::new(Self {
            profile,
            memory,
            reach: Reach::default(),
            output: options.output,
            bounds: options.bounds,
            objects: Table::default(),
            launches: AtomicU64::new(0),
        }))
    }

    /// What the device is.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Global memory.
    pub fn memory(&self) -> &DeviceMemory {
        &self.memory
    }

    /// Global memory, for kernels of other devices: see [`Reach::attach`].
    pub fn shared_memory(&self) -> &Arc<DeviceMemory> {
        &self.memory
    }

    /// What kernels reach besides.
    pub fn reach(&self) -> &Reach {
        &self.reach
    }

    /// Reads bytes as a kernel that begins now would; `false` if they are not all there.
    pub fn read(&self, address: u64, into: &mut [u8]) -> bool {
        self.reach.snapshot().view(&self.memory).read_block(address, into)
    }

    /// Writes bytes as such a kernel would; `false` if they are not all there.
    pub fn write(&self, address: u64, from: &[u8]) -> bool {
        self.reach.snapshot().view(&self.memory).write_block(address, from)
    }

    /// Arrays, textures, samplers and surfaces.
    pub(crate) fn objects(&self) -> &Table {
        &self.objects
    }
}
