//! Texture and surface objects.

use crate::api::array::format;
use crate::ffi::api;
use crate::pointers::{get, put};
use crate::state::{ARRAYS, MIPMAPPED, current};
use crate::sys::*;
use driver::array::{Element, Format};
use driver::texture::{AddressMode, Resource, SamplerDescriptor, TextureDescriptor, View};
use driver::{Error, Result};
use std::collections::HashMap;
use std::ffi::c_uint;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// An object as the program described it.
#[derive(Clone, Copy)]
struct Described {
    resource: CUDA_RESOURCE_DESC,
    /// `None` for a surface.
    texture: Option<CUDA_TEXTURE_DESC>,
    view: Option<CUDA_RESOURCE_VIEW_DESC>,
}

// SAFETY: the pointers in it are handles, which are numbers.
unsafe impl Send for Described {}

/// The objects of all devices: each device counts its own.
static OBJECTS: LazyLock<Mutex<HashMap<(usize, u64), Described>>> = LazyLock::new(Mutex::default);

fn objects() -> MutexGuard<'static, HashMap<(usize, u64), Described>> {
    OBJECTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What an object of the current device was described as.
fn described(object: u64) -> Result<Described> {
    let device = current()?.device().ordinal();
    objects().get(&(device, object)).copied().ok_or(Error::InvalidValue)
}

fn remember(object: u64, described: Described) -> Result<()> {
    objects().insert((current()?.device().ordinal(), object), described);
    Ok(())
}

fn destroy(object: u64) -> Result<()> {
    // As of other kinds, there is nothing to do about none.
    if object == 0 {
        return Ok(());
    }
    let context = current()?;
    described(object)?;
    context.destroy_object(object)?;
    objects().remove(&(context.device().ordinal(), object));
    Ok(())
}

pub(crate) fn address_mode(mode: CUaddress_mode) -> Result<AddressMode> {
    match mode {
        CU_TR_ADDRESS_MODE_WRAP => Ok(AddressMode::Wrap),
        CU_TR_ADDRESS_MODE_CLAMP => Ok(AddressMode::Clamp),
        CU_TR_ADDRESS_MODE_MIRROR => Ok(AddressMode::Mirror),
        CU_TR_ADDRESS_MODE_BORDER => Ok(AddressMode::Border),
        _ => Err(Error::InvalidValue),
    }
}

/// Whether a filter blends.
pub(crate) fn blends(filter: CUfilter_mode) -> Result<bool> {
    match filter {
        CU_TR_FILTER_MODE_POINT => Ok(false),
        CU_TR_FILTER_MODE_LINEAR => Ok(true),
        _ => Err(Error::InvalidValue),
    }
}

/// Sets what the flags of a texture say.
pub(crate) fn set_flags(texture: &mut TextureDescriptor, flags: c_uint) -> Result<()> {
    let known = CU_TRSF_READ_AS_INTEGER
        | CU_TRSF_NORMALIZED_COORDINATES
        | CU_TRSF_SRGB
        | CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION
        | CU_TRSF_SEAMLESS_CUBEMAP;
    if flags & !known != 0 {
        return Err(Error::InvalidValue);
    }
    texture.as_integer = flags & CU_TRSF_READ_AS_INTEGER != 0;
    texture.srgb = flags & CU_TRSF_SRGB != 0;
    texture.sampler.normalized = flags & CU_TRSF_NORMALIZED_COORDINATES != 0;
    texture.sampler.seamless_cube = flags & CU_TRSF_SEAMLESS_CUBEMAP != 0;
    texture.sampler.disable_trilinear_optimization = flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION != 0;
    Ok(())
}

fn texture(stated: &CUDA_TEXTURE_DESC) -> Result<TextureDescriptor> {
    let [x, y, z] = stated.addressMode;
    let sampler = SamplerDescriptor {
        address: [address_mode(x)?, address_mode(y)?, address_mode(z)?],
        linear: blends(stated.filterMode)?,
        mip_linear: blends(stated.mipmapFilterMode)?,
        mip_bias: stated.mipmapLevelBias,
        mip_least: stated.minMipmapLevelClamp,
        mip_greatest: stated.maxMipmapLevelClamp,
        border: stated.borderColor,
        max_anisotropy: stated.maxAnisotropy,
        ..SamplerDescriptor::default()
    };
    let mut texture = TextureDescriptor { sampler, ..TextureDescriptor::default() };
    set_flags(&mut texture, stated.flags)?;
    Ok(texture)
}

