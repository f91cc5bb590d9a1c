//! Stream capture: what is submitted to a stream becomes nodes of a graph (CUDA programming guide, "Creating a Graph
//! Using Stream Capture").
//!
//! A [`Capture`] has a graph that grows and, for each stream that takes part, a *front*: the nodes that the next one of
//! that stream will depend on. A stream joins by waiting for an event that was recorded in the capture. It ends in the
//! stream where it began, once all others are joined again.
//!
//! **What is forbidden** meanwhile: to ask a capturing stream, its context or a captured event whether work is done; to
//! use the legacy default stream while a blocking stream of the context is captured; and, as the modes say, calls
//! which might synchronise in secret ([`Context::permit_unsafe`]). Each of them also ends the capture: from then on it is
//! *invalid*, every use of its streams says so, and only [`Context::end_capture`] frees them.

use crate::context::Context;
use crate::device::Driver;
use crate::error::{Error, Result};
use crate::event::{CapturePoint, Event};
use crate::graph::{EdgeData, Graph, Node, Task};
use crate::process::Process;
use crate::stream::{Kind, Stream};
use crate::thread::{self, ThreadNumber};
use crate::{Id, lock};
use std::any::Any;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

/// Which calls a capture forbids, and to whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Calls that might be unsafe are forbidden to all threads.
    #[default]
    Global,
    /// They are forbidden to the thread that began the capture.
    ThreadLocal,
    /// They are allowed.
    Relaxed,
}

/// How a stream takes part in a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Not at all.
    None,
    /// It is captured.
    Active,
    /// It was, until something forbidden happened.
    Invalidated,
}

/// Nodes that the next one will depend on, and how.
pub type Front = Vec<(Arc<Node>, EdgeData)>;

/// A capture in progress.
#[derive(Debug)]
pub struct Capture {
    id: Id,
    context: Id,
    graph: Arc<Graph>,
    /// Whether the graph was made for it.
    own: bool,
    mode: Mode,
    thread: ThreadNumber,
    /// The stream where it began.
    origin: Id,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    invalid: bool,
    fronts: Vec<(Arc<Stream>, Front)>,
}

/// What a program can ask about the capture of a stream.
#[derive(Clone, Debug)]
pub struct CaptureInfo {
    /// The capture's identity.
    pub id: Id,
    /// The graph that grows.
    pub graph: Arc<Graph>,
    /// Whether the graph was made for the capture, and goes with it if that fails.
    pub own: bool,
    /// What the stream's next node will depend on.
    pub front: Front,
}

/// The captures of a process.
#[derive(Debug, Default)]
struct Captures {
    active: Mutex<Vec<Arc<Capture>>>,
    /// How many there are, so that most programs need no look at them.
    count: AtomicUsize,
    /// The capture that each captured stream takes part in.
    of_streams: Mutex<HashMap<Id, Arc<Capture>>>,
}

/// Where in a capture an event was recorded.
#[derive(Clone, Debug)]
struct Captured {
    /// The capture; gone when it has ended.
    capture: Weak<Capture>,
    /// The nodes that were last then.
    front: Front,
}

impl CapturePoint for Captured {
    fn invalidate(&self) {
        self.capture.upgrade().iter().for_each(|capture| capture.invalidate());
    }
}

thread_local! {
    static MODE: Cell<Mode> = const { Cell::new(Mode::Global) };
}

/// Sets which captures forbid the calling thread what might be unsafe; what it was before.
pub fn exchange_mode(mode: Mode) -> Mode {
    MODE.replace(mode)
}

