//! Arrays, textures and surfaces. They live as long as the context: nothing here takes them back.

use crate::driver::{Error, check};
use crate::gpu::Gpu;
use driver_api::cu;
use driver_api::sys::*;
use machine::texture::{AddressMode, ArrayDescriptor, Element, Format, Kind, TextureDescriptor};
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

/// What a texture shows.
#[derive(Clone, Copy, Debug)]
pub enum Texels {
    /// An array.
    Array(Array),
    /// Global memory, in one dimension.
    Linear {
        /// Where it begins.
        address: u64,
        /// The format of a texel.
        format: Format,
        /// How many bytes there are.
        bytes: u64,
    },
    /// Global memory, in rows.
    Pitched {
        /// Where it begins.
        address: u64,
        /// The format of a texel.
        format: Format,
        /// Texels of a row.
        width: u32,
        /// Rows.
        height: u32,
        /// Bytes from row to row.
        pitch: usize,
    },
}

/// A part of an array, or its texels in another format.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// `CUresourceViewFormat`.
    pub format: u32,
    /// Its extents.
    pub size: [usize; 3],
    /// The first level and the last.
    pub levels: [u32; 2],
    /// The first layer and the last.
    pub layers: [u32; 2],
}

/// `CUarray_format`. Normalized formats have their number of channels in their names.
fn format(format: Format) -> CUarray_format {
    let first = match (format.element, format.normalized) {
        (Element::U8, true) => CU_AD_FORMAT_UNORM_INT8X1,
        (Element::U16, true) => CU_AD_FORMAT_UNORM_INT16X1,
        (Element::S8, true) => CU_AD_FORMAT_SNORM_INT8X1,
        (Element::S16, true) => CU_AD_FORMAT_SNORM_INT16X1,
        (Element::U8, false) => return CU_AD_FORMAT_UNSIGNED_INT8,
        (Element::U16, false) => return CU_AD_FORMAT_UNSIGNED_INT16,
        (Element::U32, _) => return CU_AD_FORMAT_UNSIGNED_INT32,
        (Element::S8, false) => return CU_AD_FORMAT_SIGNED_INT8,
        (Element::S16, false) => return CU_AD_FORMAT_SIGNED_INT16,
        (Element::S32, _) => return CU_AD_FORMAT_SIGNED_INT32,
        (Element::F16, _) => return CU_AD_FORMAT_HALF,
        (Element::F32, _) => return CU_AD_FORMAT_FLOAT,
    };
    // For 1, 2 and 4 channels they follow one another.
    first + format.channels.ilog2()
}

