//! The streams of a context, and what the rules of the default streams make them wait for.

use super::marker::{Marker, Wait};
use super::queue::{Kind, Stream};
use crate::check::Checking;
use crate::error::{Error, Result};
use crate::health::Health;
use crate::operation::Operation;
use crate::sync::{AtomicBool, Mutex, lock};
use crate::thread::{self, ThreadNumber};
use machine::Neighbours;
use sanitizer::Moment;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Comes after what the host knew, where somebody watches.
struct Know(Moment);

impl Operation for Know {
    fn name(&self) -> &'static str {
        "know"
    }

    fn only_notes(&self) -> bool {
        true
    }

    fn happens_always(&self) -> bool {
        true
    }

    fn run(self: Box<Self>, health: &Health, _: Option<Neighbours<'_>>) {
        health.checking().iter().for_each(|checking| checking.learn(&self.0));
    }
}

/// What an operation comes after that is submitted now: what the host knows, and what the default stream's rules put
/// before it, whether that is still under way or not.
fn known_before(checking: &Checking, order: &Order, stream: &Stream) -> Moment {
    let mut known = checking.host();
    let mut join = |other: &Stream| known.join(&crate::lock(&other.known));
    match stream.kind() {
        Kind::NonBlocking => {}
        Kind::Blocking => join(&order.legacy),
        Kind::Legacy => {
            let all = order.others.iter().chain(order.per_thread.values());
            all.filter(|other| other.kind() == Kind::Blocking).for_each(|other| join(other));
        }
    }
    known
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
        awaited.iter().try_for_each(|marker| stream.push(Box::new(Wait(marker.clone()))))?;
        Ok(stream)
    }

    /// Lets all work that comes from now on wait for a place.
    pub(crate) fn await_everywhere(&self, marker: &Marker) -> Result<()> {
        let mut order = lock(&self.order);
        order.awaited.retain(|marker| !marker.passed());
        order.awaited.push(marker.clone());
        order.all().try_for_each(|stream| match stream.push(Box::new(Wait(marker.clone()))) {
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
    pub(crate) fn submit(&self, stream: &Arc<Stream>, operation: Box<dyn Operation>) -> Result<Marker> {
        stream.make_room();
        let order = lock(&self.order);
        for marker in self.others_before(&order, stream) {
            stream.push(Box::new(Wait(marker)))?;
        }
        if let Some(checking) = self.health.checking() {
            stream.push(Box::new(Know(known_before(checking, &order, stream))))?;
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
        match stream.kind() {
            Kind::NonBlocking => Vec::new(),
            Kind::Blocking if order.legacy.idle() => Vec::new(),
            Kind::Blocking => vec![order.legacy.marker()],
            Kind::Legacy => {
                let all = order.others.iter().chain(order.per_thread.values());
                let busy = all.filter(|other| other.kind() == Kind::Blocking && !other.idle());
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
