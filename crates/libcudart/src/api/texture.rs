//! Texture and surface objects.

use crate::api::array::{channel, format};
use crate::context::ensure;
use crate::error::{Error, Result};
use crate::ffi::api;
use crate::ffi::pointers::{get, put};
use crate::sys::*;
use driver_api::cu;
use driver_api::sys::{self, CUDA_RESOURCE_DESC, CUDA_RESOURCE_VIEW_DESC, CUDA_TEXTURE_DESC};
use std::ptr::null;

/// A descriptor of nothing.
fn empty<T: Copy>() -> T {
    // SAFETY: only structures of numbers and addresses are asked for.
    unsafe { std::mem::zeroed() }
}

/// # Safety
/// As [`get`].
unsafe fn resource(of: *const cudaResourceDesc) -> Result<CUDA_RESOURCE_DESC> {
    if of.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    let mut out: CUDA_RESOURCE_DESC = empty();
    // SAFETY: by contract; the type says which member of the union is meant. The structure is not read as a whole: that
    // of CUDA 12 is shorter.
    unsafe {
        out.resType = (*of).resType;
        match (*of).resType {
            cudaResourceTypeArray => out.res.array.hArray = (*of).res.array.array.cast(),
            cudaResourceTypeMipmappedArray => out.res.mipmap.hMipmappedArray = (*of).res.mipmap.mipmap.cast(),
            cudaResourceTypeLinear => {
                let linear = (*of).res.linear;
                let (format, channels) = format(&linear.desc)?;
                out.res.linear.devPtr = linear.devPtr.expose_provenance() as u64;
                (out.res.linear.format, out.res.linear.numChannels) = (format, channels);
                out.res.linear.sizeInBytes = linear.sizeInBytes;
            }
            cudaResourceTypePitch2D => {
                let rows = (*of).res.pitch2D;
                let (format, channels) = format(&rows.desc)?;
                out.res.pitch2D.devPtr = rows.devPtr.expose_provenance() as u64;
                (out.res.pitch2D.format, out.res.pitch2D.numChannels) = (format, channels);
                (out.res.pitch2D.width, out.res.pitch2D.height) = (rows.width, rows.height);
                out.res.pitch2D.pitchInBytes = rows.pitchInBytes;
            }
            _ => return Err(Error::INVALID_VALUE),
        }
    }
    Ok(out)
}

/// Writes what a resource is, the members that both versions of the structure have.
///
/// # Safety
/// The pointer is null or may be written.
unsafe fn put_resource(out: *mut cudaResourceDesc, of: &CUDA_RESOURCE_DESC) -> Result<()> {
    if out.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    let pointer = |address: u64| std::ptr::with_exposed_provenance_mut(address as usize);
    // SAFETY: by contract; the type says which member of the union is meant.
    unsafe {
        (*out).resType = of.resType;
        match of.resType {
            cudaResourceTypeArray => (*out).res.array.array = of.res.array.hArray.cast(),
            cudaResourceTypeMipmappedArray => (*out).res.mipmap.mipmap = of.res.mipmap.hMipmappedArray.cast(),
            cudaResourceTypeLinear => {
                let linear = of.res.linear;
                (*out).res.linear.devPtr = pointer(linear.devPtr);
                (*out).res.linear.desc = channel(linear.format, linear.numChannels)?;
                (*out).res.linear.sizeInBytes = linear.sizeInBytes;
            }
            cudaResourceTypePitch2D => {
                let rows = of.res.pitch2D;
                (*out).res.pitch2D.devPtr = pointer(rows.devPtr);
                (*out).res.pitch2D.desc = channel(rows.format, rows.numChannels)?;
                ((*out).res.pitch2D.width, (*out).res.pitch2D.height) = (rows.width, rows.height);
                (*out).res.pitch2D.pitchInBytes = rows.pitchInBytes;
            }
            _ => return Err(Error::INVALID_VALUE),
        }
    }
    Ok(())
}

/// Copies what both versions of a view's structure have; the formats have the same numbers in both APIs.
macro_rules! copy_view {
    ($to:expr, $from:expr) => {
        $to.format = $from.format;
        ($to.width, $to.height, $to.depth) = ($from.width, $from.height, $from.depth);
        ($to.firstMipmapLevel, $to.lastMipmapLevel) = ($from.firstMipmapLevel, $from.lastMipmapLevel);
        ($to.firstLayer, $to.lastLayer) = ($from.firstLayer, $from.lastLayer);
    };
}