/// The extents of a level, of which there is at least 1 of everything.
fn extents(shape: &ArrayDescriptor, level: usize) -> [usize; 3] {
    let halved = |extent: u32| (extent >> level).max(1) as usize;
    let depth = if shape.kind == Kind::Plain { halved(shape.depth) } else { shape.depth as usize };
    [halved(shape.width), halved(shape.height), depth]
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
            Format: format(shape.format),
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
            Self::fill_level(Self::level(array, number as u32)?, shape, number, bytes)?;
        }
        Ok(Array(Handle::Mipmapped(array)))
    }

    fn level(array: CUmipmappedArray, number: u32) -> Result<CUarray, Error> {
        let mut level = null_mut();
        // SAFETY: the driver checks the number and writes one handle.
        let found = unsafe { cu::cuMipmappedArrayGetLevel(&mut level, array, number) };
        check("cuMipmappedArrayGetLevel", found)?;
        Ok(level)
    }

    fn fill_level(array: CUarray, shape: &ArrayDescriptor, level: usize, bytes: &[u8]) -> Result<(), Error> {
        let [width, height, depth] = extents(shape, level);
        let row = width * shape.format.texel_bytes() as usize;
        if bytes.len() < row * height * depth {
            return Err(Error::Argument(format!("{} bytes for level {level} of {shape:?}", bytes.len())));
        }
        let copy = CUDA_MEMCPY3D {
            srcMemoryType: CU_MEMORYTYPE_HOST,
            srcHost: bytes.as_ptr().cast(),
            srcPitch: row,
            srcHeight: height,
            dstMemoryType: CU_MEMORYTYPE_ARRAY,
            dstArray: array,
            ..whole([row, height, depth])
        };
        // SAFETY: the host's bytes, which the driver only reads, are as many as the extents say; it checks the array.
        check("cuMemcpy3D", unsafe { cu::cuMemcpy3D_v2(&copy) })
    }

    /// The bytes of a level, texel by texel.
    ///
    /// # Errors
    /// If the array has no such level.
    pub fn read_array(
        &self,
        Array(handle): Array,
        shape: &ArrayDescriptor,
        level: u32,
    ) -> Result<Vec<u8>, Error> {
        let array = match handle {
            Handle::Plain(array) => array,
            Handle::Mipmapped(array) => Self::level(array, level)?,
        };
        let [width, height, depth] = extents(shape, level as usize);
        let row = width * shape.format.texel_bytes() as usize;
        let mut bytes = vec![0; row * height * depth];
        let copy = CUDA_MEMCPY3D {
            srcMemoryType: CU_MEMORYTYPE_ARRAY,
            srcArray: array,
            dstMemoryType: CU_MEMORYTYPE_HOST,
            dstHost: bytes.as_mut_ptr().cast(),
            dstPitch: row,
            dstHeight: height,
            ..whole([row, height, depth])
        };
        // SAFETY: the driver writes as many of the host's bytes as the extents say, and checks the array.
        check("cuMemcpy3D", unsafe { cu::cuMemcpy3D_v2(&copy) })?;
        Ok(bytes)
    }

    /// The handle of a texture.
    ///
    /// # Errors
    /// If the driver makes no such texture.
    pub fn texture(
        &self,
        texels: Texels,
        texture: &TextureDescriptor,
        view: Option<&View>,
    ) -> Result<u64, Error> {
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
        let view = view.map(|view| CUDA_RESOURCE_VIEW_DESC {
            format: view.format,
            width: view.size[0],
            height: view.size[1],
            depth: view.size[2],
            firstMipmapLevel: view.levels[0],
            lastMipmapLevel: view.levels[1],
            firstLayer: view.layers[0],
            lastLayer: view.layers[1],
            reserved: [0; 16],
        });
        let view = view.as_ref().map_or(null(), std::ptr::from_ref);
        let mut handle = 0;
        let resource = resource(texels);
        // SAFETY: the driver reads the descriptors, of which that of the view may be missing, and writes one handle.
        let made = unsafe { cu::cuTexObjectCreate(&mut handle, &resource, &descriptor, view) };
        check("cuTexObjectCreate", made)?;
        Ok(handle)
    }

    /// The handle of a surface, which shows one level.
    ///
    /// # Errors
    /// If the driver makes no such surface.
    pub fn surface(&self, Array(handle): Array, level: u32) -> Result<u64, Error> {
        let array = match handle {
            Handle::Plain(array) => array,
            Handle::Mipmapped(array) => Self::level(array, level)?,
        };
        let mut handle = 0;
        let resource = resource(Texels::Array(Array(Handle::Plain(array))));
        // SAFETY: the driver reads the descriptor and writes one handle.
        check("cuSurfObjectCreate", unsafe { cu::cuSurfObjectCreate(&mut handle, &resource) })?;
        Ok(handle)
    }
}

/// A copy of so many bytes, rows and slices, from nowhere to nowhere.
fn whole([bytes, height, depth]: [usize; 3]) -> CUDA_MEMCPY3D {
    CUDA_MEMCPY3D {
        srcXInBytes: 0,
        srcY: 0,
        srcZ: 0,
        srcLOD: 0,
        srcMemoryType: 0,
        srcHost: null(),
        srcDevice: 0,
        srcArray: null_mut(),
        reserved0: null_mut(),
        srcPitch: 0,
        srcHeight: 0,
        dstXInBytes: 0,
        dstY: 0,
        dstZ: 0,
        dstLOD: 0,
        dstMemoryType: 0,
        dstHost: null_mut(),
        dstDevice: 0,
        dstArray: null_mut(),
        reserved1: null_mut(),
        dstPitch: 0,
        dstHeight: 0,
        WidthInBytes: bytes,
        Height: height,
        Depth: depth,
    }
}

fn resource(texels: Texels) -> CUDA_RESOURCE_DESC {
    // What a member does not fill stays zero.
    let reserved = CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_5 { reserved: [0; 32] };
    let mut res = CUDA_RESOURCE_DESC_st__bindgen_ty_1 { reserved };
    let kind = match texels {
        Texels::Array(Array(Handle::Plain(array))) => {
            res.array = CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_1 { hArray: array };
            CU_RESOURCE_TYPE_ARRAY
        }
        Texels::Array(Array(Handle::Mipmapped(array))) => {
            res.mipmap = CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_2 { hMipmappedArray: array };
            CU_RESOURCE_TYPE_MIPMAPPED_ARRAY
        }
        Texels::Linear { address, format: of, bytes } => {
            res.linear = CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_3 {
                devPtr: address,
                format: format(of),
                numChannels: of.channels,
                sizeInBytes: bytes as usize,
            };
            CU_RESOURCE_TYPE_LINEAR
        }
        Texels::Pitched { address, format: of, width, height, pitch } => {
            res.pitch2D = CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4 {
                devPtr: address,
                format: format(of),
                numChannels: of.channels,
                width: width as usize,
                height: height as usize,
                pitchInBytes: pitch,
            };
            CU_RESOURCE_TYPE_PITCH2D
        }
    };
    CUDA_RESOURCE_DESC { resType: kind, res, flags: 0 }
}
