//! Allocating memory.

use crate::context::ensure;
use crate::error::{Error, Result};
use crate::ffi::api;
use crate::ffi::pointers::{Out, put};
use crate::ffi::same;
use crate::sys::*;
use driver_api::cu;
use std::ffi::{c_uint, c_void};
use std::ptr::null_mut;

/// The widest access that rows must suit.
const ELEMENT: c_uint = 16;

fn allocate_host(out: Out<*mut c_void>, bytes: usize, flags: c_uint) -> Result<()> {
    ensure()?;
    if bytes == 0 {
        return put(out, null_mut());
    }
    // SAFETY: by contract.
    unsafe { cu::cuMemHostAlloc(out.raw(), bytes, flags) }.map_err(Error::from)
}

/// Allocates rows: the address and the distance between them. Nothing is at no address.
fn pitched(width: usize, height: usize) -> Result<(*mut c_void, usize)> {
    ensure()?;
    let (mut start, mut pitch) = (0, 0);
    if width != 0 && height != 0 {
        // SAFETY: places for an address and a number.
        unsafe { cu::cuMemAllocPitch_v2(&raw mut start, &raw mut pitch, width, height, ELEMENT)? };
    }
    Ok((std::ptr::with_exposed_provenance_mut(start as usize), pitch))
}

api! {
    fn cudaMalloc(out: *mut *mut c_void, bytes: usize) {
        ensure()?;
        if out.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        if bytes == 0 {
            return put(out, null_mut());
        }
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuMemAlloc_v2(out.raw().cast(), bytes) }?)
    }

    fn cudaMallocPitch(out: *mut *mut c_void, pitch: *mut usize, width: usize, height: usize) {
        if out.is_null() || pitch.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        let (start, distance) = pitched(width, height)?;
        put(out, start)?;
        put(pitch, distance)
    }

    fn cudaMalloc3D(out: *mut cudaPitchedPtr, extent: cudaExtent) {
        let rows = extent.height.checked_mul(extent.depth).ok_or(Error::INVALID_VALUE)?;
        let (ptr, pitch) = pitched(extent.width, rows)?;
        put(out, cudaPitchedPtr { ptr, pitch, xsize: extent.width, ysize: extent.height })
    }

    fn cudaMallocManaged(out: *mut *mut c_void, bytes: usize, flags: c_uint) {
        ensure()?;
        if bytes == 0 {
            return put(out, null_mut());
        }
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuMemAllocManaged(out.raw().cast(), bytes, flags) }?)
    }

    fn cudaMallocHost(out: *mut *mut c_void, bytes: usize) {
        allocate_host(out, bytes, 0)
    }

    fn cudaHostAlloc(out: *mut *mut c_void, bytes: usize, flags: c_uint) {
        allocate_host(out, bytes, flags)
    }

    fn cudaFree(pointer: *mut c_void) {
        ensure()?;
        if pointer.is_null() {
            return Ok(());
        }
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuMemFree_v2(pointer.raw().expose_provenance() as u64) }?)
    }

    fn cudaFreeHost(pointer: *mut c_void) {
        ensure()?;
        if pointer.is_null() {
            return Ok(());
        }
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuMemFreeHost(pointer.raw()) }?)
    }

    fn cudaMemPoolExportToShareableHandle(
        out: *mut c_void,
        pool: cudaMemPool_t,
        kind: cudaMemAllocationHandleType,
        flags: c_uint,
    ) {
        ensure()?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuMemPoolExportToShareableHandle(out.raw(), pool.cast(), same(kind), flags.into()) }?)
    }

    fn cudaMemPoolImportFromShareableHandle(
        out: *mut cudaMemPool_t,
        handle: *mut c_void,
        kind: cudaMemAllocationHandleType,
        flags: c_uint,
    ) {
        ensure()?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuMemPoolImportFromShareableHandle(out.raw().cast(), handle.raw(), same(kind), flags.into()) }?)
    }

    fn cudaGetSymbolAddress(out: *mut *mut c_void, symbol: *const c_void) {
        let (start, _) = crate::registry::variable(symbol.raw())?;
        put(out, std::ptr::with_exposed_provenance_mut(start as usize))
    }

    fn cudaGetSymbolSize(out: *mut usize, symbol: *const c_void) {
        put(out, crate::registry::variable(symbol.raw())?.1)
    }
}
