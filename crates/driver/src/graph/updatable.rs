//! Kernel nodes that kernels may change (`CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE`).
//!
//! What an instance launches in place of such a node stands beside its plan, since a change holds at once: for a launch
//! that has not come to the node yet, and for all later ones, until the host sets the node. There is one instance at a
//! time of a graph that has such nodes; what the handle of a node names in a copy of its graph is that of the copy which
//! was instantiated last.

use crate::error::{Error, Result};
use crate::launch::{Configuration, PreparedLaunch};
use crate::{Context, Id, lock};
use machine::system::{GraphAnswer, NodeChange, NodeField};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, Weak};

/// What kernels know by a handle.
#[derive(Debug)]
pub struct Updatable {
    id: Id,
    /// Nothing before its graph is instantiated.
    state: Mutex<Option<State>>,
}

/// What an instance does.
#[derive(Clone)]
struct State {
    work: Arc<PreparedLaunch>,
    enabled: bool,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} enabled: {}", self.work.function().name(), self.enabled)
    }
}

/// All of a process, by their handles.
#[derive(Default)]
struct Updatables(Mutex<HashMap<u64, Weak<Updatable>>>);

impl Updatable {
    /// What kernels know it by.
    pub fn handle(&self) -> u64 {
        self.id.handle()
    }

    /// Lets it be what the host has given, whatever kernels have made of it.
    pub(super) fn set(&self, work: &Arc<PreparedLaunch>, enabled: bool) {
        *lock(&self.state) = Some(State { work: Arc::clone(work), enabled });
    }

    /// What is launched now, if anything is.
    pub(super) fn current(&self) -> Option<Arc<PreparedLaunch>> {
        let state = lock(&self.state);
        state.as_ref().filter(|state| state.enabled).map(|state| Arc::clone(&state.work))
    }
}

impl State {
    fn change(&mut self, field: &NodeField) -> Result<()> {
        let Self { work, enabled } = self;
        match field {
            NodeField::Enabled(now) => *enabled = *now,
            NodeField::Grid(grid) => {
                let configuration = Configuration { grid: *grid, ..work.configuration() };
                *work = work.changed(configuration, work.params().to_vec())?;
            }
            NodeField::Parameters { offset, bytes } => {
                let mut params = work.params().to_vec();
                let start = usize::try_from(*offset).map_err(|_| Error::InvalidValue)?;
                let end = start.checked_add(bytes.len()).ok_or(Error::InvalidValue)?;
                params.get_mut(start..end).ok_or(Error::InvalidValue)?.copy_from_slice(bytes);
                *work = work.changed(work.configuration(), params)?;
            }
        }
        Ok(())
    }
}

impl Context {
    /// Something new that kernels know.
    pub(super) fn new_updatable(&self) -> Arc<Updatable> {
        let made = Arc::new(Updatable { id: Id::next(), state: Mutex::new(None) });
        let known = self.device().process().extensions.get::<Updatables>();
        let mut known = lock(&known.0);
        known.retain(|_, updatable| updatable.strong_count() > 0);
        known.insert(made.handle(), Arc::downgrade(&made));
        made
    }

    /// A kernel changes nodes: all as it wants, or none.
    pub(crate) fn change_nodes(&self, changes: &[NodeChange]) -> GraphAnswer {
        let known = self.device().process().extensions.get::<Updatables>();
        // Locked to the end, so that batches come one after the other.
        let known = lock(&known.0);
        let mut changed = HashMap::new();
        for change in changes {
            let (_, state) = match changed.entry(change.node) {
                Entry::Occupied(there) => there.into_mut(),
                Entry::Vacant(free) => {
                    let updatable = known.get(&change.node).and_then(Weak::upgrade);
                    let Some(updatable) = updatable else { return GraphAnswer::Unknown(change.node) };
                    let state = lock(&updatable.state).clone();
                    let Some(state) = state else { return GraphAnswer::Refused };
                    free.insert((updatable, state))
                }
            };
            if state.change(&change.field).is_err() {
                return GraphAnswer::Refused;
            }
        }
        for (updatable, state) in changed.into_values() {
            *lock(&updatable.state) = Some(state);
        }
        GraphAnswer::Done
    }
}
