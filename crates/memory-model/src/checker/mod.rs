//! The independent checker of certificates.
//!
//! It takes a test, a model's name and a certificate, and accepts or rejects. For an execution it runs each thread on the
//! values that the certificate gives its reads, and tests every axiom. For a proof that there is none it follows the proof:
//! each choice must have all its cases, and each end must be what it says. It has its own threads, barriers and axioms; with
//! the search it shares the parsed test, the table of cells and live registers ([`crate::layout`]), and trust in the
//! notation's monotony ([`crate::language`]): what a partial execution violates stays violated.

mod axioms;
mod barriers;
mod judge;
mod threads;

pub use judge::all_outcomes;
pub use threads::Name;

use crate::answer::{Execution, Options};
use crate::event::{Bytes, Event, Kind, Order, Placement, Proxy};
use crate::language::{Ordering, Version};
use crate::layout::{Cell, Layout};
use crate::model::Family;
use crate::program::{Program, Quantifier, Term};
use crate::search::Proof;
use axioms::{Derived, Graph, Rel, is_sc_pair};
use std::collections::{BTreeMap, BTreeSet};
use threads::{Progress, Run, run};

type NamePairs = BTreeSet<(Name, Name)>;

/// What has been chosen.
#[derive(Clone, Default)]
struct Trial {
    sources: BTreeMap<(Name, Cell), Name>,
    swaps: BTreeMap<Name, bool>,
    put_off: BTreeMap<(Name, Cell), BTreeSet<Name>>,
    bar: Option<NamePairs>,
    co: NamePairs,
    scf: NamePairs,
}

/// What follows from it.
struct World {
    runs: Vec<Run>,
    names: Vec<Name>,
    graph: Graph,
    derived: Derived,
    co: Rel,
    /// The cells of reads whose writes are not chosen.
    open: Vec<(Name, Cell)>,
}

impl World {
    fn place(&self, name: &Name) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    fn has_ended(&self) -> bool {
        self.open.is_empty() && self.runs.iter().all(|run| run.progress == Progress::Ended)
    }
}

/// The checker of one test under one model.
pub struct Checker<'a> {
    program: &'a Program,
    layout: Layout,
    family: Family,
    version: Version,
    bound: u32,
    /// The values in the conditions.
    terms: Vec<Term>,
}

impl<'a> Checker<'a> {
    /// Prepares to check certificates about a test.
    pub fn new(program: &'a Program, family: Family, version: Version, options: Options) -> Self {
        let mut terms = Vec::new();
        program.condition.terms(&mut terms);
        program.filter.iter().for_each(|filter| filter.terms(&mut terms));
        Self { program, layout: Layout::new(program), family, version, bound: options.bound.max(1), terms }
    }

    /// Whether an execution is one of the test, obeys the axioms, and ends as the assertion asks or forbids.
    pub fn accepts_execution(&self, execution: &Execution) -> bool {
        let name = |event: usize| name_of(execution.events(), event);
        let pairs = |pairs: &[(usize, usize)]| pairs.iter().map(|&(a, b)| (name(a), name(b))).collect();
        let bar: Vec<_> = execution.facts.base(crate::facts::Base::Bar).pairs().collect();
        let sources = execution.reads_from.iter();
        let trial = Trial {
            sources: sources.map(|&(read, write, cell)| ((name(read), cell), name(write))).collect(),
            bar: Some(pairs(&bar)),
            co: pairs(&execution.chosen_co),
            scf: pairs(&execution.chosen_scf),
            ..Trial::default()
        };
        let Some(world) = self.world(&trial) else { return false };
        let (n, graph) = (world.names.len(), &world.graph);
        let ordered = |order: &Rel, a, b| order.has(a, b) || order.has(b, a);
        let total = |a: usize, b: usize| {
            (!world.derived.coherent.has(a, b) || ordered(&world.co, a, b))
                && (!is_sc_pair(graph, a, b) || ordered(&graph.scf, a, b))
        };
        let told =
            |term: &Term| execution.outcome.iter().find(|(known, _)| known == term).map(|(_, value)| *value);
        let told: Vec<_> = self.terms.iter().map(told).collect();
        world.has_ended()
            && n == execution.events().len()
            && self.ways(&world.runs).iter().any(|way| trial.bar.as_ref() == Some(way))
            && (0..n).all(|a| (0..a).all(|b| total(a, b)))
            && world.derived.violated(graph, &world.co).is_none()
            && self.ends(&world, &self.terms).contains(&told)
            && self.is_as_asked(&told) == Some(true)
    }

