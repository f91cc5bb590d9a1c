//! Kernel nodes that kernels may change (`CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE`).
//!
//! What an instance launches in place of such a node stands beside its plan, since a change holds at once: for a launch
//! that has not come to the node yet, and for all later ones, until the host sets the node. There is one instance at a
//! time of a graph that has such nodes; what the handle of a node names in a copy of its graph is that of the copy which
//! was instantiated last.

use super::nodes::{Graph, Node};
use super::plan::Plan;
use super::task::Task;
use crate::error::{Error, Result};
use crate::launch::{Configuration, PreparedLaunch};
use crate::stream::Stream;
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

impl Plan {
    /// Lets all that kernels may change be what the host says.
    pub(super) fn set_updatable(&self) {
        for step in &self.steps {
            if let (Some(updatable), Task::Kernel(work)) = (&step.updatable, &step.task) {
                updatable.set(work);
                updatable.enable(step.enabled);
            }
            step.bodies.iter().for_each(Self::set_updatable);
        }
    }
}

impl Graph {
    /// Whether kernels may change one of its nodes.
    pub(super) fn has_updatable(&self) -> bool {
        let of = |node: &Arc<Node>| {
            node.updatable().is_some() || node.task().graphs().iter().any(|graph| graph.has_updatable())
        };
        self.nodes().iter().any(of)
    }
}

impl Context {
    /// Lets kernels change a kernel node, which cannot be taken back: the handle that they know it by.
    pub fn make_updatable(&self, node: &Node) -> Result<u64> {
        if !matches!(node.task(), Task::Kernel(_)) {
            return Err(Error::InvalidValue);
        }
        let make = || Arc::new(Updatable { id: Id::next(), state: Mutex::new(None) });
        let updatable = Arc::clone(lock(&node.updatable).get_or_insert_with(make));
        let known = self.device().process().extensions.get::<Updatables>();
        let mut known = lock(&known.0);
        known.retain(|_, updatable| updatable.strong_count() > 0);
        known.insert(updatable.handle(), Arc::downgrade(&updatable));
        Ok(updatable.handle())
    }

    /// The same for the kernel that was captured last in a stream.
    pub fn make_captured_updatable(&self, stream: &Arc<Stream>) -> Result<u64> {
        let last = self.capture_info(stream).and_then(|info| info.front.into_iter().next());
        self.make_updatable(&*last.ok_or(Error::InvalidValue)?.0)
    }

    /// A kernel changes the node with a handle.
    pub(crate) fn change_node(&self, handle: u64, change: NodeChange<'_>) -> GraphAnswer {
        let known = self.device().process().extensions.get::<Updatables>();
        let updatable = lock(&known.0).get(&handle).and_then(Weak::upgrade);
        let Some(updatable) = updatable else { return GraphAnswer::Unknown };
        if updatable.change(change).is_ok() { GraphAnswer::Done } else { GraphAnswer::Refused }
    }
}
