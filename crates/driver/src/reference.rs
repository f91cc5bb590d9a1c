//! Texture and surface references: `.texref` and `.surfref` variables of a module, and what they stand for.
//!
//! CUDA has deprecated them for texture objects. A reference is described piece by piece; whenever the description is
//! one of a texture, the variable names that texture for the kernels that begin from then on. A change waits for
//! those that have been submitted before.

use crate::array::{Array, Element, Format, Mipmapped};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::module::Module;
use crate::texture::{Resource, SamplerDescriptor, TextureDescriptor};
use crate::{Id, lock};
use ptx::types::ScalarType;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

/// What a texture reference shows.
#[derive(Clone, Debug, Default)]
pub enum Shown {
    /// Nothing yet.
    #[default]
    Nothing,
    /// An array.
    Array(Arc<Array>),
    /// An array with its levels.
    Mipmapped(Arc<Mipmapped>),
    /// Memory in a row.
    Linear {
        /// The first byte.
        address: u64,
        /// How many.
        bytes: u64,
    },
    /// Rows of memory, with a format of their own.
    Pitched {
        /// The first byte.
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

/// The description of a texture reference.
#[derive(Clone, Debug)]
pub struct Description {
    /// What it shows.
    pub shown: Shown,
    /// The format of linear memory.
    pub format: Format,
    /// How it is read.
    pub texture: TextureDescriptor,
    /// The flags as the program set them.
    pub flags: u32,
}

impl Default for Description {
    fn default() -> Self {
        let sampler =
            SamplerDescriptor { mip_greatest: 1000.0, max_anisotropy: 1, ..SamplerDescriptor::default() };
        Self {
            shown: Shown::Nothing,
            format: Format::new(Element::F32, 1),
            texture: TextureDescriptor { sampler, ..TextureDescriptor::default() },
            flags: 0,
        }
    }
}

/// A texture reference.
#[derive(Debug)]
pub struct TextureReference {
    id: Id,
    /// `None` for one that the program has made, which no code names.
    variable: Option<Variable>,
    description: Mutex<Description>,
}

/// A surface reference.
#[derive(Debug)]
pub struct SurfaceReference {
    id: Id,
    variable: Variable,
    array: Mutex<Option<Arc<Array>>>,
}

/// The references of a module that were asked for, by name.
#[derive(Default)]
struct References {
    textures: HashMap<String, Arc<TextureReference>>,
    surfaces: HashMap<String, Arc<SurfaceReference>>,
}

/// A variable of a module, and the object that it names now.
#[derive(Debug)]
struct Variable {
    module: Weak<Module>,
    name: String,
    object: Mutex<Option<u64>>,
}

impl Variable {
    /// Lets the variable name a new object, and ends the one before.
    fn bind(&self, make: impl FnOnce(&Context) -> Result<u64>) -> Result<()> {
        let module = self.module.upgrade().ok_or(Error::InvalidHandle)?;
        let context = module.context()?;
        context.settle()?;
        let object = make(&context)?;
        module.bind(&self.name, object)?;
        match lock(&self.object).replace(object) {
            Some(before) => context.destroy_object(before),
            None => Ok(()),
        }
    }
}

impl Drop for Variable {
    fn drop(&mut self) {
        let context = self.module.upgrade().and_then(|module| module.context().ok());
        if let (Some(context), Some(object)) = (context, lock(&self.object).take()) {
            // It may have gone with its context.
            let _ = context.machine().destroy_object(object);
        }
    }
}

impl Module {
    /// The texture reference called `name`.
    pub fn texture_reference(self: &Arc<Self>, name: &str) -> Result<Arc<TextureReference>> {
        let make = || TextureReference {
            id: Id::next(),
            variable: Some(Variable {
                module: Arc::downgrade(self),
                name: name.to_owned(),
                object: Mutex::default(),
            }),
            description: Mutex::default(),
        };
        let references = self.extensions.get::<Mutex<References>>();
        let mut references = lock(&references);
        if let Some(known) = references.textures.get(name) {
            return Ok(Arc::clone(known));
        }
        if self.opaque(name) != Some(ScalarType::TexRef) {
            return Err(Error::NotFound);
        }
        let made = Arc::new(make());
        references.textures.insert(name.to_owned(), Arc::clone(&made));
        Ok(made)
    }

    /// The surface reference called `name`.
    pub fn surface_reference(self: &Arc<Self>, name: &str) -> Result<Arc<SurfaceReference>> {
        let references = self.extensions.get::<Mutex<References>>();
        let mut references = lock(&references);
        if let Some(known) = references.surfaces.get(name) {
            return Ok(Arc::clone(known));
        }
        if self.opaque(name) != Some(ScalarType::SurfRef) {
            return Err(Error::NotFound);
        }
        let variable =
            Variable { module: Arc::downgrade(self), name: name.to_owned(), object: Mutex::default() };
        let made = Arc::new(SurfaceReference { id: Id::next(), variable, array: Mutex::default() });
        references.surfaces.insert(name.to_owned(), Arc::clone(&made));
        Ok(made)
    }
}

impl TextureReference {
    /// One that no code names.
    pub fn unnamed() -> Arc<Self> {
        Arc::new(Self { id: Id::next(), variable: None, description: Mutex::default() })
    }

    /// Its identity.
    pub fn id(&self) -> Id {
        self.id
    }

    /// What it is described as.
    pub fn description(&self) -> Description {
        lock(&self.description).clone()
    }

    /// Changes the description. If it then shows something, the variable names that.
    ///
    /// # Errors
    /// If there is no such texture; the description stays as it was.
    pub fn change(&self, change: impl FnOnce(&mut Description)) -> Result<()> {
        let mut description = lock(&self.description);
        let mut new = description.clone();
        change(&mut new);
        if let Some(variable) = &self.variable {
            let resource = match &new.shown {
                Shown::Nothing => None,
                Shown::Array(array) => Some(Resource::Array(Arc::clone(array))),
                Shown::Mipmapped(array) => Some(Resource::Mipmapped(Arc::clone(array))),
                &Shown::Linear { address, bytes } => {
                    Some(Resource::Linear { address, format: new.format, bytes })
                }
                &Shown::Pitched { address, format, width, height, pitch } => {
                    Some(Resource::Pitched { address, format, width, height, pitch })
                }
            };
            if let Some(resource) = resource {
                variable.bind(|context| context.create_texture(&resource, &new.texture, None))?;
            }
        }
        *description = new;
        Ok(())
    }
}

impl SurfaceReference {
    /// Its identity.
    pub fn id(&self) -> Id {
        self.id
    }

    /// The array that it shows.
    pub fn array(&self) -> Option<Arc<Array>> {
        lock(&self.array).clone()
    }

    /// Lets it show an array.
    pub fn set_array(&self, array: &Arc<Array>) -> Result<()> {
        self.variable.bind(|context| context.create_surface(array))?;
        *lock(&self.array) = Some(Arc::clone(array));
        Ok(())
    }
}
