//! Libraries: code that is loaded once and used in any context (`cuLibrary`, `cuKernel`).

use crate::context::Context;
use crate::error::{Error, Result};
use crate::image::{Image, LoadFailure};
use crate::module::{Function, Module};
use crate::{Id, lock};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

/// Code without a context. It is loaded into each context that uses it.
#[derive(Debug)]
pub struct Library {
    id: Id,
    image: Image,
    modules: Mutex<HashMap<Id, Arc<Module>>>,
    kernels: Mutex<HashMap<String, Weak<Kernel>>>,
}

/// A kernel of a library.
#[derive(Debug)]
pub struct Kernel {
    id: Id,
    name: String,
    library: Arc<Library>,
}

impl Library {
    /// A library of an image; `context` is where it is tried first, so that wrong code is refused now.
    pub fn load(context: &Arc<Context>, image: Image) -> std::result::Result<Arc<Self>, LoadFailure> {
        let module = Module::load(context, &image)?;
        let modules = Mutex::new(HashMap::from([(context.id(), module)]));
        Ok(Arc::new(Self { id: Id::next(), image, modules, kernels: Mutex::default() }))
    }

    /// Its identity.
    pub fn id(&self) -> Id {
        self.id
    }

    /// Its module in a context.
    pub fn module(&self, context: &Arc<Context>) -> Result<Arc<Module>> {
        let mut modules = lock(&self.modules);
        if let Some(module) = modules.get(&context.id()) {
            return Ok(Arc::clone(module));
        }
        let module = Module::load(context, &self.image)?;
        modules.insert(context.id(), Arc::clone(&module));
        Ok(module)
    }

    /// The kernel called `name`.
    pub fn kernel(self: &Arc<Self>, name: &str) -> Result<Arc<Kernel>> {
        if !self.entries().iter().any(|entry| entry == name) {
            return Err(Error::NotFound);
        }
        let mut kernels = lock(&self.kernels);
        if let Some(kernel) = kernels.get(name).and_then(Weak::upgrade) {
            return Ok(kernel);
        }
        let kernel = Arc::new(Kernel { id: Id::next(), name: name.to_owned(), library: Arc::clone(self) });
        kernels.insert(name.to_owned(), Arc::downgrade(&kernel));
        Ok(kernel)
    }

    /// The names of its kernels.
    pub fn entries(&self) -> Vec<String> {
        lock(&self.modules).values().next().map_or_else(Vec::new, |module| module.entries())
    }
}

impl Kernel {
    /// Its identity.
    pub fn id(&self) -> Id {
        self.id
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its library.
    pub fn library(&self) -> &Arc<Library> {
        &self.library
    }

    /// The function that it is in a context.
    pub fn function(&self, context: &Arc<Context>) -> Result<Arc<Function>> {
        self.library.module(context)?.function(&self.name)
    }
}
