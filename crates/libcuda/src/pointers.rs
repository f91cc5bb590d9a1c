//! Reading and writing through the program's pointers.

use driver::Error;
use driver::host::HostMemory;
use machine::memory::HostRange;
use std::ffi::c_void;

ffi::pointers! { Error, Error::InvalidValue }

/// A pointer of the program's that is only handed back to it.
#[derive(Clone, Copy)]
pub(crate) struct Opaque(pub(crate) *mut c_void);

// SAFETY: it is never used but by the program's own function, which CUDA calls on a thread of its own, too.
unsafe impl Send for Opaque {}
// SAFETY: as above.
unsafe impl Sync for Opaque {}

/// The memory of this process.
pub(crate) struct ProcessMemory;

impl HostMemory for ProcessMemory {
    fn read(&self, address: u64, bytes: usize, visit: &mut dyn FnMut(&[u8])) {
        let start = std::ptr::with_exposed_provenance::<u8>(address as usize);
        // SAFETY: the program has given this range to a function that copies from it, and `driver` refuses null.
        visit(unsafe { std::slice::from_raw_parts(start, bytes) });
    }

    fn write(&self, address: u64, bytes: usize, visit: &mut dyn FnMut(&mut [u8])) {
        let start = std::ptr::with_exposed_provenance_mut::<u8>(address as usize);
        // SAFETY: the program has given this range to a function that copies into it, and `driver` refuses null.
        visit(unsafe { std::slice::from_raw_parts_mut(start, bytes) });
    }

    fn share(&self, address: u64, bytes: u64) -> Option<HostRange> {
        let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
        let end = address.checked_add(bytes)?;
        let mut reached = address;
        // Mappings stand in order. What is not mapped, or not to be written, would end the process.
        for line in maps.lines() {
            let (range, rights) = line.split_once(' ')?;
            let (from, to) = range.split_once('-')?;
            let (from, to) = (u64::from_str_radix(from, 16).ok()?, u64::from_str_radix(to, 16).ok()?);
            if (from..to).contains(&reached) && rights.starts_with("rw") {
                reached = to;
            }
        }
        // SAFETY: all of it can be read and written. A program that registers memory promises that it stays so until
        // it takes that back.
        (reached >= end).then(|| unsafe { HostRange::new(address, bytes) })
    }
}
