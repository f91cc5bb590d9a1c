//! The texture unit for engines that decode instructions themselves: objects of a device by their handles, and what is done through them.

use super::lookup::{Failure, Lookup, Request};
use super::object::Surface;
use super::query::{self, Query};
use super::table::{Handle, Object};
use crate::Device;
use std::collections::HashMap;
use std::sync::Arc;

/// The textures and surfaces that there are on a device when it is asked for.
#[derive(Debug)]
pub struct Unit<'a> {
    device: &'a Device,
    objects: Arc<HashMap<Handle, Object>>,
}

impl Device {
    /// Its texture unit.
    pub fn texture_unit(&self) -> Unit<'_> {
        Unit { device: self, objects: self.objects().snapshot() }
    }
}

impl Unit<'_> {
    fn object(&self, handle: Handle) -> Result<&Object, String> {
        self.objects.get(&handle).ok_or_else(|| format!("{handle:#x} is no texture or surface"))
    }

    /// Whether a handle is that of a texture of one row.
    pub fn is_row(&self, texture: Handle) -> bool {
        matches!(self.object(texture), Ok(Object::Texture(texture)) if texture.texels.dimensions == 1)
    }

    /// What a lookup gives.
    ///
    /// # Errors
    /// If there is no such texture, or it has another shape.
    pub fn look_up(&self, texture: Handle, lookup: &Lookup, request: &Request) -> Result<[u32; 4], String> {
        let Object::Texture(texture) = self.object(texture)? else {
            return Err(format!("{texture:#x} is no texture"));
        };
        let beyond = self.device.reach().snapshot();
        let memory = beyond.view(self.device.shared_memory());
        lookup.run((&memory, None), &texture.texels, &texture.sampler, request).map_err(|failure| {
            match failure {
                Failure::Mismatch(why) => why,
                Failure::Address(address) => format!("there are no texels at {address:#x}"),
            }
        })
    }

    /// The size of a level along an axis.
    ///
    /// # Errors
    /// If there is no such object.
    pub fn extent(&self, object: Handle, axis: usize, level: u32) -> Result<u32, String> {
        let query = [Query::Width, Query::Height, Query::Depth][axis.min(2)];
        let answer = match self.object(object)? {
            Object::Texture(texture) => query::of_texels(&texture.texels, &texture.sampler, query, level),
            Object::Surface(surface) => query::of_surface(surface, query),
            Object::Array(_) | Object::Sampler(_) => None,
        };
        answer.ok_or_else(|| format!("{object:#x} has no extents"))
    }

    /// A surface.
    ///
    /// # Errors
    /// If there is none of this handle.
    pub fn surface(&self, surface: Handle) -> Result<&Surface, String> {
        match self.object(surface)? {
            Object::Surface(surface) => Ok(surface),
            Object::Texture(_) | Object::Array(_) | Object::Sampler(_) => {
                Err(format!("{surface:#x} is no surface"))
            }
        }
    }
}
