//! Allocating memory, the program's and the device's.

use crate::ffi::api;
use crate::pointers::{Out, put, put_if};
use crate::state::{current, driver};
use crate::sys::*;
use driver::memory::MemoryKind;
use driver::{Context, Error, Result, current};
use std::ffi::{c_uint, c_void};
use std::sync::Arc;

/// Allocates page-locked memory.
fn allocate_host(out: Out<*mut c_void>, bytes: usize, flags: c_uint) -> Result<()> {
    let context = current()?;
    // No bytes are the null pointer, unlike with other kinds of memory (as on an H200).
    let address = if bytes == 0 { 0 } else { context.allocate(MemoryKind::Host, bytes as u64, flags)? };
    put(out, std::ptr::with_exposed_provenance_mut(address as usize))
}

/// The current context; on a thread that has none, the one that made an allocation.
fn current_or_owner(address: u64) -> Result<Arc<Context>> {
    match current::context() {
        Some(_) => current(),
        None => driver()?.owner_of(address).ok_or(Error::InvalidContext),
    }
}

api! {
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) {
        let (left, all) = current()?.memory_info();
        put_if(free, left as usize);
        put_if(total, all as usize);
        Ok(())
    }

    fn cuMemAlloc_v2(out: *mut CUdeviceptr, bytes: usize) {
        if out.is_null() {
            return Err(Error::InvalidValue);
        }
        put(out, current()?.allocate(MemoryKind::Device, bytes as u64, 0)?)
    }

    fn cuMemAllocPitch_v2(
        out: *mut CUdeviceptr,
        pitch: *mut usize,
        width: usize,
        height: usize,
        element: c_uint,
    ) {
        if out.is_null() || pitch.is_null() || !matches!(element, 4 | 8 | 16) {
            return Err(Error::InvalidValue);
        }
        let (address, distance) = current()?.allocate_pitched(width as u64, height as u64)?;
        put(out, address)?;
        put(pitch, distance as usize)
    }

    fn cuMemFree_v2(address: CUdeviceptr) {
        let context = current_or_owner(address)?;
        if address == 0 { Ok(()) } else { context.free(address) }
    }

    fn cuMemAllocManaged(out: *mut CUdeviceptr, bytes: usize, flags: c_uint) {
        if out.is_null() || !matches!(flags, CU_MEM_ATTACH_GLOBAL | CU_MEM_ATTACH_HOST) {
            return Err(Error::InvalidValue);
        }
        put(out, current()?.allocate(MemoryKind::Managed, bytes as u64, flags)?)
    }

    fn cuMemAllocHost_v2(out: *mut *mut c_void, bytes: usize) {
        allocate_host(out, bytes, 0)
    }

    fn cuMemHostAlloc(out: *mut *mut c_void, bytes: usize, flags: c_uint) {
        if flags & !(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED) != 0 {
            return Err(Error::InvalidValue);
        }
        allocate_host(out, bytes, flags)
    }

    fn cuMemFreeHost(pointer: *mut c_void) {
        let context = current_or_owner(pointer.addr() as u64)?;
        if pointer.is_null() { Ok(()) } else { context.free_host(pointer.addr() as u64) }
    }

    fn cuMemHostGetDevicePointer_v2(out: *mut CUdeviceptr, pointer: *mut c_void, flags: c_uint) {
        let allocation = current()?.allocation_of(pointer.addr() as u64).ok_or(Error::InvalidValue)?;
        crate::order::without(&flags)?;
        // All devices can use the program's pointers for such memory, so that theirs are the same.
        match allocation.kind {
            MemoryKind::Host | MemoryKind::Managed | MemoryKind::Registered => put(out, pointer.addr() as u64),
            MemoryKind::Device => Err(Error::InvalidValue),
        }
    }

    fn cuMemHostGetFlags(flags: *mut c_uint, pointer: *mut c_void) {
        let allocation = current()?.allocation_of(pointer.addr() as u64).ok_or(Error::InvalidValue)?;
        match allocation.kind {
            MemoryKind::Host | MemoryKind::Registered => put(flags, allocation.flags | CU_MEMHOSTALLOC_DEVICEMAP),
            MemoryKind::Managed | MemoryKind::Device => Err(Error::InvalidValue),
        }
    }

    #[order(initialised, given(pointer), context, no_capture)]
    fn cuMemHostRegister_v2(pointer: *mut c_void, bytes: usize, flags: c_uint) {
        match flags & !(CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP) {
            0 => {}
            other if other & !(CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY) == 0 => {
                return Err(Error::NotSupported);
            }
            _ => return Err(Error::InvalidValue),
        }
        current()?.register(pointer.expose(), bytes as u64, flags)
    }

    #[order(initialised, given(pointer), usable, no_capture)]
    fn cuMemHostUnregister(pointer: *mut c_void) {
        driver()?.unregister(pointer.addr() as u64)
    }

    fn cuMemGetAddressRange_v2(base: *mut CUdeviceptr, size: *mut usize, address: CUdeviceptr) {
        let (start, bytes) = current()?.range_of(address).ok_or(Error::NotFound)?;
        put_if(base, start);
        put_if(size, bytes as usize);
        Ok(())
    }
}
