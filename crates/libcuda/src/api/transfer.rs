//! Copies and fills.

use crate::ffi::api;
use crate::pointers::{In, get};
use crate::state::{ARRAYS, driver, stream};
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

pub(crate) fn copy(request: Request, on: CUstream, wait: bool) -> Result<()> {
    let (context, stream) = stream(on)?;
    context.copy(request, &stream, wait)
}

/// A pointer of the program's as the address that it is to the driver.
fn address(pointer: *const c_void) -> u64 {
    pointer.expose_provenance() as u64
}

/// An end of a copy in several dimensions, as its descriptor says.
struct CopyEndpoint {
    kind: CUmemorytype,
    host: *const c_void,
    device: CUdeviceptr,
    array: CUarray,
    /// Where it begins: a byte of a row, a row, a slice.
    at: [usize; 3],
    pitch: usize,
    height: usize,
}

impl CopyEndpoint {
    fn end(&self, extent: [usize; 3]) -> Result<End> {
        let (side, base) = match self.kind {
            CU_MEMORYTYPE_HOST => (Side::Host, address(self.host)),
            CU_MEMORYTYPE_DEVICE => (Side::Device, self.device),
            CU_MEMORYTYPE_UNIFIED => (Side::Unified, self.device),
            CU_MEMORYTYPE_ARRAY => return array_end(self.array, self.at, extent),
            _ => return Err(Error::InvalidValue),
        };
        pointer_end(side, base, self.at, [self.pitch, self.height], extent)
    }
}

/// An end in an array, which begins at a byte of a row, a row, a slice.
pub(crate) fn array_end(array: CUarray, at: [usize; 3], extent: [usize; 3]) -> Result<End> {
    ARRAYS.get(array)?.end(at.map(|at| at as u64), extent.map(|extent| extent as u64))
}

/// An end in memory, with bytes of a row and rows of a slice as the program states them.
pub(crate) fn pointer_end(
    side: Side,
    base: u64,
    at: [usize; 3],
    [pitch, height]: [usize; 2],
    extent: [usize; 3],
) -> Result<End> {
    let [x, y, z] = at.map(|at| at as u64);
    let pitch = row(pitch, extent[0]) as u64;
    let height = row(height, extent[1]) as u64;
    let place = || {
        let slice = pitch.checked_mul(height)?;
        let offset = slice.checked_mul(z)?.checked_add(pitch.checked_mul(y)?)?;
        Some((base.checked_add(offset)?.checked_add(x)?, slice))
    };
    let (address, slice) = place().ok_or(Error::InvalidValue)?;
    Ok(End { side, address, pitch, slice })
}

fn request(to: &CopyEndpoint, from: &CopyEndpoint, extent: [usize; 3]) -> Result<Request> {
    let (to, from) = (to.end(extent)?, from.end(extent)?);
    Ok(Request { to, from, extent: extent.map(|extent| extent as u64) })
}

fn copy_2d(descriptor: In<CUDA_MEMCPY2D>, on: CUstream, wait: bool) -> Result<()> {
    let d = get(descriptor)?;
    let from = CopyEndpoint {
        kind: d.srcMemoryType,
        host: d.srcHost,
        device: d.srcDevice,
        array: d.srcArray,
        at: [d.srcXInBytes, d.srcY, 0],
        pitch: d.srcPitch,
        height: 0,
    };
    let to = CopyEndpoint {
        kind: d.dstMemoryType,
        host: d.dstHost,
        device: d.dstDevice,
        array: d.dstArray,
        at: [d.dstXInBytes, d.dstY, 0],
        pitch: d.dstPitch,
        height: 0,
    };
    copy(request(&to, &from, [d.WidthInBytes, d.Height, 1])?, on, wait)
}

fn copy_3d(descriptor: In<CUDA_MEMCPY3D>, on: CUstream, wait: bool) -> Result<()> {
    copy(request_3d(&get(descriptor)?)?, on, wait)
}

/// Both places of a copy in three dimensions, whose descriptors have fields of the same names.
macro_rules! places {
    ($d:expr) => {{
        let d = $d;
        let from = CopyEndpoint {
            kind: d.srcMemoryType,
            host: d.srcHost,
            device: d.srcDevice,
            array: d.srcArray,
            at: [d.srcXInBytes, d.srcY, d.srcZ],
            pitch: d.srcPitch,
            height: d.srcHeight,
        };
        let to = CopyEndpoint {
            kind: d.dstMemoryType,
            host: d.dstHost,
            device: d.dstDevice,
            array: d.dstArray,
            at: [d.dstXInBytes, d.dstY, d.dstZ],
            pitch: d.dstPitch,
            height: d.dstHeight,
        };
        request(&to, &from, [d.WidthInBytes, d.Height, d.Depth])
    }};
}

/// What a descriptor asks for.
pub(crate) fn request_3d(d: &CUDA_MEMCPY3D) -> Result<Request> {
    if d.srcLOD != 0 || d.dstLOD != 0 {
        return Err(Error::InvalidValue);
    }
    places!(d)
}

/// Copies bytes between devices.
pub(crate) fn copy_peer(to: u64, from: u64, bytes: usize, on: CUstream, wait: bool) -> Result<()> {
    linear((Side::Device, to), (Side::Device, from), bytes, on, wait)
}

/// What a descriptor with contexts asks for; an address tells whose memory it is in.
pub(crate) fn request_peer(d: &CUDA_MEMCPY3D_PEER) -> Result<Request> {
    places!(d)
}

/// Bytes of an array of one dimension, from an offset on.
fn in_array(array: CUarray, offset: usize, bytes: usize) -> Result<End> {
    ARRAYS.get(array)?.end([offset as u64, 0, 0], [bytes as u64, 1, 1])
}

