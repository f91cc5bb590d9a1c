//! Reading and writing through the program's pointers.

use driver::Error;
use driver::copy::HostMemory;
use std::ffi::c_void;

border::pointers! { Error, Error::InvalidValue }

/// A pointer of the program's that is only handed back to it.
#[derive(Clone, Copy)]
pub(crate) struct Opaque(pub(crate) *mut c_void);

// SAFETY: it is never used but by the program's own function, which CUDA calls on a thread of its own, too.
unsafe impl Send for Opaque {}

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
}
