//! Running a plan.
//!
//! Steps become ready when all before them are done. The thread of the stream takes one after the other; whenever more
//! than one is ready, another thread helps, so that branches which do not depend on one another run at the same time. Of
//! ready steps the one of the most urgent kernel comes first. In a context that has failed every step counts as done
//! without doing anything, so that whoever waits for the graph goes on.

use super::exec::Exec;
use super::nodes::Graph;
use super::plan::{Plan, Step};
use super::task::{Conditional, ConditionalKind, Task};
use crate::device_runtime::EnclosingGraph;
use crate::error::Error;
use crate::event::Record;
use crate::health::Health;
use crate::lock;
use crate::stream::Marker;
use sanitizer::Moment;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, Scope};

/// Threads that run branches at the same time.
const MOST_THREADS: usize = 8;
/// Threads in all: those whose steps only wait for something else do not count among the others.
const MOST_WAITING: usize = 64;

/// A launch of a graph.
pub struct GraphLaunch {
    pub(super) plan: Arc<Plan>,
    /// What must stay until it is over.
    pub(super) _source: Arc<Graph>,
    /// What its steps wait for.
    pub(super) waits: HashMap<usize, Marker>,
    /// What its steps record.
    pub(super) records: HashMap<usize, Arc<Record>>,
    /// The launch before it.
    pub(super) previous: Option<Marker>,
    /// The instance, if kernels may launch it.
    pub(super) exec: Option<Arc<Exec>>,
}

impl GraphLaunch {
    /// A launch of a plan of an instance, with nothing to wait for.
    pub(super) fn new(of: &Exec, plan: Arc<Plan>, exec: Option<Arc<Exec>>) -> Self {
        let (waits, records) = (HashMap::new(), HashMap::new());
        Self { plan, _source: Arc::clone(of.source()), waits, records, previous: None, exec }
    }

    /// The instance that is launched, if kernels may launch it.
    pub(super) fn exec(&self) -> Option<&Arc<Exec>> {
        self.exec.as_ref()
    }

    /// Runs it alone.
    pub(super) fn run_alone(&self, member: &dyn EnclosingGraph, health: &Health) {
        begin_conditions(&self.plan, health);
        self.run_plan(&self.plan, member, health);
        self.exec.iter().for_each(|exec| exec.ended());
    }

    fn run_plan(&self, plan: &Plan, member: &dyn EnclosingGraph, health: &Health) {
        let needs: Vec<usize> = plan.steps.iter().map(|step| step.needs).collect();
        let ready = (0..needs.len()).filter(|&step| needs[step] == 0).map(|step| plan.steps[step].turn(step));
        let checking = health.checking();
        let before = checking.map(|checking| checking.current());
        let moments = before.iter().flat_map(|before| vec![before.clone(); needs.len()]).collect();
        let state = State {
            ready: ready.collect(),
            left: needs.len(),
            needs,
            busy: 1,
            threads: 1,
            moments,
            after: Moment::default(),
        };
        let running =
            Running { launch: self, plan, member, health, state: Mutex::new(state), changed: Condvar::new() };
        std::thread::scope(|scope| running.work(scope));
        if let Some(checking) = checking {
            checking.learn(&lock(&running.state).after);
        }
    }

    /// Does what a step of a plan does.
    fn run_step(&self, index: usize, step: &Step, member: &dyn EnclosingGraph, health: &Health) {
        match &step.task {
            Task::Wait(_) => self.waits.get(&index).into_iter().for_each(Marker::stand_by),
            Task::Record(_) => self.records.get(&index).into_iter().for_each(|record| record.stamp()),
            _ if health.error().is_some() || !step.enabled => {}
            Task::Kernel(work) => match &step.updatable {
                None => work.run(health, None, Some(member)),
                Some(updatable) => {
                    updatable.current().iter().for_each(|work| work.run(health, None, Some(member)));
                }
            },
            Task::Copy(copy) => health.note(copy.run()),
            Task::Fill(fill) => health.note(fill.run()),
            Task::Host(call) => (call.call)(),
            Task::Values(values) => values.run(health),
            Task::Conditional(conditional) => self.decide(conditional, &step.bodies, member, health),
            Task::Child(_) | Task::Empty | Task::Allocate(_) | Task::Free(_) => {}
        }
    }