    /// Whether a proof shows that no execution ends as the assertion asks (`exists`) or forbids (`~exists`, `forall`).
    pub fn accepts_proof(&self, proof: &Proof) -> bool {
        self.follow(proof, &Trial::default())
    }

    fn follow(&self, proof: &Proof, trial: &Trial) -> bool {
        let Some(world) = self.world(trial) else { return false };
        let with = |next: &Proof, choose: &dyn Fn(&mut Trial)| {
            let mut trial = trial.clone();
            choose(&mut trial);
            self.follow(next, &trial)
        };
        let undecided = world.runs.iter().any(|run| matches!(run.progress, Progress::Undecided(_)));
        match proof {
            Proof::Violated => world.derived.violated(&world.graph, &world.co).is_some(),
            Proof::Refuted => {
                let ends = self.ends(&world, &self.terms);
                world.runs.iter().any(|run| run.refuted)
                    || ends.iter().all(|end| self.is_as_asked(end) == Some(false))
            }
            Proof::Unfinished => {
                let exhausted =
                    |key| trial.put_off.contains_key(key) && self.writes(&world, trial, key).is_empty();
                let swapping =
                    world.runs.iter().any(|run| matches!(run.progress, Progress::Undecided(Some(_))));
                let stuck =
                    (undecided || !world.open.is_empty()) && !swapping && world.open.iter().all(exhausted);
                stuck || world.runs.iter().any(|run| run.progress == Progress::Repeating)
            }
            Proof::Source { read, cell, cases, later } => {
                let key = (*read, *cell);
                let follows = |write: Name| {
                    let case = cases.iter().find(|(name, _)| *name == write);
                    case.is_some_and(|(_, next)| with(next, &|trial| _ = trial.sources.insert(key, write)))
                };
                let names = || world.names.iter().copied();
                let put_off = |later: &Proof| {
                    with(later, &|trial| trial.put_off.entry(key).or_default().extend(names()))
                };
                world.open.contains(&key)
                    && self.writes(&world, trial, &key).into_iter().all(follows)
                    && (!undecided || later.as_deref().is_some_and(put_off))
            }
            Proof::Swap { read, success, failure } => [(success, true), (failure, false)]
                .iter()
                .all(|(next, succeeds)| with(next, &|trial| _ = trial.swaps.insert(*read, *succeeds))),
            Proof::Barriers(cases) => {
                let follows = |way: NamePairs| {
                    let case =
                        cases.iter().find(|(pairs, _)| way.iter().eq(pairs.iter().collect::<BTreeSet<_>>()));
                    case.is_some_and(|(_, next)| with(next, &|trial| trial.bar = Some(way.clone())))
                };
                world.has_ended() && self.ways(&world.runs).into_iter().all(follows)
            }
            Proof::Orient { ordering, a, b, forth, back } => {
                let needed = |(a, b)| match ordering {
                    Ordering::Co => world.derived.coherent.has(a, b),
                    Ordering::Scf => is_sc_pair(&world.graph, a, b),
                };
                let order = |pair| {
                    move |trial: &mut Trial| match ordering {
                        Ordering::Co => _ = trial.co.insert(pair),
                        Ordering::Scf => _ = trial.scf.insert(pair),
                    }
                };
                world.place(a).zip(world.place(b)).is_some_and(needed)
                    && with(forth, &order((*a, *b)))
                    && with(back, &order((*b, *a)))
            }
        }
    }

