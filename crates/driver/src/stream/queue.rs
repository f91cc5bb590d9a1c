//! One stream: its order, and the threads that run it.

use super::marker::Marker;
use crate::Id;
use crate::check::{Checking, Known};
use crate::error::{Error, Result};
use crate::health::Health;
use crate::operation::Operation;
use crate::sync::{self, AtomicU64, Condvar, LOOKS, Mutex, lock};
use machine::Neighbours;
use sanitizer::{Moment, Whole};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

/// Operations that a stream may have before it. Who submits more waits, as on a device: a program that submits faster
/// than kernels run must not use up the host's memory.
const MOST_PENDING: usize = 1024;

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
    pub(super) health: Arc<Health>,
    queue: Mutex<Queue>,
    /// Somebody waits for work, or for work to be done.
    changed: Condvar,
    submitted: AtomicU64,
    /// How many are done. Who waits for it to grow says so in `waiting` before the last look at it, and who lets it grow
    /// looks there afterwards.
    done: AtomicU64,
    waiting: AtomicU64,
    /// What its next operation comes after, for who watches.
    pub(super) known: std::sync::Mutex<Moment>,
    /// What an operation that may overlap with the one before it comes after, if that lets it begin before its own end.
    early: std::sync::Mutex<Option<Moment>>,
    /// What comes after its last operations comes after, by their numbers.
    moments: std::sync::Mutex<VecDeque<(u64, Moment)>>,
}

/// Operations of which it is known what comes after them. An earlier place counts as one behind the first of these, so that
/// too much is known rather than too little.
const MOMENTS: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Queue {
    pending: VecDeque<Box<dyn Operation>>,
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
    fn begin(&mut self) -> Option<(u64, Box<dyn Operation>)> {
        let operation = self.pending.pop_front()?;
        self.begun += 1;
        Some((self.begun, operation))
    }
}

impl Stream {
    pub(super) fn new(kind: Kind, priority: i32, health: &Arc<Health>) -> Arc<Self> {
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
            known: std::sync::Mutex::default(),
            early: std::sync::Mutex::default(),
            moments: std::sync::Mutex::default(),
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
        Marker::behind(self, after)
    }

    pub(super) fn idle(&self) -> bool {
        self.done() == self.submitted.load(Ordering::Acquire)
    }

    pub(super) fn done(&self) -> u64 {
        self.done.load(Ordering::SeqCst)
    }

    /// What comes after so many of its operations, which are done.
    pub(super) fn moment(&self, after: u64) -> Moment {
        let moments = crate::lock(&self.moments);
        let at = moments.partition_point(|(number, _)| *number < after);
        moments.get(at).filter(|_| after > 0).map(|(_, moment)| moment.clone()).unwrap_or_default()
    }

    /// Waits for what another operation that is done can change.
    pub(super) fn wait_until(&self, is: impl Fn(&Queue) -> bool) {
        let mut queue = lock(&self.queue);
        self.waiting.fetch_add(1, Ordering::SeqCst);
        while !is(&queue) {
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        self.waiting.fetch_sub(1, Ordering::SeqCst);
    }

    /// Waits until another operation may be added.
    pub(super) fn make_room(&self) {
        if self.submitted.load(Ordering::Relaxed).saturating_sub(self.done()) >= MOST_PENDING as u64 {
            self.wait_until(|queue| queue.pending.len() < MOST_PENDING);
        }
    }

    pub(super) fn push(self: &Arc<Self>, operation: Box<dyn Operation>) -> Result<()> {
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
    pub(super) fn help(self: &Arc<Self>, until: u64) {
        let next = || {
            let mut queue = lock(&self.queue);
            let others_are_at_it = self.done() != queue.begun;
            let own = queue.pending.front().is_some_and(|next| next.needs_own_thread());
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
    fn carry_out(self: &Arc<Self>, number: u64, operation: Box<dyn Operation>) {
        let complete = || self.done() + 1 >= number;
        let release = || self.release(number);
        let neighbours = Neighbours { complete: &complete, release: &release };
        // A panic of ours must not leave everybody waiting: it becomes the context's error.
        log::trace!("stream {}: {operation:?}", self.id.0);
        let (overlaps, notes) = (operation.overlaps(), operation.only_notes());
        let run = || operation.carry_out(&self.health, Some(neighbours));
        let run = std::panic::AssertUnwindSafe(|| match self.health.checking() {
            Some(checking) => self.carry_out_checked(checking, (number, overlaps, notes), run),
            None => run(),
        });
        if std::panic::catch_unwind(run).is_err() {
            self.health.note(Err(Error::Unknown));
        }
        if !complete() {
            self.wait_until(|_| complete());
        }
        if self.health.checking().is_some() {
            let mut moments = crate::lock(&self.moments);
            if moments.len() == MOMENTS {
                moments.pop_front();
            }
            moments.push_back((number, crate::lock(&self.known).clone()));
        }
        self.done.fetch_add(1, Ordering::SeqCst);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            // Nobody is between a look and sleep.
            drop(lock(&self.queue));
            self.changed.notify_all();
        }
    }

    /// Runs an operation that is watched. If it overlaps with the one before it, it comes after what that one came after, and
    /// learns the rest when it has waited for it, as whoever begins behind it then knows.
    fn carry_out_checked(
        self: &Arc<Self>,
        checking: &Checking,
        (number, overlaps, notes): (u64, bool, bool),
        run: impl FnOnce(),
    ) {
        let before = crate::lock(&self.known).clone();
        let early = crate::lock(&self.early).take().filter(|_| overlaps || notes);
        let is_early = early.is_some();
        let moment = early.unwrap_or(before);
        *crate::lock(&self.early) = Some(moment.clone());
        let stream = Arc::clone(self);
        let whole = move || {
            let whole = crate::lock(&stream.known).clone();
            *crate::lock(&stream.early) = Some(whole.clone());
            whole
        };
        let whole = overlaps.then(|| Arc::new(whole) as Whole);
        let after = checking.run_known(&self.known, Known { moment, whole }, run);
        if notes {
            *crate::lock(&self.early) = after.filter(|_| is_early);
        } else if lock(&self.queue).released < number {
            // Nobody may begin before the end of one that does not let him.
            *crate::lock(&self.early) = None;
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
        let overlaps = queue.pending.front().is_some_and(|next| next.overlaps());
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

    fn next(&self) -> Option<(u64, Box<dyn Operation>)> {
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
    pub(super) fn over(&self) -> bool {
        lock(&self.queue).closed && self.idle()
    }

    /// No more work; the thread ends when it has done what there is.
    pub(super) fn close(&self) {
        lock(&self.queue).closed = true;
        self.changed.notify_all();
    }
}