/// Copies bytes in a row between arrays and memory.
fn row_copy(to: End, from: End, bytes: usize, on: CUstream, wait: bool) -> Result<()> {
    copy(Request { to, from, extent: [bytes as u64, 1, 1] }, on, wait)
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
    #[order(initialised, needed(to, bytes), needed(from, bytes), context)]
    fn cuMemcpyHtoD_v2(to: CUdeviceptr, from: *const c_void, bytes: usize) {
        linear((Side::Device, to), (Side::Host, from.expose()), bytes, DEFAULT, true)
    }

    #[order(initialised, needed(to, bytes), needed(from, bytes), usable)]
    fn cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, bytes: usize, on: CUstream) {
        linear((Side::Device, to), (Side::Host, from.expose()), bytes, on, false)
    }

    #[order(initialised, needed(to, bytes), needed(from, bytes), context)]
    fn cuMemcpyDtoH_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize) {
        linear((Side::Host, to.expose()), (Side::Device, from), bytes, DEFAULT, true)
    }

    #[order(initialised, needed(to, bytes), needed(from, bytes), usable)]
    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize, on: CUstream) {
        linear((Side::Host, to.expose()), (Side::Device, from), bytes, on, false)
    }

    #[order(initialised, needed(to, bytes), needed(from, bytes), context)]
    fn cuMemcpyDtoD_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize) {
        linear((Side::Device, to), (Side::Device, from), bytes, DEFAULT, true)
    }

    #[order(initialised, needed(to, bytes), needed(from, bytes), usable)]
    fn cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, on: CUstream) {
        linear((Side::Device, to), (Side::Device, from), bytes, on, false)
    }

    #[order(initialised, needed(to, bytes), needed(from, bytes), context)]
    fn cuMemcpy(to: CUdeviceptr, from: CUdeviceptr, bytes: usize) {
        linear((Side::Unified, to), (Side::Unified, from), bytes, DEFAULT, true)
    }

    #[order(initialised, needed(to, bytes), needed(from, bytes), usable)]
    fn cuMemcpyAsync(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, on: CUstream) {
        linear((Side::Unified, to), (Side::Unified, from), bytes, on, false)
    }

    #[order(initialised, given(descriptor), context)]
    fn cuMemcpy2D_v2(descriptor: *const CUDA_MEMCPY2D) {
        copy_2d(descriptor, DEFAULT, true)
    }

    #[order(initialised, given(descriptor), context)]
    fn cuMemcpy2DUnaligned_v2(descriptor: *const CUDA_MEMCPY2D) {
        copy_2d(descriptor, DEFAULT, true)
    }

    #[order(initialised, given(descriptor), usable)]
    fn cuMemcpy2DAsync_v2(descriptor: *const CUDA_MEMCPY2D, on: CUstream) {
        copy_2d(descriptor, on, false)
    }

    #[order(initialised, given(descriptor), context)]
    fn cuMemcpy3D_v2(descriptor: *const CUDA_MEMCPY3D) {
        copy_3d(descriptor, DEFAULT, true)
    }

    #[order(initialised, given(descriptor), usable)]
    fn cuMemcpy3DAsync_v2(descriptor: *const CUDA_MEMCPY3D, on: CUstream) {
        copy_3d(descriptor, on, false)
    }

    #[order(initialised, given(to), given(from), context)]
    fn cuMemcpyAtoA_v2(to: CUarray, at: usize, from: CUarray, offset: usize, bytes: usize) {
        row_copy(in_array(to, at, bytes)?, in_array(from, offset, bytes)?, bytes, DEFAULT, true)
    }

    #[order(initialised, given(to), given(from), context)]
    fn cuMemcpyAtoD_v2(to: CUdeviceptr, from: CUarray, offset: usize, bytes: usize) {
        let to = End::linear(Side::Device, to);
        row_copy(to, in_array(from, offset, bytes)?, bytes, DEFAULT, true)
    }

    #[order(initialised, given(to), given(from), context)]
    fn cuMemcpyDtoA_v2(to: CUarray, at: usize, from: CUdeviceptr, bytes: usize) {
        let from = End::linear(Side::Device, from);
        row_copy(in_array(to, at, bytes)?, from, bytes, DEFAULT, true)
    }

    #[order(initialised, given(to), given(from), context)]
    fn cuMemcpyAtoH_v2(to: *mut c_void, from: CUarray, offset: usize, bytes: usize) {
        let to = End::linear(Side::Host, to.expose());
        row_copy(to, in_array(from, offset, bytes)?, bytes, DEFAULT, true)
    }

    #[order(initialised, given(to), given(from), usable)]
    fn cuMemcpyAtoHAsync_v2(to: *mut c_void, from: CUarray, offset: usize, bytes: usize, on: CUstream) {
        let to = End::linear(Side::Host, to.expose());
        row_copy(to, in_array(from, offset, bytes)?, bytes, on, false)
    }

    #[order(initialised, given(to), given(from), context)]
    fn cuMemcpyHtoA_v2(to: CUarray, at: usize, from: *const c_void, bytes: usize) {
        let from = End::linear(Side::Host, from.expose());
        row_copy(in_array(to, at, bytes)?, from, bytes, DEFAULT, true)
    }

    #[order(initialised, given(to), given(from), usable)]
    fn cuMemcpyHtoAAsync_v2(to: CUarray, at: usize, from: *const c_void, bytes: usize, on: CUstream) {
        let from = End::linear(Side::Host, from.expose());
        row_copy(in_array(to, at, bytes)?, from, bytes, on, false)
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
