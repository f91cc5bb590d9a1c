//! Memory of the program that kernels use at its own addresses.
//!
//! Besides `region` the only place where guest addresses become pointers, and by the same rule: the range is checked
//! first. The bytes are the program's; it may change them at any time, as it may under a real device.

use super::Cell;

/// A range of the program's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRange {
    start: u64,
    bytes: u64,
}

impl HostRange {
    /// Takes a range whose pointer has been exposed.
    ///
    /// # Safety
    /// The range can be read and written by any thread as long as this, or a clone of it, exists. Nobody holds a
    /// reference into it that says otherwise.
    pub unsafe fn new(start: u64, bytes: u64) -> Self {
        Self { start, bytes }
    }

    /// The first byte.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// One past the last byte.
    pub fn end(&self) -> u64 {
        self.start + self.bytes
    }

    pub(super) fn contains(&self, address: u64, bytes: u64) -> bool {
        let within = address.wrapping_sub(self.start);
        bytes <= self.bytes && within <= self.bytes - bytes
    }

    /// The atomic cell at an aligned address in the range.
    pub(super) fn cell<T: Cell>(&self, address: u64) -> Option<&T::Atomic> {
        if !address.is_multiple_of(T::BYTES) || !self.contains(address, T::BYTES) {
            return None;
        }
        let pointer = std::ptr::with_exposed_provenance::<T::Atomic>(address as usize);
        // SAFETY: inside the range, which lives as long as this, and aligned; every bit pattern is a value.
        Some(unsafe { &*pointer })
    }

    /// Copies out; `false` if the bytes are not all in the range.
    pub fn read(&self, address: u64, into: &mut [u8]) -> bool {
        let inside = self.contains(address, into.len() as u64);
        if inside {
            let from = std::ptr::with_exposed_provenance::<u8>(address as usize);
            // SAFETY: inside the range; each byte is copied once and used as a value.
            unsafe { from.copy_to(into.as_mut_ptr(), into.len()) };
        }
        inside
    }

    /// Copies in; `false` if the bytes are not all in the range.
    pub fn write(&self, address: u64, from: &[u8]) -> bool {
        let inside = self.contains(address, from.len() as u64);
        if inside {
            let into = std::ptr::with_exposed_provenance_mut::<u8>(address as usize);
            // SAFETY: as for `read`.
            unsafe { into.copy_from(from.as_ptr(), from.len()) };
        }
        inside
    }
}
