//! Launches of graphs by the host.

use super::exec::{AUTO_FREE, Exec};
use super::plan::Plan;
use super::run::GraphLaunch;
use super::task::Task;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::event::{Event, Record};
use crate::lock;
use crate::stream::{Marker, Stream};
use std::collections::HashMap;
use std::sync::Arc;

/// A node that records an event, the event, and its new record.
type Recording = (usize, Arc<Event>, Arc<Record>);

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

impl Context {
    /// Launches a graph: behind what was submitted to the stream, and behind earlier launches of it.
    pub fn launch_graph(&self, exec: &Arc<Exec>, stream: &Arc<Stream>) -> Result<()> {
        self.usable()?;
        let mut state = lock(&exec.state);
        let plan = Arc::clone(&state.plan);
        if let Some(capture) = self.capture_of(stream)? {
            return capture.add(stream, Task::Child(exec.source().duplicate()?));
        }
        let memory = self.device().graph_memory();
        if exec.allocated.iter().any(|allocation| allocation.is_live()) && exec.flags() & AUTO_FREE == 0 {
            return Err(Error::InvalidValue);
        }
        for allocation in &exec.allocated {
            allocation.count();
            allocation.set_live(true);
        }
        for &address in &exec.freed {
            memory.free(address, stream.marker())?;
        }
        let (waits, recorded) = events(&plan);
        let previous = state.last.take().filter(|marker| !marker.passed() && !marker.is_of(stream));
        let records = recorded.iter().map(|(index, _, record)| (*index, Arc::clone(record))).collect();
        let launch =
            GraphLaunch { waits, records, previous, ..GraphLaunch::new(exec, plan, self.launchable(exec)) };
        let marker = self.submit_now(stream, launch)?;
        exec.allocated.iter().for_each(|allocation| allocation.used_until(marker.clone()));
        state.last = Some(marker);
        for (_, event, record) in recorded {
            event.recorded(Marker::at(Arc::clone(&record) as _), record);
        }
        Ok(())
    }
}
