//! Instances: a graph whose plan is ready to be run, updates of its single nodes, and what kernels know of it.

use super::difference::compatible;
use super::memory::GraphAllocation;
use super::nodes::{Contents, Graph, Node};
use super::plan::{Plan, Refusal, RefusalReason};
use super::task::Task;
use crate::error::{Error, Result};
use crate::stream::Marker;
use crate::{Context, Id, lock};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

/// Memory that a launch leaves allocated is freed by the next one.
pub const AUTO_FREE: u64 = 1;
/// The graph is prepared when it is instantiated: it always is.
pub const UPLOAD: u64 = 2;
/// The graph may be launched by kernels too: it has only what they may launch.
pub const DEVICE_LAUNCH: u64 = 4;
/// Kernels have the priorities of their nodes rather than the stream's.
pub const NODE_PRIORITY: u64 = 8;

/// Graphs that kernels may launch, by the handles that kernels know them by.
#[derive(Default)]
struct Launchable(Mutex<HashMap<u64, Weak<Exec>>>);

/// A graph that can be launched.
pub struct Exec {
    id: Id,
    flags: u64,
    /// The graph as it was, with every update since.
    source: Arc<Graph>,
    pub(super) allocated: Vec<Arc<GraphAllocation>>,
    pub(super) freed: Vec<u64>,
    pub(super) state: Mutex<State>,
    /// By this its graph knows whether it is there.
    _there: Arc<()>,
}

pub(super) struct State {
    pub(super) plan: Arc<Plan>,
    /// Behind the last launch.
    pub(super) last: Option<Marker>,
    /// How often it runs, or waits because a kernel has launched it.
    running: usize,
    /// Whether it was uploaded, or launched by the host, as it must be before a kernel launches it.
    uploaded: bool,
}

impl std::fmt::Debug for Exec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Exec {}", self.id.0)
    }
}

impl Graph {
    /// The context of its kernels.
    fn context(&self) -> Option<Arc<Context>> {
        let of = |node: &Arc<Node>| match node.task() {
            Task::Kernel(work) => work.function().module().context().ok(),
            task => task.graphs().iter().find_map(|graph| graph.context()),
        };
        self.nodes().iter().find_map(of)
    }

    /// A node that a graph for launches by kernels may not have.
    fn unfit_for_devices(&self) -> Option<Arc<Node>> {
        let fit = |task| match task {
            Task::Kernel(_) | Task::Fill(_) | Task::Child(_) => true,
            Task::Copy(copy) => !copy.needs_host(),
            _ => false,
        };
        let graphs =
            [self.nodes()].into_iter().chain(self.inner_graphs().into_iter().map(|graph| graph.nodes()));
        graphs.flatten().find(|node| !fit(node.task()))
    }

    /// Makes it launchable. Of a graph that allocates memory, or that kernels change, there can
    /// be one instance at a time.
    pub fn instantiate(&self, flags: u64) -> std::result::Result<Arc<Exec>, Refusal> {
        let both = AUTO_FREE | DEVICE_LAUNCH;
        if flags & !(AUTO_FREE | UPLOAD | DEVICE_LAUNCH | NODE_PRIORITY) != 0 || flags & both == both {
            return Err(Error::InvalidValue.into());
        }
        if flags & DEVICE_LAUNCH != 0
            && let node = self.unfit_for_devices()
            && (node.is_some() || self.nodes().is_empty())
        {
            let reason = RefusalReason::NodeOperation;
            return Err(Refusal { error: Error::InvalidValue, reason, node });
        }
        let there = lock(&self.contents).instance.upgrade().is_some();
        if there && (self.has_memory() || self.has_updatable()) {
            return Err(Error::NotSupported.into());
        }
        let plan = Arc::new(Plan::new(self)?);
        plan.set_updatable();
        let (allocated, freed) = self.memory();
        let source = self.copied(0, false);
        let state = Mutex::new(State { plan, last: None, running: 0, uploaded: flags & UPLOAD != 0 });
        let there = Arc::new(());
        lock(&self.contents).instance = Arc::downgrade(&there);
        let exec = Arc::new(Exec { id: Id::next(), flags, source, allocated, freed, state, _there: there });
        self.context().iter().for_each(|context| drop(context.launchable(&exec)));
        Ok(exec)
    }
}