impl Captures {
    fn none(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    fn add(&self, capture: &Arc<Capture>) {
        lock(&self.active).push(Arc::clone(capture));
        self.count.fetch_add(1, Ordering::Release);
    }

    fn remove(&self, capture: &Capture) {
        let mut active = lock(&self.active);
        let before = active.len();
        active.retain(|other| other.id != capture.id);
        self.count.fetch_sub(before - active.len(), Ordering::Release);
    }

    /// That the calling thread may make a call which might be unsafe.
    fn permit_unsafe(&self) -> Result<()> {
        if self.none() {
            return Ok(());
        }
        let mode = MODE.get();
        let me = thread::number();
        let forbids = |capture: &Capture| match mode {
            Mode::Relaxed => false,
            _ if capture.thread == me => capture.mode != Mode::Relaxed,
            Mode::Global => capture.mode == Mode::Global,
            Mode::ThreadLocal => false,
        };
        forbid(&self.those(forbids), Error::StreamCaptureUnsupported)
    }

    /// The capture that a stream takes part in.
    fn of(&self, stream: &Stream) -> Option<Arc<Capture>> {
        lock(&self.of_streams).get(&stream.id()).cloned()
    }

    fn those(&self, which: impl Fn(&Capture) -> bool) -> Vec<Arc<Capture>> {
        lock(&self.active).iter().filter(|capture| which(capture)).cloned().collect()
    }
}

impl Process {
    fn captures(&self) -> Arc<Captures> {
        self.extensions.get()
    }
}

impl Driver {
    /// That this thread may make a call which might be unsafe while streams are captured.
    pub fn permit_unsafe(&self) -> Result<()> {
        self.process().captures().permit_unsafe()
    }
}

/// Ends what something forbidden happened to.
fn forbid(captures: &[Arc<Capture>], error: Error) -> Result<()> {
    captures.iter().for_each(|capture| capture.invalidate());
    if captures.is_empty() { Ok(()) } else { Err(error) }
}

impl Capture {
    /// Something forbidden has happened.
    pub(crate) fn invalidate(&self) {
        lock(&self.state).invalid = true;
    }

    fn invalid(&self) -> bool {
        lock(&self.state).invalid
    }

    fn has_blocking_stream(&self) -> bool {
        lock(&self.state).fronts.iter().any(|(stream, _)| stream.kind() == Kind::Blocking)
    }

    /// What the stream's next node depends on.
    fn front(&self, stream: &Stream) -> Front {
        let state = lock(&self.state);
        let found = state.fronts.iter().find(|(other, _)| other.id() == stream.id());
        found.map_or_else(Vec::new, |(_, front)| front.clone())
    }

    fn set_front(&self, stream: &Stream, front: Front) {
        let mut state = lock(&self.state);
        if let Some(found) = state.fronts.iter_mut().find(|(other, _)| other.id() == stream.id()) {
            found.1 = front;
        }
    }

    /// Adds to what the stream's next node depends on.
    fn extend_front(&self, stream: &Stream, more: Front) {
        let mut front = self.front(stream);
        for (node, data) in more {
            if !front.iter().any(|(other, _)| other.id() == node.id()) {
                front.push((node, data));
            }
        }
        self.set_front(stream, front);
    }

    /// Makes a node of a task that a stream was given.
    pub(crate) fn add(&self, stream: &Stream, task: Task) -> Result<()> {
        let added = self.graph.add(task, &self.front(stream));
        match added {
            Ok(node) => {
                self.set_front(stream, vec![(node, EdgeData::default())]);
                Ok(())
            }
            Err(error) => {
                self.invalidate();
                Err(error)
            }
        }
    }

    fn join(self: &Arc<Self>, all: &Captures, stream: &Arc<Stream>, front: Front) {
        lock(&all.of_streams).insert(stream.id(), Arc::clone(self));
        lock(&self.state).fronts.push((Arc::clone(stream), front));
    }

    /// Lets all streams go, and is over.
    fn end(&self, all: &Captures) {
        for (stream, _) in std::mem::take(&mut lock(&self.state).fronts) {
            lock(&all.of_streams).remove(&stream.id());
        }
        all.remove(self);
    }

    /// Whether what every other stream did is before what the origin did last.
    fn joined(&self, origin: &Stream) -> bool {
        let (mine, others): (Vec<_>, Vec<_>) = {
            let state = lock(&self.state);
            state.fronts.iter().cloned().partition(|(stream, _)| stream.id() == origin.id())
        };
        let mine = mine.iter().flat_map(|(_, front)| front).map(|(node, _)| node.id()).collect();
        let before = self.graph.ancestors(mine);
        others.iter().flat_map(|(_, front)| front).all(|(node, _)| before.contains(&node.id()))
    }
}

impl Context {
    fn captures(&self) -> Arc<Captures> {
        self.device().process().captures()
    }

