//! Kernel nodes that kernels may change (`CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE`).
//!
//! What an instance launches in place of such a node stands beside its plan, since a change holds at once: for a launch
//! that has not come to the node yet, and for all later ones, until the host sets the node. There is one instance at a
//! time of a graph that has such nodes; what the handle of a node names in a copy of its graph is that of the copy which
//! was instantiated last.

use crate::error::{Error, Result};
use crate::launch::{Configuration, PreparedLaunch};
use crate::{Context, Id, lock};
use machine::system::{GraphAnswer, NodeChange};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

/// What kernels know by a handle.
#[derive(Debug)]
pub struct Updatable {
    id: Id,
    /// Nothing before its graph is instantiated.
    state: Mutex<Option<State>>,
}

/// What an instance does.
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

    /// Lets it be a launch that the host has given.
    pub(super) fn set(&self, work: &Arc<PreparedLaunch>) {
        let mut state = lock(&self.state);
        let enabled = state.as_ref().is_none_or(|state| state.enabled);
        *state = Some(State { work: Arc::clone(work), enabled });
    }

    pub(super) fn enabled(&self) -> bool {
        lock(&self.state).as_ref().is_some_and(|state| state.enabled)
    }

    pub(super) fn enable(&self, enabled: bool) {
        lock(&self.state).iter_mut().for_each(|state| state.enabled = enabled);
    }

    /// What is launched now, if anything is.
    pub(super) fn current(&self) -> Option<Arc<PreparedLaunch>> {
        let state = lock(&self.state);
        state.as_ref().filter(|state| state.enabled).map(|state| Arc::clone(&state.work))
    }

    fn change(&self, change: NodeChange<'_>) -> Result<()> {
        let mut state = lock(&self.state);
        let State { work, enabled } = state.as_mut().ok_or(Error::InvalidValue)?;
        match change {
            NodeChange::Enabled(now) => *enabled = now,
            NodeChange::Grid(grid) => {
                let configuration = Configuration { grid, ..work.configuration() };
                *work = work.changed(configuration, work.params().to_vec())?;
            }
            NodeChange::Parameters { offset, bytes } => {
                let mut params = work.params().to_vec();
                let start = usize::try_from(offset).map_err(|_| Error::InvalidValue)?;
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

    /// A kernel changes the node with a handle.
    pub(crate) fn change_node(&self, handle: u64, change: NodeChange<'_>) -> GraphAnswer {
        let known = self.device().process().extensions.get::<Updatables>();
        let updatable = lock(&known.0).get(&handle).and_then(Weak::upgrade);
        let Some(updatable) = updatable else { return GraphAnswer::Unknown };
        if updatable.change(change).is_ok() { GraphAnswer::Done } else { GraphAnswer::Refused }
    }
}