/// What a texture does with coordinates and texels, as the driver has it. Address and filter modes have the same numbers.
fn sampler(of: &cudaTextureDesc) -> CUDA_TEXTURE_DESC {
    let bit = |set: bool, bit: u32| if set { bit } else { 0 };
    let mut out: CUDA_TEXTURE_DESC = empty();
    out.addressMode = of.addressMode;
    out.filterMode = of.filterMode;
    out.flags = bit(of.readMode == cudaReadModeElementType, sys::CU_TRSF_READ_AS_INTEGER)
        | bit(of.normalizedCoords != 0, sys::CU_TRSF_NORMALIZED_COORDINATES)
        | bit(of.sRGB != 0, sys::CU_TRSF_SRGB)
        | bit(of.disableTrilinearOptimization != 0, sys::CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION)
        | bit(of.seamlessCubemap != 0, sys::CU_TRSF_SEAMLESS_CUBEMAP);
    out.maxAnisotropy = of.maxAnisotropy;
    out.mipmapFilterMode = of.mipmapFilterMode;
    out.mipmapLevelBias = of.mipmapLevelBias;
    out.minMipmapLevelClamp = of.minMipmapLevelClamp;
    out.maxMipmapLevelClamp = of.maxMipmapLevelClamp;
    out.borderColor = of.borderColor;
    out
}

/// The runtime's form of the driver's.
fn described(of: &CUDA_TEXTURE_DESC) -> cudaTextureDesc {
    let has = |bit: u32| i32::from(of.flags & bit != 0);
    let mut out: cudaTextureDesc = empty();
    out.addressMode = of.addressMode;
    out.filterMode = of.filterMode;
    out.readMode = match has(sys::CU_TRSF_READ_AS_INTEGER) {
        0 => cudaReadModeNormalizedFloat,
        _ => cudaReadModeElementType,
    };
    out.normalizedCoords = has(sys::CU_TRSF_NORMALIZED_COORDINATES);
    out.sRGB = has(sys::CU_TRSF_SRGB);
    out.disableTrilinearOptimization = has(sys::CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION);
    out.seamlessCubemap = has(sys::CU_TRSF_SEAMLESS_CUBEMAP);
    out.maxAnisotropy = of.maxAnisotropy;
    out.mipmapFilterMode = of.mipmapFilterMode;
    out.mipmapLevelBias = of.mipmapLevelBias;
    out.minMipmapLevelClamp = of.minMipmapLevelClamp;
    out.maxMipmapLevelClamp = of.maxMipmapLevelClamp;
    out.borderColor = of.borderColor;
    out
}

api! {
    fn cudaCreateTextureObject(
        out: *mut cudaTextureObject_t,
        of: *const cudaResourceDesc,
        texture: *const cudaTextureDesc,
        view: *const cudaResourceViewDesc,
    ) {
        ensure()?;
        // SAFETY: the structures and arrays are the program's, as CUDA's manual wants them.
        let (resource, texture) = (unsafe { resource(of.raw()) }?, sampler(&get(texture)?));
        let mut viewed: CUDA_RESOURCE_VIEW_DESC = empty();
        let mut wanted = null();
        if !view.is_null() {
            let view = view.raw();
            // SAFETY: the members that both versions of the structure have are there.
            unsafe {
                copy_view!(viewed, *view);
            }
            wanted = &raw const viewed;
        }
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuTexObjectCreate(out.raw(), &raw const resource, &raw const texture, wanted) }?)
    }

    fn cudaCreateSurfaceObject(out: *mut cudaSurfaceObject_t, of: *const cudaResourceDesc) {
        ensure()?;
        // SAFETY: the structures and arrays are the program's, as CUDA's manual wants them.
        let resource = unsafe { resource(of.raw()) }?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuSurfObjectCreate(out.raw(), &raw const resource) }?)
    }

    fn cudaGetTextureObjectResourceDesc(out: *mut cudaResourceDesc, texture: cudaTextureObject_t) {
        ensure()?;
        let mut found = empty();
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        unsafe { cu::cuTexObjectGetResourceDesc(&raw mut found, texture) }?;
        // SAFETY: the structures and arrays are the program's, as CUDA's manual wants them.
        unsafe { put_resource(out.raw(), &found) }
    }

    fn cudaGetSurfaceObjectResourceDesc(out: *mut cudaResourceDesc, surface: cudaSurfaceObject_t) {
        ensure()?;
        let mut found = empty();
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        unsafe { cu::cuSurfObjectGetResourceDesc(&raw mut found, surface) }?;
        // SAFETY: the structures and arrays are the program's, as CUDA's manual wants them.
        unsafe { put_resource(out.raw(), &found) }
    }

    fn cudaGetTextureObjectTextureDesc(out: *mut cudaTextureDesc, texture: cudaTextureObject_t) {
        ensure()?;
        let mut found = empty();
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        unsafe { cu::cuTexObjectGetTextureDesc(&raw mut found, texture) }?;
        put(out, described(&found))
    }

    fn cudaGetTextureObjectResourceViewDesc(out: *mut cudaResourceViewDesc, texture: cudaTextureObject_t) {
        ensure()?;
        let mut found: CUDA_RESOURCE_VIEW_DESC = empty();
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        unsafe { cu::cuTexObjectGetResourceViewDesc(&raw mut found, texture) }?;
        if out.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        let out = out.raw();
        // SAFETY: the members that both versions of the structure have are there.
        unsafe {
            copy_view!(*out, found);
        }
        Ok(())
    }
}
