//! The past of a launch: where it can be continued from, and what somebody has assigned in it.
//!
//! A checkpoint is global memory at a moment when no CTA is under way, from where the launch is continued with the next CTA. What is
//! assigned belongs to its moment: whenever the launch comes there, it is assigned again.

use crate::program::Memory;
use machine::inspect::Change;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Instructions between two checkpoints, at first.
const CHECKPOINTS_APART: u64 = 20_000;

/// Global memory when no CTA is under way.
#[derive(Clone)]
pub(crate) struct Checkpoint {
    pub(crate) position: u64,
    /// The cluster that begins; a CTA is one where there are no larger ones.
    pub(crate) cluster: u64,
    pub(crate) printed: u64,
    pub(crate) memory: Arc<Memory>,
}

/// What somebody has assigned at a moment, at once.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    pub(crate) position: u64,
    pub(crate) of: Vec<Edited>,
}

/// See [`Edit`].
#[derive(Clone, Debug)]
pub(crate) enum Edited {
    /// Global memory.
    Memory { address: u64, bytes: Vec<u8> },
    /// A register, or shared or local memory.
    Thread(Change),
}

/// See the module. The session and the launch share it.
pub(crate) struct History(Mutex<Past>);

struct Past {
    first: Checkpoint,
    checkpoints: Vec<Checkpoint>,
    /// How many of these there may be.
    most: usize,
    /// In the order in which they were made.
    edits: Vec<Edit>,
}

impl Past {
    fn forget_after(&mut self, position: u64) {
        self.checkpoints.retain(|checkpoint| checkpoint.position <= position);
    }
}

impl History {
    /// That of a launch that begins with this memory.
    pub(crate) fn new(memory: Memory, most_checkpoints: usize) -> Self {
        let first = Checkpoint { position: 0, cluster: 0, printed: 0, memory: Arc::new(memory) };
        Self(Mutex::new(Past { first, checkpoints: Vec::new(), most: most_checkpoints, edits: Vec::new() }))
    }

    fn past(&self) -> MutexGuard<'_, Past> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last checkpoint at a position or before.
    pub(crate) fn checkpoint(&self, position: u64) -> Checkpoint {
        let past = self.past();
        let before = past.checkpoints.iter().filter(|checkpoint| checkpoint.position <= position);
        before.max_by_key(|checkpoint| checkpoint.position).unwrap_or(&past.first).clone()
    }

    /// Whether there should be a checkpoint at a position.
    pub(crate) fn wants(&self, position: u64) -> bool {
        let past = self.past();
        let apart = match past.checkpoints.as_slice() {
            [first, second, ..] => second.position - first.position,
            _ => CHECKPOINTS_APART,
        };
        let last = past.checkpoints.last().map_or(0, |last| last.position);
        past.most > 0 && position >= last + apart
    }

    /// Adds one, behind all others.
    pub(crate) fn keep(&self, checkpoint: Checkpoint) {
        let mut past = self.past();
        if past.checkpoints.len() >= past.most {
            // Every other one, so that those that follow are farther apart.
            let mut index = 0;
            past.checkpoints.retain(|_| {
                index += 1;
                index % 2 == 0
            });
        }
        past.checkpoints.push(checkpoint);
    }

    /// Something is assigned: what came after is another history.
    pub(crate) fn edit(&self, edit: Edit) {
        let mut past = self.past();
        past.forget_after(edit.position);
        past.edits.push(edit);
    }

    /// What is assigned at a moment.
    pub(crate) fn edits_at(&self, position: u64) -> Vec<Edited> {
        let past = self.past();
        past.edits.iter().filter(|edit| edit.position == position).flat_map(|edit| edit.of.clone()).collect()
    }

    /// Undoes what was assigned after a moment, or all of it; how many assignments that are.
    pub(crate) fn undo(&self, after: Option<u64>) -> usize {
        let mut past = self.past();
        let is_undone = |edit: &Edit| after.is_none_or(|position| edit.position > position);
        let undone: Vec<u64> =
            past.edits.extract_if(.., |edit| is_undone(edit)).map(|edit| edit.position).collect();
        undone.iter().min().into_iter().for_each(|&first| past.forget_after(first));
        undone.len()
    }
}
