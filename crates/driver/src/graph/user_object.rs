//! Objects of the program's that live as long as a graph refers to them.

use crate::error::{Error, Result};
use crate::{Id, lock};
use std::sync::{Arc, Mutex};

/// Gives an object of the program's up.
pub type Destructor = Box<dyn FnOnce() + Send>;

/// An object with a count of references; when the last one goes, the program is told.
pub struct UserObject {
    id: Id,
    state: Mutex<(usize, Option<Destructor>)>,
}

impl std::fmt::Debug for UserObject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "UserObject {}", self.id.0)
    }
}

impl UserObject {
    /// An object with `count` references, all of them the program's.
    pub fn new(count: usize, destroy: Destructor) -> Result<Arc<Self>> {
        if count == 0 {
            return Err(Error::InvalidValue);
        }
        Ok(Arc::new(Self { id: Id::next(), state: Mutex::new((count, Some(destroy))) }))
    }

    /// Its identity.
    pub fn id(&self) -> Id {
        self.id
    }

    /// Whether there are no references any more.
    pub fn is_gone(&self) -> bool {
        lock(&self.state).0 == 0
    }

    /// Adds references.
    pub fn retain(&self, count: usize) -> Result<()> {
        let mut state = lock(&self.state);
        if state.0 == 0 || count == 0 {
            return Err(Error::InvalidValue);
        }
        state.0 = state.0.checked_add(count).ok_or(Error::InvalidValue)?;
        Ok(())
    }

    /// Takes references away.
    pub fn release(&self, count: usize) -> Result<()> {
        let destroy = {
            let mut state = lock(&self.state);
            if count == 0 {
                return Err(Error::InvalidValue);
            }
            state.0 = state.0.checked_sub(count).ok_or(Error::InvalidValue)?;
            if state.0 == 0 { state.1.take() } else { None }
        };
        if let Some(destroy) = destroy {
            destroy();
        }
        Ok(())
    }
}
