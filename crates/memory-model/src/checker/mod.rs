//! The independent checker of certificates.
//!
//! It takes a test, a model's name and a certificate, and accepts or rejects. For an execution it runs each thread on what
//! the certificate lets its reads take, and tests every axiom. For a proof that there is none it follows the proof: each
//! choice must have all its cases, and each end must be what it says. What a partial execution violates stays violated, for
//! all that is derived only grows with what is chosen.
//!
//! [`crate::replay`] runs threads; barriers and axioms are here. With the search all these share the test as it was parsed
//! ([`crate::program`]), what an event is ([`crate::event`]), and the certificate's form: no line besides.

pub(crate) mod axioms;
mod barriers;

pub(crate) use barriers::Arrival;

use crate::certificate::{Certificate, Choices, Name, Proof, Reader};
use crate::event::{Event, Scope};
use crate::language::{Ordering, Version};
use crate::model::Family;
use crate::program::{Access, Arithmetic, Instruction, Operand, Program, Quantifier, Term, Thread, Update};
use crate::replay::{Stop, Values, World};
use axioms::is_sc_pair;
use std::collections::BTreeSet;

/// The checker of one test under one model.
pub struct Checker<'a> {
    pub(crate) program: &'a Program,
    pub(crate) model: (Family, Version),
    pub(crate) bound: u32,
    /// Where accesses begin or end, by object: cells are between.
    pub(crate) cuts: BTreeSet<(u32, u32)>,
    /// What the conditions ask for.
    pub(crate) terms: Vec<Term>,
}

/// The choices that a proof has shown to lead nowhere, as far as it has been followed.
type Refuted = BTreeSet<Choices>;

impl<'a> Checker<'a> {
    /// Prepares to check certificates about a test, whose loops with effects go round so often.
    pub fn new(program: &'a Program, family: Family, version: Version, bound: u32) -> Self {
        let whole = program.objects.iter().enumerate().map(|(object, all)| Event::initial(object, all.len()));
        let named = program.locations.iter().map(|location| location.bytes);
        let pieces = whole.filter_map(|event| event.bytes()).chain(program.accesses()).chain(named);
        let cuts = pieces.flat_map(|b| [b.start, b.start + b.len].map(|at| (b.object, at))).collect();
        Self { program, model: (family, version), bound: bound.max(1), cuts, terms: program.asked() }
    }

    /// The cells of locations that the conditions ask for.
    pub(crate) fn finals(&self) -> impl Iterator<Item = Reader> {
        let locations =
            (0..self.program.locations.len()).filter(|&index| self.terms.contains(&Term::Memory(index)));
        let cells =
            |index: usize| self.cells(self.program.locations[index].bytes).map(move |cell| (index, cell));
        locations.flat_map(cells).map(|(index, cell)| (Name { thread: None, index }, cell))
    }

    /// Whether a certificate shows what it is to show.
    pub fn accepts(&self, certificate: &Certificate) -> bool {
        match certificate {
            Certificate::Execution(choices) => self.accepts_execution(choices),
            Certificate::Proof(proof) => {
                self.follow(proof, &Choices::default(), &Values::new(), &mut Refuted::new())
            }
        }
    }

    /// Whether choices give an execution of the test that obeys the axioms, and ends as the assertion asks or forbids.
    fn accepts_execution(&self, chosen: &Choices) -> bool {
        let Some(world) = self.world(chosen, &Values::new()) else { return false };
        let (n, graph, co) = (world.names.len(), &world.graph, &world.co);
        let total = |a: usize, b: usize| {
            (!world.derived.coherent.has(a, b) || co.has(a, b) || co.has(b, a))
                && (!is_sc_pair(graph, a, b) || graph.scf.has(a, b) || graph.scf.has(b, a))
        };
        world.has_ended()
            && world.open.is_empty()
            && !world.refuted
            && chosen.barriers.as_ref().is_some_and(|way| self.ways(&world).contains(way))
            && (0..n).all(|a| (0..a).all(|b| total(a, b)))
            && self.violated(&world).is_empty()
            && !self.is_overwritten(&world, chosen)
            && self.is_as_asked(&world, chosen) == Some(true)
    }

