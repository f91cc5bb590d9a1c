//! Threads in many orders: those of the host, as they come, or all kinds of orders that the scheduler `shuttle` tries out:
//! `cargo test -p warploom-driver --features shuttle --lib stream`. With the host's threads they are also what
//! ThreadSanitizer looks at (`cargo xtask sanitize`).

use super::{Kind, Streams, Wait};
use crate::error::Error;
use crate::health::Health;
use crate::lock;
use crate::operation::Operation;
use crate::process::Process;
use crate::sync;
use machine::Neighbours;
use std::sync::{Arc, Mutex};

/// Orders that each test tries.
const ORDERS: usize = if cfg!(feature = "shuttle") { 2000 } else { 300 };

/// Does something in many orders of its threads.
fn in_many_orders(test: impl Fn() + Send + Sync + 'static) {
    #[cfg(feature = "shuttle")]
    shuttle::check_pct(test, ORDERS, 4);
    #[cfg(not(feature = "shuttle"))]
    (0..ORDERS).for_each(|_| test());
}

fn context() -> Arc<Health> {
    Health::new(&Process::of_test())
}

/// An operation that notes a number. Those of even ones are left to the stream's thread; others help with the rest.
struct Note(Arc<Mutex<Vec<u32>>>, u32);

impl Operation for Note {
    fn name(&self) -> &'static str {
        "note"
    }

    fn needs_own_thread(&self) -> bool {
        self.1.is_multiple_of(2)
    }

    fn run(self: Box<Self>, _: &Health, _: Option<Neighbours<'_>>) {
        lock(&self.0).push(self.1);
    }
}

fn note(log: &Arc<Mutex<Vec<u32>>>, number: u32) -> Box<dyn Operation> {
    Box::new(Note(Arc::clone(log), number))
}

/// In place of a kernel that may overlap with the one before it.
struct Overlapping<F>(F);

impl<F: FnOnce(Neighbours<'_>) + Send> Operation for Overlapping<F> {
    fn name(&self) -> &'static str {
        "kernel"
    }

    fn overlaps(&self) -> bool {
        true
    }

    fn run(self: Box<Self>, _: &Health, neighbours: Option<Neighbours<'_>>) {
        (self.0)(neighbours.expect("it is run by a stream"));
    }
}

/// Work of a stream is done in order, and who waits for a marker finds it done.
#[test]
fn order_and_markers() {
    in_many_orders(|| {
        let streams = Streams::new(&context());
        let stream = streams.create(Kind::NonBlocking, 0).unwrap();
        let log = Arc::default();
        streams.submit(&stream, note(&log, 1)).unwrap();
        let marker = streams.submit(&stream, note(&log, 2)).unwrap();
        let (there, other) = (Arc::clone(&log), marker.clone());
        let waits = sync::thread::spawn(move || {
            other.wait();
            assert!(lock(&there).starts_with(&[1, 2]));
        });
        streams.submit(&stream, note(&log, 3)).unwrap();
        marker.wait();
        assert!(lock(&log).starts_with(&[1, 2]));
        waits.join().unwrap();
        streams.settle(&stream);
        assert_eq!(*lock(&log), [1, 2, 3]);
        streams.close();
    });
}

/// Streams that wait for one another's markers, and the rules of the legacy default stream.
#[test]
fn streams_wait_for_streams() {
    in_many_orders(|| {
        let streams = Streams::new(&context());
        let (a, b) =
            (streams.create(Kind::Blocking, 0).unwrap(), streams.create(Kind::NonBlocking, 0).unwrap());
        let log = Arc::default();
        streams.submit(&a, note(&log, 1)).unwrap();
        streams.submit(&streams.legacy(), note(&log, 2)).unwrap();
        let marker = streams.submit(&a, note(&log, 3)).unwrap();
        streams.submit(&b, Box::new(Wait(marker))).unwrap();
        streams.submit(&b, note(&log, 4)).unwrap();
        streams.synchronize();
        assert_eq!(*lock(&log), [1, 2, 3, 4]);
        streams.close();
    });
}

/// What was submitted before a stream is given up is still done; what comes after is refused.
#[test]
fn closing_loses_nothing() {
    in_many_orders(|| {
        let streams = Arc::new(Streams::new(&context()));
        let stream = streams.create(Kind::NonBlocking, 0).unwrap();
        let log = Arc::default();
        let (others, same, there) = (Arc::clone(&streams), Arc::clone(&stream), Arc::clone(&log));
        let submits = sync::thread::spawn(move || {
            (1..4).take_while(|&number| others.submit(&same, note(&there, number)).is_ok()).count()
        });
        streams.remove(&stream);
        let accepted = submits.join().unwrap();
        stream.marker().wait();
        assert_eq!(lock(&log).len(), accepted);
        assert_eq!(streams.submit(&stream, note(&log, 9)).unwrap_err(), Error::InvalidHandle);
        streams.close();
    });
}

/// Kernels that overlap: the second and the third begin when the one before lets them. The first ends when the third is
/// over, which does not wait; the second sees the first done when it has waited; what comes behind them sees all done.
#[test]
fn kernels_overlap() {
    in_many_orders(|| {
        let streams = Streams::new(&context());
        let stream = streams.create(Kind::NonBlocking, 0).unwrap();
        let log: Arc<Mutex<Vec<u32>>> = Arc::default();
        let say = |number: u32| {
            let log = Arc::clone(&log);
            move || lock(&log).push(number)
        };
        let (first, last, seen) = (say(1), say(2), Arc::clone(&log));
        let kernel = move |neighbours: Neighbours<'_>| {
            first();
            (neighbours.release)();
            while !lock(&seen).contains(&6) {
                sync::thread::yield_now();
            }
            last();
        };
        streams.submit(&stream, Box::new(Overlapping(kernel))).unwrap();
        for (number, waits) in [(3, true), (5, false)] {
            let (begins, goes_on) = (say(number), say(number + 1));
            let kernel = move |neighbours: Neighbours<'_>| {
                begins();
                (neighbours.release)();
                while waits && !(neighbours.complete)() {
                    sync::thread::yield_now();
                }
                goes_on();
            };
            streams.submit(&stream, Box::new(Overlapping(kernel))).unwrap();
        }
        streams.submit(&stream, note(&log, 7)).unwrap();
        streams.settle(&stream);
        let log = lock(&log).clone();
        let place = |number| log.iter().position(|&other| other == number).unwrap();
        for [before, behind] in [[1, 3], [3, 5], [5, 6], [6, 2], [2, 4], [4, 7]] {
            assert!(place(before) < place(behind), "{log:?}");
        }
        streams.close();
    });
}
