//! Copies and fills.

use crate::border::api;
use crate::pointers::get;
use crate::state::{driver, stream};
use crate::sys::*;
use driver::copy::{End, Request, Side};
use driver::memory::MemoryKind;
use driver::{Error, Result};
use std::ffi::{c_uchar, c_uint, c_ushort, c_void};

/// Copies bytes in a row.
fn linear(to: (Side, u64), from: (Side, u64), bytes: usize, on: CUstream, wait: bool) -> Result<()> {
    let (to, from) = (End::linear(to.0, to.1), End::linear(from.0, from.1));
    copy(Request { to, from, extent: [bytes as u64, 1, 1] }, on, wait)
}

fn copy(request: Request, on: CUstream, wait: bool) -> Result<()> {
    let (context, stream) = stream(on)?;
    context.copy(request, &stream, wait)
}

/// A pointer of the program's as the address that it is to the driver.
fn address(pointer: *const c_void) -> u64 {
    pointer.expose_provenance() as u64
}

/// An end of a copy in several dimensions, as its descriptor says.
fn end(
    kind: CUmemorytype,
    [host, device]: [u64; 2],
    [x, y, z]: [usize; 3],
    pitch: usize,
    height: usize,
) -> Result<End> {
    let (side, base) = match kind {
        CU_MEMORYTYPE_HOST => (Side::Host, host),
        CU_MEMORYTYPE_DEVICE => (Side::Device, device),
        CU_MEMORYTYPE_UNIFIED => (Side::Unified, device),
        CU_MEMORYTYPE_ARRAY => return Err(Error::NotSupported),
        _ => return Err(Error::InvalidValue),
    };
    let (pitch, height) = (pitch as u64, height as u64);
    let place = || {
        let slice = pitch.checked_mul(height)?;
        let offset = slice.checked_mul(z as u64)?.checked_add(pitch.checked_mul(y as u64)?)?;
        Some((base.checked_add(offset)?.checked_add(x as u64)?, slice))
    };
    let (address, slice) = place().ok_or(Error::InvalidValue)?;
    Ok(End { side, address, pitch, slice })
}

/// # Safety
/// The pointer is null or points to a descriptor.
unsafe fn copy_2d(descriptor: *const CUDA_MEMCPY2D, on: CUstream, wait: bool) -> Result<()> {
    // SAFETY: by contract.
    let d = unsafe { get(descriptor)? };
    let (from, to) = ([address(d.srcHost), d.srcDevice], [address(d.dstHost), d.dstDevice]);
    let from = end(d.srcMemoryType, from, [d.srcXInBytes, d.srcY, 0], row(d.srcPitch, d.WidthInBytes), 0)?;
    let to = end(d.dstMemoryType, to, [d.dstXInBytes, d.dstY, 0], row(d.dstPitch, d.WidthInBytes), 0)?;
    copy(Request { to, from, extent: [d.WidthInBytes as u64, d.Height as u64, 1] }, on, wait)
}

/// # Safety
/// The pointer is null or points to a descriptor.
unsafe fn copy_3d(descriptor: *const CUDA_MEMCPY3D, on: CUstream, wait: bool) -> Result<()> {
    // SAFETY: by contract.
    let d = unsafe { get(descriptor)? };
    let (from, to) = ([address(d.srcHost), d.srcDevice], [address(d.dstHost), d.dstDevice]);
    let at = [d.srcXInBytes, d.srcY, d.srcZ];
    let from = end(d.srcMemoryType, from, at, row(d.srcPitch, d.WidthInBytes), row(d.srcHeight, d.Height))?;
    let at = [d.dstXInBytes, d.dstY, d.dstZ];
    let to = end(d.dstMemoryType, to, at, row(d.dstPitch, d.WidthInBytes), row(d.dstHeight, d.Height))?;
    copy(Request { to, from, extent: [d.WidthInBytes as u64, d.Height as u64, d.Depth as u64] }, on, wait)
}

/// A distance that the program may leave at zero: then there are no gaps.
fn row(stated: usize, needed: usize) -> usize {
    if stated == 0 { needed } else { stated }
}

/// Fills memory: `shape` is the distance of rows, their values, and rows. What the program itself can look at is filled
/// when a call that does not say "async" returns; nothing else is waited for (the driver's manual, "API synchronization
/// behavior").
fn fill(
    at: u64,
    [pitch, width, height]: [usize; 3],
    value: u32,
    size: u64,
    on: CUstream,
    wait: bool,
) -> Result<()> {
    let (context, stream) = stream(on)?;
    let wait = wait && driver()?.allocation_of(at).is_some_and(|known| known.kind != MemoryKind::Device);
    context.fill(at, pitch as u64, value, size, [width as u64, height as u64], &stream, wait)
}

/// The stream of functions that take none.
const DEFAULT: CUstream = std::ptr::null_mut();

