//! Graphs that kernels launch (CUDA programming guide, "Device Graph Launch").
//!
//! A launch by the host makes an execution environment: the graph, and all that its kernels launch and what those launch
//! in turn. The launch is over when its environment is. [`Order`] knows what comes after what; its root stands for the
//! host, so that a graph launched as a sibling of the host's is the root's as well. The thread of the stream runs one
//! graph after the other; what is fired runs beside them, on threads that come when they are needed. Where somebody
//! watches, that one thread does everything.
//!
//! A graph that runs, or waits because a kernel has launched it, cannot be launched by a kernel, except that it launches
//! itself behind itself, once. (The guide's limits of 120 fired graphs and 255 waiting ones are not kept: an H200, driver
//! 580.159.04, runs 130.)

use super::run::GraphLaunch;
use crate::context::Context;
use crate::device_runtime::EnclosingGraph;
use crate::health::Health;
use crate::lock;
use crate::operation::Operation;
use crate::stream::Marker;
use machine::Neighbours;
use machine::order::{Id, Order, ROOT, Stream};
use machine::system::{GraphAnswer, GraphStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, Scope};

/// Threads that run graphs at the same time.
const MOST_THREADS: usize = 8;

/// An execution environment.
struct Environment<'a> {
    health: &'a Health,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    order: Order<GraphLaunch>,
    threads: usize,
    idle: usize,
}

/// A graph that runs in an environment.
#[derive(Clone, Copy)]
struct Member<'a> {
    environment: &'a Environment<'a>,
    id: Id,
    launch: &'a GraphLaunch,
    help: &'a (dyn Fn() + Sync),
}

impl Operation for GraphLaunch {
    fn name(&self) -> &'static str {
        "graph"
    }

    fn happens_always(&self) -> bool {
        true
    }

    fn run(self: Box<Self>, health: &Health, _: Option<Neighbours<'_>>) {
        self.previous.iter().for_each(Marker::stand_by);
        let records: Vec<_> = self.records.values().cloned().collect();
        self.exec.iter().for_each(|exec| exec.begins());
        run(*self, health);
        // Nobody waits for ever, whatever has happened.
        records.iter().for_each(|record| record.stamp());
    }
}

/// Runs a graph, and all that it leads to.
fn run(launch: GraphLaunch, health: &Health) {
    let mut order = Order::new();
    order.submit(ROOT, Stream::FireAndForget, Some(launch), None);
    order.end(ROOT);
    let state = Mutex::new(State { order, threads: 1, idle: 0 });
    let environment = Environment { health, state, changed: Condvar::new() };
    std::thread::scope(|scope| environment.work(scope));
}

impl Environment<'_> {
    /// Runs what may begin until all is complete.
    fn work<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        let help = || {
            // If the host has no more threads, those that are there do the work.
            let helper = Builder::new().name("graphs".to_owned());
            if helper.spawn_scoped(scope, || self.work(scope)).is_err() {
                lock(&self.state).threads -= 1;
            }
        };
        let mut state = lock(&self.state);
        while !state.order.complete() {
            let Some((id, launch)) = state.order.begin() else {
                state.idle += 1;
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
                continue;
            };
            drop(state);
            launch.run_alone(&Member { environment: self, id, launch: &launch, help: &help }, self.health);
            state = lock(&self.state);
            state.order.end(id);
            self.changed.notify_all();
        }
    }
}

impl EnclosingGraph for Member<'_> {
    fn current(&self) -> u64 {
        self.launch.exec().map_or(0, |exec| exec.id().handle())
    }

    fn launch(&self, context: &Context, handle: u64, stream: GraphStream) -> GraphAnswer {
        let Some(exec) = context.launchable_by(handle) else { return GraphAnswer::Unknown(handle) };
        let behind_itself = stream == GraphStream::Tail && exec.id().handle() == self.current();
        let Some(plan) = exec.begins_by_kernel(behind_itself) else { return GraphAnswer::Refused };
        let launch = GraphLaunch::new(&exec, plan, Some(Arc::clone(&exec)));
        let environment = self.environment;
        let mut state = lock(&environment.state);
        let (parent, order) = match stream {
            GraphStream::Tail => (self.id, Stream::Tail),
            GraphStream::FireAndForget => (self.id, Stream::FireAndForget),
            GraphStream::Sibling => (state.order.parent(self.id).unwrap_or(ROOT), Stream::FireAndForget),
        };
        state.order.submit(parent, order, Some(launch), None);
        let alone = environment.health.checking().is_some();
        let wants_help = state.order.any_ready() && state.idle == 0 && state.threads < MOST_THREADS && !alone;
        state.threads += usize::from(wants_help);
        drop(state);
        match wants_help {
            true => (self.help)(),
            false => environment.changed.notify_one(),
        }
        GraphAnswer::Done
    }
}
