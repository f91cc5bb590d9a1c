//! Copies and fills.

use crate::api::array::element_bytes;
use crate::context::{ensure, primary};
use crate::error::{Error, Result};
use crate::ffi::api;
use crate::ffi::pointers::{In, get};
use crate::registry::variable;
use crate::sys::*;
use driver_api::cu;
use driver_api::sys::{self, CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER, CUarray, CUmemorytype};
use std::ffi::{c_int, c_uchar, c_void};
use std::ptr::null_mut;

/// A stream, or the wish that the call waits, which it then does on the default stream.
type On = Option<cudaStream_t>;

/// A pointer of the program's as the number that it is to the driver.
fn address(pointer: *const c_void) -> u64 {
    pointer.expose_provenance() as u64
}

/// # Safety
/// The pointers are valid for as many bytes, in whatever memory the kind says.
pub(crate) unsafe fn linear(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: cudaMemcpyKind,
    on: On,
) -> Result<()> {
    ensure()?;
    let (d, s) = (address(to), address(from));
    // SAFETY: by contract.
    let copied = unsafe {
        match (kind, on.map(<*mut _>::cast)) {
            (cudaMemcpyHostToDevice, None) => cu::cuMemcpyHtoD_v2(d, from, bytes),
            (cudaMemcpyHostToDevice, Some(on)) => cu::cuMemcpyHtoDAsync_v2(d, from, bytes, on),
            (cudaMemcpyDeviceToHost, None) => cu::cuMemcpyDtoH_v2(to, s, bytes),
            (cudaMemcpyDeviceToHost, Some(on)) => cu::cuMemcpyDtoHAsync_v2(to, s, bytes, on),
            (cudaMemcpyDeviceToDevice, None) => cu::cuMemcpyDtoD_v2(d, s, bytes),
            (cudaMemcpyDeviceToDevice, Some(on)) => cu::cuMemcpyDtoDAsync_v2(d, s, bytes, on),
            (cudaMemcpyHostToHost | cudaMemcpyDefault, None) => cu::cuMemcpy(d, s, bytes),
            (cudaMemcpyHostToHost | cudaMemcpyDefault, Some(on)) => cu::cuMemcpyAsync(d, s, bytes, on),
            _ => return Err(Error::INVALID_DIRECTION),
        }
    };
    copied.map_err(Error::from)
}

/// What the kinds of a copy's ends are: destination, source.
fn sides(kind: cudaMemcpyKind) -> Result<[CUmemorytype; 2]> {
    let (host, device) = (sys::CU_MEMORYTYPE_HOST, sys::CU_MEMORYTYPE_DEVICE);
    Ok(match kind {
        cudaMemcpyHostToHost => [host, host],
        cudaMemcpyHostToDevice => [device, host],
        cudaMemcpyDeviceToHost => [host, device],
        cudaMemcpyDeviceToDevice => [device, device],
        cudaMemcpyDefault => [sys::CU_MEMORYTYPE_UNIFIED; 2],
        _ => return Err(Error::INVALID_DIRECTION),
    })
}

/// One end of a copy in up to three dimensions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    /// Rows of bytes.
    Rows { start: *mut c_void, pitch: usize, height: usize },
    /// An array of the driver's.
    Array(CUarray),
}

impl End {
    /// Bytes that a step of one in the first dimension means.
    fn element(self) -> Result<usize> {
        match self {
            Self::Rows { .. } => Ok(1),
            Self::Array(array) => element_bytes(array),
        }
    }

    fn parts(self, side: CUmemorytype) -> (CUmemorytype, *mut c_void, CUarray, usize, usize) {
        match self {
            Self::Rows { start, pitch, height } => (side, start, null_mut(), pitch, height),
            Self::Array(array) => (sys::CU_MEMORYTYPE_ARRAY, null_mut(), array, 0, 0),
        }
    }
}

/// The driver's description of a copy, with all that counts along rows in bytes.
pub(crate) fn description(
    (to, to_at): (End, [usize; 3]),
    (from, from_at): (End, [usize; 3]),
    [width, height, depth]: [usize; 3],
    kind: cudaMemcpyKind,
) -> Result<CUDA_MEMCPY3D> {
    let [to_side, from_side] = sides(kind)?;
    let too_narrow = |end: End| matches!(end, End::Rows { pitch, .. } if pitch < width && height * depth > 1);
    if too_narrow(to) || too_narrow(from) {
        return Err(Error::INVALID_PITCH);
    }
    let (from_kind, source, from_array, from_pitch, from_height) = from.parts(from_side);
    let (to_kind, target, to_array, to_pitch, to_height) = to.parts(to_side);
    Ok(CUDA_MEMCPY3D {
        srcXInBytes: from_at[0],
        srcY: from_at[1],
        srcZ: from_at[2],
        srcLOD: 0,
        srcMemoryType: from_kind,
        srcHost: source,
        srcDevice: address(source),
        srcArray: from_array,
        reserved0: null_mut(),
        srcPitch: from_pitch,
        srcHeight: from_height,
        dstXInBytes: to_at[0],
        dstY: to_at[1],
        dstZ: to_at[2],
        dstLOD: 0,
        dstMemoryType: to_kind,
        dstHost: target,
        dstDevice: address(target),
        dstArray: to_array,
        reserved1: null_mut(),
        dstPitch: to_pitch,
        dstHeight: to_height,
        WidthInBytes: width,
        Height: height,
        Depth: depth,
    })
}

