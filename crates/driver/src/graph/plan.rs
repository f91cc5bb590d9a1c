//! Plans: the steps of a graph in a form that can be run again and again.
//!
//! A [`Plan`] is a list of steps, each with the number of steps that it waits for and the list of those that wait for
//! it. Child graphs are laid out among the steps of the graph that they are in, between a step that opens and one that
//! closes them; the bodies of conditional nodes are plans of their own. A launch keeps the plan that it found: updates
//! change a copy.

use super::nodes::{Graph, Node};
use super::task::{Condition, Task};
use super::updatable::Updatable;
use crate::error::Error;
use crate::{Id, lock};
use std::collections::HashMap;
use std::sync::Arc;

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
    /// Where what it does stands instead, if kernels may change it.
    pub(super) updatable: Option<Arc<Updatable>>,
    /// Steps right before it.
    pub(super) needs: usize,
    /// Steps right behind it.
    pub(super) then: Vec<usize>,
    /// Of a conditional node.
    pub(super) bodies: Vec<Plan>,
}

impl Step {
    /// Lets what kernels may change be what the host says.
    pub(super) fn set_updatable(&self) {
        if let (Some(updatable), Task::Kernel(work)) = (&self.updatable, &self.task) {
            updatable.set(work, self.enabled);
        }
    }
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
    pub(super) fn new(graph: &Graph) -> std::result::Result<Self, Refusal> {
        let mut plan = Self::default();
        plan.lay_out(graph)?;
        if plan.has_circle() {
            let reason = RefusalReason::Structure;
            return Err(Refusal { error: Error::InvalidValue, reason, node: None });
        }
        Ok(plan)
    }

    fn push(&mut self, origin: Option<Id>, task: Task, bodies: Vec<Self>) -> usize {
        let (enabled, updatable, then) = (true, None, Vec::new());
        self.steps.push(Step { origin, task, enabled, updatable, needs: 0, then, bodies });
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
                    self.steps[step].updatable = node.updatable();
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

    /// Lets all that kernels may change be what the host says.
    pub(super) fn set_updatable(&self) {
        for step in &self.steps {
            step.set_updatable();
            step.bodies.iter().for_each(Self::set_updatable);
        }
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
    pub(super) fn step(&mut self, origin: Id) -> Option<&mut Step> {
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
