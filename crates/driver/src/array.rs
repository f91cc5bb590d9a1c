//! Arrays: texels that kernels reach through textures and surfaces, and programs by copying rows.
//!
//! An array with mip levels is one thing to the machine. Each level is an array to the program, which copies into it
//! and makes surfaces and textures of it.

use crate::Id;
use crate::context::Context;
use crate::copy::{End, Side};
use crate::error::{Error, Result};
use machine::texture::{ArrayDescriptor, Handle, TextureError};
use std::sync::Arc;

pub use machine::texture::{Element, Format, Kind};

/// What an array is made of.
pub type Descriptor = ArrayDescriptor;

/// Texels of a machine, given back when nobody has them any more.
#[derive(Debug)]
struct Texels {
    machine: Arc<machine::Device>,
    handle: Handle,
    array: Arc<machine::texture::Array>,
}

impl Drop for Texels {
    fn drop(&mut self) {
        // It is there: only this destroys it.
        let _ = self.machine.destroy_array(self.handle);
    }
}

/// An array with all its mip levels.
#[derive(Debug)]
pub struct Mipmapped {
    id: Id,
    context: Id,
    texels: Arc<Texels>,
    levels: Vec<Arc<Array>>,
    /// The flags that the program made it with.
    pub flags: u32,
}

/// An array without mip levels, or a level of one.
#[derive(Debug)]
pub struct Array {
    id: Id,
    context: Id,
    texels: Arc<Texels>,
    level: u32,
    /// Whether it is all of what was made.
    whole: bool,
    /// The flags that the program made it with.
    pub flags: u32,
}

impl From<TextureError> for Error {
    fn from(error: TextureError) -> Self {
        match error {
            TextureError::Invalid(_) => Self::InvalidValue,
            TextureError::NoSuchObject(_) => Self::InvalidHandle,
            TextureError::Memory(error) => error.into(),
        }
    }
}

impl Context {
    fn texels(&self, descriptor: Descriptor) -> Result<Arc<Texels>> {
        self.usable()?;
        let machine = Arc::clone(self.machine());
        let handle = machine.create_array(descriptor)?;
        let array = machine.array(handle)?;
        Ok(Arc::new(Texels { machine, handle, array }))
    }

    /// Makes an array without mip levels; its texels are zero.
    pub fn create_array(&self, descriptor: Descriptor, flags: u32) -> Result<Arc<Array>> {
        let texels = self.texels(Descriptor { levels: 1, ..descriptor })?;
        Ok(Arc::new(Array { id: Id::next(), context: self.id(), texels, level: 0, whole: true, flags }))
    }

    /// Makes an array with mip levels, as many as there can be at most.
    pub fn create_mipmapped(&self, descriptor: Descriptor, flags: u32) -> Result<Arc<Mipmapped>> {
        let depth = if descriptor.kind == Kind::Plain { descriptor.depth } else { 0 };
        let longest = descriptor.width.max(descriptor.height).max(depth);
        let levels = descriptor.levels.min(32 - longest.leading_zeros());
        let texels = self.texels(Descriptor { levels, ..descriptor })?;
        let level = |level| {
            let (texels, whole) = (Arc::clone(&texels), false);
            Arc::new(Array { id: Id::next(), context: self.id(), texels, level, whole, flags })
        };
        let levels = (0..levels).map(level).collect();
        Ok(Arc::new(Mipmapped { id: Id::next(), context: self.id(), texels, levels, flags }))
    }
}

impl Mipmapped {
    /// Its identity.
    pub fn id(&self) -> Id {
        self.id
    }

    /// The context that made it.
    pub fn context(&self) -> Id {
        self.context
    }

    /// Its levels, the largest first.
    pub fn levels(&self) -> &[Arc<Array>] {
        &self.levels
    }

    /// What it was made of.
    pub fn descriptor(&self) -> &Descriptor {
        &self.texels.array.descriptor
    }

    pub(crate) fn handle(&self) -> Handle {
        self.texels.handle
    }
}

impl Array {
    /// Its identity.
    pub fn id(&self) -> Id {
        self.id
    }

    /// The context that made it.
    pub fn context(&self) -> Id {
        self.context
    }

    /// Whether it was made by itself, so that it can be destroyed: it is no level of another.
    pub fn whole(&self) -> bool {
        self.whole
    }

    pub(crate) fn handle(&self) -> Handle {
        self.texels.handle
    }

    pub(crate) fn level(&self) -> u32 {
        self.level
    }

    /// The machine that its texels are in.
    pub(crate) fn machine(&self) -> &Arc<machine::Device> {
        &self.texels.machine
    }

    fn place(&self) -> &machine::texture::Level {
        &self.texels.array.levels()[self.level as usize]
    }

    /// What it is made of; the extents are its own if it is a level.
    pub fn descriptor(&self) -> Descriptor {
        let [width, height, depth] = self.place().extents;
        Descriptor { width, height, depth, levels: 1, ..self.texels.array.descriptor }
    }

    /// Bytes of a texel.
    pub fn texel_bytes(&self) -> u32 {
        self.texels.array.descriptor.format.texel_bytes()
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> u64 {
        let [_, rows, slices] = self.place().extents.map(|extent| u64::from(extent.max(1)));
        self.place().row_pitch * rows * slices
    }

    /// The end of a copy that begins at a byte of a row, a row, and a slice or layer.
    ///
    /// # Errors
    /// If `extent` bytes of rows, rows and slices from there are not all in the array.
    pub fn end(&self, [x, y, z]: [u64; 3], extent: [u64; 3]) -> Result<End> {
        let place = self.place();
        let [width, rows, slices] = place.extents.map(|extent| u64::from(extent.max(1)));
        let texel = u64::from(self.texel_bytes());
        let limits = [width * texel, rows, slices];
        for ((start, count), limit) in [x, y, z].into_iter().zip(extent).zip(limits) {
            if start.checked_add(count).is_none_or(|end| end > limit) {
                return Err(Error::InvalidValue);
            }
        }
        // Copies are of whole texels.
        if !x.is_multiple_of(texel) || !extent[0].is_multiple_of(texel) {
            return Err(Error::InvalidValue);
        }
        let slice = place.row_pitch * rows;
        let address = place.address + z * slice + y * place.row_pitch + x;
        Ok(End { side: Side::Device, address, pitch: place.row_pitch, slice })
    }
}
