//! Arrays, textures and surfaces. They live as long as the context: nothing here takes them back.

use crate::driver::{Error, check};
use crate::gpu::Gpu;
use driver_api::cu;
use driver_api::sys::*;
use machine::texture::{AddressMode, ArrayDescriptor, Element, Kind, TextureDescriptor};
use std::ffi::c_uint;
use std::ptr::{null, null_mut};

/// Who is going to read or write an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Texture instructions.
    Sampled,
    /// Texture instructions, gathers of `tld4` among them.
    Gathered,
    /// Surface instructions.
    Surface,
}

/// An array with its levels.
#[derive(Clone, Copy, Debug)]
pub struct Array(Handle);

#[derive(Clone, Copy, Debug)]
enum Handle {
    Plain(CUarray),
    Mipmapped(CUmipmappedArray),
}

/// `CUarray_format`.
fn format(element: Element) -> CUarray_format {
    match element {
        Element::U8 => CU_AD_FORMAT_UNSIGNED_INT8,
        Element::U16 => CU_AD_FORMAT_UNSIGNED_INT16,
        Element::U32 => CU_AD_FORMAT_UNSIGNED_INT32,
        Element::S8 => CU_AD_FORMAT_SIGNED_INT8,
        Element::S16 => CU_AD_FORMAT_SIGNED_INT16,
        Element::S32 => CU_AD_FORMAT_SIGNED_INT32,
        Element::F16 => CU_AD_FORMAT_HALF,
        Element::F32 => CU_AD_FORMAT_FLOAT,
    }
}

impl Gpu {
    /// An array whose levels hold these bytes, texel by texel.
    ///
    /// # Errors
    /// If the driver makes no such array, or a level's bytes are too few.
    pub fn array(&self, shape: &ArrayDescriptor, purpose: Use, levels: &[Vec<u8>]) -> Result<Array, Error> {
        let flags = match shape.kind {
            Kind::Plain => 0,
            Kind::Layered => CUDA_ARRAY3D_LAYERED,
            Kind::Cube => CUDA_ARRAY3D_CUBEMAP,
            Kind::LayeredCube => CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP,
        };
        let purpose = match purpose {
            Use::Sampled => 0,
            Use::Gathered => CUDA_ARRAY3D_TEXTURE_GATHER,
            Use::Surface => CUDA_ARRAY3D_SURFACE_LDST,
        };
        let descriptor = CUDA_ARRAY3D_DESCRIPTOR {
            Width: shape.width as usize,
            Height: shape.height as usize,
            Depth: shape.depth as usize,
            Format: format(shape.format.element),
            NumChannels: shape.format.channels,
            Flags: flags | purpose,
        };
        if shape.levels <= 1 {
            let mut array = null_mut();
            // SAFETY: the driver reads the descriptor and writes one handle.
            check("cuArray3DCreate", unsafe { cu::cuArray3DCreate_v2(&mut array, &descriptor) })?;
            for (number, bytes) in levels.iter().enumerate() {
                Self::fill_level(array, shape, number, bytes)?;
            }
            return Ok(Array(Handle::Plain(array)));
        }
        let mut array = null_mut();
        // SAFETY: the same.
        let made = unsafe { cu::cuMipmappedArrayCreate(&mut array, &descriptor, shape.levels) };
        check("cuMipmappedArrayCreate", made)?;
        for (number, bytes) in levels.iter().enumerate() {
            let mut level = null_mut();
            // SAFETY: the driver checks the number and writes one handle.
            let found = unsafe { cu::cuMipmappedArrayGetLevel(&mut level, array, number as c_uint) };
            check("cuMipmappedArrayGetLevel", found)?;
            Self::fill_level(level, shape, number, bytes)?;
        }
        Ok(Array(Handle::Mipmapped(array)))
    }

