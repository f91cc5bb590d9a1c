//! Streams: work in order, each stream on a thread of its own.
//!
//! A stream is a queue and two counters: operations submitted and operations done. A [`Marker`] names a place in that
//! order, so "wait until what is there now is done" is a comparison of numbers. The thread is started with the first
//! operation and sleeps when there is none, after looking for some microseconds: a program that launches one kernel
//! after another then pays no wake-up for each.
//!
//! **Default streams** (CUDA's programming guide, "Default Stream"). The legacy default stream waits for all work of
//! the context's blocking streams, and they wait for it; [`Streams`] adds those waits when work is submitted. The
//! per-thread default stream is a blocking stream of the host thread. Non-blocking streams take no part.
//!
//! **Kernels that overlap** (programming guide, "Programmatic Dependent Launch"). A kernel that is launched so may begin
//! when the one right before it lets it (`griddepcontrol.launch_dependents`), on a thread of its own. It counts as done
//! after that one, whichever ends first; so what comes behind it, and `griddepcontrol.wait`, need only look at the
//! counters.

use crate::Id;
use crate::capture::Capture;
use crate::check::Checking;
use crate::context::Health;
use crate::copy::{Copy, Fill};
use crate::error::{Error, Result};
use crate::event::Record;
use crate::graph::run::GraphLaunch;
use crate::ipc::Signal;
use crate::launch::Work;
use crate::sync::{self, AtomicBool, AtomicU64, Condvar, LOOKS, Mutex, lock};
use crate::thread::{self, ThreadNumber};
use crate::values::Values;
use machine::Neighbours;
use sanitizer::Moment;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

/// Operations that a stream may have before it. Who submits more waits, as on a device: a program that submits faster
/// than kernels run must not use up the host's memory.
const MOST_PENDING: usize = 1024;

/// A function of the program's. It is called as often as a graph that holds it is launched.
#[derive(Clone)]
pub struct HostCall {
    /// What the border knows the function by.
    pub function: u64,
    /// What the border knows its argument by.
    pub argument: u64,
    /// Calls it.
    pub call: Arc<dyn Fn() + Send + Sync>,
}

/// What a stream does.
pub enum Operation {
    /// Runs a kernel.
    Launch(Arc<Work>),
    /// Copies bytes.
    Copy(Arc<Copy>),
    /// Fills memory with a value.
    Fill(Arc<Fill>),
    /// Calls the program.
    Call(HostCall),
    /// Writes values, and waits for values, in memory.
    Values(Arc<Values>),
    /// Runs a graph.
    Graph(Box<GraphLaunch>),
    /// Notes the time for an event.
    Record(Arc<Record>),
    /// Waits for another stream.
    Wait(Marker),
    /// Frees memory.
    Free(Box<dyn FnOnce() + Send>),
    /// In place of a kernel that may overlap with the one before it.
    #[cfg(test)]
    Overlapping(Box<dyn FnOnce(Neighbours<'_>) + Send>),
    /// Comes after what the host knew, where somebody watches.
    Know(Moment),
}

impl std::fmt::Debug for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Launch(_) => "Launch",
            Self::Copy(_) => "Copy",
            Self::Fill(_) => "Fill",
            Self::Call(_) => "Call",
            Self::Values(_) => "Values",
            Self::Graph(_) => "Graph",
            Self::Record(_) => "Record",
            Self::Wait(_) => "Wait",
            Self::Free(_) => "Free",
            #[cfg(test)]
            Self::Overlapping(_) => "Overlapping",
            Self::Know(_) => "Know",
        })
    }
}

impl Operation {
    /// Whether it may begin before the kernel before it has ended, if that lets it.
    fn overlaps(&self) -> bool {
        match self {
            Self::Launch(work) => work.overlaps(),
            #[cfg(test)]
            Self::Overlapping(_) => true,
            _ => false,
        }
    }

    /// Runs it to its end. In a context that has failed only what others wait for still happens.
    pub(crate) fn run(self, health: &Health) {
        self.run_among(health, None);
    }

