//! What a node of a graph does.

use super::memory::GraphAllocation;
use super::nodes::Graph;
use crate::copy::Copy;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::fill::Fill;
use crate::host_call::HostCall;
use crate::launch::PreparedLaunch;
use crate::values::Values;
use std::sync::Arc;

/// What a node does.
#[derive(Clone)]
pub enum Task {
    /// Runs a kernel.
    Kernel(Arc<PreparedLaunch>),
    /// Copies bytes.
    Copy(Arc<Copy>),
    /// Fills memory with a value.
    Fill(Arc<Fill>),
    /// Calls the program.
    Host(HostCall),
    /// Runs another graph.
    Child(Arc<Graph>),
    /// Nothing: it only joins what is before it.
    Empty,
    /// Waits for an event.
    Wait(Arc<Event>),
    /// Records an event.
    Record(Arc<Event>),
    /// Makes memory usable.
    Allocate(Arc<GraphAllocation>),
    /// Frees the memory at an address.
    Free(u64),
    /// Writes values, and waits for values.
    Values(Arc<Values>),
    /// Runs a body, or does not.
    Conditional(Arc<Conditional>),
}

impl From<Arc<PreparedLaunch>> for Task {
    fn from(launch: Arc<PreparedLaunch>) -> Self {
        Self::Kernel(launch)
    }
}

impl From<Arc<Copy>> for Task {
    fn from(copy: Arc<Copy>) -> Self {
        Self::Copy(copy)
    }
}

impl From<Arc<Fill>> for Task {
    fn from(fill: Arc<Fill>) -> Self {
        Self::Fill(fill)
    }
}

impl From<HostCall> for Task {
    fn from(call: HostCall) -> Self {
        Self::Host(call)
    }
}

impl From<Arc<Values>> for Task {
    fn from(values: Arc<Values>) -> Self {
        Self::Values(values)
    }
}

/// The kinds of tasks, numbered as `CUgraphNodeType` numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum TaskKind {
    /// [`Task::Kernel`].
    Kernel = 0,
    /// [`Task::Copy`].
    Copy = 1,
    /// [`Task::Fill`].
    Fill = 2,
    /// [`Task::Host`].
    Host = 3,
    /// [`Task::Child`].
    Child = 4,
    /// [`Task::Empty`].
    Empty = 5,
    /// [`Task::Wait`].
    Wait = 6,
    /// [`Task::Record`].
    Record = 7,
    /// [`Task::Allocate`].
    Allocate = 10,
    /// [`Task::Free`].
    Free = 11,
    /// [`Task::Values`].
    Values = 12,
    /// [`Task::Conditional`].
    Conditional = 13,
}

impl TaskKind {
    /// Whether the body of a conditional node may have such a node.
    pub(crate) fn may_be_conditional(self) -> bool {
        matches!(self, Self::Kernel | Self::Copy | Self::Fill | Self::Child | Self::Empty | Self::Conditional)
    }
}

impl Task {
    /// Which kind it is.
    pub fn kind(&self) -> TaskKind {
        match self {
            Self::Kernel(_) => TaskKind::Kernel,
            Self::Copy(_) => TaskKind::Copy,
            Self::Fill(_) => TaskKind::Fill,
            Self::Host(_) => TaskKind::Host,
            Self::Child(_) => TaskKind::Child,
            Self::Empty => TaskKind::Empty,
            Self::Wait(_) => TaskKind::Wait,
            Self::Record(_) => TaskKind::Record,
            Self::Allocate(_) => TaskKind::Allocate,
            Self::Free(_) => TaskKind::Free,
            Self::Values(_) => TaskKind::Values,
            Self::Conditional(_) => TaskKind::Conditional,
        }
    }

    /// The graphs that lie in it.
    pub fn graphs(&self) -> Vec<Arc<Graph>> {
        match self {
            Self::Child(graph) => vec![Arc::clone(graph)],
            Self::Conditional(conditional) => conditional.bodies.clone(),
            _ => Vec::new(),
        }
    }

    /// The same; a conditional node keeps the bodies that it had, whose nodes are set one by one.
    pub(super) fn with_bodies_of(self, old: &Self) -> Self {
        match (self, old) {
            (Self::Conditional(new), Self::Conditional(old)) => {
                Self::Conditional(Arc::new(Conditional { bodies: old.bodies.clone(), ..(*new).clone() }))
            }
            (task, _) => task,
        }
    }
}

/// How a conditional node decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionalKind {
    /// The first body if the value is not zero, otherwise the second, if there is one.
    If,
    /// The body as long as the value is not zero.
    While,
    /// The body with the value's number, if there is one.
    Switch,
}

/// The value that conditional nodes decide by: a word of device memory, whose address is its handle. Kernels set it.
#[derive(Debug)]
pub struct Condition {
    machine: Arc<machine::Device>,
    address: u64,
    /// What it is set to whenever the graph is launched.
    default: Option<u32>,
}

impl Condition {
    /// A value for the nodes of a graph.
    pub fn new(context: &crate::Context, default: Option<u32>) -> Result<Arc<Self>> {
        context.usable()?;
        let machine = Arc::clone(context.machine());
        let address = machine.memory().allocate(size_of::<u32>() as u64)?;
        Ok(Arc::new(Self { machine, address, default }))
    }

    /// What programs and kernels know it by.
    pub fn handle(&self) -> u64 {
        self.address
    }

    /// Sets what a launch begins with.
    pub(super) fn begin(&self) -> Result<()> {
        match self.default {
            Some(value) => Ok(self.machine.memory().write(self.address, &value.to_le_bytes())?),
            None => Ok(()),
        }
    }

    pub(super) fn value(&self) -> Result<u32> {
        let mut value = [0; 4];
        self.machine.memory().read(self.address, &mut value)?;
        Ok(u32::from_le_bytes(value))
    }
}

impl Drop for Condition {
    fn drop(&mut self) {
        // It was allocated when the value was made; a refusal would only mean that it has gone already.
        let _ = self.machine.memory().free(self.address);
    }
}

/// A conditional node.
#[derive(Clone, Debug)]
pub struct Conditional {
    /// What it decides by.
    pub condition: Arc<Condition>,
    /// How.
    pub kind: ConditionalKind,
    /// What it runs.
    pub bodies: Vec<Arc<Graph>>,
}

/// The most bodies of a node that switches.
const MOST_BODIES: usize = 1024;

impl Conditional {
    /// A node that will have so many bodies, all empty yet.
    pub fn new(condition: &Arc<Condition>, kind: ConditionalKind, bodies: usize) -> Result<Self> {
        let right = match kind {
            ConditionalKind::If => (1..=2).contains(&bodies),
            ConditionalKind::While => bodies == 1,
            ConditionalKind::Switch => (1..=MOST_BODIES).contains(&bodies),
        };
        if !right {
            return Err(Error::InvalidValue);
        }
        let bodies = (0..bodies).map(|_| Graph::new()).collect();
        Ok(Self { condition: Arc::clone(condition), kind, bodies })
    }

    /// The same with bodies that lie in a graph.
    pub(super) fn nested(&self, graph: &Graph) -> Result<Arc<Self>> {
        let bodies = self.bodies.iter().map(|_| graph.new_body()).collect::<Result<_>>()?;
        Ok(Arc::new(Self { bodies, ..self.clone() }))
    }
}
