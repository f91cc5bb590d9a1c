//! What is remembered for a while.

use std::collections::HashMap;
use std::hash::Hash;

/// What is known by keys, of which that is forgotten now and then which does not matter any more.
#[derive(Clone, Debug)]
pub(crate) struct Recent<K, V> {
    known: HashMap<K, V>,
    /// With so many of them it is looked which still matter.
    most: usize,
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self { known: HashMap::new(), most: 0 }
    }
}

impl<K: Eq + Hash, V> Recent<K, V> {
    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.known.get_mut(key)
    }

    /// Remembers something, besides what matters still.
    pub(crate) fn insert(&mut self, key: K, value: V, matters: impl Fn(&V) -> bool) {
        if self.known.len() >= self.most {
            self.known.retain(|_, value| matters(value));
            self.most = 2 * self.known.len() + 1024;
        }
        self.known.insert(key, value);
    }
}
