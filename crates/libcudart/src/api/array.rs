//! Arrays and their channels, and copies of rows from and to them.

use crate::api::transfer::{End, flat, rows};
use crate::context::{ensure, some};
use crate::error::{Error, Result};
use crate::ffi::api;
use crate::ffi::pointers::{In, get, put, put_if};
use crate::sys::*;
use driver_api::cu;
use driver_api::sys::{self, CUDA_ARRAY3D_DESCRIPTOR, CUarray, CUarray_format};
use std::ffi::{c_int, c_uint, c_void};

/// Formats of single channels: kind, bits, the driver's number.
const PLAIN: [(cudaChannelFormatKind, c_int, CUarray_format); 8] = [
    (cudaChannelFormatKindUnsigned, 8, sys::CU_AD_FORMAT_UNSIGNED_INT8),
    (cudaChannelFormatKindUnsigned, 16, sys::CU_AD_FORMAT_UNSIGNED_INT16),
    (cudaChannelFormatKindUnsigned, 32, sys::CU_AD_FORMAT_UNSIGNED_INT32),
    (cudaChannelFormatKindSigned, 8, sys::CU_AD_FORMAT_SIGNED_INT8),
    (cudaChannelFormatKindSigned, 16, sys::CU_AD_FORMAT_SIGNED_INT16),
    (cudaChannelFormatKindSigned, 32, sys::CU_AD_FORMAT_SIGNED_INT32),
    (cudaChannelFormatKindFloat, 16, sys::CU_AD_FORMAT_HALF),
    (cudaChannelFormatKindFloat, 32, sys::CU_AD_FORMAT_FLOAT),
];

/// Formats that say how many channels there are: kind, bits of a channel, channels, the driver's number.
const NORMALIZED: [(cudaChannelFormatKind, c_int, c_uint, CUarray_format); 12] = [
    (cudaChannelFormatKindUnsignedNormalized8X1, 8, 1, sys::CU_AD_FORMAT_UNORM_INT8X1),
    (cudaChannelFormatKindUnsignedNormalized8X2, 8, 2, sys::CU_AD_FORMAT_UNORM_INT8X2),
    (cudaChannelFormatKindUnsignedNormalized8X4, 8, 4, sys::CU_AD_FORMAT_UNORM_INT8X4),
    (cudaChannelFormatKindUnsignedNormalized16X1, 16, 1, sys::CU_AD_FORMAT_UNORM_INT16X1),
    (cudaChannelFormatKindUnsignedNormalized16X2, 16, 2, sys::CU_AD_FORMAT_UNORM_INT16X2),
    (cudaChannelFormatKindUnsignedNormalized16X4, 16, 4, sys::CU_AD_FORMAT_UNORM_INT16X4),
    (cudaChannelFormatKindSignedNormalized8X1, 8, 1, sys::CU_AD_FORMAT_SNORM_INT8X1),
    (cudaChannelFormatKindSignedNormalized8X2, 8, 2, sys::CU_AD_FORMAT_SNORM_INT8X2),
    (cudaChannelFormatKindSignedNormalized8X4, 8, 4, sys::CU_AD_FORMAT_SNORM_INT8X4),
    (cudaChannelFormatKindSignedNormalized16X1, 16, 1, sys::CU_AD_FORMAT_SNORM_INT16X1),
    (cudaChannelFormatKindSignedNormalized16X2, 16, 2, sys::CU_AD_FORMAT_SNORM_INT16X2),
    (cudaChannelFormatKindSignedNormalized16X4, 16, 4, sys::CU_AD_FORMAT_SNORM_INT16X4),
];

/// A channel descriptor as the driver has it: format and channels.
pub(crate) fn format(channel: &cudaChannelFormatDesc) -> Result<(CUarray_format, c_uint)> {
    let bits = [channel.x, channel.y, channel.z, channel.w];
    let channels = bits.iter().take_while(|&&bits| bits > 0).count() as c_uint;
    let even = bits[..channels as usize].iter().all(|&other| other == bits[0]);
    let wrong = Error(cudaErrorInvalidChannelDescriptor);
    if channels == 0 || channels == 3 || !even || bits[channels as usize..].iter().any(|&bits| bits != 0) {
        return Err(wrong);
    }
    let plain = PLAIN.iter().find(|&&(kind, size, _)| kind == channel.f && size == bits[0]);
    let normalized = NORMALIZED
        .iter()
        .find(|&&(kind, size, count, _)| (kind, size, count) == (channel.f, bits[0], channels));
    match (plain, normalized) {
        (Some(&(_, _, format)), _) | (None, Some(&(_, _, _, format))) => Ok((format, channels)),
        (None, None) => Err(wrong),
    }
}

