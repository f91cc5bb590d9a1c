//! What other files keep with an object, without the object knowing them.
//!
//! A process has captures, pools and imported memory; a device has peers and the memory of its graphs; a module has texture
//! references. Each of those is built upon processes, devices or modules, so that a field for each of them would make one circle of
//! all. Instead an object has [`Extensions`]: one value of each type that somebody has asked for.

use crate::lock;
use std::any::{Any, TypeId};
use std::sync::{Arc, Mutex};

/// One value of each type that was asked for.
#[derive(Default)]
pub(crate) struct Extensions(Mutex<Vec<(TypeId, Arc<dyn Any + Send + Sync>)>>);

impl Extensions {
    /// The value of a type, made when it is first asked for. There are a few at most, so that a list is the fastest table.
    pub(crate) fn get<T: Any + Send + Sync + Default>(&self) -> Arc<T> {
        let mut values = lock(&self.0);
        let key = TypeId::of::<T>();
        let found = values.iter().find(|(known, _)| *known == key).map(|(_, value)| Arc::clone(value));
        let value = found.unwrap_or_else(|| {
            let made: Arc<dyn Any + Send + Sync> = Arc::new(T::default());
            values.push((key, Arc::clone(&made)));
            made
        });
        value.downcast().expect("its key is its type")
    }
}

impl std::fmt::Debug for Extensions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} extensions", lock(&self.0).len())
    }
}