    /// The same between others of its stream.
    fn run_among(self, health: &Health, neighbours: Option<Neighbours<'_>>) {
        let failed = health.error().is_some();
        match self {
            Self::Wait(marker) => {
                marker.stand_by();
                if !matches!(marker.0, Place::Behind { .. }) {
                    follow_everything(health);
                }
            }
            Self::Record(record) => record.stamp(),
            Self::Free(free) => free(),
            Self::Know(moment) => health.checking().iter().for_each(|checking| checking.learn(&moment)),
            Self::Graph(launch) => launch.run(health),
            _ if failed => {}
            Self::Call(call) => (call.call)(),
            Self::Launch(work) => work.run(health, neighbours, None),
            Self::Copy(copy) => health.note(copy.run()),
            Self::Fill(fill) => health.note(fill.run()),
            Self::Values(values) => values.run(health),
            #[cfg(test)]
            Self::Overlapping(kernel) => kernel(neighbours.expect("it is run by a stream")),
        }
    }
}

/// Which default stream's rules a stream follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The legacy default stream itself.
    Legacy,
    /// Waits for the legacy default stream, which waits for it.
    Blocking,
    /// Knows nothing of the legacy default stream.
    NonBlocking,
}

/// A stream of a context.
#[derive(Debug)]
pub struct Stream {
    id: Id,
    kind: Kind,
    priority: i32,
    health: Arc<Health>,
    queue: Mutex<Queue>,
    /// Somebody waits for work, or for work to be done.
    changed: Condvar,
    submitted: AtomicU64,
    /// How many are done. Who waits for it to grow says so in `waiting` before the last look at it, and who lets it grow
    /// looks there afterwards.
    done: AtomicU64,
    waiting: AtomicU64,
    /// The capture that it takes part in.
    pub(crate) capture: std::sync::Mutex<Option<Arc<Capture>>>,
    /// What its next operation comes after, for who watches.
    known: std::sync::Mutex<Moment>,
}

#[derive(Debug, Default)]
struct Queue {
    pending: VecDeque<Operation>,
    started: bool,
    closed: bool,
    /// Whether its thread waits for work.
    sleeping: bool,
    /// Operations that have been begun; the last one has this number.
    begun: u64,
    /// The last operation that lets the one behind it begin before its own end.
    released: u64,
}

impl Queue {
    /// The next operation and its number.
    fn begin(&mut self) -> Option<(u64, Operation)> {
        let operation = self.pending.pop_front()?;
        self.begun += 1;
        Some((self.begun, operation))
    }
}

/// Where somebody watches: what is not followed (events of graphs, and of other processes) comes after everything.
fn follow_everything(health: &Health) {
    health.checking().iter().for_each(|checking| checking.learn_everything());
}

/// What an operation comes after that is submitted now: what the host knows, and what the default stream's rules put
/// before it, whether that is still under way or not.
fn known_before(checking: &Checking, order: &Order, stream: &Stream) -> Moment {
    let mut known = checking.host();
    let mut join = |other: &Stream| known.join(&crate::lock(&other.known));
    match stream.kind {
        Kind::NonBlocking => {}
        Kind::Blocking => join(&order.legacy),
        Kind::Legacy => {
            let all = order.others.iter().chain(order.per_thread.values());
            all.filter(|other| other.kind == Kind::Blocking).for_each(|other| join(other));
        }
    }
    known
}

/// A place in a stream's order: it is passed when everything submitted before it is done. Or a point that a graph
/// records while it runs, or that any process does.
#[derive(Clone, Debug)]
pub struct Marker(Place);

#[derive(Clone, Debug)]
enum Place {
    Behind { stream: Arc<Stream>, after: u64 },
    At(Arc<Record>),
    Elsewhere { signal: Arc<Signal>, number: u64 },
}

impl Marker {
    /// The point where a record is stamped.
    pub(crate) fn at(record: &Arc<Record>) -> Self {
        Self(Place::At(Arc::clone(record)))
    }

    /// The point where a record of an event that other processes use is reached.
    pub(crate) fn of_signal(signal: &Arc<Signal>, number: u64) -> Self {
        Self(Place::Elsewhere { signal: Arc::clone(signal), number })
    }

    /// Whether it is passed, for a purpose of the driver's own: the program learns nothing.
    pub(crate) fn reached(&self) -> bool {
        match &self.0 {
            Place::Behind { stream, after } => stream.done() >= *after,
            Place::At(record) => record.stamped(),
            Place::Elsewhere { signal, number } => signal.reached(*number),
        }
    }

    /// Whether it is passed.
    pub fn passed(&self) -> bool {
        let passed = self.reached();
        if let Place::Behind { stream, .. } = &self.0
            && passed
            && let Some(checking) = stream.health.checking()
        {
            let known = crate::lock(&stream.known).clone();
            checking.learn(&known);
        }
        passed
    }

