//! Threads that can be put in each other's place.
//!
//! Two threads of the same text whose places look alike from everywhere, and of which no condition asks, are alike: what is
//! true of some choices is true of the same choices with the two exchanged. Where they only add different numbers to a
//! word that nobody reads, they are alike too: however they take turns, the sum is the same. So a search need not go on where it has been
//! with two threads exchanged ([`Explored`]). The checker asks for itself which threads are alike.

use crate::event::{Bytes, Order, Scope};
use crate::program::{Access, Arithmetic, Instruction, Operand, Program, Term, Thread, Update};
use crate::unfold::State;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};

/// The pairs of threads that are alike, the lower first.
pub(crate) fn pairs(program: &Program) -> Vec<(usize, usize)> {
    let terms = program.asked();
    let threads = &program.threads;
    let is_asked =
        |thread: usize| terms.iter().any(|term| matches!(term, Term::Register(of, _) if *of == thread));
    // Barriers with a quorum are tried in one order only where executions may get stuck: threads are not equal there.
    let has_quorum = |thread: usize| {
        threads[thread].code.iter().any(|of| matches!(of, Instruction::Barrier { quorum: Some(_), .. }))
    };
    let alike = |a: usize, b: usize| {
        let of_others = threads.iter().enumerate().filter(|(index, _)| *index != a && *index != b);
        let placed_alike = |place: crate::event::Placement| {
            Scope::ALL.into_iter().all(|scope| {
                threads[a].placement.shares(place, scope) == threads[b].placement.shares(place, scope)
            })
        };
        let text = threads[a].code == threads[b].code && threads[a].initial == threads[b].initial;
        (text || are_blind(program, &terms, a, b))
            && of_others.into_iter().all(|(_, other)| placed_alike(other.placement))
    };
    let free: Vec<usize> = (0..threads.len()).filter(|&t| !is_asked(t) && !has_quorum(t)).collect();
    let below = |&b: &usize| free.iter().filter(move |&&a| a < b).map(move |&a| (a, b));
    free.iter().flat_map(below).filter(|&(a, b)| alike(a, b)).collect()
}

/// The bytes, the operation and all else of an atomic with a number, whose order among others of its kind leaves the same.
fn blind(thread: &Thread) -> Option<(Arithmetic, Access)> {
    match thread.code[..] {
        [Instruction::Atomic { update: Update::Combine(operation, Operand::Constant(_)), access, .. }] => {
            use Arithmetic::{Add, And, Max, Min, Or, Xor};
            let commutes = matches!(operation, Add | And | Or | Xor | Min | Max);
            (commutes && access.order != Order::Weak).then_some((operation, access))
        }
        _ => None,
    }
}

/// Whether two threads only add numbers, or the like, to memory that all others treat in the same way too, strong to one
/// another, and nobody asks what they read. Then they are in one chain, at whose end is the same in every order.
fn are_blind(program: &Program, terms: &[Term], a: usize, b: usize) -> bool {
    let Some(own) = blind(&program.threads[a]) else { return false };
    let bytes = own.1.bytes;
    let alike = |index: usize| {
        let thread = &program.threads[index];
        let all = thread.code.iter().map(Instruction::accesses);
        let touches = |(read, written): (Vec<Bytes>, Vec<Bytes>)| {
            read.into_iter().chain(written).any(|other| other.object == bytes.object)
        };
        let asked = terms.iter().any(|term| matches!(term, Term::Register(of, _) if *of == index));
        let near =
            |other: &Thread| own.1.scope.is_some_and(|scope| thread.placement.shares(other.placement, scope));
        let others = || program.threads.iter().filter(|other| blind(other) == Some(own));
        !all.into_iter().any(touches) || blind(thread) == Some(own) && !asked && others().all(near)
    };
    blind(&program.threads[b]) == Some(own) && (0..program.threads.len()).all(alike)
}

/// A choice of a search, in numbers that do not depend on the order in which threads ran: what is chosen, by thread and
/// place in it, and what was chosen for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Choice {
    /// The write that a cell of a read takes.
    Source { thread: u32, index: u32, cell: u32, writer: u32, write: u32 },
    /// Whether a compare-and-swap succeeds.
    Swap { thread: u32, index: u32, succeeds: bool },
    /// Of how many events of a thread a read takes none.
    PutOff { thread: u32, index: u32, cell: u32, writer: u32, events: u32 },
}

/// The initial writes are of no thread.
const NO_THREAD: u32 = u32::MAX;

impl Choice {
    /// The same choice with threads in other places.
    fn exchanged(self, places: &[u32]) -> Self {
        let other = |thread: u32| places.get(thread as usize).copied().unwrap_or(thread);
        match self {
            Self::Source { thread, index, cell, writer, write } => {
                Self::Source { thread: other(thread), index, cell, writer: other(writer), write }
            }
            Self::Swap { thread, index, succeeds } => Self::Swap { thread: other(thread), index, succeeds },
            Self::PutOff { thread, index, cell, writer, events } => {
                Self::PutOff { thread: other(thread), index, cell, writer: other(writer), events }
            }
        }
    }
}