/// Whether there is nothing to copy: then the ends of a copy are not looked at.
fn is_empty(extent: cudaExtent) -> bool {
    extent.width == 0 || extent.height == 0 || extent.depth == 0
}

/// The driver's description of a copy that the runtime's structure describes.
pub(crate) fn described(copy: In<cudaMemcpy3DParms>) -> Result<CUDA_MEMCPY3D> {
    let copy = get(copy)?;
    let to = (end(copy.dstArray, copy.dstPtr)?, copy.dstPos);
    let from = (end(copy.srcArray, copy.srcPtr)?, copy.srcPos);
    scaled(to, from, copy.extent, copy.kind)
}

/// A description from positions that count elements of an array, and bytes elsewhere; so does the extent, if an array
/// takes part.
fn scaled(
    (to, to_at): (End, cudaPos),
    (from, from_at): (End, cudaPos),
    extent: cudaExtent,
    kind: cudaMemcpyKind,
) -> Result<CUDA_MEMCPY3D> {
    let (to_element, from_element) = (to.element()?, from.element()?);
    let bytes = |count: usize, element: usize| count.checked_mul(element).ok_or(Error::INVALID_VALUE);
    let width = bytes(extent.width, to_element.max(from_element))?;
    let to_at = [bytes(to_at.x, to_element)?, to_at.y, to_at.z];
    let from_at = [bytes(from_at.x, from_element)?, from_at.y, from_at.z];
    description((to, to_at), (from, from_at), [width, extent.height, extent.depth], kind)
}

fn end(array: cudaArray_t, rows: cudaPitchedPtr) -> Result<End> {
    match (array.is_null(), rows.ptr.is_null()) {
        (true, false) => Ok(End::Rows { start: rows.ptr, pitch: rows.pitch, height: rows.ysize }),
        (false, true) => Ok(End::Array(array.cast())),
        _ => Err(Error::INVALID_VALUE),
    }
}

/// Copies what is described.
///
/// # Safety
/// The memory is as the description says.
unsafe fn copy(what: CUDA_MEMCPY3D, on: On) -> Result<()> {
    ensure()?;
    // SAFETY: by contract.
    let copied = unsafe {
        match on {
            None => cu::cuMemcpy3D_v2(&raw const what),
            Some(on) => cu::cuMemcpy3DAsync_v2(&raw const what, on.cast()),
        }
    };
    copied.map_err(Error::from)
}

/// # Safety
/// The memory is as the arguments say.
pub(crate) unsafe fn flat(
    to: (End, [usize; 2]),
    from: (End, [usize; 2]),
    [width, height]: [usize; 2],
    kind: cudaMemcpyKind,
    on: On,
) -> Result<()> {
    ensure()?;
    if width == 0 || height == 0 {
        return Ok(());
    }
    let at = |(end, [x, y]): (End, [usize; 2])| (end, [x, y, 0]);
    let what = description(at(to), at(from), [width, height, 1], kind)?;
    // SAFETY: by contract.
    unsafe { copy(what, on) }
}

/// Rows of bytes, as one end of a copy.
pub(crate) fn rows(start: *const c_void, pitch: usize) -> (End, [usize; 2]) {
    (End::Rows { start: start.cast_mut(), pitch, height: 0 }, [0; 2])
}

/// # Safety
/// The host's memory is as large as is said.
unsafe fn symbol(
    which: *const c_void,
    offset: usize,
    bytes: usize,
    other: *mut c_void,
    kind: cudaMemcpyKind,
    into: bool,
    on: On,
) -> Result<()> {
    ensure()?;
    if bytes == 0 {
        return Ok(());
    }
    let (start, size) = variable(which)?;
    if offset.checked_add(bytes).is_none_or(|end| end > size) {
        return Err(Error::INVALID_VALUE);
    }
    let there = std::ptr::with_exposed_provenance_mut(start as usize + offset);
    let wrong = if into { cudaMemcpyDeviceToHost } else { cudaMemcpyHostToDevice };
    if kind == wrong || kind == cudaMemcpyHostToHost {
        return Err(Error::INVALID_DIRECTION);
    }
    let (to, from) = if into { (there, other) } else { (other, there) };
    // SAFETY: by contract, and the range lies in the variable.
    unsafe { linear(to, from, bytes, kind, on) }
}

