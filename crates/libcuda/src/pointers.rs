//! Reading and writing through the program's pointers.

use driver::copy::HostMemory;
use driver::{Error, Result};
use machine::memory::HostRange;
use std::ffi::{CStr, c_char, c_void};

/// Writes a result.
///
/// # Safety
/// The pointer is null or may be written.
pub(crate) unsafe fn put<T>(pointer: *mut T, value: T) -> Result<()> {
    if pointer.is_null() {
        return Err(Error::InvalidValue);
    }
    // SAFETY: by contract. C programs may pass a pointer that is not aligned.
    unsafe { pointer.write_unaligned(value) };
    Ok(())
}

/// Writes a result that the program may not want.
///
/// # Safety
/// The pointer is null or may be written.
pub(crate) unsafe fn put_if<T>(pointer: *mut T, value: T) {
    // SAFETY: by contract; null is an answer, not a mistake.
    let _ = unsafe { put(pointer, value) };
}

/// Reads a value.
///
/// # Safety
/// The pointer is null or may be read.
pub(crate) unsafe fn get<T: Copy>(pointer: *const T) -> Result<T> {
    if pointer.is_null() {
        return Err(Error::InvalidValue);
    }
    // SAFETY: by contract.
    Ok(unsafe { pointer.read_unaligned() })
}

/// The bytes behind a pointer.
///
/// # Safety
/// The pointer is null or `bytes` bytes may be read until the borrow ends.
pub(crate) unsafe fn bytes<'a>(pointer: *const c_void, bytes: usize) -> Result<&'a [u8]> {
    match pointer.is_null() {
        _ if bytes == 0 => Ok(&[]),
        true => Err(Error::InvalidValue),
        // SAFETY: by contract.
        false => Ok(unsafe { std::slice::from_raw_parts(pointer.cast(), bytes) }),
    }
}

/// A name.
///
/// # Safety
/// The pointer is null or points to a string that ends.
pub(crate) unsafe fn text<'a>(pointer: *const c_char) -> Result<&'a str> {
    if pointer.is_null() {
        return Err(Error::InvalidValue);
    }
    // SAFETY: by contract.
    unsafe { CStr::from_ptr(pointer) }.to_str().map_err(|_| Error::InvalidValue)
}

/// Writes text into a buffer of `size` bytes, cut to fit, with a zero at its end.
///
/// # Safety
/// The pointer is null or `size` bytes may be written.
pub(crate) unsafe fn put_text(buffer: *mut c_char, size: usize, text: &str) -> Result<()> {
    if buffer.is_null() || size == 0 {
        return Err(Error::InvalidValue);
    }
    let shown = text.len().min(size - 1);
    // SAFETY: by contract; the text is shorter than the buffer.
    unsafe {
        buffer.copy_from_nonoverlapping(text.as_ptr().cast(), shown);
        buffer.add(shown).write(0);
    }
    Ok(())
}

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
