//! Instantiation: from a graph to a plan that can be run again and again.
//!
//! A [`Plan`] is a list of steps, each with the number of steps that it waits for and the list of those that wait for
//! it. Child graphs are laid out among the steps of the graph that they are in, between a step that opens and one that
//! closes them; the bodies of conditional nodes are plans of their own. A launch keeps the plan that it found: updates
//! change a copy.

use super::memory::GraphAllocation;
use super::{Condition, Graph, Node, Task};
use crate::error::{Error, Result};
use crate::event::{Event, Record};
use crate::graph::run::GraphLaunch;
use crate::stream::{Marker, Operation, Stream};
use crate::{Context, Id, lock};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Memory that a launch leaves allocated is freed by the next one.
pub const AUTO_FREE: u64 = 1;
/// The graph is prepared when it is instantiated: it always is.
pub const UPLOAD: u64 = 2;
/// The graph may be launched by kernels too: it has only what they may launch.
pub const DEVICE_LAUNCH: u64 = 4;
/// Kernels have the priorities of their nodes rather than the stream's.
pub const NODE_PRIORITY: u64 = 8;

/// What can be run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(super) steps: Vec<Step>,
}

/// A step of a plan.
#[derive(Clone)]
pub(crate) struct Step {
    /// The node that it is of.
    origin: Option<Id>,
    pub(super) task: Task,
    pub(super) enabled: bool,
    /// Steps right before it.
    pub(super) needs: usize,
    /// Steps right behind it.
    pub(super) then: Vec<usize>,
    /// Of a conditional node.
    pub(super) bodies: Vec<Plan>,
}

impl std::fmt::Debug for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} then {:?}", self.task.kind(), self.then)
    }
}

/// Why a graph cannot be instantiated.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The error.
    pub error: Error,
    /// More of it.
    pub reason: RefusalReason,
    /// The node that is to blame.
    pub node: Option<Arc<Node>>,
}

/// The reasons, numbered as `CUgraphInstantiateResult` numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum RefusalReason {
    /// What the error says.
    Other = 1,
    /// It goes round in circles.
    Structure = 2,
    /// A node that cannot be launched so.
    NodeOperation = 3,
    /// A value that no conditional node decides by.
    ConditionUnused = 5,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self { error, reason: RefusalReason::Other, node: None }
    }
}

impl Plan {
    fn new(graph: &Graph) -> std::result::Result<Self, Refusal> {
        let mut plan = Self::default();
        plan.lay_out(graph)?;
        if plan.has_circle() {
            let reason = RefusalReason::Structure;
            return Err(Refusal { error: Error::InvalidValue, reason, node: None });
        }
        Ok(plan)
    }

    fn push(&mut self, origin: Option<Id>, task: Task, bodies: Vec<Self>) -> usize {
        self.steps.push(Step { origin, task, enabled: true, needs: 0, then: Vec::new(), bodies });
        self.steps.len() - 1
    }

    fn connect(&mut self, from: usize, to: usize) {
        self.steps[from].then.push(to);
        self.steps[to].needs += 1;
    }

    /// Adds the steps of a graph.
    fn lay_out(&mut self, graph: &Graph) -> std::result::Result<(), Refusal> {
        // A body's are those of the graph that it lies in.
        let deciding = graph.deciding();
        let unused = |condition: &Arc<Condition>| !deciding.contains(&condition.handle());
        if !graph.body && lock(&graph.conditions).iter().any(unused) {
            let reason = RefusalReason::ConditionUnused;
            return Err(Refusal { error: Error::InvalidValue, reason, node: None });
        }
        let nodes = graph.nodes();
        let unfit = nodes.iter().find(|node| graph.body && !node.task().kind().may_be_conditional());
        if let Some(node) = unfit {
            let reason = RefusalReason::NodeOperation;
            return Err(Refusal { error: Error::InvalidValue, reason, node: Some(Arc::clone(node)) });
        }
        // The first and the last step of each node.
        let mut ends = HashMap::new();
        for node in &nodes {
            let origin = Some(node.id());
            let pair = match node.task() {
                Task::Child(child) => {
                    let open = self.push(origin, Task::Empty, Vec::new());
                    let from = self.steps.len();
                    self.lay_out(&child)?;
                    let inside = from..self.steps.len();
                    let close = self.push(None, Task::Empty, Vec::new());
                    self.connect(open, close);
                    for step in inside {
                        if self.steps[step].needs == 0 {
                            self.connect(open, step);
                        }
                        if self.steps[step].then.is_empty() {
                            self.connect(step, close);
                        }
                    }
                    (open, close)
                }
                Task::Conditional(conditional) => {
                    let bodies = conditional.bodies.iter().map(|body| Self::new(body));
                    let bodies = bodies.collect::<std::result::Result<_, _>>()?;
                    let step = self.push(origin, Task::Conditional(conditional), bodies);
                    (step, step)
                }
                task => {
                    let step = self.push(origin, task, Vec::new());
                    (step, step)
                }
            };
            ends.insert(node.id(), pair);
        }
        for edge in graph.edges() {
            self.connect(ends[&edge.from.id()].1, ends[&edge.to.id()].0);
        }
        Ok(())
    }