/// What was chosen in a state.
fn choices(state: &State) -> Vec<Choice> {
    let events = state.facts.events();
    let mut counts = vec![0u32; state.threads.len() + 1];
    let mut places = Vec::with_capacity(events.len());
    for event in events {
        let thread = event.thread.unwrap_or(NO_THREAD);
        let count = &mut counts[event.thread.map_or(state.threads.len(), |thread| thread as usize)];
        places.push((thread, *count));
        *count += 1;
    }
    let mut chosen = Vec::new();
    for source in &state.sources {
        let ((thread, index), cell) = (places[source.read], source.cell.start);
        match source.write {
            Some(write) => {
                let (writer, write) = places[write];
                chosen.push(Choice::Source { thread, index, cell, writer, write });
            }
            None if source.after > 0 => {
                for writer in 0..state.threads.len() as u32 {
                    let events =
                        places[..source.after].iter().filter(|place| place.0 == writer).count() as u32;
                    chosen.push(Choice::PutOff { thread, index, cell, writer, events });
                }
            }
            None => {}
        }
    }
    for &(read, succeeds) in &state.swaps {
        let (thread, index) = places[read];
        chosen.push(Choice::Swap { thread, index, succeeds });
    }
    chosen.sort_unstable();
    chosen
}

/// The most choices that are remembered, of all states together: some hundred megabytes.
const MAX_REMEMBERED: usize = 10_000_000;

/// The states that a search has come to, with threads that are alike in an order that follows from the choices, and that
/// order: for each thread its place.
#[derive(Debug, Default)]
pub(crate) struct Explored {
    /// For each thread the first that is alike.
    classes: Vec<u32>,
    seen: HashMap<Box<[Choice]>, Box<[u32]>, rustc_hash::FxBuildHasher>,
    remembered: usize,
}

impl Explored {
    /// Of a program's threads those are exchanged that are alike.
    pub(crate) fn new(program: &Program) -> Self {
        let mut classes: Vec<u32> = (0..program.threads.len() as u32).collect();
        for (a, b) in pairs(program) {
            let (from, to) = (classes[b], classes[a]);
            classes.iter_mut().filter(|class| **class == from).for_each(|class| *class = to);
        }
        Self { classes, ..Self::default() }
    }

    /// For each thread the one in whose place it is in a state that the search came to before, if there is such a state;
    /// otherwise this one is remembered.
    pub(crate) fn mirror(&mut self, state: &State) -> Option<Vec<usize>> {
        if self.classes.iter().enumerate().all(|(thread, class)| *class == thread as u32) {
            return None;
        }
        let chosen = choices(state);
        let places = self.places(&chosen);
        let mut ordered: Vec<Choice> = chosen.iter().map(|choice| choice.exchanged(&places)).collect();
        ordered.sort_unstable();
        if let Some(before) = self.seen.get(&ordered[..]) {
            let at = |place: &u32| before.iter().position(|other| other == place);
            let mirrored: Vec<usize> = places.iter().filter_map(at).collect();
            let is_same = mirrored.iter().enumerate().all(|(thread, other)| thread == *other);
            return (!is_same && mirrored.len() == places.len()).then_some(mirrored);
        }
        if self.remembered < MAX_REMEMBERED {
            self.remembered += ordered.len();
            self.seen.insert(ordered.into_boxed_slice(), places.into_boxed_slice());
        }
        None
    }

    /// A place for each thread among those that are alike, which does not depend on how they are numbered as far as the
    /// choices tell them apart. Where they do not, a state may be missed that was seen before, and none is taken for another.
    fn places(&self, chosen: &[Choice]) -> Vec<u32> {
        let mut colours: Vec<u64> = self.classes.iter().map(|class| u64::from(*class)).collect();
        let mut kinds = 0;
        loop {
            let mut parts: Vec<Vec<(u8, u64, u64, u64)>> = vec![Vec::new(); colours.len()];
            let colour = |thread: u32| colours.get(thread as usize).map_or(u64::MAX, |colour| *colour);
            let mut tell = |thread: u32, part| {
                if let Some(parts) = parts.get_mut(thread as usize) {
                    parts.push(part);
                }
            };
            for choice in chosen {
                match *choice {
                    Choice::Source { thread, index, cell, writer, write } => {
                        let (place, cell) = (u64::from(index) << 32 | u64::from(write), u64::from(cell));
                        tell(thread, (0, place, cell, colour(writer)));
                        tell(writer, (1, place, cell, colour(thread)));
                    }
                    Choice::Swap { thread, index, succeeds } => {
                        tell(thread, (2, u64::from(index), u64::from(succeeds), 0));
                    }
                    Choice::PutOff { thread, index, cell, writer, events } => {
                        let (place, cell) = (u64::from(index) << 32 | u64::from(events), u64::from(cell));
                        tell(thread, (3, place, cell, colour(writer)));
                        tell(writer, (4, place, cell, colour(thread)));
                    }
                }
            }
            let refined = parts.into_iter().zip(&colours).map(|(mut parts, colour)| {
                parts.sort_unstable();
                let mut hasher = rustc_hash::FxHasher::default();
                (colour, parts).hash(&mut hasher);
                hasher.finish()
            });
            colours = refined.collect();
            let different = colours.iter().collect::<HashSet<_>>().len();
            if different <= kinds {
                break;
            }
            kinds = different;
        }
        let mut places = vec![0; colours.len()];
        for class in 0..colours.len() as u32 {
            let members = (0..colours.len()).filter(|&thread| self.classes[thread] == class);
            let slots: Vec<usize> = members.collect();
            let mut ordered = slots.clone();
            ordered.sort_by_key(|&thread| (colours[thread], thread));
            for (slot, thread) in slots.into_iter().zip(ordered) {
                places[thread] = slot as u32;
            }
        }
        places
    }
}
