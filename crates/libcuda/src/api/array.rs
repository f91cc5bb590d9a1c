//! Arrays and their mip levels.

use crate::ffi::api;
use crate::pointers::{Out, get, put};
use crate::state::{ARRAYS, MIPMAPPED, current, device};
use crate::sys::*;
use driver::array::{Array, Descriptor, Element, Format, Kind};
use driver::{Error, Result, current};
use std::ffi::{c_int, c_uint};

/// Formats of integers that are always fractions, from the one with one channel: that with two follows, then four.
const FRACTIONS: [(CUarray_format, Element); 4] = [
    (CU_AD_FORMAT_UNORM_INT8X1, Element::U8),
    (CU_AD_FORMAT_UNORM_INT16X1, Element::U16),
    (CU_AD_FORMAT_SNORM_INT8X1, Element::S8),
    (CU_AD_FORMAT_SNORM_INT16X1, Element::S16),
];

const ELEMENTS: [(CUarray_format, Element); 8] = [
    (CU_AD_FORMAT_UNSIGNED_INT8, Element::U8),
    (CU_AD_FORMAT_UNSIGNED_INT16, Element::U16),
    (CU_AD_FORMAT_UNSIGNED_INT32, Element::U32),
    (CU_AD_FORMAT_SIGNED_INT8, Element::S8),
    (CU_AD_FORMAT_SIGNED_INT16, Element::S16),
    (CU_AD_FORMAT_SIGNED_INT32, Element::S32),
    (CU_AD_FORMAT_HALF, Element::F16),
    (CU_AD_FORMAT_FLOAT, Element::F32),
];

/// The flags of arrays that there are.
const FLAGS: c_uint = CUDA_ARRAY3D_LAYERED
    | CUDA_ARRAY3D_SURFACE_LDST
    | CUDA_ARRAY3D_CUBEMAP
    | CUDA_ARRAY3D_TEXTURE_GATHER
    | CUDA_ARRAY3D_COLOR_ATTACHMENT;
/// Those that CUDA has besides: depth textures, sparse arrays, memory to be mapped later, video.
const MORE_FLAGS: c_uint = CUDA_ARRAY3D_DEPTH_TEXTURE
    | CUDA_ARRAY3D_SPARSE
    | CUDA_ARRAY3D_DEFERRED_MAPPING
    | CUDA_ARRAY3D_VIDEO_ENCODE_DECODE;

/// A format that the program names.
pub(crate) fn format(format: CUarray_format, channels: c_uint) -> Result<Format> {
    if let Some((_, element)) = ELEMENTS.iter().find(|(number, _)| *number == format) {
        return match channels {
            1 | 2 | 4 => Ok(Format::new(*element, channels)),
            _ => Err(Error::InvalidValue),
        };
    }
    for (first, element) in FRACTIONS {
        if (first..first + 3).contains(&format) {
            let own = 1 << (format - first);
            let fraction = Format { normalized: true, ..Format::new(element, own) };
            return if channels == own { Ok(fraction) } else { Err(Error::InvalidValue) };
        }
    }
    // Planes, packed colours and compressed blocks.
    Err(Error::NotSupported)
}

/// The number of a format.
pub(crate) fn number(format: &Format) -> CUarray_format {
    let of = |table: &[(CUarray_format, Element)]| {
        table.iter().find(|(_, element)| *element == format.element).map_or(0, |(number, _)| *number)
    };
    if format.normalized { of(&FRACTIONS) + format.channels.ilog2() } else { of(&ELEMENTS) }
}

fn descriptor(stated: &CUDA_ARRAY3D_DESCRIPTOR, levels: c_uint) -> Result<Descriptor> {
    if stated.Flags & !(FLAGS | MORE_FLAGS) != 0 {
        return Err(Error::InvalidValue);
    }
    if stated.Flags & MORE_FLAGS != 0 {
        return Err(Error::NotSupported);
    }
    let extent = |extent: usize| u32::try_from(extent).map_err(|_| Error::InvalidValue);
    let kind = match (stated.Flags & CUDA_ARRAY3D_LAYERED != 0, stated.Flags & CUDA_ARRAY3D_CUBEMAP != 0) {
        (false, false) => Kind::Plain,
        (true, false) => Kind::Layered,
        (false, true) => Kind::Cube,
        (true, true) => Kind::LayeredCube,
    };
    let format = format(stated.Format, stated.NumChannels)?;
    let (width, height, depth) = (extent(stated.Width)?, extent(stated.Height)?, extent(stated.Depth)?);
    Ok(Descriptor { width, height, depth, format, kind, levels, samples: 1 })
}