    /// Runs the threads again and again, until the reads have all the values that the chosen writes give.
    fn world(&self, trial: &Trial) -> Option<World> {
        let context = (self.program, &self.layout, self.family, self.bound);
        let mut values: Vec<BTreeMap<usize, i64>> = vec![BTreeMap::new(); self.program.threads.len()];
        loop {
            let threads = values.iter().enumerate();
            let runs: Vec<Run> = threads.map(|(thread, of)| run(context, thread, of, &trial.swaps)).collect();
            let read = |thread: usize, index: usize, event: &Event| {
                let (name, bytes) =
                    (Name { thread: Some(thread), index }, event.bytes().filter(|_| event.is_read())?);
                let part = |cell: Cell| {
                    let part = self.piece(&runs, *trial.sources.get(&(name, cell))?, cell)?;
                    Some(part << ((cell.start - bytes.start) * 8))
                };
                self.layout.cells_of(bytes).map(part).sum::<Option<u64>>().map(|value| (index, value as i64))
            };
            let of = |(thread, run): (usize, &Run)| {
                run.events
                    .iter()
                    .enumerate()
                    .filter_map(|(index, event)| read(thread, index, event))
                    .collect()
            };
            let next: Vec<_> = runs.iter().enumerate().map(of).collect();
            if next == values {
                return self.assemble(runs, trial);
            }
            values = next;
        }
    }

    /// The value that a write gives to a cell.
    fn piece(&self, runs: &[Run], write: Name, cell: Cell) -> Option<u64> {
        let mask = u64::MAX >> (64 - 8 * cell.len.clamp(1, 8));
        let Some(thread) = write.thread else {
            let bytes = self.program.objects[write.index].iter().skip(cell.start as usize);
            return Some(
                bytes.take(cell.len.min(8) as usize).rev().fold(0, |all, &byte| all << 8 | u64::from(byte)),
            );
        };
        let start = runs[thread].events.get(write.index)?.bytes()?.start;
        let value = (*runs[thread].written.get(&write.index)?)?;
        Some(value as u64 >> ((cell.start - start) * 8) & mask)
    }

    fn assemble(&self, runs: Vec<Run>, trial: &Trial) -> Option<World> {
        let initial = |(index, bytes): (usize, &Vec<u8>)| {
            let bytes = Bytes { object: index as u32, address: u32::MAX, start: 0, len: bytes.len() as u32 };
            let (kind, placement, order, proxy) =
                (Kind::Init(bytes), Placement::default(), Order::Weak, Proxy::Generic);
            let event = Event {
                thread: None,
                instruction: 0,
                placement,
                kind,
                order,
                scope: None,
                proxy,
                unobserved: false,
            };
            (Name { thread: None, index }, event)
        };
        let (mut names, mut events): (Vec<_>, Vec<_>) =
            self.program.objects.iter().enumerate().map(initial).unzip();
        let mut pairs = [const { Vec::new() }; 4];
        for (thread, run) in runs.iter().enumerate() {
            let base = names.len();
            for (all, own) in pairs.iter_mut().zip([&run.order, &run.rmw, &run.dependencies, &run.copies]) {
                all.extend(own.iter().map(|(a, b)| (base + a, base + b)));
            }
            names.extend((0..run.events.len()).map(|index| Name { thread: Some(thread), index }));
            events.extend(&run.events);
        }
        let n = names.len();
        if n > 128 || runs.iter().any(|run| run.progress == Progress::TooLong) {
            return None;
        }
        let place = |name: &Name| names.iter().position(|known| known == name);
        let lookup = |pairs: &NamePairs| {
            Rel::from_pairs(n, pairs.iter().filter_map(|(a, b)| Some((place(a)?, place(b)?))))
        };
        let (mut open, mut sources) = (Vec::new(), Vec::new());
        for (id, event) in events.iter().enumerate().filter(|(_, event)| event.is_read()) {
            for cell in event.bytes().into_iter().flat_map(|bytes| self.layout.cells_of(bytes)) {
                match trial.sources.get(&(names[id], cell)).and_then(place) {
                    None => open.push((names[id], cell)),
                    Some(write) => sources.push((id, write, cell)),
                }
            }
        }
        let [po, rmw, dependencies, copies] = pairs.map(|pairs| Rel::from_pairs(n, pairs));
        let bar = lookup(trial.bar.as_ref().unwrap_or(&self.certain(&runs)));
        let (scf, decided) = (lookup(&trial.scf), lookup(&trial.co));
        let mut graph = Graph { events, po, rmw, dependencies, copies, bar, scf, sources };
        loop {
            let derived = Derived::new(&graph, self.family, self.version);
            if derived.fences.is_in(&graph.scf) {
                let co = derived.least_coherence(&graph, &decided);
                return Some(World { runs, names, graph, derived, co, open });
            }
            graph.scf = graph.scf.or(&derived.fences);
        }
    }