    /// The capture that work for a stream goes to. The legacy stream may not be used while it would have to wait for a
    /// captured one.
    pub(crate) fn capture_of(&self, stream: &Arc<Stream>) -> Result<Option<Arc<Capture>>> {
        let captures = self.captures();
        if captures.none() {
            return Ok(None);
        }
        if let Some(capture) = captures.of(stream) {
            return if capture.invalid() { Err(Error::StreamCaptureInvalidated) } else { Ok(Some(capture)) };
        }
        if stream.kind() == Kind::Legacy {
            let hindered = |capture: &Capture| capture.context == self.id() && capture.has_blocking_stream();
            forbid(&captures.those(hindered), Error::StreamCaptureImplicit)?;
        }
        Ok(None)
    }

    /// That a stream is not captured; if it is, its capture is over.
    pub fn refuse_capture(&self, stream: &Arc<Stream>) -> Result<()> {
        match self.capture_of(stream)? {
            None => Ok(()),
            Some(capture) => forbid(&[capture], Error::StreamCaptureUnsupported),
        }
    }

    /// That no stream of the context is captured; captures that are there are over.
    pub(crate) fn nothing_captured(&self) -> Result<()> {
        let captures = self.captures();
        if captures.none() {
            return Ok(());
        }
        forbid(&captures.those(|capture| capture.context == self.id()), Error::StreamCaptureUnsupported)
    }

    /// That this thread may make a call which might be unsafe while streams are captured.
    pub fn permit_unsafe(&self) -> Result<()> {
        self.captures().permit_unsafe()
    }

    /// Ends all captures, since the context ends.
    pub(crate) fn end_captures(&self) {
        let captures = self.captures();
        for capture in captures.those(|capture| capture.context == self.id()) {
            capture.end(&captures);
        }
    }

    /// Begins to capture a stream, into a new graph or behind nodes of one that is there.
    pub fn begin_capture(
        &self,
        stream: &Arc<Stream>,
        mode: Mode,
        into: Option<(&Arc<Graph>, Front)>,
    ) -> Result<()> {
        self.usable()?;
        if stream.kind() == Kind::Legacy {
            return Err(Error::StreamCaptureUnsupported);
        }
        let captures = self.captures();
        if captures.of(stream).is_some() {
            return Err(Error::IllegalState);
        }
        let own = into.is_none();
        let (graph, front) =
            into.map_or_else(|| (Graph::new(), Front::new()), |(graph, front)| (Arc::clone(graph), front));
        if front.iter().any(|(node, _)| !graph.has(node)) {
            return Err(Error::InvalidValue);
        }
        let capture = Arc::new(Capture {
            own,
            id: Id::next(),
            context: self.id(),
            graph,
            mode,
            thread: thread::number(),
            origin: stream.id(),
            state: Mutex::default(),
        });
        captures.add(&capture);
        capture.join(&captures, stream, front);
        Ok(())
    }

    /// Ends the capture that began in a stream: its graph.
    pub fn end_capture(&self, stream: &Arc<Stream>) -> Result<Arc<Graph>> {
        let captures = self.captures();
        let capture = captures.of(stream).ok_or(Error::IllegalState)?;
        if capture.mode != Mode::Relaxed && capture.thread != thread::number() {
            return Err(Error::StreamCaptureWrongThread);
        }
        if capture.origin != stream.id() {
            capture.invalidate();
            return Err(Error::StreamCaptureUnmatched);
        }
        let invalid = capture.invalid();
        let joined = capture.joined(stream);
        capture.end(&captures);
        match (invalid, joined) {
            (true, _) => Err(Error::StreamCaptureInvalidated),
            (false, false) => Err(Error::StreamCaptureUnjoined),
            (false, true) => Ok(Arc::clone(&capture.graph)),
        }
    }

    /// How a stream takes part in a capture.
    pub fn capture_status(&self, stream: &Arc<Stream>) -> Result<Status> {
        if stream.kind() == Kind::Legacy {
            self.capture_of(stream)?;
        }
        Ok(match self.captures().of(stream) {
            None => Status::None,
            Some(capture) if capture.invalid() => Status::Invalidated,
            Some(_) => Status::Active,
        })
    }

