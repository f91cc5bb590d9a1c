//! How long contexts live: what ends with one, and primary contexts, which each device has for whoever makes none of their
//! own.

use crate::context::Context;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::{Id, lock};
use std::sync::{Arc, Mutex};

/// The primary context of a device and how often it is retained.
#[derive(Default)]
struct Primary {
    context: Option<Arc<Context>>,
    users: usize,
    flags: u32,
}

impl Context {
    /// Waits for its work, then gives its memory back and ends its streams.
    pub fn destroy(&self) {
        if !self.end() {
            return;
        }
        self.end_captures();
        self.streams().synchronize();
        self.streams().close();
        self.close_peers();
        self.health().checking().iter().for_each(|checking| checking.finish());
        self.free_all();
    }

    /// Whether it is its device's primary context.
    pub fn is_primary(&self) -> bool {
        self.device().has_primary(self.id())
    }
}

impl Device {
    fn primary(&self) -> Arc<Mutex<Primary>> {
        self.extensions.get()
    }

    /// The primary context, made on first use. Every call is to be matched by [`Device::release_primary`].
    pub fn retain_primary(self: &Arc<Self>) -> Result<Arc<Context>> {
        let state = self.primary();
        let mut primary = lock(&state);
        let context = match &primary.context {
            Some(context) => Arc::clone(context),
            None => Context::new(self, primary.flags)?,
        };
        primary.context = Some(Arc::clone(&context));
        primary.users += 1;
        Ok(context)
    }

    /// Undoes one [`Device::retain_primary`]; the last one destroys the context.
    pub fn release_primary(&self) -> Result<Option<Arc<Context>>> {
        let state = self.primary();
        let mut primary = lock(&state);
        if primary.context.is_none() {
            return Err(Error::InvalidContext);
        }
        primary.users = primary.users.saturating_sub(1);
        let gone = if primary.users == 0 { primary.context.take() } else { None };
        drop(primary);
        gone.iter().for_each(|context| context.destroy());
        Ok(gone)
    }

    /// Destroys the primary context, whoever uses it.
    pub fn reset_primary(&self) -> Option<Arc<Context>> {
        let gone = lock(&self.primary()).context.take();
        gone.iter().for_each(|context| context.destroy());
        gone
    }

    fn has_primary(&self, id: Id) -> bool {
        lock(&self.primary()).context.as_ref().is_some_and(|context| context.id() == id)
    }

    /// The primary context's flags, and whether it exists.
    pub fn primary_state(&self) -> (u32, bool) {
        let state = self.primary();
        let primary = lock(&state);
        (primary.flags, primary.context.is_some())
    }

    /// Flags for the primary context.
    pub fn set_primary_flags(&self, flags: u32) {
        let state = self.primary();
        let mut primary = lock(&state);
        primary.flags = flags;
        if let Some(context) = &primary.context {
            context.set_flags(flags);
        }
    }
}