fn resource(stated: &CUDA_RESOURCE_DESC) -> Result<Resource> {
    let extent = |extent: usize| u32::try_from(extent).map_err(|_| Error::InvalidValue);
    if stated.flags != 0 {
        return Err(Error::InvalidValue);
    }
    // SAFETY: the type says which member is meant, and all of them are numbers.
    unsafe {
        match stated.resType {
            CU_RESOURCE_TYPE_ARRAY => Ok(Resource::Array(ARRAYS.get(stated.res.array.hArray)?)),
            CU_RESOURCE_TYPE_MIPMAPPED_ARRAY => {
                Ok(Resource::Mipmapped(MIPMAPPED.get(stated.res.mipmap.hMipmappedArray)?))
            }
            CU_RESOURCE_TYPE_LINEAR => {
                let linear = stated.res.linear;
                let format = format(linear.format, linear.numChannels)?;
                Ok(Resource::Linear { address: linear.devPtr, format, bytes: linear.sizeInBytes as u64 })
            }
            CU_RESOURCE_TYPE_PITCH2D => {
                let rows = stated.res.pitch2D;
                Ok(Resource::Pitched {
                    address: rows.devPtr,
                    format: format(rows.format, rows.numChannels)?,
                    width: extent(rows.width)?,
                    height: extent(rows.height)?,
                    pitch: rows.pitchInBytes as u64,
                })
            }
            _ => Err(Error::InvalidValue),
        }
    }
}

/// The elements of formats of views, each for one, two and four channels.
const VIEWED: [Element; 8] = [
    Element::U8,
    Element::S8,
    Element::U16,
    Element::S16,
    Element::U32,
    Element::S32,
    Element::F16,
    Element::F32,
];

fn view(stated: &CUDA_RESOURCE_VIEW_DESC) -> Result<View> {
    let format = match stated.format {
        CU_RES_VIEW_FORMAT_NONE => None,
        CU_RES_VIEW_FORMAT_UINT_1X8..=CU_RES_VIEW_FORMAT_FLOAT_4X32 => {
            let index = stated.format - CU_RES_VIEW_FORMAT_UINT_1X8;
            Some(Format::new(VIEWED[(index / 3) as usize], 1 << (index % 3)))
        }
        CU_RES_VIEW_FORMAT_UNSIGNED_BC1..=CU_RES_VIEW_FORMAT_UNSIGNED_BC7 => return Err(Error::NotSupported),
        _ => return Err(Error::InvalidValue),
    };
    Ok(View {
        format,
        levels: [stated.firstMipmapLevel, stated.lastMipmapLevel],
        layers: [stated.firstLayer, stated.lastLayer],
    })
}

api! {
    #[order(initialised, given(out), given(stated), given(how), context, no_capture)]
    fn cuTexObjectCreate(
        out: *mut CUtexObject,
        stated: *const CUDA_RESOURCE_DESC,
        how: *const CUDA_TEXTURE_DESC,
        shown: *const CUDA_RESOURCE_VIEW_DESC,
    ) {
        let (described_resource, described_texture) = (get(stated)?, get(how)?);
        let described_view = if shown.is_null() { None } else { Some(get(shown)?) };
        if out.is_null() {
            return Err(Error::InvalidValue);
        }
        let shown = described_view.as_ref().map(view).transpose()?;
        let (resource, texture) = (resource(&described_resource)?, texture(&described_texture)?);
        let object = current()?.create_texture(&resource, &texture, shown.as_ref())?;
        let (resource, texture) = (described_resource, Some(described_texture));
        remember(object, Described { resource, texture, view: described_view })?;
        put(out, object)
    }

    #[order(initialised, context, no_capture)]
    fn cuTexObjectDestroy(object: CUtexObject) {
        destroy(object)
    }

    fn cuTexObjectGetResourceDesc(out: *mut CUDA_RESOURCE_DESC, object: CUtexObject) {
        put(out, described(object)?.resource)
    }

    fn cuTexObjectGetTextureDesc(out: *mut CUDA_TEXTURE_DESC, object: CUtexObject) {
        put(out, described(object)?.texture.ok_or(Error::InvalidValue)?)
    }

    #[order(initialised, given(out), given(object), context)]
    fn cuTexObjectGetResourceViewDesc(out: *mut CUDA_RESOURCE_VIEW_DESC, object: CUtexObject) {
        let shown = described(object)?.view;
        // SAFETY: all zeroes are a view: none.
        put(out, shown.unwrap_or_else(|| unsafe { std::mem::zeroed() }))
    }

    #[order(initialised, given(stated), context, no_capture)]
    fn cuSurfObjectCreate(out: *mut CUsurfObject, stated: *const CUDA_RESOURCE_DESC) {
        let described = get(stated)?;
        if out.is_null() {
            return Err(Error::InvalidValue);
        }
        let Resource::Array(array) = resource(&described)? else { return Err(Error::InvalidValue) };
        let object = current()?.create_surface(&array)?;
        remember(object, Described { resource: described, texture: None, view: None })?;
        put(out, object)
    }

    #[order(initialised, context, no_capture)]
    fn cuSurfObjectDestroy(object: CUsurfObject) {
        destroy(object)
    }

    fn cuSurfObjectGetResourceDesc(out: *mut CUDA_RESOURCE_DESC, object: CUsurfObject) {
        put(out, described(object)?.resource)
    }
}
