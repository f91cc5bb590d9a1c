//! Places in the order of a stream, and how to wait for them.

use super::queue::Stream;
use crate::health::Health;
use crate::operation::Operation;
use crate::sync::{self, LOOKS};
use machine::Neighbours;
use std::fmt::Debug;
use std::sync::Arc;

/// A point that is reached at some time: not one in a stream's own order, but one that a graph records while it runs, or
/// that any process does.
pub(crate) trait Point: Debug + Send + Sync {
    /// Whether it is reached.
    fn reached(&self) -> bool;
    /// Waits until it is reached.
    fn wait(&self);
}

/// A place in a stream's order: it is passed when everything submitted before it is done. Or another [`Point`].
#[derive(Clone, Debug)]
pub struct Marker(Position);

#[derive(Clone, Debug)]
enum Position {
    Behind { stream: Arc<Stream>, after: u64 },
    At(Arc<dyn Point>),
}

impl Marker {
    /// The place behind so many operations of a stream.
    pub(super) fn behind(stream: &Arc<Stream>, after: u64) -> Self {
        Self(Position::Behind { stream: Arc::clone(stream), after })
    }

    /// A point that is in no stream's order.
    pub(crate) fn at(point: Arc<dyn Point>) -> Self {
        Self(Position::At(point))
    }

    /// Whether it is passed, for a purpose of the driver's own: the program learns nothing.
    pub(crate) fn reached(&self) -> bool {
        match &self.0 {
            Position::Behind { stream, after } => stream.done() >= *after,
            Position::At(point) => point.reached(),
        }
    }

    /// Whether it is passed.
    pub fn passed(&self) -> bool {
        let passed = self.reached();
        if let Position::Behind { stream, after } = &self.0
            && passed
            && let Some(checking) = stream.health.checking()
        {
            checking.learn(&stream.moment(*after));
        }
        passed
    }

    /// Waits until it is passed, on a thread of the program. If the stream's own thread has not begun what is to be done,
    /// this one does it: to wake the other takes longer than most kernels do.
    pub fn wait(&self) {
        if let Position::Behind { stream, after } = &self.0 {
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
        match &self.0 {
            Position::Behind { stream, .. } => stream.wait_until(|_| self.passed()),
            Position::At(point) => point.wait(),
        }
    }

    /// Whether it is a place in this stream's own order.
    pub(crate) fn is_of(&self, of: &Stream) -> bool {
        matches!(&self.0, Position::Behind { stream, .. } if stream.id() == of.id())
    }
}

/// Lets a stream wait for a place.
pub(crate) struct Wait(pub(crate) Marker);

impl Operation for Wait {
    fn name(&self) -> &'static str {
        "wait"
    }

    fn happens_always(&self) -> bool {
        true
    }

    fn run(self: Box<Self>, health: &Health, _: Option<Neighbours<'_>>) {
        let Self(marker) = *self;
        marker.stand_by();
        // Where somebody watches: what is not followed (events of graphs, and of other processes) comes after everything.
        if let (Position::At(_), Some(checking)) = (&marker.0, health.checking()) {
            checking.learn_everything();
        }
    }
}