    fn has_circle(&self) -> bool {
        let mut needs: Vec<usize> = self.steps.iter().map(|step| step.needs).collect();
        let mut ready: Vec<usize> = (0..needs.len()).filter(|&step| needs[step] == 0).collect();
        let mut done = 0;
        while let Some(step) = ready.pop() {
            done += 1;
            for &next in &self.steps[step].then {
                needs[next] -= 1;
                if needs[next] == 0 {
                    ready.push(next);
                }
            }
        }
        done < needs.len()
    }

    /// The step of a node.
    fn step(&mut self, origin: Id) -> Option<&mut Step> {
        for step in &mut self.steps {
            if step.origin == Some(origin) {
                return Some(step);
            }
            if let Some(found) = step.bodies.iter_mut().find_map(|body| body.step(origin)) {
                return Some(found);
            }
        }
        None
    }
}

/// A graph that can be launched.
pub struct Exec {
    id: Id,
    flags: u64,
    /// The graph as it was, with every update since.
    source: Arc<Graph>,
    allocated: Vec<Arc<GraphAllocation>>,
    freed: Vec<u64>,
    state: Mutex<State>,
}

struct State {
    plan: Arc<Plan>,
    /// Behind the last launch.
    last: Option<Marker>,
    /// How often it runs, or waits because a kernel has launched it.
    running: usize,
    /// Whether it was uploaded, or launched by the host, as it must be before a kernel launches it.
    uploaded: bool,
}