    fn decide(
        &self,
        conditional: &Conditional,
        bodies: &[Plan],
        member: &dyn EnclosingGraph,
        health: &Health,
    ) {
        let value = || match conditional.condition.value() {
            Ok(value) if health.error().is_none() => Some(value),
            Ok(_) => None,
            Err(error) => {
                health.note(Err(error));
                None
            }
        };
        let Some(first) = value() else { return };
        let chosen = match conditional.kind {
            ConditionalKind::If => bodies.get(usize::from(first == 0)),
            ConditionalKind::Switch => bodies.get(first as usize),
            ConditionalKind::While => {
                let mut value_now = Some(first);
                while value_now.is_some_and(|value| value != 0) {
                    self.run_plan(&bodies[0], member, health);
                    value_now = value();
                }
                None
            }
        };
        chosen.into_iter().for_each(|body| self.run_plan(body, member, health));
    }
}

/// Gives all values that a launch decides by their defaults: once, as an H200 does, not whenever a body runs.
fn begin_conditions(plan: &Plan, health: &Health) {
    for step in &plan.steps {
        if let Task::Conditional(conditional) = &step.task {
            health.note(conditional.condition.begin());
        }
        step.bodies.iter().for_each(|body| begin_conditions(body, health));
    }
}

/// The order of ready steps: the more urgent, then the one that comes first.
type Turn = (Reverse<i32>, Reverse<usize>);

impl Step {
    fn turn(&self, index: usize) -> Turn {
        let priority = if let Task::Kernel(work) = &self.task { work.priority() } else { 0 };
        (Reverse(priority), Reverse(index))
    }

    /// Whether it may wait for something that no step of its own plan does.
    fn waits(&self) -> bool {
        matches!(self.task, Task::Wait(_) | Task::Values(_) | Task::Host(_))
    }
}

struct Running<'a> {
    launch: &'a GraphLaunch,
    plan: &'a Plan,
    member: &'a dyn EnclosingGraph,
    health: &'a Health,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    ready: BinaryHeap<Turn>,
    needs: Vec<usize>,
    /// Steps that are not done.
    left: usize,
    /// Threads that are there, without those whose steps wait.
    busy: usize,
    threads: usize,
    /// For who watches: what each step comes after, and what comes after those that are done.
    moments: Vec<Moment>,
    after: Moment,
}

impl Running<'_> {
    fn work<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        let mut state = lock(&self.state);
        loop {
            if state.left == 0 {
                return;
            }
            let Some((_, Reverse(index))) = state.ready.pop() else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let step = &self.plan.steps[index];
            let waits = step.waits();
            state.busy -= usize::from(waits);
            if !state.ready.is_empty() && state.busy < MOST_THREADS && state.threads < MOST_WAITING {
                // If the host has no more threads, those that are there do the work.
                let help = Builder::new().name("graph".to_owned()).spawn_scoped(scope, || self.work(scope));
                let more = usize::from(help.is_ok());
                state.busy += more;
                state.threads += more;
            }
            let moment = Mutex::new(state.moments.get_mut(index).map(std::mem::take).unwrap_or_default());
            drop(state);
            let run = || self.launch.run_step(index, step, self.member, self.health);
            let run = AssertUnwindSafe(|| match self.health.checking() {
                Some(checking) => checking.run(&moment, run),
                None => run(),
            });
            if catch_unwind(run).is_err() {
                self.health.note(Err(Error::Unknown));
            }
            state = lock(&self.state);
            state.busy += usize::from(waits);
            state.left -= 1;
            if self.health.checking().is_some() {
                let after = lock(&moment);
                step.then.iter().for_each(|&next| state.moments[next].join(&after));
                state.after.join(&after);
            }
            for &next in &step.then {
                state.needs[next] -= 1;
                if state.needs[next] == 0 {
                    state.ready.push(self.plan.steps[next].turn(next));
                }
            }
            if state.threads > 1 && (state.left == 0 || state.ready.len() > 1) {
                self.changed.notify_all();
            }
        }
    }
}