/// The runtime's descriptor of a format.
pub(crate) fn channel(format: CUarray_format, channels: c_uint) -> Result<cudaChannelFormatDesc> {
    let plain = PLAIN.iter().find(|&&(_, _, known)| known == format).map(|&(kind, bits, _)| (kind, bits));
    let normalized = NORMALIZED.iter().find(|&&(_, _, _, known)| known == format);
    let known = plain.or(normalized.map(|&(kind, bits, _, _)| (kind, bits)));
    let (f, bits) = known.ok_or(Error::NOT_SUPPORTED)?;
    let of = |index: c_uint| if index < channels { bits } else { 0 };
    Ok(cudaChannelFormatDesc { x: of(0), y: of(1), z: of(2), w: of(3), f })
}

fn descriptor(array: CUarray) -> Result<CUDA_ARRAY3D_DESCRIPTOR> {
    // SAFETY: the structure is of numbers alone.
    let mut found: CUDA_ARRAY3D_DESCRIPTOR = unsafe { std::mem::zeroed() };
    // SAFETY: a place for a descriptor; the driver looks the handle up.
    unsafe { cu::cuArray3DGetDescriptor_v2(&raw mut found, array)? };
    Ok(found)
}

/// Bytes of an array's element.
pub(crate) fn element_bytes(array: CUarray) -> Result<usize> {
    let found = descriptor(array)?;
    let channel = channel(found.Format, found.NumChannels)?;
    Ok((channel.x + channel.y + channel.z + channel.w).unsigned_abs() as usize / 8)
}

fn wanted(
    of: In<cudaChannelFormatDesc>,
    [width, height, depth]: [usize; 3],
    flags: c_uint,
) -> Result<CUDA_ARRAY3D_DESCRIPTOR> {
    ensure()?;
    let (format, channels) = format(&get(of)?)?;
    Ok(CUDA_ARRAY3D_DESCRIPTOR {
        Width: width,
        Height: height,
        Depth: depth,
        Format: format,
        NumChannels: channels,
        // Their bits are the same in both APIs.
        Flags: flags,
    })
}

/// An array, as one end of a copy.
fn within(array: cudaArray_const_t, x: usize, y: usize) -> (End, [usize; 2]) {
    (End::Array(array.cast_mut().cast()), [x, y])
}

#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub(crate) extern "C" fn cudaCreateChannelDesc(
    x: c_int,
    y: c_int,
    z: c_int,
    w: c_int,
    f: cudaChannelFormatKind,
) -> cudaChannelFormatDesc {
    cudaChannelFormatDesc { x, y, z, w, f }
}