/// Fills rows.
///
/// # Safety
/// None that the driver does not check.
unsafe fn fill(at: cudaPitchedPtr, value: c_int, [width, height, depth]: [usize; 3], on: On) -> Result<()> {
    ensure()?;
    let value = value as c_uchar;
    let slice = at.pitch.checked_mul(at.ysize).ok_or(Error::INVALID_VALUE)?;
    for z in 0..depth {
        let start = address(at.ptr) + (z * slice) as u64;
        // SAFETY: the driver checks the range.
        unsafe {
            match (height, on.map(<*mut _>::cast)) {
                (1, None) => cu::cuMemsetD8_v2(start, value, width)?,
                (1, Some(on)) => cu::cuMemsetD8Async(start, value, width, on)?,
                (_, None) => cu::cuMemsetD2D8_v2(start, at.pitch, value, width, height)?,
                (_, Some(on)) => cu::cuMemsetD2D8Async(start, at.pitch, value, width, height, on)?,
            }
        }
    }
    Ok(())
}

/// Where a fill of fewer than three dimensions starts.
fn start(ptr: *mut c_void, pitch: usize) -> cudaPitchedPtr {
    cudaPitchedPtr { ptr, pitch, xsize: 0, ysize: 0 }
}

/// The driver's description of a copy between devices.
fn between(copy: In<cudaMemcpy3DPeerParms>) -> Result<CUDA_MEMCPY3D_PEER> {
    let copy = get(copy)?;
    let to = (end(copy.dstArray, copy.dstPtr)?, copy.dstPos);
    let from = (end(copy.srcArray, copy.srcPtr)?, copy.srcPos);
    let what = scaled(to, from, copy.extent, cudaMemcpyDeviceToDevice)?;
    Ok(CUDA_MEMCPY3D_PEER {
        srcXInBytes: what.srcXInBytes,
        srcY: what.srcY,
        srcZ: what.srcZ,
        srcLOD: 0,
        srcMemoryType: what.srcMemoryType,
        srcHost: what.srcHost,
        srcDevice: what.srcDevice,
        srcArray: what.srcArray,
        srcContext: primary(copy.srcDevice)?,
        srcPitch: what.srcPitch,
        srcHeight: what.srcHeight,
        dstXInBytes: what.dstXInBytes,
        dstY: what.dstY,
        dstZ: what.dstZ,
        dstLOD: 0,
        dstMemoryType: what.dstMemoryType,
        dstHost: what.dstHost,
        dstDevice: what.dstDevice,
        dstArray: what.dstArray,
        dstContext: primary(copy.dstDevice)?,
        dstPitch: what.dstPitch,
        dstHeight: what.dstHeight,
        WidthInBytes: what.WidthInBytes,
        Height: what.Height,
        Depth: what.Depth,
    })
}

