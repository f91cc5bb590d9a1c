//! What goes on beside a warp in groups, and is done no sooner than somebody waits for it: who forgets to wait finds what was there before.

use crate::registers::LANES;
use std::collections::VecDeque;

/// So much may be under way; beyond that the oldest is done at once.
const MOST: usize = 1024;

/// Things under way, in the order in which they began.
pub(crate) struct Groups<T> {
    /// Those that belong to no group yet.
    open: Vec<T>,
    groups: VecDeque<Vec<T>>,
}

impl<T> Default for Groups<T> {
    fn default() -> Self {
        Self { open: Vec::new(), groups: VecDeque::new() }
    }
}

impl<T> Groups<T> {
    /// Something begins. Gives out what is due for it.
    pub(crate) fn begin(&mut self, it: T) -> Vec<T> {
        self.open.push(it);
        if self.groups.len() + self.open.len() <= MOST {
            return Vec::new();
        }
        self.groups.pop_front().unwrap_or_else(|| std::mem::take(&mut self.open))
    }

    /// What has begun since the last group is one.
    pub(crate) fn commit(&mut self) {
        self.groups.push_back(std::mem::take(&mut self.open));
    }

    /// What is due if so many groups may be left.
    pub(crate) fn leave(&mut self, left: usize) -> Vec<T> {
        let due = self.groups.len().saturating_sub(left);
        self.groups.drain(..due).flatten().collect()
    }
}

/// What lanes have fetched for shared memory: where it goes to, in which lanes.
pub(crate) struct Fetched {
    pub(crate) lanes: u32,
    pub(crate) places: [u64; LANES],
    pub(crate) bytes: u8,
    pub(crate) data: [[u8; 16]; LANES],
}

/// A product: its instruction's number, and what the uniform registers and predicates held.
pub(crate) struct Begun {
    pub(crate) place: usize,
    pub(crate) descriptors: [u64; 2],
    pub(crate) is_added: bool,
}