api! {
    fn cuMemcpyHtoD_v2(to: CUdeviceptr, from: *const c_void, bytes: usize) {
        linear((Side::Device, to), (Side::Host, address(from)), bytes, DEFAULT, true)
    }

    fn cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, bytes: usize, on: CUstream) {
        linear((Side::Device, to), (Side::Host, address(from)), bytes, on, false)
    }

    fn cuMemcpyDtoH_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize) {
        linear((Side::Host, address(to)), (Side::Device, from), bytes, DEFAULT, true)
    }

    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize, on: CUstream) {
        linear((Side::Host, address(to)), (Side::Device, from), bytes, on, false)
    }

    fn cuMemcpyDtoD_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize) {
        linear((Side::Device, to), (Side::Device, from), bytes, DEFAULT, true)
    }

    fn cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, on: CUstream) {
        linear((Side::Device, to), (Side::Device, from), bytes, on, false)
    }

    fn cuMemcpy(to: CUdeviceptr, from: CUdeviceptr, bytes: usize) {
        linear((Side::Unified, to), (Side::Unified, from), bytes, DEFAULT, true)
    }

    fn cuMemcpyAsync(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, on: CUstream) {
        linear((Side::Unified, to), (Side::Unified, from), bytes, on, false)
    }

    fn cuMemcpy2D_v2(descriptor: *const CUDA_MEMCPY2D) {
        copy_2d(descriptor, DEFAULT, true)
    }

    fn cuMemcpy2DUnaligned_v2(descriptor: *const CUDA_MEMCPY2D) {
        copy_2d(descriptor, DEFAULT, true)
    }

    fn cuMemcpy2DAsync_v2(descriptor: *const CUDA_MEMCPY2D, on: CUstream) {
        copy_2d(descriptor, on, false)
    }

    fn cuMemcpy3D_v2(descriptor: *const CUDA_MEMCPY3D) {
        copy_3d(descriptor, DEFAULT, true)
    }

    fn cuMemcpy3DAsync_v2(descriptor: *const CUDA_MEMCPY3D, on: CUstream) {
        copy_3d(descriptor, on, false)
    }

    fn cuMemsetD8_v2(at: CUdeviceptr, value: c_uchar, count: usize) {
        fill(at, [0, count, 1], value.into(), 1, DEFAULT, true)
    }

    fn cuMemsetD8Async(at: CUdeviceptr, value: c_uchar, count: usize, on: CUstream) {
        fill(at, [0, count, 1], value.into(), 1, on, false)
    }

    fn cuMemsetD2D8_v2(at: CUdeviceptr, pitch: usize, value: c_uchar, width: usize, height: usize) {
        fill(at, [pitch, width, height], value.into(), 1, DEFAULT, true)
    }

    fn cuMemsetD2D8Async(
        at: CUdeviceptr,
        pitch: usize,
        value: c_uchar,
        width: usize,
        height: usize,
        on: CUstream,
    ) {
        fill(at, [pitch, width, height], value.into(), 1, on, false)
    }

    fn cuMemsetD16_v2(at: CUdeviceptr, value: c_ushort, count: usize) {
        fill(at, [0, count, 1], value.into(), 2, DEFAULT, true)
    }

    fn cuMemsetD16Async(at: CUdeviceptr, value: c_ushort, count: usize, on: CUstream) {
        fill(at, [0, count, 1], value.into(), 2, on, false)
    }

    fn cuMemsetD2D16_v2(at: CUdeviceptr, pitch: usize, value: c_ushort, width: usize, height: usize) {
        fill(at, [pitch, width, height], value.into(), 2, DEFAULT, true)
    }

    fn cuMemsetD2D16Async(
        at: CUdeviceptr,
        pitch: usize,
        value: c_ushort,
        width: usize,
        height: usize,
        on: CUstream,
    ) {
        fill(at, [pitch, width, height], value.into(), 2, on, false)
    }

    fn cuMemsetD32_v2(at: CUdeviceptr, value: c_uint, count: usize) {
        fill(at, [0, count, 1], value, 4, DEFAULT, true)
    }

    fn cuMemsetD32Async(at: CUdeviceptr, value: c_uint, count: usize, on: CUstream) {
        fill(at, [0, count, 1], value, 4, on, false)
    }

    fn cuMemsetD2D32_v2(at: CUdeviceptr, pitch: usize, value: c_uint, width: usize, height: usize) {
        fill(at, [pitch, width, height], value, 4, DEFAULT, true)
    }

    fn cuMemsetD2D32Async(
        at: CUdeviceptr,
        pitch: usize,
        value: c_uint,
        width: usize,
        height: usize,
        on: CUstream,
    ) {
        fill(at, [pitch, width, height], value, 4, on, false)
    }
}
