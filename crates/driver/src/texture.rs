//! Textures and surfaces: how kernels see arrays and memory. Their handles are what kernels take as parameters.

use crate::array::{Array, Format, Mipmapped};
use crate::context::Context;
use crate::error::{Error, Result};
use machine::texture::{Resource as Texels, ResourceView};
use std::sync::Arc;

pub use machine::texture::{AddressMode, SamplerDescriptor, TextureDescriptor};

/// What a texture shows.
#[derive(Clone, Debug)]
pub enum Resource {
    /// An array, or one level of it.
    Array(Arc<Array>),
    /// An array with its levels.
    Mipmapped(Arc<Mipmapped>),
    /// Texels one after the other in memory.
    Linear {
        /// The first.
        address: u64,
        /// Of a texel.
        format: Format,
        /// How many bytes.
        bytes: u64,
    },
    /// Rows of texels in memory.
    Pitched {
        /// The first.
        address: u64,
        /// Of a texel.
        format: Format,
        /// Texels in a row.
        width: u32,
        /// Rows.
        height: u32,
        /// Bytes from a row to the next.
        pitch: u64,
    },
}

/// What of a resource is shown, and as what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Another format of the same size.
    pub format: Option<Format>,
    /// The first and last mip level.
    pub levels: [u32; 2],
    /// The first and last layer.
    pub layers: [u32; 2],
}

impl Context {
    /// Makes a texture; its handle.
    pub fn create_texture(
        &self,
        resource: &Resource,
        descriptor: &TextureDescriptor,
        view: Option<&View>,
    ) -> Result<u64> {
        self.usable()?;
        let here = |machine: &Arc<machine::Device>| Arc::ptr_eq(machine, self.machine());
        let (texels, base, last, layers) = match resource {
            Resource::Array(array) if here(array.machine()) => {
                let layers = array.descriptor().depth.max(1);
                (Texels::Array(array.handle()), array.level(), array.level(), layers)
            }
            Resource::Mipmapped(array)
                if array.levels().first().is_some_and(|level| here(level.machine())) =>
            {
                let layers = array.descriptor().depth.max(1);
                (Texels::Array(array.handle()), 0, array.levels().len() as u32 - 1, layers)
            }
            // Texels of another device.
            Resource::Array(_) | Resource::Mipmapped(_) => return Err(Error::InvalidValue),
            &Resource::Linear { address, format, bytes } => {
                (Texels::Linear { address, format, bytes }, 0, 0, 1)
            }
            &Resource::Pitched { address, format, width, height, pitch } => {
                (Texels::Pitched { address, format, width, height, pitch }, 0, 0, 1)
            }
        };
        let is_array = matches!(texels, Texels::Array(_));
        let view = match view {
            Some(_) if !is_array => return Err(Error::InvalidValue),
            Some(&View { format, levels, layers }) => {
                let levels = levels.map(|level| level.saturating_add(base));
                if levels[1] > last {
                    return Err(Error::InvalidValue);
                }
                Some(ResourceView { format, levels, layers })
            }
            // One level, as if the others were not there.
            None if is_array => {
                let kind_layers = if self.is_layered(&texels)? { layers } else { 1 };
                Some(ResourceView { format: None, levels: [base, last], layers: [0, kind_layers - 1] })
            }
            None => None,
        };
        Ok(self.machine().create_texture(&texels, descriptor, view.as_ref())?)
    }

    fn is_layered(&self, texels: &Texels) -> Result<bool> {
        match texels {
            Texels::Array(handle) => {
                Ok(self.machine().array(*handle)?.descriptor.kind != machine::texture::Kind::Plain)
            }
            Texels::Linear { .. } | Texels::Pitched { .. } => Ok(false),
        }
    }

    /// Makes a surface of an array, or of a level of one; its handle.
    pub fn create_surface(&self, array: &Array) -> Result<u64> {
        self.usable()?;
        if !Arc::ptr_eq(array.machine(), self.machine()) {
            return Err(Error::InvalidValue);
        }
        Ok(self.machine().create_surface(array.handle(), array.level())?)
    }

    /// Ends a texture or surface. A kernel that uses it still has it; one that begins later does not.
    pub fn destroy_object(&self, handle: u64) -> Result<()> {
        self.usable()?;
        // A kernel that was submitted before has not necessarily begun.
        self.synchronize()?;
        Ok(self.machine().destroy_object(handle)?)
    }
}