    /// Whether a proof shows that no execution with these choices, and so these values, ends so.
    fn follow(&self, proof: &Proof, chosen: &Choices, values: &Values, refuted: &mut Refuted) -> bool {
        if let Proof::Mirrored(places) = proof {
            let taken: BTreeSet<&usize> = places.iter().collect();
            return taken.len() == self.program.threads.len()
                && places.len() == taken.len()
                && places.iter().enumerate().all(|(a, &b)| a == b || self.are_alike(a, b))
                && refuted.contains(&chosen.exchanged(places));
        }
        let Some(world) = self.world(chosen, values) else { return false };
        let with = |next: &Proof, refuted: &mut Refuted, choose: &dyn Fn(&mut Choices)| {
            let mut chosen = chosen.clone();
            choose(&mut chosen);
            let follows = self.follow(next, &chosen, &world.values, refuted);
            refuted.extend(follows.then_some(chosen));
            follows
        };
        let writes = |reader: &Reader| {
            let new = |name: &Name| !chosen.put_off.get(reader).is_some_and(|old| old.contains(name));
            let fit = (0..world.names.len()).filter(|&id| self.fits(&world, *reader, id));
            fit.map(|id| world.names[id]).filter(new).collect::<Vec<Name>>()
        };
        let waits = world.threads.iter().any(|(stop, _)| matches!(stop, Stop::Branch | Stop::Swap(_)));
        match proof {
            Proof::Violated(axiom) => self.violated(&world).contains(&&**axiom),
            Proof::Overwritten => self.is_overwritten(&world, chosen),
            Proof::Refuted => world.refuted || self.is_as_asked(&world, chosen) == Some(false),
            Proof::Unfinished => {
                let exhausted =
                    |reader: &Reader| chosen.put_off.contains_key(reader) && writes(reader).is_empty();
                let swaps = world.threads.iter().any(|(stop, _)| matches!(stop, Stop::Swap(_)));
                let stuck = (waits || !world.open.is_empty()) && !swaps && world.open.iter().all(exhausted);
                // Nobody who may still go on has in its text what a read was put off for.
                let in_vain = |reader: &Reader| {
                    let mut all = world.threads.iter().zip(&self.program.threads);
                    let written = all.any(|((stop, _), text)| *stop != Stop::Ended && text.writes(reader.1));
                    exhausted(reader) && !written
                };
                stuck
                    || world.open.iter().any(in_vain)
                    || world.threads.iter().any(|(stop, _)| *stop == Stop::Loop)
            }
            Proof::Source { reader, cases, later } => {
                let is_case = |write: &Name| cases.iter().any(|(name, _)| name == write);
                let mut follows = |(write, next): &(Name, Proof)| {
                    let choose = |to: &mut Choices| {
                        to.sources.insert(*reader, *write);
                        to.put_off.remove(reader);
                    };
                    with(next, refuted, &choose)
                };
                let all = cases.iter().all(&mut follows);
                let mut put_off = |later: &Proof| {
                    let put_off =
                        |to: &mut Choices| to.put_off.entry(*reader).or_default().extend(&world.names);
                    with(later, refuted, &put_off)
                };
                world.open.contains(reader)
                    && writes(reader).iter().all(is_case)
                    && all
                    && (!waits || later.as_deref().is_some_and(&mut put_off))
            }
            Proof::Swap { read, success, failure } => {
                let mut case =
                    |next, succeeds| with(next, refuted, &|to| _ = to.swaps.insert(*read, succeeds));
                case(success, true) && case(failure, false)
            }
            Proof::Barriers(cases) => {
                let mut follows = |way| {
                    let case = cases.iter().find(|(pairs, _)| *pairs == way);
                    case.is_some_and(|(_, next)| with(next, refuted, &|to| to.barriers = Some(way.clone())))
                };
                world.has_ended() && self.ways(&world).into_iter().all(&mut follows)
            }
            Proof::Orient { ordering, a, b, forth, back } => {
                let needed = |(a, b)| match ordering {
                    Ordering::Co => world.derived.coherent.has(a, b),
                    Ordering::Scf => is_sc_pair(&world.graph, a, b),
                };
                let order = |pair| {
                    move |to: &mut Choices| match ordering {
                        Ordering::Co => _ = to.coherence.insert(pair),
                        Ordering::Scf => _ = to.fences.insert(pair),
                    }
                };
                world.place(a).zip(world.place(b)).is_some_and(needed)
                    && with(forth, refuted, &order((*a, *b)))
                    && with(back, refuted, &order((*b, *a)))
            }
            Proof::Mirrored(..) => false,
        }
    }