    fn fill_level(array: CUarray, shape: &ArrayDescriptor, level: usize, bytes: &[u8]) -> Result<(), Error> {
        let halved = |extent: u32| (extent >> level).max(1) as usize;
        let depth = if shape.kind == Kind::Plain { halved(shape.depth) } else { shape.depth as usize };
        let row = halved(shape.width) * shape.format.texel_bytes() as usize;
        let height = halved(shape.height);
        if bytes.len() < row * height * depth {
            return Err(Error::Argument(format!("{} bytes for level {level} of {shape:?}", bytes.len())));
        }
        let copy = CUDA_MEMCPY3D {
            srcXInBytes: 0,
            srcY: 0,
            srcZ: 0,
            srcLOD: 0,
            srcMemoryType: CU_MEMORYTYPE_HOST,
            srcHost: bytes.as_ptr().cast(),
            srcDevice: 0,
            srcArray: null_mut(),
            reserved0: null_mut(),
            srcPitch: row,
            srcHeight: height,
            dstXInBytes: 0,
            dstY: 0,
            dstZ: 0,
            dstLOD: 0,
            dstMemoryType: CU_MEMORYTYPE_ARRAY,
            dstHost: null_mut(),
            dstDevice: 0,
            dstArray: array,
            reserved1: null_mut(),
            dstPitch: 0,
            dstHeight: 0,
            WidthInBytes: row,
            Height: height,
            Depth: depth,
        };
        // SAFETY: the host's bytes, which the driver only reads, are as many as the extents say; it checks the array.
        check("cuMemcpy3D", unsafe { cu::cuMemcpy3D_v2(&copy) })
    }

    /// The handle of a texture.
    ///
    /// # Errors
    /// If the driver makes no such texture.
    pub fn texture(&self, array: Array, texture: &TextureDescriptor) -> Result<u64, Error> {
        let sampler = &texture.sampler;
        let flag = |is: bool, bit: c_uint| if is { bit } else { 0 };
        let filter = |linear| if linear { CU_TR_FILTER_MODE_LINEAR } else { CU_TR_FILTER_MODE_POINT };
        let descriptor = CUDA_TEXTURE_DESC {
            addressMode: sampler.address.map(|mode| match mode {
                AddressMode::Wrap => CU_TR_ADDRESS_MODE_WRAP,
                AddressMode::Clamp => CU_TR_ADDRESS_MODE_CLAMP,
                AddressMode::Mirror => CU_TR_ADDRESS_MODE_MIRROR,
                AddressMode::Border => CU_TR_ADDRESS_MODE_BORDER,
            }),
            filterMode: filter(sampler.linear),
            flags: flag(texture.as_integer, CU_TRSF_READ_AS_INTEGER)
                | flag(sampler.normalized, CU_TRSF_NORMALIZED_COORDINATES)
                | flag(texture.srgb, CU_TRSF_SRGB)
                | flag(sampler.seamless_cube, CU_TRSF_SEAMLESS_CUBEMAP)
                | flag(sampler.disable_trilinear_optimization, CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION),
            maxAnisotropy: sampler.max_anisotropy,
            mipmapFilterMode: filter(sampler.mip_linear),
            mipmapLevelBias: sampler.mip_bias,
            minMipmapLevelClamp: sampler.mip_least,
            maxMipmapLevelClamp: sampler.mip_greatest,
            borderColor: sampler.border,
            reserved: [0; 12],
        };
        let mut handle = 0;
        let resource = resource(array);
        // SAFETY: the driver reads both descriptors and writes one handle; there is no view.
        let made = unsafe { cu::cuTexObjectCreate(&mut handle, &resource, &descriptor, null()) };
        check("cuTexObjectCreate", made)?;
        Ok(handle)
    }

    /// The handle of a surface.
    ///
    /// # Errors
    /// If the driver makes no such surface.
    pub fn surface(&self, array: Array) -> Result<u64, Error> {
        let mut handle = 0;
        let resource = resource(array);
        // SAFETY: the driver reads the descriptor and writes one handle.
        check("cuSurfObjectCreate", unsafe { cu::cuSurfObjectCreate(&mut handle, &resource) })?;
        Ok(handle)
    }
}

fn resource(Array(handle): Array) -> CUDA_RESOURCE_DESC {
    // What a member does not fill stays zero.
    let reserved = CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_5 { reserved: [0; 32] };
    let mut res = CUDA_RESOURCE_DESC_st__bindgen_ty_1 { reserved };
    let kind = match handle {
        Handle::Plain(array) => {
            res.array = CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_1 { hArray: array };
            CU_RESOURCE_TYPE_ARRAY
        }
        Handle::Mipmapped(array) => {
            res.mipmap = CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_2 { hMipmappedArray: array };
            CU_RESOURCE_TYPE_MIPMAPPED_ARRAY
        }
    };
    CUDA_RESOURCE_DESC { resType: kind, res, flags: 0 }
}