impl Exec {
    /// Its identity.
    pub fn id(&self) -> Id {
        self.id
    }

    /// The flags that it was instantiated with.
    pub fn flags(&self) -> u64 {
        self.flags
    }

    /// The graph as it is run.
    pub(super) fn source(&self) -> &Arc<Graph> {
        &self.source
    }

    /// A launch by a kernel, which is of what neither runs nor waits, but for the kernel's own graph behind itself: the plan
    /// to be run, if it may be.
    pub(super) fn begins_by_kernel(&self, behind_itself: bool) -> Option<Arc<Plan>> {
        let mut state = lock(&self.state);
        if !state.uploaded || state.running != usize::from(behind_itself) {
            return None;
        }
        state.running += 1;
        Some(Arc::clone(&state.plan))
    }

    /// A launch by the host begins.
    pub(super) fn begins(&self) {
        let mut state = lock(&self.state);
        state.running += 1;
        state.uploaded = true;
    }

    /// A run of it is over.
    pub(super) fn ended(&self) {
        lock(&self.state).running -= 1;
    }

    /// Whether the step of a node is done, as far as the host has said.
    pub fn enabled(&self, node: &Node) -> Result<bool> {
        let mut state = lock(&self.state);
        let step = Arc::make_mut(&mut state.plan).step(node.id());
        Ok(step.ok_or(Error::InvalidValue)?.enabled)
    }

    /// Lets the step of a kernel, a copy or a fill be done, or not.
    pub fn enable(&self, node: &Node, enabled: bool) -> Result<()> {
        let mut state = lock(&self.state);
        let step = Arc::make_mut(&mut state.plan).step(node.id()).ok_or(Error::InvalidValue)?;
        if !matches!(step.task, Task::Kernel(_) | Task::Copy(_) | Task::Fill(_)) {
            return Err(Error::InvalidValue);
        }
        step.enabled = enabled;
        step.set_updatable();
        Ok(())
    }

    /// Lets the step of a node do something else of the same kind, in launches from now on.
    pub fn set_task(&self, node: Id, task: Task) -> Result<()> {
        let mut state = lock(&self.state);
        let step = Arc::make_mut(&mut state.plan).step(node).ok_or(Error::InvalidValue)?;
        compatible(&step.task, &task).map_err(|_| Error::InvalidValue)?;
        step.task = task.clone().with_bodies_of(&step.task);
        step.set_updatable();
        drop(state);
        let graphs = [Arc::clone(&self.source)].into_iter().chain(self.source.inner_graphs());
        for graph in graphs {
            if let Some(copy) = lock(&graph.contents).copy_with_origin(node) {
                let mut present = lock(&copy.task);
                *present = task.with_bodies_of(&present);
                break;
            }
        }
        Ok(())
    }
}

impl Contents {
    /// The copy of the node with this identity.
    fn copy_with_origin(&self, origin: Id) -> Option<Arc<Node>> {
        let copy = self.copies.get(&origin)?;
        self.nodes.get(copy).map(|links| Arc::clone(&links.node))
    }
}

impl Context {
    /// The graph that kernels know by a handle.
    pub(super) fn launchable_by(&self, handle: u64) -> Option<Arc<Exec>> {
        let launchable = self.device().process().extensions.get::<Launchable>();
        lock(&launchable.0).get(&handle).and_then(Weak::upgrade)
    }

    /// Makes a graph ready to be launched: its memory is taken, and kernels know it.
    pub fn upload_graph(&self, exec: &Arc<Exec>) -> Result<()> {
        self.usable()?;
        exec.allocated.iter().for_each(GraphAllocation::count);
        self.launchable(exec);
        lock(&exec.state).uploaded = true;
        Ok(())
    }

    /// Lets kernels know a graph that is made for them.
    pub(super) fn launchable(&self, exec: &Arc<Exec>) -> Option<Arc<Exec>> {
        if exec.flags & DEVICE_LAUNCH == 0 {
            return None;
        }
        let launchable = self.device().process().extensions.get::<Launchable>();
        let mut launchable = lock(&launchable.0);
        launchable.retain(|_, known| known.strong_count() > 0);
        launchable.insert(exec.id.handle(), Arc::downgrade(exec));
        Some(Arc::clone(exec))
    }
}