    /// Waits until it is passed, on a thread of the program. If the stream's own thread has not begun what is to be done,
    /// this one does it: to wake the other takes longer than most kernels do.
    pub fn wait(&self) {
        if let Place::Behind { stream, after } = &self.0 {
            stream.help(*after);
        }
        self.stand_by();
    }

    /// Waits until it is passed, on a thread of the driver's.
    pub(crate) fn stand_by(&self) {
        for _ in 0..LOOKS {
            if self.passed() {
                return;
            }
            sync::spin_loop();
        }
        let stream = match &self.0 {
            Place::Behind { stream, .. } => stream,
            Place::At(record) => return record.wait(),
            Place::Elsewhere { signal, number } => return signal.wait(*number),
        };
        stream.wait_until(|_| self.passed());
    }

    /// Whether it is a place in this stream's own order.
    pub(crate) fn is_of(&self, of: &Stream) -> bool {
        matches!(&self.0, Place::Behind { stream, .. } if stream.id == of.id)
    }
}

impl Stream {
    pub(crate) fn new(kind: Kind, priority: i32, health: &Arc<Health>) -> Arc<Self> {
        Arc::new(Self {
            id: Id::next(),
            kind,
            priority,
            health: Arc::clone(health),
            queue: Mutex::new(Queue::default()),
            changed: Condvar::new(),
            submitted: AtomicU64::new(0),
            done: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
            capture: std::sync::Mutex::default(),
            known: std::sync::Mutex::default(),
        })
    }

    /// Its identity.
    pub fn id(&self) -> Id {
        self.id
    }

    /// Which rules it follows.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its priority, which changes nothing here.
    pub fn priority(&self) -> i32 {
        self.priority
    }

    /// The place behind all that was submitted so far.
    pub fn marker(self: &Arc<Self>) -> Marker {
        let after = self.submitted.load(Ordering::Acquire);
        Marker(Place::Behind { stream: Arc::clone(self), after })
    }

    fn idle(&self) -> bool {
        self.done() == self.submitted.load(Ordering::Acquire)
    }

    fn done(&self) -> u64 {
        self.done.load(Ordering::SeqCst)
    }

    /// Waits for what another operation that is done can change.
    fn wait_until(&self, is: impl Fn(&Queue) -> bool) {
        let mut queue = lock(&self.queue);
        self.waiting.fetch_add(1, Ordering::SeqCst);
        while !is(&queue) {
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        self.waiting.fetch_sub(1, Ordering::SeqCst);
    }

    /// Waits until another operation may be added.
    fn make_room(&self) {
        if self.submitted.load(Ordering::Relaxed).saturating_sub(self.done()) >= MOST_PENDING as u64 {
            self.wait_until(|queue| queue.pending.len() < MOST_PENDING);
        }
    }

    fn push(self: &Arc<Self>, operation: Operation) -> Result<()> {
        let mut queue = lock(&self.queue);
        if queue.closed {
            return Err(Error::InvalidHandle);
        }
        if !queue.started {
            let stream = Arc::clone(self);
            let name = format!("stream {}", self.id.0);
            let worker = sync::thread::Builder::new().name(name).spawn(move || stream.work());
            worker.map_err(|_| Error::OperatingSystem)?;
            queue.started = true;
        }
        queue.pending.push_back(operation);
        self.submitted.fetch_add(1, Ordering::Release);
        self.begin_early(&mut queue);
        let wake = queue.sleeping;
        drop(queue);
        if wake {
            self.changed.notify_all();
        }
        Ok(())
    }

    /// Does what is to be done up to an operation, unless somebody else is at it. The program's functions are left to the
    /// stream's thread: they may need what the calling thread holds.
    fn help(self: &Arc<Self>, until: u64) {
        let next = || {
            let mut queue = lock(&self.queue);
            let others_are_at_it = self.done() != queue.begun;
            let own = matches!(queue.pending.front(), Some(Operation::Call(_)));
            if others_are_at_it || own || queue.begun >= until { None } else { queue.begin() }
        };
        let mut helped = false;
        while let Some((number, operation)) = next() {
            self.carry_out(number, operation);
            helped = true;
        }
        if helped {
            self.wake();
        }
    }

    /// Wakes the stream's thread, if there is something for it.
    fn wake(&self) {
        let queue = lock(&self.queue);
        let wanted = queue.closed || !queue.pending.is_empty();
        if queue.sleeping && wanted {
            drop(queue);
            self.changed.notify_all();
        }
    }

    /// The worker thread.
    fn work(self: &Arc<Self>) {
        while let Some((number, operation)) = self.next() {
            self.carry_out(number, operation);
        }
    }

    /// Runs the operation with this number, which is done when all before it are.
    fn carry_out(self: &Arc<Self>, number: u64, operation: Operation) {
        let complete = || self.done() + 1 >= number;
        let release = || self.release(number);
        let neighbours = Neighbours { complete: &complete, release: &release };
        // A panic of ours must not leave everybody waiting: it becomes the context's error.
        let run = || operation.run_among(&self.health, Some(neighbours));
        let run = std::panic::AssertUnwindSafe(|| match self.health.checking() {
            Some(checking) => checking.run(&self.known, run),
            None => run(),
        });
        if std::panic::catch_unwind(run).is_err() {
            self.health.note(Err(Error::Unknown));
        }
        if !complete() {
            self.wait_until(|_| complete());
        }
        self.done.fetch_add(1, Ordering::SeqCst);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            // Nobody is between a look and sleep.
            drop(lock(&self.queue));
            self.changed.notify_all();
        }
    }

