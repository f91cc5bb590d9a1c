//! What shows that a verdict is right: the choices of an execution, or a proof that there is none.
//!
//! These are data alone. [`crate::search`] and [`crate::answer`] write them down; [`crate::checker`] verifies them.

use crate::event::{Cell, Event};
use crate::language::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// An event by its thread and its place among the thread's events. The initial write of an object is of no thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// The thread; none for initial writes.
    pub thread: Option<usize>,
    /// The place among the thread's events, or the object.
    pub index: usize,
}

impl Name {
    /// The same place in the thread that takes the place of its own.
    fn exchanged(self, places: &[usize]) -> Self {
        let place = |thread: usize| places.get(thread).copied().unwrap_or(thread);
        Self { thread: self.thread.map(place), ..self }
    }

    /// The name of an event of an execution.
    pub fn of(events: &[Event], event: usize) -> Self {
        let thread = events[event].thread;
        let index = events[..event].iter().filter(|other| other.thread == thread).count();
        Self { thread: thread.map(|thread| thread as usize), index }
    }
}

/// What a cell is read by: a read, or by name of no thread the condition, of the location of that number.
pub type Reader = (Name, Cell);

/// Pairs of events.
pub type Pairs = BTreeSet<(Name, Name)>;

/// What is chosen of an execution. All else follows.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Choices {
    /// The write that each cell of a read takes, and the one that each cell of a final value is of.
    pub sources: BTreeMap<Reader, Name>,
    /// Whether compare-and-swaps succeed, by their reads, where that is chosen before their values are known.
    pub swaps: BTreeMap<Name, bool>,
    /// Writes that cells do not take, for they are to take later ones.
    pub put_off: BTreeMap<Reader, BTreeSet<Name>>,
    /// The barriers that meet; none if that is not yet chosen.
    pub barriers: Option<Pairs>,
    /// Pairs of coherence that do not follow.
    pub coherence: Pairs,
    /// Pairs of Fence-SC that do not follow.
    pub fences: Pairs,
}

impl Choices {
    /// The same choices with threads in other places, which are said for each.
    pub(crate) fn exchanged(&self, places: &[usize]) -> Self {
        let name = |name: &Name| name.exchanged(places);
        let reader = |(by, cell): &Reader| (name(by), *cell);
        let pairs = |pairs: &Pairs| pairs.iter().map(|(from, to)| (name(from), name(to))).collect();
        let names = |names: &BTreeSet<Name>| names.iter().map(name).collect();
        Self {
            sources: self.sources.iter().map(|(by, write)| (reader(by), name(write))).collect(),
            swaps: self.swaps.iter().map(|(read, succeeds)| (name(read), *succeeds)).collect(),
            put_off: self.put_off.iter().map(|(by, writes)| (reader(by), names(writes))).collect(),
            barriers: self.barriers.as_ref().map(pairs),
            coherence: pairs(&self.coherence),
            fences: pairs(&self.fences),
        }
    }
}

/// Why there is no execution: the cases of each choice, and what is wrong at the end of each way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// A cell of a read, or of a final value, takes one of these writes, or a later one.
    Source {
        /// What reads which cell.
        reader: Reader,
        /// The writes, each with what follows.
        cases: Vec<(Name, Proof)>,
        /// What follows if it takes a write that is not there yet.
        later: Option<Box<Proof>>,
    },
    /// A compare-and-swap succeeds or does not.
    Swap {
        /// Its read.
        read: Name,
        /// What follows if it succeeds.
        success: Box<Proof>,
        /// What follows if not.
        failure: Box<Proof>,
    },
    /// The barriers meet in one of these ways: the pairs of each, with what follows.
    Barriers(Vec<(Pairs, Proof)>),
    /// A pair of an order has one direction or the other.
    Orient {
        /// The order.
        ordering: Ordering,
        /// One event.
        a: Name,
        /// The other.
        b: Name,
        /// What follows if `a` comes first.
        forth: Box<Proof>,
        /// What follows if `b` does.
        back: Box<Proof>,
    },
    /// A proof for the same choices with threads exchanged that are alike comes before in the tree: for each thread, the one
    /// whose place it takes.
    Mirrored(Vec<usize>),
    /// The axiom of this name is violated.
    Violated(String),
    /// A write was chosen for a final value that another overwrites.
    Overwritten,
    /// An assumption about a compare-and-swap was wrong, or the execution does not end as was asked.
    Refuted,
    /// A thread does not end, or a read has no write to take.
    Unfinished,
}

/// A verdict's certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Certificate {
    /// An execution ends as the assertion asks (`exists`) or against it (`~exists`, `forall`).
    Execution(Choices),
    /// None does.
    Proof(Proof),
}