api! {
    fn cudaMallocArray(
        out: *mut cudaArray_t,
        of: *const cudaChannelFormatDesc,
        width: usize,
        height: usize,
        flags: c_uint,
    ) {
        let wanted = wanted(of, [width, height, 0], flags)?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuArray3DCreate_v2(out.raw().cast(), &raw const wanted) }?)
    }

    fn cudaMalloc3DArray(
        out: *mut cudaArray_t,
        of: *const cudaChannelFormatDesc,
        extent: cudaExtent,
        flags: c_uint,
    ) {
        let wanted = wanted(of, [extent.width, extent.height, extent.depth], flags)?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuArray3DCreate_v2(out.raw().cast(), &raw const wanted) }?)
    }

    fn cudaMallocMipmappedArray(
        out: *mut cudaMipmappedArray_t,
        of: *const cudaChannelFormatDesc,
        extent: cudaExtent,
        levels: c_uint,
        flags: c_uint,
    ) {
        let wanted = wanted(of, [extent.width, extent.height, extent.depth], flags)?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuMipmappedArrayCreate(out.raw().cast(), &raw const wanted, levels) }?)
    }

    fn cudaFreeArray(array: cudaArray_t) {
        ensure()?;
        if array.is_null() {
            return Ok(());
        }
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuArrayDestroy(array.cast()) }?)
    }

    fn cudaFreeMipmappedArray(array: cudaMipmappedArray_t) {
        ensure()?;
        if array.is_null() {
            return Ok(());
        }
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuMipmappedArrayDestroy(array.cast()) }?)
    }

    fn cudaArrayGetInfo(
        of: *mut cudaChannelFormatDesc,
        extent: *mut cudaExtent,
        flags: *mut c_uint,
        array: cudaArray_t,
    ) {
        some()?;
        let found = descriptor(array.cast())?;
        put_if(of, channel(found.Format, found.NumChannels)?);
        put_if(extent, cudaExtent { width: found.Width, height: found.Height, depth: found.Depth });
        put_if(flags, found.Flags);
        Ok(())
    }

    fn cudaGetChannelDesc(of: *mut cudaChannelFormatDesc, array: cudaArray_const_t) {
        ensure()?;
        let found = descriptor(array.cast_mut().cast())?;
        put(of, channel(found.Format, found.NumChannels)?)
    }

    fn cudaMemcpy2DToArray(
        to: cudaArray_t,
        x: usize,
        y: usize,
        from: *const c_void,
        pitch: usize,
        width: usize,
        height: usize,
        kind: cudaMemcpyKind,
    ) {
        // SAFETY: the program's memory is as it says.
        unsafe { flat(within(to, x, y), rows(from.raw(), pitch), [width, height], kind, None) }
    }

    fn cudaMemcpy2DToArrayAsync(
        to: cudaArray_t,
        x: usize,
        y: usize,
        from: *const c_void,
        pitch: usize,
        width: usize,
        height: usize,
        kind: cudaMemcpyKind,
        on: cudaStream_t,
    ) {
        // SAFETY: the program's memory is as it says.
        unsafe { flat(within(to, x, y), rows(from.raw(), pitch), [width, height], kind, Some(on)) }
    }

    fn cudaMemcpy2DFromArray(
        to: *mut c_void,
        pitch: usize,
        from: cudaArray_const_t,
        x: usize,
        y: usize,
        width: usize,
        height: usize,
        kind: cudaMemcpyKind,
    ) {
        // SAFETY: the program's memory is as it says.
        unsafe { flat(rows(to.raw(), pitch), within(from, x, y), [width, height], kind, None) }
    }

    fn cudaMemcpy2DFromArrayAsync(
        to: *mut c_void,
        pitch: usize,
        from: cudaArray_const_t,
        x: usize,
        y: usize,
        width: usize,
        height: usize,
        kind: cudaMemcpyKind,
        on: cudaStream_t,
    ) {
        // SAFETY: the program's memory is as it says.
        unsafe { flat(rows(to.raw(), pitch), within(from, x, y), [width, height], kind, Some(on)) }
    }

    fn cudaMemcpy2DArrayToArray(
        to: cudaArray_t,
        to_x: usize,
        to_y: usize,
        from: cudaArray_const_t,
        from_x: usize,
        from_y: usize,
        width: usize,
        height: usize,
        kind: cudaMemcpyKind,
    ) {
        // SAFETY: the program's memory is as it says.
        unsafe { flat(within(to, to_x, to_y), within(from, from_x, from_y), [width, height], kind, None) }
    }

    fn cudaMemcpyArrayToArray(
        to: cudaArray_t,
        to_x: usize,
        to_y: usize,
        from: cudaArray_const_t,
        from_x: usize,
        from_y: usize,
        bytes: usize,
        kind: cudaMemcpyKind,
    ) {
        // SAFETY: the program's memory is as it says.
        unsafe { flat(within(to, to_x, to_y), within(from, from_x, from_y), [bytes, 1], kind, None) }
    }

    fn cudaMemcpyToArray(
        to: cudaArray_t,
        x: usize,
        y: usize,
        from: *const c_void,
        bytes: usize,
        kind: cudaMemcpyKind,
    ) {
        // SAFETY: the program's memory is as it says.
        unsafe { flat(within(to, x, y), rows(from.raw(), bytes), [bytes, 1], kind, None) }
    }

    fn cudaMemcpyToArrayAsync(
        to: cudaArray_t,
        x: usize,
        y: usize,
        from: *const c_void,
        bytes: usize,
        kind: cudaMemcpyKind,
        on: cudaStream_t,
    ) {
        // SAFETY: the program's memory is as it says.
        unsafe { flat(within(to, x, y), rows(from.raw(), bytes), [bytes, 1], kind, Some(on)) }
    }

    fn cudaMemcpyFromArray(
        to: *mut c_void,
        from: cudaArray_const_t,
        x: usize,
        y: usize,
        bytes: usize,
        kind: cudaMemcpyKind,
    ) {
        // SAFETY: the program's memory is as it says.
        unsafe { flat(rows(to.raw(), bytes), within(from, x, y), [bytes, 1], kind, None) }
    }

    fn cudaMemcpyFromArrayAsync(
        to: *mut c_void,
        from: cudaArray_const_t,
        x: usize,
        y: usize,
        bytes: usize,
        kind: cudaMemcpyKind,
        on: cudaStream_t,
    ) {
        // SAFETY: the program's memory is as it says.
        unsafe { flat(rows(to.raw(), bytes), within(from, x, y), [bytes, 1], kind, Some(on)) }
    }
}
