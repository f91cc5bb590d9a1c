//! What a host does with device memory, the same on the machine and on a real GPU.

use super::{DeviceMemory, MemoryError};

/// Device memory as its host sees it: allocations, and copies into and out of them.
pub trait Buffers {
    /// Allocates memory.
    ///
    /// # Errors
    /// If there is not enough.
    fn allocate(&self, bytes: u64) -> Result<u64, MemoryError>;

    /// Frees an allocation.
    ///
    /// # Errors
    /// If none starts at the address.
    fn free(&self, address: u64) -> Result<(), MemoryError>;

    /// Copies from host to device.
    ///
    /// # Errors
    /// If the range is not allocated.
    fn write(&self, address: u64, from: &[u8]) -> Result<(), MemoryError>;

    /// Copies from device to host.
    ///
    /// # Errors
    /// If the range is not allocated.
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), MemoryError>;
}

impl Buffers for DeviceMemory {
    fn allocate(&self, bytes: u64) -> Result<u64, MemoryError> {
        self.allocate(bytes)
    }

    fn free(&self, address: u64) -> Result<(), MemoryError> {
        self.free(address)
    }

    fn write(&self, address: u64, from: &[u8]) -> Result<(), MemoryError> {
        self.write(address, from)
    }

    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), MemoryError> {
        self.read(address, into)
    }
}
