//! What a program gives to streams: work, and events between them. A stream that is captured makes nodes of it.

use crate::context::Context;
use crate::copy::{Copy, Request};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::fill::Pattern;
use crate::graph::Task;
use crate::module::{Configuration, Function};
use crate::operation::Operation;
use crate::priority::LEAST;
use crate::stream::{Kind, Stream, Wait};
use crate::values::ValueOperation;
use std::sync::Arc;

/// Work that a stream can do, and a node of a graph likewise.
pub trait StreamWork: Into<Task> + Operation + 'static {}

impl<T: Into<Task> + Operation + 'static> StreamWork for T {}

impl Context {
    /// Adds work to a stream; to the graph, if the stream is captured.
    pub fn submit(&self, stream: &Arc<Stream>, work: impl StreamWork) -> Result<()> {
        self.usable()?;
        match self.capture_of(stream)? {
            Some(capture) => capture.add(stream, work.into()),
            None => self.submit_now(stream, work).map(drop),
        }
    }

    /// Does work on this thread at its place in a stream's order.
    pub fn run_now(&self, stream: &Arc<Stream>, work: impl StreamWork) -> Result<()> {
        self.usable()?;
        self.refuse_capture(stream)?;
        self.streams().settle(stream);
        self.usable()?;
        let operation: Box<dyn Operation> = Box::new(work);
        operation.carry_out(self.health(), None);
        self.usable()
    }

    /// Launches a kernel: checks it now, runs it at its place in the stream's order.
    pub fn launch(
        &self,
        function: &Arc<Function>,
        configuration: Configuration,
        params: Vec<u8>,
        stream: &Arc<Stream>,
    ) -> Result<()> {
        let work = self.prepare_launch(function, configuration, params)?;
        // An H200 takes a kernel that can launch graphs as part of a graph alone.
        let launches_graphs = function.usage().is_some_and(|usage| usage.launches_graphs);
        if launches_graphs && self.capture_of(stream)?.is_none() {
            return Err(Error::NotSupported);
        }
        let work = if stream.priority() == LEAST { work } else { work.with_priority(stream.priority()) };
        self.submit(stream, work)
    }

    /// Launches a function as it was staged.
    pub fn launch_staged(
        &self,
        function: &Arc<Function>,
        grid: [u32; 2],
        stream: &Arc<Stream>,
    ) -> Result<()> {
        let (configuration, params) = function.staged_launch(grid);
        self.launch(function, configuration, params, stream)
    }

    /// Copies, at a place in a stream's order; returns when it is done, or when it is submitted.
    pub fn copy(&self, request: Request, stream: &Arc<Stream>, wait: bool) -> Result<()> {
        self.usable()?;
        if request.extent.contains(&0) {
            return Ok(());
        }
        let mut copy = Copy::new(self.device().process(), request)?;
        if self.capture_of(stream)?.is_some() && !wait {
            return self.submit(stream, Arc::new(copy));
        }
        if wait || copy.blocks() {
            return self.run_now(stream, Arc::new(copy));
        }
        copy.stage();
        self.submit(stream, Arc::new(copy))
    }

    /// Fills rows of `width` values of `size` bytes (1, 2 or 4), `pitch` bytes apart.
    #[expect(clippy::too_many_arguments, reason = "as many as the question has")]
    pub fn fill(
        &self,
        address: u64,
        pitch: u64,
        value: u32,
        size: u64,
        [width, height]: [u64; 2],
        stream: &Arc<Stream>,
        wait: bool,
    ) -> Result<()> {
        self.usable()?;
        if width == 0 || height == 0 {
            return Ok(());
        }
        let fill = self.prepare_fill(Pattern { address, pitch, value, size, width, height })?;
        if wait { self.run_now(stream, fill) } else { self.submit(stream, fill) }
    }

    /// Writes values and waits for values, at a place in a stream's order.
    pub fn operate_on_values(&self, operations: Vec<ValueOperation>, stream: &Arc<Stream>) -> Result<()> {
        let values = self.prepare_values(operations)?;
        self.submit(stream, values)
    }

    /// Records an event.
    pub fn record(&self, event: &Arc<Event>, stream: &Arc<Stream>) -> Result<()> {
        self.record_as(event, stream, false)
    }

    /// Records an event; an external record in a captured stream is a node of the graph.
    pub fn record_as(&self, event: &Arc<Event>, stream: &Arc<Stream>, external: bool) -> Result<()> {
        self.usable()?;
        if self.capture_record(event, stream, external)? {
            return Ok(());
        }
        let record = event.record();
        let marker = self.submit_now(stream, Arc::clone(&record))?;
        event.recorded(marker, record);
        Ok(())
    }

    /// Lets a stream wait for an event; it then takes part in the capture in which the event was recorded, if any. An
    /// external wait in a captured stream is a node of the graph.
    pub fn wait(&self, event: &Arc<Event>, stream: &Arc<Stream>, external: bool) -> Result<()> {
        self.usable()?;
        if self.capture_wait(event, stream, external)? {
            return Ok(());
        }
        match event.marker() {
            Some(marker) if !marker.passed() => self.submit_now(stream, Wait(marker)).map(drop),
            _ => Ok(()),
        }
    }

    /// Records an event behind all work of the context.
    pub fn record_all(&self, event: &Arc<Event>) -> Result<()> {
        self.usable()?;
        self.nothing_captured()?;
        let markers = self.streams().markers();
        let stream = self.streams().create(Kind::NonBlocking, 0)?;
        let wait = |marker| self.submit_now(&stream, Wait(marker)).map(drop);
        let recorded = markers.into_iter().try_for_each(wait).and_then(|()| self.record(event, &stream));
        self.streams().remove(&stream);
        recorded
    }

    /// Lets all later work of the context wait for an event.
    pub fn wait_all(&self, event: &Event) -> Result<()> {
        self.usable()?;
        self.nothing_captured()?;
        event.usable()?;
        event.marker().map_or(Ok(()), |marker| self.streams().await_everywhere(&marker))
    }
}
