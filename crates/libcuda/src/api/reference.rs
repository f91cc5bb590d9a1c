//! Texture and surface references, which CUDA has deprecated.

use crate::api::array::{format, number};
use crate::api::texture::{address_mode, blends, set_flags};
use crate::ffi::api;
use crate::pointers::{In, get, put, put_if, text};
use crate::state::{ARRAYS, MIPMAPPED, MODULES, SURFACE_REFERENCES, TEXTURE_REFERENCES, Table, current};
use crate::sys::*;
use driver::reference::{Description, Shown};
use driver::texture::AddressMode;
use driver::{Error, Result};
use std::ffi::{c_char, c_float, c_int, c_uint};

/// Linear memory of a texture begins at multiples of this.
const ALIGNMENT: u64 = 512;

fn change(reference: CUtexref, change: impl FnOnce(&mut Description)) -> Result<()> {
    TEXTURE_REFERENCES.get(reference)?.change(change)
}

fn description(reference: CUtexref) -> Result<Description> {
    Ok(TEXTURE_REFERENCES.get(reference)?.description())
}

/// Rows of memory.
fn show_rows(
    reference: CUtexref,
    stated: In<CUDA_ARRAY_DESCRIPTOR>,
    address: CUdeviceptr,
    pitch: usize,
) -> Result<()> {
    let stated = get(stated)?;
    let extent = |extent: usize| u32::try_from(extent).map_err(|_| Error::InvalidValue);
    let (width, height) = (extent(stated.Width)?, extent(stated.Height)?.max(1));
    let format = format(stated.Format, stated.NumChannels)?;
    let shown = Shown::Pitched { address, format, width, height, pitch: pitch as u64 };
    change(reference, |description| description.shown = shown)
}

fn dimension(dimension: c_int) -> Result<usize> {
    usize::try_from(dimension).ok().filter(|&dimension| dimension < 3).ok_or(Error::InvalidValue)
}

