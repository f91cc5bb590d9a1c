//! Events: points in the order of a stream.

use crate::error::{Error, Result};
use crate::stream::Marker;
use crate::{Id, lock};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

/// An event. It names the point where it was last recorded.
#[derive(Debug)]
pub struct Event {
    id: Id,
    timing: bool,
    last: Mutex<Option<Recorded>>,
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
    time: OnceLock<Instant>,
}

impl Record {
    pub(crate) fn stamp(&self) {
        self.time.get_or_init(Instant::now);
    }
}

impl Event {
    /// An event that has not been recorded.
    pub fn new(timing: bool) -> Arc<Self> {
        Arc::new(Self { id: Id::next(), timing, last: Mutex::default() })
    }

    /// Its identity.
    pub fn id(&self) -> Id {
        self.id
    }

    pub(crate) fn recorded(&self, marker: Marker, record: Arc<Record>) {
        *lock(&self.last) = Some(Recorded { marker, record });
    }

    /// The point to wait for; `None` if it was never recorded, when there is nothing to wait for.
    pub fn marker(&self) -> Option<Marker> {
        lock(&self.last).as_ref().map(|last| last.marker.clone())
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

    /// Milliseconds from `start` to this event.
    pub fn elapsed_since(&self, start: &Self) -> Result<f32> {
        if !self.timing || !start.timing {
            return Err(Error::InvalidHandle);
        }
        let time = |event: &Self| {
            let last = lock(&event.last).clone().ok_or(Error::InvalidHandle)?;
            if !last.marker.passed() {
                return Err(Error::NotReady);
            }
            last.record.time.get().copied().ok_or(Error::NotReady)
        };
        let (start, end) = (time(start)?, time(self)?);
        let forwards = end.saturating_duration_since(start).as_secs_f64();
        let backwards = start.saturating_duration_since(end).as_secs_f64();
        Ok(((forwards - backwards) * 1e3) as f32)
    }
}
