//! Textures and surfaces: how kernels see arrays and memory. Their handles are what kernels take as parameters.

use crate::array::{Array, Descriptor, Format, Kind, Mipmapped};
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
        let here = |array: &Array| Arc::ptr_eq(array.machine(), self.machine());
        let layers = |descriptor: &Descriptor| match descriptor.kind {
            Kind::Plain => 1,
            Kind::Layered | Kind::Cube | Kind::LayeredCube => descriptor.depth,
        };
        // What there is to be seen: mip levels, the first and the last, and layers.
        let (texels, all) = match resource {
            Resource::Array(array) if here(array) => {
                let level = array.level();
                (Texels::Array(array.handle()), Some(([level, level], layers(&array.descriptor()))))
            }
            Resource::Mipmapped(array) if array.levels().iter().all(|level| here(level)) => {
                let last = array.levels().len() as u32 - 1;
                (Texels::Array(array.handle()), Some(([0, last], layers(array.descriptor()))))
            }
            // Texels of another device.
            Resource::Array(_) | Resource::Mipmapped(_) => return Err(Error::InvalidValue),
            &Resource::Linear { address, format, bytes } => (Texels::Linear { address, format, bytes }, None),
            &Resource::Pitched { address, format, width, height, pitch } => {
                (Texels::Pitched { address, format, width, height, pitch }, None)
            }
        };
        let view = match (view, all) {
            (None, None) => None,
            (Some(_), None) => return Err(Error::InvalidValue),
            (None, Some((levels, layers))) => {
                Some(ResourceView { format: None, levels, layers: [0, layers.saturating_sub(1)] })
            }
            (Some(&View { format, levels, layers }), Some(([first, last], _))) => {
                let levels = levels.map(|level| level.saturating_add(first));
                if levels[1] > last {
                    return Err(Error::InvalidValue);
                }
                Some(ResourceView { format, levels, layers })
            }
        };
        Ok(self.machine().create_texture(&texels, descriptor, view.as_ref())?)
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
        self.settle()?;
        Ok(self.machine().destroy_object(handle)?)
    }
}