api! {
    fn cuModuleGetTexRef(out: *mut CUtexref, module: CUmodule, name: *const c_char) {
        let reference = MODULES.get(module)?.texture_reference(text(name)?)?;
        put(out, TEXTURE_REFERENCES.insert(reference.id(), reference))
    }

    fn cuModuleGetSurfRef(out: *mut CUsurfref, module: CUmodule, name: *const c_char) {
        let reference = MODULES.get(module)?.surface_reference(text(name)?)?;
        put(out, SURFACE_REFERENCES.insert(reference.id(), reference))
    }

    #[order(initialised, handle(reference), handle(array))]
    fn cuSurfRefSetArray(reference: CUsurfref, array: CUarray, flags: c_uint) {
        let array = ARRAYS.get(array)?;
        if flags != 0 || array.flags & CUDA_ARRAY3D_SURFACE_LDST == 0 {
            return Err(Error::InvalidValue);
        }
        SURFACE_REFERENCES.get(reference)?.set_array(&array)
    }

    fn cuSurfRefGetArray(out: *mut CUarray, reference: CUsurfref) {
        let array = SURFACE_REFERENCES.get(reference)?.array().ok_or(Error::InvalidValue)?;
        put(out, Table::<driver::array::Array, _>::handle(array.id()))
    }

    fn cuTexRefCreate(out: *mut CUtexref) {
        current()?;
        let reference = driver::reference::TextureReference::unnamed();
        put(out, TEXTURE_REFERENCES.insert(reference.id(), reference))
    }

    fn cuTexRefDestroy(reference: CUtexref) {
        TEXTURE_REFERENCES.remove(reference).map(drop)
    }

    #[order(initialised, handle(reference), handle(array))]
    fn cuTexRefSetArray(reference: CUtexref, array: CUarray, flags: c_uint) {
        if flags & !CU_TRSA_OVERRIDE_FORMAT != 0 {
            return Err(Error::InvalidValue);
        }
        let shown = Shown::Array(ARRAYS.get(array)?);
        change(reference, |description| description.shown = shown)
    }

    #[order(initialised, handle(reference), handle(array))]
    fn cuTexRefSetMipmappedArray(reference: CUtexref, array: CUmipmappedArray, flags: c_uint) {
        if flags & !CU_TRSA_OVERRIDE_FORMAT != 0 {
            return Err(Error::InvalidValue);
        }
        let shown = Shown::Mipmapped(MIPMAPPED.get(array)?);
        change(reference, |description| description.shown = shown)
    }

    #[order(initialised, handle(reference))]
    fn cuTexRefSetAddress_v2(offset: *mut usize, reference: CUtexref, address: CUdeviceptr, bytes: usize) {
        let before = address % ALIGNMENT;
        if before != 0 && offset.is_null() {
            return Err(Error::InvalidValue);
        }
        // The texture begins where it may; the program adds what lies before its own.
        let shown = Shown::Linear { address: address - before, bytes: bytes as u64 + before };
        change(reference, |description| description.shown = shown)?;
        put_if(offset, before as usize);
        Ok(())
    }

    #[order(initialised, handle(reference), given(stated))]
    fn cuTexRefSetAddress2D_v3(
        reference: CUtexref,
        stated: *const CUDA_ARRAY_DESCRIPTOR,
        address: CUdeviceptr,
        pitch: usize,
    ) {
        show_rows(reference, stated, address, pitch)
    }

    #[order(initialised, handle(reference))]
    fn cuTexRefSetFormat(reference: CUtexref, stated: CUarray_format, channels: c_int) {
        let channels = c_uint::try_from(channels).map_err(|_| Error::InvalidValue)?;
        let format = format(stated, channels)?;
        change(reference, |description| description.format = format)
    }

    fn cuTexRefSetAddressMode(reference: CUtexref, along: c_int, mode: CUaddress_mode) {
        let (along, mode) = (dimension(along)?, address_mode(mode)?);
        change(reference, |description| description.texture.sampler.address[along] = mode)
    }

    fn cuTexRefSetFilterMode(reference: CUtexref, mode: CUfilter_mode) {
        let linear = blends(mode)?;
        change(reference, |description| description.texture.sampler.linear = linear)
    }

    fn cuTexRefSetMipmapFilterMode(reference: CUtexref, mode: CUfilter_mode) {
        let linear = blends(mode)?;
        change(reference, |description| description.texture.sampler.mip_linear = linear)
    }

    fn cuTexRefSetMipmapLevelBias(reference: CUtexref, bias: c_float) {
        change(reference, |description| description.texture.sampler.mip_bias = bias)
    }

    fn cuTexRefSetMipmapLevelClamp(reference: CUtexref, least: c_float, greatest: c_float) {
        change(reference, |description| {
            description.texture.sampler.mip_least = least;
            description.texture.sampler.mip_greatest = greatest;
        })
    }

    fn cuTexRefSetMaxAnisotropy(reference: CUtexref, most: c_uint) {
        change(reference, |description| description.texture.sampler.max_anisotropy = most)
    }

    fn cuTexRefSetBorderColor(reference: CUtexref, colour: *mut c_float) {
        let border = {
            // SAFETY: the manual says that there are four.
            get(unsafe { colour.cast::<[f32; 4]>() })?
        };
        change(reference, |description| description.texture.sampler.border = border)
    }

    fn cuTexRefSetFlags(reference: CUtexref, flags: c_uint) {
        let mut texture = description(reference)?.texture;
        set_flags(&mut texture, flags)?;
        change(reference, |description| {
            description.texture = texture;
            description.flags = flags;
        })
    }

    fn cuTexRefGetArray(out: *mut CUarray, reference: CUtexref) {
        match description(reference)?.shown {
            Shown::Array(array) => put(out, Table::<driver::array::Array, _>::handle(array.id())),
            _ => Err(Error::InvalidValue),
        }
    }

    fn cuTexRefGetMipmappedArray(out: *mut CUmipmappedArray, reference: CUtexref) {
        match description(reference)?.shown {
            Shown::Mipmapped(array) => put(out, Table::<driver::array::Mipmapped, _>::handle(array.id())),
            _ => Err(Error::InvalidValue),
        }
    }

    fn cuTexRefGetAddress_v2(out: *mut CUdeviceptr, reference: CUtexref) {
        match description(reference)?.shown {
            Shown::Linear { address, .. } | Shown::Pitched { address, .. } => put(out, address),
            _ => Err(Error::InvalidValue),
        }
    }

    fn cuTexRefGetFormat(out: *mut CUarray_format, channels: *mut c_int, reference: CUtexref) {
        let description = description(reference)?;
        let format = match &description.shown {
            Shown::Array(array) => array.descriptor().format,
            Shown::Mipmapped(array) => array.descriptor().format,
            Shown::Pitched { format, .. } => *format,
            Shown::Linear { .. } | Shown::Nothing => description.format,
        };
        put_if(channels, format.channels as c_int);
        put_if(out, number(&format));
        Ok(())
    }

    fn cuTexRefGetAddressMode(out: *mut CUaddress_mode, reference: CUtexref, along: c_int) {
        let mode = match description(reference)?.texture.sampler.address[dimension(along)?] {
            AddressMode::Wrap => CU_TR_ADDRESS_MODE_WRAP,
            AddressMode::Clamp => CU_TR_ADDRESS_MODE_CLAMP,
            AddressMode::Mirror => CU_TR_ADDRESS_MODE_MIRROR,
            AddressMode::Border => CU_TR_ADDRESS_MODE_BORDER,
        };
        put(out, mode)
    }

    fn cuTexRefGetFilterMode(out: *mut CUfilter_mode, reference: CUtexref) {
        put(out, description(reference)?.texture.sampler.linear.into())
    }

    fn cuTexRefGetMipmapFilterMode(out: *mut CUfilter_mode, reference: CUtexref) {
        put(out, description(reference)?.texture.sampler.mip_linear.into())
    }

    fn cuTexRefGetMipmapLevelBias(out: *mut c_float, reference: CUtexref) {
        put(out, description(reference)?.texture.sampler.mip_bias)
    }

    fn cuTexRefGetMipmapLevelClamp(least: *mut c_float, greatest: *mut c_float, reference: CUtexref) {
        let sampler = description(reference)?.texture.sampler;
        put(least, sampler.mip_least)?;
        put(greatest, sampler.mip_greatest)
    }

    fn cuTexRefGetMaxAnisotropy(out: *mut c_int, reference: CUtexref) {
        put(out, description(reference)?.texture.sampler.max_anisotropy as c_int)
    }

    fn cuTexRefGetBorderColor(out: *mut c_float, reference: CUtexref) {
        // SAFETY: the manual says that there is room for four.
        put(unsafe { out.cast() }, description(reference)?.texture.sampler.border)
    }

    fn cuTexRefGetFlags(out: *mut c_uint, reference: CUtexref) {
        put(out, description(reference)?.flags)
    }

    #[order(initialised, handle(f), handle(reference), context)]
    fn cuParamSetTexRef(f: CUfunction, _unit: c_int, reference: CUtexref) {
        // A reference of the function's module is bound already.
        crate::state::function(f, None)?;
        description(reference).map(drop)
    }
}