    /// Whether the test stays what it is if two threads exchange their names: they have one text, no condition asks for
    /// their registers, and every other thread is as near to the one as to the other.
    fn are_alike(&self, a: usize, b: usize) -> bool {
        let (threads, asked) = (&self.program.threads, |of: usize| {
            self.terms.iter().any(|term| matches!(term, Term::Register(thread, _) if *thread == of))
        });
        let Some((first, second)) = threads.get(a).zip(threads.get(b)) else { return false };
        let near =
            |of: &Thread, c: usize| Scope::ALL.map(|scope| of.placement.shares(threads[c].placement, scope));
        let mut others = (0..threads.len()).filter(|&c| c != a && c != b);
        let text = (&first.code, &first.initial) == (&second.code, &second.initial);
        (text || self.sums_up(a, b))
            && !asked(a)
            && !asked(b)
            && others.all(|c| near(first, c) == near(second, c))
    }

    /// Whether both only add to a word that all others leave alone or add to, in one chain that nobody asks about.
    fn sums_up(&self, a: usize, b: usize) -> bool {
        use Arithmetic::{Add, And, Max, Min, Or, Xor};
        let adds = |thread: &Thread| match thread.code[..] {
            [Instruction::Atomic { update: Update::Combine(how, Operand::Constant(_)), access, .. }] => {
                (matches!(how, Add | And | Or | Xor | Min | Max)).then_some((how, access))
            }
            _ => None,
        };
        let (threads, kind) = (&self.program.threads, adds(&self.program.threads[a]));
        let Some((_, Access { bytes, scope: Some(scope), .. })) = kind else { return false };
        let all = (0..threads.len()).filter(|&thread| adds(&threads[thread]) == kind);
        let asked = |term: &Term| matches!(term, Term::Register(of, _) if all.clone().any(|one| one == *of));
        let shares = |c: usize, d: usize| threads[c].placement.shares(threads[d].placement, scope);
        let others = self.program.accesses().filter(|other| other.object == bytes.object).count();
        adds(&threads[b]) == kind
            && others == 2 * all.clone().count()
            && all.clone().all(|c| all.clone().all(|d| shares(c, d)))
            && !self.terms.iter().any(asked)
    }

    fn violated<'w>(&self, world: &'w World) -> Vec<&'w str> {
        world.derived.violated(&world.graph, &world.co, self.model)
    }

    /// Whether a write that was chosen for a final value is not the last.
    fn is_overwritten(&self, world: &World, chosen: &Choices) -> bool {
        let writes = self.finals().filter_map(|of| Some((self.source(world, chosen, of)?, of.1)));
        let later = |a, b, cell| world.co.has(a, b) && world.graph.events[b].covers(cell);
        writes.into_iter().any(|(a, cell)| (0..world.names.len()).any(|b| later(a, b, cell)))
    }

    /// Whether an end is one that the assertion asks for or forbids, where that follows from what is known of it.
    fn is_as_asked(&self, world: &World, chosen: &Choices) -> Option<bool> {
        let value = |term: Term| match term {
            Term::Constant(value) => Some(value),
            Term::Register(thread, register) => {
                let (stop, registers) = &world.threads[thread];
                registers[register].0.filter(|_| *stop == Stop::Ended)
            }
            Term::Memory(index) => {
                let bytes = self.program.locations[index].bytes;
                self.taken(world, chosen, Name { thread: None, index }, bytes)
            }
        };
        let wanted = self.program.quantifier != Quantifier::Forall;
        let filtered = self.program.filter.as_ref().map_or(Some(true), |filter| filter.evaluate(&value));
        let condition = self.program.condition.evaluate(&value).map(|holds| holds == wanted);
        match (filtered, condition) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (filtered, condition) => filtered.and(condition),
        }
    }
}
