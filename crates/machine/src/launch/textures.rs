//! Arrays, and texture, sampler and surface objects of a device.

use super::device::Device;
use crate::memory::MemoryError;
use crate::texture::array::{Array, ArrayDescriptor, CopyRegion};
use crate::texture::object::{
    Resource, ResourceView, Sampler, SamplerDescriptor, Surface, Texture, TextureDescriptor,
};
use crate::texture::table::{Handle, Object, TextureError};
use std::sync::Arc;

impl Device {
    /// Makes an array (`cuArray3DCreate`, `cuMipmappedArrayCreate`); its texels are zero.
    pub fn create_array(&self, descriptor: ArrayDescriptor) -> Result<Handle, TextureError> {
        let array = Array::allocate(self.memory(), descriptor)?;
        Ok(self.objects().add(Object::Array(Arc::new(array))))
    }

    /// Frees an array. A kernel that still reads it through an object faults.
    pub fn destroy_array(&self, array: Handle) -> Result<(), TextureError> {
        let removed = self.objects().remove(array, |object| matches!(object, Object::Array(_)))?;
        if let Object::Array(array) = removed {
            self.memory().free(array.address)?;
        }
        Ok(())
    }

    /// An array.
    pub fn array(&self, array: Handle) -> Result<Arc<Array>, TextureError> {
        match self.objects().snapshot().get(&array) {
            Some(Object::Array(array)) => Ok(Arc::clone(array)),
            _ => Err(TextureError::NoSuchObject(array)),
        }
    }

    /// Copies texels into an array (`cuMemcpy2D`, `cuMemcpy3D`).
    pub fn write_array(&self, array: Handle, region: &CopyRegion, from: &[u8]) -> Result<(), TextureError> {
        self.array(array)?.rows(region, from.len(), |address, range| {
            self.memory().write(address, &from[range]).map_err(TextureError::from)
        })
    }

    /// Copies texels out of an array.
    pub fn read_array(
        &self,
        array: Handle,
        region: &CopyRegion,
        into: &mut [u8],
    ) -> Result<(), TextureError> {
        self.array(array)?.rows(region, into.len(), |address, range| {
            self.memory().read(address, &mut into[range]).map_err(TextureError::from)
        })
    }

    /// Makes a texture object (`cuTexObjectCreate`).
    pub fn create_texture(
        &self,
        resource: &Resource,
        descriptor: &TextureDescriptor,
        view: Option<&ResourceView>,
    ) -> Result<Handle, TextureError> {
        let array = match *resource {
            Resource::Array(handle) => Some(self.array(handle)?),
            Resource::Linear { address, bytes, .. } => {
                self.check_range(address, bytes)?;
                None
            }
            Resource::Pitched { address, height, pitch, width, format, .. } => {
                let last = u64::from(width) * u64::from(format.texel_bytes());
                let bytes = u64::from(height.saturating_sub(1)).checked_mul(pitch);
                let bytes = bytes.and_then(|b| b.checked_add(last));
                let whole = || TextureError::invalid("rows that no memory holds".to_owned());
                self.check_range(address, bytes.ok_or_else(whole)?)?;
                None
            }
        };
        let texture = Texture::new(resource, array.as_ref(), descriptor, view)?;
        Ok(self.objects().add(Object::Texture(Arc::new(texture))))
    }

    fn check_range(&self, address: u64, bytes: u64) -> Result<(), TextureError> {
        let end = address.checked_add(bytes);
        let allocation = self.memory().allocation_of(address).or_else(|| self.reach().range_of(address));
        let inside = allocation.zip(end).is_some_and(|((start, size), end)| end <= start + size);
        if inside { Ok(()) } else { Err(MemoryError::NotAllocated { address, bytes }.into()) }
    }

    /// Makes a sampler, for `.samplerref` variables and for instructions with a sampler of their own.
    pub fn create_sampler(&self, descriptor: SamplerDescriptor) -> Handle {
        self.objects().add(Object::Sampler(Arc::new(Sampler::new(descriptor))))
    }

    /// Makes a surface object of a level of an array (`cuSurfObjectCreate`).
    pub fn create_surface(&self, array: Handle, level: u32) -> Result<Handle, TextureError> {
        let surface = Surface::new(&*self.array(array)?, level)?;
        Ok(self.objects().add(Object::Surface(Arc::new(surface))))
    }

    /// Destroys a texture, sampler or surface object.
    pub fn destroy_object(&self, object: Handle) -> Result<(), TextureError> {
        self.objects().remove(object, |object| !matches!(object, Object::Array(_))).map(|_| ())
    }
}