    /// The capture of a stream; `None` if there is none, or if it is invalid.
    pub fn capture_info(&self, stream: &Arc<Stream>) -> Option<CaptureInfo> {
        let capture = self.captures().of(stream).filter(|capture| !capture.invalid())?;
        Some(CaptureInfo {
            id: capture.id,
            own: capture.own,
            graph: Arc::clone(&capture.graph),
            front: capture.front(stream),
        })
    }

    /// Lets kernels change the kernel that was captured last in a stream: the handle that they know its node by.
    pub fn make_captured_updatable(&self, stream: &Arc<Stream>) -> Result<u64> {
        let last = self.capture_info(stream).and_then(|info| info.front.into_iter().next());
        last.ok_or(Error::InvalidValue)?.0.make_updatable(self)
    }

    /// That a stream is captured.
    pub fn require_capture(&self, stream: &Arc<Stream>) -> Result<()> {
        self.capture_of(stream)?.map(drop).ok_or(Error::IllegalState)
    }

    /// Changes what the next node of a captured stream depends on: adds to it, or replaces it.
    pub fn update_capture(&self, stream: &Arc<Stream>, nodes: Front, replace: bool) -> Result<()> {
        let capture = self.capture_of(stream)?.ok_or(Error::IllegalState)?;
        if nodes.iter().any(|(node, _)| !capture.graph.has(node)) {
            return Err(Error::InvalidValue);
        }
        if replace {
            capture.set_front(stream, nodes);
        } else {
            capture.extend_front(stream, nodes);
        }
        Ok(())
    }

    /// Adds a node to what a stream captures, which no operation stands for.
    pub(crate) fn capture_task(&self, stream: &Arc<Stream>, task: Task) -> Result<bool> {
        match self.capture_of(stream)? {
            None => Ok(false),
            Some(capture) => capture.add(stream, task).map(|()| true),
        }
    }

    /// Records an event in a captured stream; whether it is one. An external record is a node of the graph.
    pub(crate) fn capture_record(
        &self,
        event: &Arc<Event>,
        stream: &Arc<Stream>,
        external: bool,
    ) -> Result<bool> {
        let Some(capture) = self.capture_of(stream)? else { return Ok(false) };
        if external {
            capture.add(stream, Task::Record(Arc::clone(event)))?;
        } else {
            let (front, capture) = (capture.front(stream), Arc::downgrade(&capture));
            event.captured_at(Arc::new(Captured { capture, front }));
        }
        Ok(true)
    }

    /// Lets a stream wait for an event where one of them belongs to a capture; whether that is so.
    pub(crate) fn capture_wait(
        &self,
        event: &Arc<Event>,
        stream: &Arc<Stream>,
        external: bool,
    ) -> Result<bool> {
        let of_stream = self.capture_of(stream)?;
        if let (Some(capture), true) = (&of_stream, external) {
            capture.add(stream, Task::Wait(Arc::clone(event)))?;
            return Ok(true);
        }
        let of_event = event
            .captured()
            .and_then(|point| (point as Arc<dyn Any + Send + Sync>).downcast::<Captured>().ok());
        let of_event = of_event.map(|captured| (captured.capture.upgrade(), captured.front.clone()));
        match (of_stream, of_event) {
            (None, None) => Ok(false),
            (None, Some((Some(capture), front))) => {
                if capture.context != self.id() && capture.invalid() {
                    return Err(Error::StreamCaptureInvalidated);
                }
                if stream.kind() == Kind::Legacy {
                    return forbid(&[capture], Error::StreamCaptureImplicit).map(|()| true);
                }
                if capture.invalid() {
                    return Err(Error::StreamCaptureInvalidated);
                }
                capture.join(&self.captures(), stream, front);
                Ok(true)
            }
            (None, Some((None, _))) => Err(Error::CapturedEvent),
            (Some(mine), Some((Some(other), front))) if mine.id == other.id => {
                mine.extend_front(stream, front);
                Ok(true)
            }
            (Some(mine), Some((Some(other), _))) => {
                forbid(&[mine, other], Error::StreamCaptureMerge).map(|()| true)
            }
            // To wait for what was never recorded is to wait for nothing.
            (Some(_), None) if event.marker().is_none() => Ok(true),
            (Some(mine), _) => forbid(&[mine], Error::StreamCaptureIsolation).map(|()| true),
        }
    }
}