api! {
    fn cudaMemcpy(to: *mut c_void, from: *const c_void, bytes: usize, kind: cudaMemcpyKind) {
        // SAFETY: the program's memory is as it says.
        unsafe { linear(to.raw(), from.raw(), bytes, kind, None) }
    }

    fn cudaMemcpyAsync(
        to: *mut c_void,
        from: *const c_void,
        bytes: usize,
        kind: cudaMemcpyKind,
        on: cudaStream_t,
    ) {
        // SAFETY: the program's memory is as it says.
        unsafe { linear(to.raw(), from.raw(), bytes, kind, Some(on)) }
    }

    fn cudaMemcpy2D(
        to: *mut c_void,
        to_pitch: usize,
        from: *const c_void,
        from_pitch: usize,
        width: usize,
        height: usize,
        kind: cudaMemcpyKind,
    ) {
        // SAFETY: the program's memory is as it says.
        unsafe { flat(rows(to.raw(), to_pitch), rows(from.raw(), from_pitch), [width, height], kind, None) }
    }

    fn cudaMemcpy2DAsync(
        to: *mut c_void,
        to_pitch: usize,
        from: *const c_void,
        from_pitch: usize,
        width: usize,
        height: usize,
        kind: cudaMemcpyKind,
        on: cudaStream_t,
    ) {
        // SAFETY: the program's memory is as it says.
        unsafe { flat(rows(to.raw(), to_pitch), rows(from.raw(), from_pitch), [width, height], kind, Some(on)) }
    }

    fn cudaMemcpy3D(what: *const cudaMemcpy3DParms) {
        ensure()?;
        if is_empty(get(what)?.extent) {
            return Ok(());
        }
        // SAFETY: the program's memory is as it says.
        unsafe { copy(described(what)?, None) }
    }

    fn cudaMemcpy3DAsync(what: *const cudaMemcpy3DParms, on: cudaStream_t) {
        ensure()?;
        if is_empty(get(what)?.extent) {
            return Ok(());
        }
        // SAFETY: the program's memory is as it says.
        unsafe { copy(described(what)?, Some(on)) }
    }

    fn cudaMemcpyPeer(to: *mut c_void, to_device: c_int, from: *const c_void, from_device: c_int, bytes: usize) {
        ensure()?;
        let (there, here) = (primary(to_device)?, primary(from_device)?);
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuMemcpyPeer(address(to.raw()), there, address(from.raw()), here, bytes) }?)
    }

    fn cudaMemcpyPeerAsync(
        to: *mut c_void,
        to_device: c_int,
        from: *const c_void,
        from_device: c_int,
        bytes: usize,
        on: cudaStream_t,
    ) {
        ensure()?;
        let (there, here) = (primary(to_device)?, primary(from_device)?);
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuMemcpyPeerAsync(address(to.raw()), there, address(from.raw()), here, bytes, on.cast()) }?)
    }

    fn cudaMemcpy3DPeer(what: *const cudaMemcpy3DPeerParms) {
        ensure()?;
        if is_empty(get(what)?.extent) {
            return Ok(());
        }
        let what = between(what)?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuMemcpy3DPeer(&raw const what) }?)
    }

    fn cudaMemcpy3DPeerAsync(what: *const cudaMemcpy3DPeerParms, on: cudaStream_t) {
        ensure()?;
        if is_empty(get(what)?.extent) {
            return Ok(());
        }
        let what = between(what)?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuMemcpy3DPeerAsync(&raw const what, on.cast()) }?)
    }

    fn cudaMemcpyToSymbol(
        which: *const c_void,
        from: *const c_void,
        bytes: usize,
        offset: usize,
        kind: cudaMemcpyKind,
    ) {
        // SAFETY: the program's memory is as it says.
        unsafe { symbol(which.raw(), offset, bytes, from.raw().cast_mut(), kind, true, None) }
    }

    fn cudaMemcpyToSymbolAsync(
        which: *const c_void,
        from: *const c_void,
        bytes: usize,
        offset: usize,
        kind: cudaMemcpyKind,
        on: cudaStream_t,
    ) {
        // SAFETY: the program's memory is as it says.
        unsafe { symbol(which.raw(), offset, bytes, from.raw().cast_mut(), kind, true, Some(on)) }
    }

    fn cudaMemcpyFromSymbol(
        to: *mut c_void,
        which: *const c_void,
        bytes: usize,
        offset: usize,
        kind: cudaMemcpyKind,
    ) {
        // SAFETY: the program's memory is as it says.
        unsafe { symbol(which.raw(), offset, bytes, to.raw(), kind, false, None) }
    }

    fn cudaMemcpyFromSymbolAsync(
        to: *mut c_void,
        which: *const c_void,
        bytes: usize,
        offset: usize,
        kind: cudaMemcpyKind,
        on: cudaStream_t,
    ) {
        // SAFETY: the program's memory is as it says.
        unsafe { symbol(which.raw(), offset, bytes, to.raw(), kind, false, Some(on)) }
    }

    fn cudaMemset(at: *mut c_void, value: c_int, bytes: usize) {
        // SAFETY: the program's memory is as it says.
        unsafe { fill(start(at.raw(), 0), value, [bytes, 1, 1], None) }
    }

    fn cudaMemsetAsync(at: *mut c_void, value: c_int, bytes: usize, on: cudaStream_t) {
        // SAFETY: the program's memory is as it says.
        unsafe { fill(start(at.raw(), 0), value, [bytes, 1, 1], Some(on)) }
    }

    fn cudaMemset2D(at: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize) {
        // SAFETY: the program's memory is as it says.
        unsafe { fill(start(at.raw(), pitch), value, [width, height, 1], None) }
    }

    fn cudaMemset2DAsync(
        at: *mut c_void,
        pitch: usize,
        value: c_int,
        width: usize,
        height: usize,
        on: cudaStream_t,
    ) {
        // SAFETY: the program's memory is as it says.
        unsafe { fill(start(at.raw(), pitch), value, [width, height, 1], Some(on)) }
    }

    fn cudaMemset3D(at: cudaPitchedPtr, value: c_int, extent: cudaExtent) {
        // SAFETY: the program's memory is as it says.
        unsafe { fill(at, value, [extent.width, extent.height, extent.depth], None) }
    }

    fn cudaMemset3DAsync(at: cudaPitchedPtr, value: c_int, extent: cudaExtent, on: cudaStream_t) {
        // SAFETY: the program's memory is as it says.
        unsafe { fill(at, value, [extent.width, extent.height, extent.depth], Some(on)) }
    }
}
