//! Handles: the objects of a device by number.

use super::array::Array;
use super::object::{Sampler, Surface, Texture};
use crate::memory::MemoryError;
use ptx::types::ScalarType;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// An array, texture, sampler or surface object of a device. Numbers are never used again.
pub type Handle = u64;

/// Why an array or object could not be made or used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextureError {
    /// A descriptor that contradicts itself, or asks for more than there is.
    #[error("invalid value: {0}")]
    Invalid(String),
    /// No object has this number, or one of another kind.
    #[error("no such object: {0}")]
    NoSuchObject(Handle),
    /// Device memory.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

impl TextureError {
    pub(crate) fn invalid(why: String) -> Self {
        Self::Invalid(why)
    }
}

/// What a number stands for.
#[derive(Clone, Debug)]
pub(crate) enum Object {
    Array(Arc<Array>),
    Texture(Arc<Texture>),
    Sampler(Arc<Sampler>),
    Surface(Arc<Surface>),
}

/// The objects of a device. A launch sees those that there are when it begins.
#[derive(Debug, Default)]
pub(crate) struct Table {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    last: Handle,
    objects: Arc<HashMap<Handle, Object>>,
}

impl Table {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All objects, as they are now.
    pub(crate) fn snapshot(&self) -> Arc<HashMap<Handle, Object>> {
        Arc::clone(&self.state().objects)
    }

    /// Whether an object can be bound to a variable of a type.
    pub(crate) fn check(&self, handle: Handle, ty: ScalarType) -> Result<(), TextureError> {
        let fits = match self.snapshot().get(&handle) {
            Some(Object::Texture(_)) => ty == ScalarType::TexRef,
            Some(Object::Sampler(_)) => ty == ScalarType::SamplerRef,
            Some(Object::Surface(_)) => ty == ScalarType::SurfRef,
            Some(Object::Array(_)) | None => false,
        };
        if fits { Ok(()) } else { Err(TextureError::NoSuchObject(handle)) }
    }

    pub(crate) fn add(&self, object: Object) -> Handle {
        let mut state = self.state();
        state.last += 1;
        let handle = state.last;
        Arc::make_mut(&mut state.objects).insert(handle, object);
        handle
    }

    pub(crate) fn remove(
        &self,
        handle: Handle,
        is: impl Fn(&Object) -> bool,
    ) -> Result<Object, TextureError> {
        let mut state = self.state();
        if !state.objects.get(&handle).is_some_and(is) {
            return Err(TextureError::NoSuchObject(handle));
        }
        Arc::make_mut(&mut state.objects).remove(&handle).ok_or(TextureError::NoSuchObject(handle))
    }
}
