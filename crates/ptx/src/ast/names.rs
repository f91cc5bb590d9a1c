//! Interned text: every identifier, file name and pragma string of a module, each once.

use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// A text of a [`Names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(pub u32);

/// A set of texts, numbered in order of first appearance.
#[derive(Clone, Default)]
pub struct Names {
    text: String,
    /// Where each text begins in `text`, and its hash so that growing the table reads no text.
    entries: Vec<Entry>,
    table: HashTable<u32>,
}

#[derive(Clone, Copy)]
struct Entry {
    start: u32,
    end: u32,
    hash: u64,
}

impl Names {
    /// The number of `text`, which is added if it is new.
    pub fn intern(&mut self, text: &str) -> Name {
        let hash = hash(text);
        let Self { text: all, entries, table } = self;
        let found = table.find(hash, |&i| {
            let entry = entries[i as usize];
            all.as_bytes()[entry.start as usize..entry.end as usize] == *text.as_bytes()
        });
        if let Some(&index) = found {
            return Name(index);
        }
        let index = entries.len() as u32;
        let start = all.len() as u32;
        all.push_str(text);
        entries.push(Entry { start, end: all.len() as u32, hash });
        table.insert_unique(hash, index, |&i| entries[i as usize].hash);
        Name(index)
    }

    /// The number of `text`, if it is there.
    pub fn get(&self, text: &str) -> Option<Name> {
        self.table.find(hash(text), |&i| self.text(Name(i)) == text).map(|&i| Name(i))
    }

    /// The text of a name.
    pub fn text(&self, name: Name) -> &str {
        let entry = self.entries[name.0 as usize];
        &self.text[entry.start as usize..entry.end as usize]
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All texts in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.entries.len()).map(|i| self.text(Name(i as u32)))
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(text.as_bytes());
    hasher.finish()
}

impl PartialEq for Names {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl std::fmt::Debug for Names {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