/// What an array is, in the program's words.
fn described(array: &Array) -> CUDA_ARRAY3D_DESCRIPTOR {
    let descriptor = array.descriptor();
    CUDA_ARRAY3D_DESCRIPTOR {
        Width: descriptor.width as usize,
        Height: descriptor.height as usize,
        Depth: descriptor.depth as usize,
        Format: number(&descriptor.format),
        NumChannels: descriptor.format.channels,
        Flags: array.flags,
    }
}

fn create(out: Out<CUarray>, stated: &CUDA_ARRAY3D_DESCRIPTOR) -> Result<()> {
    if out.is_null() {
        return Err(Error::InvalidValue);
    }
    let array = current()?.create_array(descriptor(stated, 1)?, stated.Flags)?;
    put(out, ARRAYS.insert(array.id(), array))
}

/// Waits for what may use an array that goes: all work of the current context, if there is one that can be used.
fn settle() -> Result<()> {
    match current::context().filter(|context| context.usable().is_ok()) {
        Some(context) => context.settle(),
        None => Ok(()),
    }
}

api! {
    #[order(initialised, given(out), given(stated), context, no_capture)]
    fn cuArrayCreate_v2(out: *mut CUarray, stated: *const CUDA_ARRAY_DESCRIPTOR) {
        let CUDA_ARRAY_DESCRIPTOR { Width, Height, Format, NumChannels } = get(stated)?;
        create(out, &CUDA_ARRAY3D_DESCRIPTOR { Width, Height, Depth: 0, Format, NumChannels, Flags: 0 })
    }

    #[order(initialised, given(out), given(stated), context, no_capture)]
    fn cuArray3DCreate_v2(out: *mut CUarray, stated: *const CUDA_ARRAY3D_DESCRIPTOR) {
        create(out, &get(stated)?)
    }

    #[order(handle(array), initialised, given(out))]
    fn cuArrayGetDescriptor_v2(out: *mut CUDA_ARRAY_DESCRIPTOR, array: CUarray) {
        let CUDA_ARRAY3D_DESCRIPTOR { Width, Height, Format, NumChannels, .. } = described(&*ARRAYS.get(array)?);
        put(out, CUDA_ARRAY_DESCRIPTOR { Width, Height, Format, NumChannels })
    }

    #[order(handle(array), initialised, given(out))]
    fn cuArray3DGetDescriptor_v2(out: *mut CUDA_ARRAY3D_DESCRIPTOR, array: CUarray) {
        put(out, described(&*ARRAYS.get(array)?))
    }

    #[order(initialised, handle(array), no_capture)]
    fn cuArrayDestroy(array: CUarray) {
        if !ARRAYS.get(array)?.whole() {
            return Err(Error::InvalidValue);
        }
        settle()?;
        ARRAYS.remove(array).map(drop)
    }

    #[order(initialised, given(out), given(stated), context, no_capture)]
    fn cuMipmappedArrayCreate(
        out: *mut CUmipmappedArray,
        stated: *const CUDA_ARRAY3D_DESCRIPTOR,
        levels: c_uint,
    ) {
        let stated = get(stated)?;
        if out.is_null() || levels == 0 {
            return Err(Error::InvalidValue);
        }
        let array = current()?.create_mipmapped(descriptor(&stated, levels)?, stated.Flags)?;
        put(out, MIPMAPPED.insert(array.id(), array))
    }

    #[order(handle(array), initialised, given(out))]
    fn cuMipmappedArrayGetLevel(out: *mut CUarray, array: CUmipmappedArray, level: c_uint) {
        let array = MIPMAPPED.get(array)?;
        let level = array.levels().get(level as usize).ok_or(Error::InvalidValue)?;
        put(out, ARRAYS.insert(level.id(), level.clone()))
    }

    #[order(initialised, handle(array), no_capture)]
    fn cuMipmappedArrayDestroy(array: CUmipmappedArray) {
        let gone = MIPMAPPED.get(array)?;
        settle()?;
        ARRAYS.retain(|array| !gone.levels().iter().any(|level| level.id() == array.id()));
        MIPMAPPED.remove(array).map(drop)
    }

    fn cuDeviceGetTexture1DLinearMaxWidth(
        out: *mut usize,
        stated: CUarray_format,
        channels: c_uint,
        dev: CUdevice,
    ) {
        device(dev)?;
        format(stated, channels).map_err(|_| Error::InvalidValue)?;
        put(out, MOST_LINEAR as usize)
    }
}

/// Texels of a texture of linear memory.
pub(crate) const MOST_LINEAR: c_int = 1 << 28;