/// A node that records an event, the event, and its new record.
type Recording = (usize, Arc<Event>, Arc<Record>);

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

    /// Makes it launchable. Of a graph that allocates memory there can be one instance at a time.
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
        let mut before = lock(&self.contents).exec.clone();
        if self.has_memory() && before.upgrade().is_some() {
            return Err(Error::NotSupported.into());
        }
        let plan = Arc::new(Plan::new(self)?);
        let (allocated, freed) = self.memory();
        let source = self.copied(0, false);
        let state = Mutex::new(State { plan, last: None, running: 0, uploaded: flags & UPLOAD != 0 });
        let exec = Arc::new(Exec { id: Id::next(), flags, source, allocated, freed, state });
        before = Arc::downgrade(&exec);
        lock(&self.contents).exec = before;
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

    /// A launch of a plan of it, with nothing to wait for.
    fn launch_of(&self, plan: Arc<Plan>, exec: Option<Arc<Self>>) -> GraphLaunch {
        let (waits, records) = (HashMap::new(), HashMap::new());
        GraphLaunch { plan, source: Arc::clone(&self.source), waits, records, previous: None, exec }
    }

    /// A launch by a kernel: of what neither runs nor waits, but for the kernel's own graph behind itself.
    pub(super) fn launch_by_kernel(self: &Arc<Self>, behind_itself: bool) -> Option<GraphLaunch> {
        let mut state = lock(&self.state);
        if !state.uploaded || state.running != usize::from(behind_itself) {
            return None;
        }
        state.running += 1;
        Some(self.launch_of(Arc::clone(&state.plan), Some(Arc::clone(self))))
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

    /// Whether the step of a node is done.
    pub fn enabled(&self, node: &Node) -> Result<bool> {
        let mut state = lock(&self.state);
        let step = Arc::make_mut(&mut state.plan).step(node.id());
        step.map(|step| step.enabled).ok_or(Error::InvalidValue)
    }

    /// Lets the step of a kernel, a copy or a fill be done, or not.
    pub fn enable(&self, node: &Node, enabled: bool) -> Result<()> {
        let mut state = lock(&self.state);
        let step = Arc::make_mut(&mut state.plan).step(node.id()).ok_or(Error::InvalidValue)?;
        if !matches!(step.task, Task::Kernel(_) | Task::Copy(_) | Task::Fill(_)) {
            return Err(Error::InvalidValue);
        }
        step.enabled = enabled;
        Ok(())
    }

    /// Lets the step of a node do something else of the same kind, in launches from now on.
    pub fn set_task(&self, node: Id, task: Task) -> Result<()> {
        let mut state = lock(&self.state);
        let step = Arc::make_mut(&mut state.plan).step(node).ok_or(Error::InvalidValue)?;
        super::update::compatible(&step.task, &task).map_err(|_| Error::InvalidValue)?;
        step.task = task.clone().with_bodies_of(&step.task);
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

    /// What the steps of events need in a launch: those that wait, what they wait for; those that record, a new record.
    fn events(plan: &Plan) -> (HashMap<usize, Marker>, Vec<Recording>) {
        let (mut waits, mut records) = (HashMap::new(), Vec::new());
        for (index, step) in plan.steps.iter().enumerate() {
            match &step.task {
                Task::Wait(event) => drop(event.marker().map(|marker| waits.insert(index, marker))),
                Task::Record(event) => records.push((index, Arc::clone(event), event.record())),
                _ => {}
            }
        }
        (waits, records)
    }
}

impl super::Contents {
    /// The copy of the node with this identity.
    fn copy_with_origin(&self, origin: Id) -> Option<Arc<Node>> {
        let copy = self.copies.get(&origin)?;
        self.nodes.get(copy).map(|links| Arc::clone(&links.node))
    }
}

impl Context {
    /// Makes a graph ready to be launched: its memory is taken, and kernels know it.
    pub fn upload_graph(&self, exec: &Arc<Exec>) -> Result<()> {
        self.usable()?;
        exec.allocated.iter().for_each(GraphAllocation::count);
        self.launchable(exec);
        lock(&exec.state).uploaded = true;
        Ok(())
    }

    /// Lets kernels know a graph that is made for them.
    fn launchable(&self, exec: &Arc<Exec>) -> Option<Arc<Exec>> {
        if exec.flags & DEVICE_LAUNCH == 0 {
            return None;
        }
        let mut launchable = lock(&self.device().process().launchable);
        launchable.retain(|_, known| known.strong_count() > 0);
        launchable.insert(exec.id.handle(), Arc::downgrade(exec));
        Some(Arc::clone(exec))
    }

    /// Launches a graph: behind what was submitted to the stream, and behind earlier launches of it.
    pub fn launch_graph(&self, exec: &Arc<Exec>, stream: &Arc<Stream>) -> Result<()> {
        self.usable()?;
        let mut state = lock(&exec.state);
        let plan = Arc::clone(&state.plan);
        if self.capture_of(stream)?.is_some() {
            let launch = exec.launch_of(plan, None);
            return self.submit(stream, Operation::Graph(Box::new(launch)));
        }
        let memory = self.device().graph_memory();
        if exec.allocated.iter().any(|allocation| allocation.is_live()) && exec.flags & AUTO_FREE == 0 {
            return Err(Error::InvalidValue);
        }
        for allocation in &exec.allocated {
            allocation.count();
            allocation.set_live(true);
        }
        for &address in &exec.freed {
            memory.free(address, stream.marker())?;
        }
        let (waits, recorded) = Exec::events(&plan);
        let previous = state.last.take().filter(|marker| !marker.passed() && !marker.is_of(stream));
        let records = recorded.iter().map(|(index, _, record)| (*index, Arc::clone(record))).collect();
        let launch = GraphLaunch { waits, records, previous, ..exec.launch_of(plan, self.launchable(exec)) };
        let marker = self.submit_now(stream, Operation::Graph(Box::new(launch)))?;
        exec.allocated.iter().for_each(|allocation| allocation.used_until(marker.clone()));
        state.last = Some(marker);
        for (_, event, record) in recorded {
            event.recorded(Marker::at(&record), record);
        }
        Ok(())
    }
}