    /// The operation with this number lets the one behind it begin.
    fn release(self: &Arc<Self>, number: u64) {
        let mut queue = lock(&self.queue);
        queue.released = number;
        self.begin_early(&mut queue);
    }

    /// Begins the next operation on a thread of its own, if the last one that was begun lets it.
    fn begin_early(self: &Arc<Self>, queue: &mut Queue) {
        let last = queue.begun;
        let overlaps = queue.pending.front().is_some_and(Operation::overlaps);
        if last == 0 || queue.released != last || !overlaps || self.done() >= last {
            return;
        }
        let Some((number, operation)) = queue.begin() else { return };
        let (stream, name) = (Arc::clone(self), format!("stream {}, early", self.id.0));
        let handed_over = Arc::new(Mutex::new(Some(operation)));
        let taken = Arc::clone(&handed_over);
        let early = move || {
            let operation = lock(&taken).take();
            operation.into_iter().for_each(|operation| stream.carry_out(number, operation));
            stream.wake();
        };
        if sync::thread::Builder::new().name(name).spawn(early).is_err() {
            // Without a thread it begins in its turn.
            queue.begun = last;
            lock(&handed_over).take().into_iter().for_each(|operation| queue.pending.push_front(operation));
        }
    }

    fn next(&self) -> Option<(u64, Operation)> {
        for _ in 0..LOOKS {
            if !self.idle() {
                break;
            }
            sync::spin_loop();
        }
        let mut queue = lock(&self.queue);
        loop {
            // Another thread may be at an operation; it wakes this one if there are more.
            if self.done() == queue.begun {
                let next = queue.begin();
                if next.is_some() || queue.closed {
                    return next;
                }
            }
            queue.sleeping = true;
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.sleeping = false;
        }
    }

    /// Whether nothing more will happen on it.
    fn over(&self) -> bool {
        lock(&self.queue).closed && self.idle()
    }

    /// No more work; the thread ends when it has done what there is.
    pub(crate) fn close(&self) {
        lock(&self.queue).closed = true;
        self.changed.notify_all();
    }
}

/// The streams of a context. Its lock makes submissions to all of them one sequence.
#[derive(Debug)]
pub(crate) struct Streams {
    health: Arc<Health>,
    order: Mutex<Order>,
    /// Whether blocking streams exist, so that most programs need no look at them.
    shared: AtomicBool,
}

#[derive(Debug)]
struct Order {
    legacy: Arc<Stream>,
    others: Vec<Arc<Stream>>,
    per_thread: HashMap<ThreadNumber, Arc<Stream>>,
    /// Places that all later work comes behind, also that of streams that are made later.
    awaited: Vec<Marker>,
}

impl Streams {
    pub(crate) fn new(health: &Arc<Health>) -> Self {
        let legacy = Stream::new(Kind::Legacy, 0, health);
        let order = Order { legacy, others: Vec::new(), per_thread: HashMap::new(), awaited: Vec::new() };
        Self { health: Arc::clone(health), order: Mutex::new(order), shared: AtomicBool::new(false) }
    }

