//! Arrays, textures and surfaces. They live as long as the context: nothing here takes them back.

use crate::driver::{self, ArrayShape, Copy3D, CopySide, Error, Handle, ResourceDescriptor};
use crate::gpu::Gpu;
use machine::texture::{ArrayDescriptor, Kind, TextureDescriptor};
use numerics::texture::address::AddressMode;
use numerics::texture::format::Element;
use std::ffi::c_uint;
use std::ptr::null_mut;

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
pub struct Array {
    handle: Handle,
    mipmapped: bool,
}

/// Bits of the driver's flags for arrays, `CUDA_ARRAY3D_...`.
const LAYERED: c_uint = 1;
const SURFACE: c_uint = 2;
const CUBE: c_uint = 4;
const GATHER: c_uint = 8;

/// Bits of its flags for textures, `CU_TRSF_...`.
const AS_INTEGER: c_uint = 1;
const NORMALIZED: c_uint = 2;
const SRGB: c_uint = 16;
const SEAMLESS_CUBE: c_uint = 64;

/// `CUmemorytype`: of the host, and an array.
const HOST: c_uint = 1;
const ARRAY: c_uint = 3;

/// `CUarray_format`.
fn format(element: Element) -> c_uint {
    match element {
        Element::U8 => 1,
        Element::U16 => 2,
        Element::U32 => 3,
        Element::S8 => 8,
        Element::S16 => 9,
        Element::S32 => 10,
        Element::F16 => 16,
        Element::F32 => 32,
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
            Kind::Layered => LAYERED,
            Kind::Cube => CUBE,
            Kind::LayeredCube => LAYERED | CUBE,
        };
        let purpose = match purpose {
            Use::Sampled => 0,
            Use::Gathered => GATHER,
            Use::Surface => SURFACE,
        };
        let descriptor = ArrayShape {
            extents: [shape.width as usize, shape.height as usize, shape.depth as usize],
            format: format(shape.format.element),
            channels: shape.format.channels,
            flags: flags | purpose,
        };
        let driver = &self.driver;
        let mut handle = null_mut();
        let mipmapped = shape.levels > 1;
        if mipmapped {
            // SAFETY: the driver reads the descriptor and writes one handle.
            let status = unsafe { (driver.mipmaps_create)(&mut handle, &descriptor, shape.levels) };
            driver.check("cuMipmappedArrayCreate", status)?;
        } else {
            // SAFETY: the same.
            let status = unsafe { (driver.array_create)(&mut handle, &descriptor) };
            driver.check("cuArray3DCreate", status)?;
        }
        for (number, bytes) in levels.iter().enumerate() {
            let mut level = handle;
            if mipmapped {
                // SAFETY: the driver checks the number and writes one handle.
                let status = unsafe { (driver.mipmaps_level)(&mut level, handle, number as c_uint) };
                driver.check("cuMipmappedArrayGetLevel", status)?;
            }
            self.fill_level(level, shape, number, bytes)?;
        }
        Ok(Array { handle, mipmapped })
    }

    fn fill_level(
        &self,
        array: Handle,
        shape: &ArrayDescriptor,
        level: usize,
        bytes: &[u8],
    ) -> Result<(), Error> {
        let halved = |extent: u32| (extent >> level).max(1) as usize;
        let depth = if shape.kind == Kind::Plain { halved(shape.depth) } else { shape.depth as usize };
        let row = halved(shape.width) * shape.format.texel_bytes() as usize;
        let height = halved(shape.height);
        if bytes.len() < row * height * depth {
            return Err(Error::Argument(format!("{} bytes for level {level} of {shape:?}", bytes.len())));
        }
        let side = |kind, host, array| CopySide {
            origin: [0; 3],
            level: 0,
            kind,
            host,
            device: 0,
            array,
            reserved: null_mut(),
            pitch: if kind == HOST { row } else { 0 },
            height: if kind == HOST { height } else { 0 },
        };
        let copy = Copy3D {
            from: side(HOST, bytes.as_ptr().cast_mut().cast(), null_mut()),
            to: side(ARRAY, null_mut(), array),
            extents: [row, height, depth],
        };
        // SAFETY: the host's bytes, which the driver only reads, are as many as the extents say; it checks the array.
        self.driver.check("cuMemcpy3D", unsafe { (self.driver.copy_3d)(&copy) })
    }

    /// The handle of a texture.
    ///
    /// # Errors
    /// If the driver makes no such texture.
    pub fn texture(&self, array: Array, texture: &TextureDescriptor) -> Result<u64, Error> {
        let sampler = &texture.sampler;
        let flag = |is: bool, bit: c_uint| if is { bit } else { 0 };
        let descriptor = driver::TextureDescriptor {
            address: sampler.address.map(|mode| match mode {
                AddressMode::Wrap => 0,
                AddressMode::Clamp => 1,
                AddressMode::Mirror => 2,
                AddressMode::Border => 3,
            }),
            filter: c_uint::from(sampler.linear),
            flags: flag(texture.as_integer, AS_INTEGER)
                | flag(sampler.normalized, NORMALIZED)
                | flag(texture.srgb, SRGB)
                | flag(sampler.seamless_cube, SEAMLESS_CUBE),
            anisotropy: 0,
            mip_filter: c_uint::from(sampler.mip_linear),
            mip_bias: sampler.mip_bias,
            mip_least: sampler.mip_least,
            mip_greatest: sampler.mip_greatest,
            border: sampler.border,
            reserved: [0; 12],
        };
        let mut handle = 0;
        let resource = resource(array);
        // SAFETY: the driver reads both descriptors and writes one handle; there is no view.
        let status = unsafe { (self.driver.texture_create)(&mut handle, &resource, &descriptor, null_mut()) };
        self.driver.check("cuTexObjectCreate", status)?;
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
        let status = unsafe { (self.driver.surface_create)(&mut handle, &resource) };
        self.driver.check("cuSurfObjectCreate", status)?;
        Ok(handle)
    }
}

fn resource(array: Array) -> ResourceDescriptor {
    ResourceDescriptor { kind: c_uint::from(array.mipmapped), array: array.handle, rest: [0; 15], flags: 0 }
}