    /// The writes that a cell of a read may take, except those that were there when it was put off.
    fn writes(&self, world: &World, trial: &Trial, (read, cell): &(Name, Cell)) -> Vec<Name> {
        let own = |write: usize| world.place(read).is_some_and(|read| world.graph.rmw.has(read, write));
        let old = trial.put_off.get(&(*read, *cell));
        let fits = |(id, name): &(usize, &Name)| {
            let event = &world.graph.events[*id];
            let has = event.is_write() && event.bytes().is_some_and(|bytes| cell.is_in(bytes));
            has && !own(*id) && !old.is_some_and(|old| old.contains(name))
        };
        world.names.iter().enumerate().filter(fits).map(|(_, name)| *name).collect()
    }

    /// Whether an end is one that the assertion asks for or forbids, where that follows from what is known of it.
    fn is_as_asked(&self, end: &[Option<i64>]) -> Option<bool> {
        let value = |term: Term| match term {
            Term::Constant(value) => Some(value),
            _ => end[self.terms.iter().position(|known| *known == term)?],
        };
        let wanted = self.program.quantifier != Quantifier::Forall;
        let filtered = self.program.filter.as_ref().map_or(Some(true), |filter| filter.evaluate(&value));
        let condition = self.program.condition.evaluate(&value).map(|holds| holds == wanted);
        if condition == Some(false) {
            condition
        } else {
            filtered.and_then(|kept| if kept { condition } else { Some(false) })
        }
    }

    /// All that is known of how the terms end: a location may have several values, if no write of it is the last.
    fn ends(&self, world: &World, terms: &[Term]) -> Vec<Vec<Option<i64>>> {
        let values = |term: Term| match term {
            Term::Constant(value) => vec![Some(value)],
            Term::Register(thread, register) => {
                let run = &world.runs[thread];
                vec![run.registers[register].0.filter(|_| run.progress == Progress::Ended)]
            }
            Term::Memory(_) if !world.has_ended() => vec![None],
            Term::Memory(location) => self.finals(world, self.program.locations[location].bytes),
        };
        terms.iter().fold(vec![Vec::new()], |ends, &term| {
            let values = values(term);
            let with = |end: Vec<Option<i64>>| {
                values.iter().map(move |value| [&end[..], &[*value]].concat()).collect::<Vec<_>>()
            };
            ends.into_iter().flat_map(with).collect()
        })
    }

    /// The values that some bytes may have in the end.
    fn finals(&self, world: &World, bytes: Bytes) -> Vec<Option<i64>> {
        let n = world.names.len();
        self.layout.cells_of(bytes).fold(vec![Some(0)], |values, cell| {
            let has = |id: usize| {
                let event = &world.graph.events[id];
                event.is_write() && event.bytes().is_some_and(|bytes| cell.is_in(bytes))
            };
            let last = |&id: &usize| has(id) && !(0..n).any(|b| world.co.has(id, b) && has(b));
            let part = |id: usize| {
                Some(
                    (self.piece(&world.runs, world.names[id], cell)? << ((cell.start - bytes.start) * 8))
                        as i64,
                )
            };
            let parts: BTreeSet<_> = (0..n).filter(last).map(part).collect();
            values.iter().flat_map(|value| parts.iter().map(move |part| Some((*value)? | (*part)?))).collect()
        })
    }
}

/// The name of an event of an execution.
pub(crate) fn name_of(events: &[Event], event: usize) -> Name {
    let thread = events[event].thread.map(|thread| thread as usize);
    let index = events[..event].iter().filter(|other| other.thread == events[event].thread).count();
    Name { thread, index }
}