    pub(crate) fn legacy(&self) -> Arc<Stream> {
        Arc::clone(&lock(&self.order).legacy)
    }

    /// The default stream of the calling thread.
    pub(crate) fn per_thread(&self) -> Result<Arc<Stream>> {
        self.shared.store(true, Ordering::Relaxed);
        let Order { per_thread, awaited, .. } = &mut *lock(&self.order);
        Ok(match per_thread.entry(thread::number()) {
            Entry::Occupied(known) => Arc::clone(known.get()),
            Entry::Vacant(place) => Arc::clone(place.insert(self.make(Kind::Blocking, 0, awaited)?)),
        })
    }

    pub(crate) fn create(&self, kind: Kind, priority: i32) -> Result<Arc<Stream>> {
        self.shared.store(true, Ordering::Relaxed);
        let mut order = lock(&self.order);
        let stream = self.make(kind, priority, &mut order.awaited)?;
        order.others.retain(|other| !other.over());
        order.others.push(Arc::clone(&stream));
        Ok(stream)
    }

    fn make(&self, kind: Kind, priority: i32, awaited: &mut Vec<Marker>) -> Result<Arc<Stream>> {
        let stream = Stream::new(kind, priority, &self.health);
        awaited.retain(|marker| !marker.passed());
        awaited.iter().try_for_each(|marker| stream.push(Operation::Wait(marker.clone())))?;
        Ok(stream)
    }

    /// Lets all work that comes from now on wait for a place.
    pub(crate) fn await_everywhere(&self, marker: &Marker) -> Result<()> {
        let mut order = lock(&self.order);
        order.awaited.retain(|marker| !marker.passed());
        order.awaited.push(marker.clone());
        order.all().try_for_each(|stream| match stream.push(Operation::Wait(marker.clone())) {
            // Nothing comes behind what a closed stream has.
            Err(Error::InvalidHandle) => Ok(()),
            pushed => pushed,
        })
    }

    /// A place in each stream, behind what there is now.
    pub(crate) fn markers(&self) -> Vec<Marker> {
        lock(&self.order).all().map(Stream::marker).collect()
    }

    /// Takes no more work for a stream; it is forgotten when it has done what there is.
    pub(crate) fn remove(&self, stream: &Arc<Stream>) {
        stream.close();
        lock(&self.order).others.retain(|other| !other.over());
    }

    /// Adds an operation; the place behind it.
    pub(crate) fn submit(&self, stream: &Arc<Stream>, operation: Operation) -> Result<Marker> {
        stream.make_room();
        let order = lock(&self.order);
        for marker in self.others_before(&order, stream) {
            stream.push(Operation::Wait(marker))?;
        }
        if let Some(checking) = self.health.checking() {
            stream.push(Operation::Know(known_before(checking, &order, stream)))?;
        }
        stream.push(operation)?;
        Ok(stream.marker())
    }

    /// Waits for everything that an operation submitted to `stream` now would wait for.
    pub(crate) fn settle(&self, stream: &Arc<Stream>) {
        let before: Vec<Marker> = {
            let order = lock(&self.order);
            self.others_before(&order, stream).into_iter().chain([stream.marker()]).collect()
        };
        before.iter().for_each(Marker::wait);
    }

    /// What the default stream's rules make a new operation of `stream` wait for.
    fn others_before(&self, order: &Order, stream: &Arc<Stream>) -> Vec<Marker> {
        if !self.shared.load(Ordering::Relaxed) {
            return Vec::new();
        }
        match stream.kind {
            Kind::NonBlocking => Vec::new(),
            Kind::Blocking if order.legacy.idle() => Vec::new(),
            Kind::Blocking => vec![order.legacy.marker()],
            Kind::Legacy => {
                let all = order.others.iter().chain(order.per_thread.values());
                let busy = all.filter(|other| other.kind == Kind::Blocking && !other.idle());
                busy.map(Stream::marker).collect()
            }
        }
    }

    /// Waits for all work of all streams.
    pub(crate) fn synchronize(&self) {
        self.markers().iter().for_each(Marker::wait);
    }

    /// Ends all threads when they have done their work.
    pub(crate) fn close(&self) {
        lock(&self.order).all().for_each(|stream| stream.close());
    }
}

impl Order {
    fn all(&self) -> impl Iterator<Item = &Arc<Stream>> {
        [&self.legacy].into_iter().chain(&self.others).chain(self.per_thread.values())
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests;
