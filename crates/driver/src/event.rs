//! Events: points in the order of a stream, or in a graph.
//!
//! An event that was recorded in a stream which is being captured names nodes of the graph to be; only streams can wait
//! for it then, and take part in the capture by that.
//!
//! An event that several processes use counts its records where all of them look (`signal`).

use crate::context::Context;
use crate::error::{Error, Result};
use crate::health::Health;
use crate::operation::Operation;
use crate::signal::Signal;
use crate::stream::{Marker, Point};
use crate::{Id, lock};
use machine::Neighbours;
use machine::memory::shared::Shared;
use std::any::Any;
use std::fmt::Debug;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::Instant;

/// An event. It names the point where it was last recorded.
#[derive(Debug)]
pub struct Event {
    id: Id,
    context: Weak<Context>,
    timing: bool,
    last: Mutex<Option<Recorded>>,
    captured: Mutex<Option<Arc<dyn CapturePoint>>>,
    signal: Option<Arc<Signal>>,
}

/// Where in a capture an event was recorded. What else there is to know of it is known to captures.
pub(crate) trait CapturePoint: Any + Debug + Send + Sync {
    /// Something forbidden has happened to the event: its capture is over.
    fn invalidate(&self);
}

/// Where an event was recorded, and when that point was reached.
#[derive(Clone, Debug)]
struct Recorded {
    marker: Marker,
    record: Arc<Record>,
}

/// When a point of a stream was reached.
#[derive(Debug, Default)]
pub struct Record {
    time: Mutex<Option<Instant>>,
    reached: Condvar,
    /// Where other processes look, and the number of this record there.
    signal: Option<(Arc<Signal>, u64)>,
}

impl Record {
    /// The point is reached; the first time counts.
    pub(crate) fn stamp(&self) {
        self.signal.iter().for_each(|(signal, number)| signal.reach(*number));
        lock(&self.time).get_or_insert_with(Instant::now);
        self.reached.notify_all();
    }

    fn time(&self) -> Option<Instant> {
        *lock(&self.time)
    }
}

impl Point for Record {
    fn reached(&self) -> bool {
        self.time().is_some()
    }

    fn wait(&self) {
        let mut time = lock(&self.time);
        while time.is_none() {
            time = self.reached.wait(time).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Operation for Arc<Record> {
    fn name(&self) -> &'static str {
        "record"
    }

    fn happens_always(&self) -> bool {
        true
    }

    fn run(self: Box<Self>, _: &Health, _: Option<Neighbours<'_>>) {
        self.stamp();
    }
}

impl Event {
    /// An event that has not been recorded.
    pub fn new(context: &Context, timing: bool) -> Arc<Self> {
        Self::with_signal(context, timing, None)
    }

    /// One that other processes can use.
    pub fn shared(context: &Context) -> Result<Arc<Self>> {
        Ok(Self::with_signal(context, false, Some(Signal::new(context.device().process())?)))
    }

    /// One of another process.
    pub fn open(context: &Context, file: OwnedFd) -> Result<Arc<Self>> {
        let signal = Signal::open(context.device().process(), file)?;
        Ok(Self::with_signal(context, false, Some(signal)))
    }

    fn with_signal(context: &Context, timing: bool, signal: Option<Arc<Signal>>) -> Arc<Self> {
        let (id, context, last, captured) = (Id::next(), context.this(), Mutex::default(), Mutex::default());
        Arc::new(Self { id, context, timing, last, captured, signal })
    }

    /// The context that it was made in, whether or not that is current.
    pub(crate) fn context(&self) -> Result<Arc<Context>> {
        self.context.upgrade().ok_or(Error::ContextIsDestroyed)
    }

    /// Lets other processes use it, if it was made for that.
    pub fn export(&self) -> Result<Shared> {
        self.signal.as_ref().ok_or(Error::InvalidHandle)?.share()
    }

    /// A record of it, to be submitted.
    pub(crate) fn record(&self) -> Arc<Record> {
        let signal = self.signal.as_ref().map(|signal| (Arc::clone(signal), signal.record()));
        Arc::new(Record { signal, ..Record::default() })
    }

    /// Its identity.
    pub fn id(&self) -> Id {
        self.id
    }

    pub(crate) fn recorded(&self, marker: Marker, record: Arc<Record>) {
        *lock(&self.captured) = None;
        *lock(&self.last) = Some(Recorded { marker, record });
    }

    pub(crate) fn captured_at(&self, point: Arc<dyn CapturePoint>) {
        *lock(&self.captured) = Some(point);
    }

    /// Where it was recorded in a capture, if that was last.
    pub(crate) fn captured(&self) -> Option<Arc<dyn CapturePoint>> {
        lock(&self.captured).clone()
    }

    /// That it names a point in time, not one in a capture. Asking for the time of one in a capture ends that.
    pub fn usable(&self) -> Result<()> {
        let Some(captured) = self.captured() else { return Ok(()) };
        captured.invalidate();
        Err(Error::CapturedEvent)
    }

    /// The point to wait for; `None` if it was never recorded, when there is nothing to wait for.
    pub fn marker(&self) -> Option<Marker> {
        match &self.signal {
            Some(signal) => Some(Marker::at(signal.point())),
            None => lock(&self.last).as_ref().map(|last| last.marker.clone()),
        }
    }

    /// Whether its point is reached.
    pub fn reached(&self) -> bool {
        self.marker().is_none_or(|marker| marker.passed())
    }

    /// Waits until its point is reached.
    pub fn wait(&self) {
        if let Some(marker) = self.marker() {
            marker.wait();
        }
    }

    /// Waits until all before it is done, and tells whether its context has failed.
    pub fn synchronize(&self) -> Result<()> {
        self.usable()?;
        self.wait();
        self.context()?.usable()
    }

    /// Milliseconds from `start` to this event.
    pub fn elapsed_since(&self, start: &Self) -> Result<f32> {
        if !self.timing || !start.timing {
            return Err(Error::InvalidHandle);
        }
        let time = |event: &Self| {
            event.usable()?;
            let last = lock(&event.last).clone().ok_or(Error::InvalidHandle)?;
            if !last.marker.passed() {
                return Err(Error::NotReady);
            }
            last.record.time().ok_or(Error::NotReady)
        };
        let (start, end) = (time(start)?, time(self)?);
        let forwards = end.saturating_duration_since(start).as_secs_f64();
        let backwards = start.saturating_duration_since(end).as_secs_f64();
        Ok(((forwards - backwards) * 1e3) as f32)
    }
}
