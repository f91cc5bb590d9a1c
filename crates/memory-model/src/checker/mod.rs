//! The independent checker of certificates.
//!
//! It takes a test, a model's name and a certificate, and accepts or rejects. For an execution it runs each thread on the
//! values that the certificate gives its reads, and tests every axiom. For a proof that there is none it follows the proof:
//! each choice must have all its cases, and each end must be what it says. It has its own threads and its own axioms; with
//! the search it shares the parsed test, the table of cells and live registers ([`crate::layout`]), and trust in the
//! notation's monotony ([`crate::language`]): what a partial execution violates stays violated.

mod axioms;
mod judge;
mod threads;

pub use judge::all_outcomes;
pub use threads::Name;

use crate::answer::{Execution, Options};
use crate::event::{Event, Kind, Order, Part, Placement, Proxy};
use crate::language::{Ordering, Version};
use crate::layout::{Cell, Layout};
use crate::model::Family;
use crate::program::{Condition, Instruction, Operand, Program, Quantifier, Term};
use crate::search::Proof;
use axioms::{Derived, Graph, Pairs, scopes_meet};
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
    co: Pairs,
    open: Vec<(Name, Cell)>,
}

/// The checker of one test under one model.
pub struct Checker<'a> {
    program: &'a Program,
    layout: Layout,
    family: Family,
    version: Version,
    bound: u32,
}

impl<'a> Checker<'a> {
    /// Prepares to check certificates about a test.
    pub fn new(program: &'a Program, family: Family, version: Version, options: Options) -> Self {
        Self { program, layout: Layout::new(program), family, version, bound: options.bound.max(1) }
    }

    /// Whether an execution is one of the test, obeys the axioms, and ends as the assertion asks or forbids.
    pub fn accepts_execution(&self, execution: &Execution) -> bool {
        let name = |event: usize| name_of(execution.events(), event);
        let pairs = |pairs: &[(usize, usize)]| pairs.iter().map(|&(a, b)| (name(a), name(b))).collect();
        let bar: Vec<_> = execution.facts.base(crate::facts::Base::Bar).pairs().collect();
        let trial = Trial {
            sources: execution
                .reads_from
                .iter()
                .map(|&(read, write, cell)| ((name(read), cell), name(write)))
                .collect(),
            bar: Some(pairs(&bar)),
            co: pairs(&execution.chosen_co),
            scf: pairs(&execution.chosen_scf),
            ..Trial::default()
        };
        let world = self.world(&trial);
        let ended = world.runs.iter().all(|run| run.progress == Progress::Ended) && world.open.is_empty();
        let met = trial.bar.as_ref().is_some_and(|bar| self.ways(&world).contains(bar));
        if !ended || !met || world.names.len() != execution.events().len() {
            return false;
        }
        let derived = Derived::new(&world.graph, self.family, self.version);
        let n = world.names.len();
        let ordered = |order: &Pairs, a, b| order.contains(&(a, b)) || order.contains(&(b, a));
        let total = (0..n).all(|a| {
            (0..a).all(|b| {
                (!derived.must_be_coherent(&world.graph, a, b) || ordered(&world.co, a, b))
                    && (!is_sc_pair(&world.graph, a, b) || ordered(&world.graph.scf, a, b))
            })
        });
        let wanted = self.program.quantifier != Quantifier::Forall;
        let value = |term: Term| match term {
            Term::Constant(value) => Some(value),
            Term::Register(thread, register) => world.runs[thread].registers[register],
            Term::Memory(location) => {
                let told =
                    execution.outcome.iter().find(|(known, _)| *known == term).map(|(_, value)| *value)?;
                self.finals(&world, location).contains(&told).then_some(told)
            }
        };
        total
            && derived.violated(&world.graph, &world.co).is_none()
            && self.meets(wanted, &value) == Some(true)
    }

    /// Whether a proof shows that no execution ends as the assertion asks (`exists`) or forbids (`~exists`, `forall`).
    pub fn accepts_proof(&self, proof: &Proof) -> bool {
        self.follow(proof, &Trial::default())
    }

    fn follow(&self, proof: &Proof, trial: &Trial) -> bool {
        let world = self.world(trial);
        let undecided =
            world.runs.iter().any(|run| !matches!(run.progress, Progress::Ended | Progress::Repeating));
        match proof {
            Proof::Violated => Derived::new(&world.graph, self.family, self.version)
                .violated(&world.graph, &world.co)
                .is_some(),
            Proof::Refuted => world.runs.iter().any(|run| run.refuted) || self.ends_otherwise(&world),
            Proof::Unfinished => {
                let exhausted = |key: &(Name, Cell)| {
                    trial.put_off.contains_key(key) && self.writes(&world, trial, key).is_empty()
                };
                let swapping = world.runs.iter().any(|run| matches!(run.progress, Progress::Swapping(_)));
                let waits = undecided || !world.open.is_empty();
                world.runs.iter().any(|run| run.progress == Progress::Repeating)
                    || (waits && !swapping && world.open.iter().all(exhausted))
            }
            Proof::Source { read, cell, cases, later } => {
                let key = (*read, *cell);
                let covered = self.writes(&world, trial, &key).into_iter().all(|write| {
                    cases.iter().find(|(name, _)| *name == write).is_some_and(|(_, next)| {
                        let mut trial = trial.clone();
                        trial.sources.insert(key, write);
                        self.follow(next, &trial)
                    })
                });
                let put_off = || {
                    let mut trial = trial.clone();
                    trial.put_off.entry(key).or_default().extend(&world.names);
                    later.as_ref().is_some_and(|later| self.follow(later, &trial))
                };
                world.open.contains(&key) && covered && (!undecided || put_off())
            }
            Proof::Swap { read, success, failure } => {
                let with = |succeeds: bool, next: &Proof| {
                    let mut trial = trial.clone();
                    trial.swaps.insert(*read, succeeds);
                    self.follow(next, &trial)
                };
                with(true, success) && with(false, failure)
            }
            Proof::Barriers(cases) => {
                let ended =
                    world.runs.iter().all(|run| run.progress == Progress::Ended) && world.open.is_empty();
                ended
                    && self.ways(&world).into_iter().all(|way| {
                        let case = cases
                            .iter()
                            .find(|(pairs, _)| pairs.iter().copied().collect::<NamePairs>() == way);
                        let trial = Trial { bar: Some(way), ..trial.clone() };
                        case.is_some_and(|(_, next)| self.follow(next, &trial))
                    })
            }
            Proof::Orient { ordering, a, b, forth, back } => {
                let place = |name: &Name| world.names.iter().position(|known| known == name);
                let (Some(first), Some(second)) = (place(a), place(b)) else { return false };
                let derived = Derived::new(&world.graph, self.family, self.version);
                let needed = match ordering {
                    Ordering::Co => derived.must_be_coherent(&world.graph, first, second),
                    Ordering::Scf => is_sc_pair(&world.graph, first, second),
                };
                let with = |pair: (Name, Name), next: &Proof| {
                    let mut trial = trial.clone();
                    match ordering {
                        Ordering::Co => trial.co.insert(pair),
                        Ordering::Scf => trial.scf.insert(pair),
                    };
                    self.follow(next, &trial)
                };
                needed && with((*a, *b), forth) && with((*b, *a), back)
            }
        }
    }

    /// Runs the threads again and again, until the reads have all the values that the chosen writes give.
    fn world(&self, trial: &Trial) -> World {
        let count = self.program.threads.len();
        let mut values: Vec<BTreeMap<usize, i64>> = vec![BTreeMap::new(); count];
        let runs = loop {
            let runs: Vec<Run> = (0..count)
                .map(|thread| {
                    let mine = trial.swaps.iter().filter(|(read, _)| read.thread == Some(thread));
                    let swaps = mine.map(|(read, succeeds)| (read.index, *succeeds)).collect();
                    run(
                        (self.program, &self.layout, self.family, self.bound),
                        thread,
                        &values[thread],
                        &swaps,
                    )
                })
                .collect();
            let mut next = vec![BTreeMap::new(); count];
            for (thread, run) in runs.iter().enumerate() {
                for (index, event) in run.events.iter().enumerate().filter(|(_, event)| event.is_read()) {
                    let Some(bytes) = event.bytes() else { continue };
                    let name = Name { thread: Some(thread), index };
                    let parts = self.layout.cells_of(bytes).map(|cell| {
                        let write = trial.sources.get(&(name, cell))?;
                        Some(self.piece(&runs, *write, cell)? << ((cell.start - bytes.start) * 8))
                    });
                    if let Some(value) = parts.sum::<Option<u64>>() {
                        next[thread].insert(index, value as i64);
                    }
                }
            }
            let settled = next == values;
            values = next;
            if settled {
                break runs;
            }
        };
        self.assemble(runs, trial)
    }

    /// The value that a write gives to a cell.
    fn piece(&self, runs: &[Run], write: Name, cell: Cell) -> Option<u64> {
        let mask = u64::MAX >> (64 - 8 * cell.len.clamp(1, 8));
        let Some(thread) = write.thread else {
            let bytes = self.program.objects[write.index]
                .iter()
                .skip(cell.start as usize)
                .take(cell.len.min(8) as usize);
            return Some(bytes.rev().fold(0, |value, &byte| value << 8 | u64::from(byte)));
        };
        let start = runs[thread].events.get(write.index)?.bytes()?.start;
        let value = *runs[thread].written.get(&write.index)?;
        Some(value? as u64 >> ((cell.start - start) * 8) & mask)
    }

    fn assemble(&self, runs: Vec<Run>, trial: &Trial) -> World {
        let (mut graph, mut names) = (Graph::default(), Vec::new());
        for (object, bytes) in self.program.objects.iter().enumerate() {
            let (object, len) = (object as u32, bytes.len() as u32);
            let kind = Kind::Init(crate::event::Bytes { object, address: u32::MAX, start: 0, len });
            let (placement, order, proxy) = (Placement::default(), Order::Weak, Proxy::Generic);
            let none = (None, false);
            graph.events.push(Event {
                thread: None,
                instruction: 0,
                placement,
                kind,
                order,
                scope: none.0,
                proxy,
                unobserved: none.1,
            });
            names.push(Name { thread: None, index: object as usize });
        }
        for (thread, run) in runs.iter().enumerate() {
            let base = names.len();
            let lift = |pairs: &BTreeSet<(usize, usize)>| {
                pairs.iter().map(|&(a, b)| (base + a, base + b)).collect::<Vec<_>>()
            };
            names.extend((0..run.events.len()).map(|index| Name { thread: Some(thread), index }));
            graph.events.extend(&run.events);
            graph.po.extend(lift(&run.order));
            graph.rmw.extend(lift(&run.rmw));
            graph.dependencies.extend(lift(&run.dependencies));
            graph.copies.extend(lift(&run.copies));
        }
        let place: BTreeMap<Name, usize> = names.iter().enumerate().map(|(id, name)| (*name, id)).collect();
        let lookup = |pairs: &NamePairs| -> Pairs {
            pairs.iter().filter_map(|(a, b)| Some((*place.get(a)?, *place.get(b)?))).collect()
        };
        let mut open = Vec::new();
        for (id, event) in graph.events.iter().enumerate().filter(|(_, event)| event.is_read()) {
            for cell in event.bytes().into_iter().flat_map(|bytes| self.layout.cells_of(bytes)) {
                match trial.sources.get(&(names[id], cell)).and_then(|write| place.get(write)) {
                    None => open.push((names[id], cell)),
                    Some(&write) => {
                        let bytes = (0..cell.len).map(|byte| (id, write, cell.object, cell.start + byte));
                        graph.bytes_read.extend(bytes);
                    }
                }
            }
        }
        graph.scf = lookup(&trial.scf);
        let mut world = World { runs, names, graph, co: Pairs::new(), open };
        world.graph.bar = lookup(trial.bar.as_ref().unwrap_or(&self.certain(&world)));
        let decided = lookup(&trial.co);
        loop {
            let derived = Derived::new(&world.graph, self.family, self.version);
            let forced = derived.forced_fences(&world.graph);
            if forced.is_subset(&world.graph.scf) {
                world.co = derived.least_coherence(&world.graph, &decided);
                return world;
            }
            world.graph.scf.extend(forced);
        }
    }

    /// The writes that a cell of a read may take, except those that were there when it was put off.
    fn writes(&self, world: &World, trial: &Trial, (read, cell): &(Name, Cell)) -> Vec<Name> {
        let place = |name: &Name| world.names.iter().position(|known| known == name);
        let own = |write: usize| place(read).is_some_and(|read| world.graph.rmw.contains(&(read, write)));
        let old = trial.put_off.get(&(*read, *cell));
        let fits = |&id: &usize| {
            let event = &world.graph.events[id];
            let has = event.bytes().is_some_and(|bytes| cell.is_in(bytes));
            event.is_write() && has && !own(id) && !old.is_some_and(|old| old.contains(&world.names[id]))
        };
        (0..world.names.len()).filter(fits).map(|id| world.names[id]).collect()
    }

    fn meets(&self, wanted: bool, value: &impl Fn(Term) -> Option<i64>) -> Option<bool> {
        let filtered =
            self.program.filter.as_ref().map_or(Some(true), |filter: &Condition| filter.evaluate(value));
        let condition = self.program.condition.evaluate(value).map(|holds| holds == wanted);
        if filtered == Some(false) || condition == Some(false) {
            Some(false)
        } else {
            filtered.and(condition)
        }
    }

    /// Whether no execution that goes on from here ends as is asked about.
    fn ends_otherwise(&self, world: &World) -> bool {
        let wanted = self.program.quantifier != Quantifier::Forall;
        let register = |term: Term| match term {
            Term::Constant(value) => Some(value),
            Term::Register(thread, register) if world.runs[thread].progress == Progress::Ended => {
                world.runs[thread].registers[register]
            }
            _ => None,
        };
        if self.meets(wanted, &register) == Some(false) {
            return true;
        }
        if !world.open.is_empty() || world.runs.iter().any(|run| run.progress != Progress::Ended) {
            return false;
        }
        let mut terms = Vec::new();
        self.program.condition.terms(&mut terms);
        self.program.filter.as_ref().map(|filter: &Condition| filter.terms(&mut terms)).unwrap_or_default();
        terms.retain(|term| matches!(term, Term::Memory(_)));
        let mut ends: Vec<BTreeMap<usize, i64>> = vec![BTreeMap::new()];
        for term in terms {
            let Term::Memory(location) = term else { continue };
            let finals = self.finals(world, location);
            let with = |end: &BTreeMap<usize, i64>, value: i64| {
                end.iter().map(|(&l, &v)| (l, v)).chain([(location, value)]).collect()
            };
            ends = ends
                .iter()
                .flat_map(|end| finals.iter().map(|&value| with(end, value)).collect::<Vec<_>>())
                .collect();
        }
        ends.iter().all(|end| {
            let value = |term: Term| {
                if let Term::Memory(location) = term { end.get(&location).copied() } else { register(term) }
            };
            self.meets(wanted, &value) != Some(true)
        })
    }

    /// The values that a location may have in the end.
    fn finals(&self, world: &World, location: usize) -> BTreeSet<i64> {
        let bytes = self.program.locations[location].bytes;
        let mut values = BTreeSet::from([0]);
        for cell in self.layout.cells_of(bytes) {
            let has = |id: usize| {
                let event = &world.graph.events[id];
                event.is_write() && event.bytes().is_some_and(|bytes| cell.is_in(bytes))
            };
            let last = |&id: &usize| has(id) && !world.co.iter().any(|&(a, b)| a == id && has(b));
            let parts: BTreeSet<u64> = (0..world.names.len())
                .filter(last)
                .filter_map(|id| self.piece(&world.runs, world.names[id], cell))
                .collect();
            let shift = (cell.start - bytes.start) * 8;
            values = values
                .iter()
                .flat_map(|value| parts.iter().map(move |part| value | (part << shift) as i64))
                .collect();
        }
        values
    }

    fn arrivals(&self, world: &World) -> Vec<Arrival> {
        let mut found = Vec::new();
        for (thread, run) in world.runs.iter().enumerate() {
            for (&index, &(instruction, resource, quorum)) in &run.barriers {
                let Kind::Barrier(barrier) = run.events[index].kind else { continue };
                let placement = self.program.threads[thread].placement;
                let place = if barrier.scope == crate::event::Scope::Cta {
                    placement
                } else {
                    Placement { cta: 0, ..placement }
                };
                let group = (barrier.instance, barrier.scope, place, resource);
                found.push(Arrival {
                    name: Name { thread: Some(thread), index },
                    instruction,
                    group,
                    quorum,
                    part: barrier.part,
                });
            }
        }
        found
    }

    /// The barriers that meet in any case: those without quorum whose resources are known.
    fn certain(&self, world: &World) -> NamePairs {
        let all = self.arrivals(world);
        let fixed = |a: &&Arrival| a.quorum.is_none() && a.group.3 != Some(None);
        all.iter().filter(fixed).flat_map(|a| meetings(a, all.iter().filter(fixed))).collect()
    }

    /// All ways in which the barriers of ended threads can have met.
    fn ways(&self, world: &World) -> BTreeSet<NamePairs> {
        let all = self.arrivals(world);
        let mut ways = BTreeSet::from([NamePairs::new()]);
        let groups: BTreeSet<Group> = all.iter().map(|arrival| arrival.group).collect();
        for group in groups {
            let company: Vec<&Arrival> = all.iter().filter(|arrival| arrival.group == group).collect();
            let size =
                company.iter().filter_map(|a| a.quorum).map(|quorum| quorum.unwrap_or(0) as usize).max();
            let everyone = || {
                self.program.threads.iter().enumerate().all(|(thread, text)| {
                    text.code.iter().enumerate().all(|(at, instruction)| {
                        let Instruction::Barrier { instance, scope, resource, .. } = instruction else {
                            return true;
                        };
                        let place = if *scope == crate::event::Scope::Cta {
                            text.placement
                        } else {
                            Placement { cta: 0, ..text.placement }
                        };
                        let named = resource.map(|operand| match operand {
                            Operand::Constant(value) => Some(value),
                            Operand::Register(register) => world.runs[thread].registers[register],
                        });
                        let came = all.iter().any(|a| a.name.thread == Some(thread) && a.instruction == at);
                        (*instance, *scope, place, named) != group || came
                    })
                })
            };
            let free = company.iter().any(|arrival| arrival.quorum.is_none());
            let splits: Vec<NamePairs> = match size {
                _ if free && !everyone() => Vec::new(),
                None => vec![company.iter().flat_map(|a| meetings(a, company.iter().copied())).collect()],
                Some(size) if self.family == Family::Dartagnan => choose(&company, size)
                    .iter()
                    .map(|chosen| chosen.iter().flat_map(|a| meetings(a, company.iter().copied())).collect())
                    .collect(),
                Some(size) => split(&company, size),
            };
            ways = ways
                .iter()
                .flat_map(|way| {
                    splits.iter().map(|more| way.union(more).copied().collect()).collect::<Vec<_>>()
                })
                .collect();
        }
        ways
    }
}

type Group = (u32, crate::event::Scope, Placement, Option<Option<i64>>);

/// A thread's coming to a barrier.
struct Arrival {
    name: Name,
    instruction: usize,
    group: Group,
    quorum: Option<Option<i64>>,
    part: Part,
}

/// What an arrival releases among others.
fn meetings<'a>(from: &Arrival, others: impl Iterator<Item = &'a Arrival>) -> Vec<(Name, Name)> {
    let meets = |to: &&Arrival| to.group == from.group && from.part != Part::Wait && to.part != Part::Arrive;
    others.filter(meets).map(|to| (from.name, to.name)).collect()
}

/// All choices of so many.
fn choose<'a>(company: &[&'a Arrival], size: usize) -> Vec<Vec<&'a Arrival>> {
    let all = (0..1u32 << company.len().min(16)).filter(|mask| mask.count_ones() as usize == size);
    all.map(|mask| (0..company.len()).filter(|i| mask >> i & 1 != 0).map(|i| company[i]).collect()).collect()
}

/// All ways to meet in generations of so many distinct threads; who is left over must not wait.
fn split(company: &[&Arrival], size: usize) -> Vec<NamePairs> {
    let Some(first) = company.iter().find(|arrival| arrival.part != Part::Arrive) else {
        return vec![NamePairs::new()];
    };
    let mut ways = Vec::new();
    for chosen in choose(company, size) {
        let threads: BTreeSet<_> = chosen.iter().map(|arrival| arrival.name.thread).collect();
        if threads.len() == size && chosen.iter().any(|arrival| arrival.name == first.name) {
            let own: NamePairs = chosen.iter().flat_map(|a| meetings(a, chosen.iter().copied())).collect();
            let rest: Vec<&Arrival> =
                company.iter().filter(|a| chosen.iter().all(|b| b.name != a.name)).copied().collect();
            ways.extend(
                split(&rest, size).into_iter().map(|more| more.union(&own).copied().collect::<NamePairs>()),
            );
        }
    }
    ways
}

fn is_sc_pair(graph: &Graph, a: usize, b: usize) -> bool {
    let sc = |event: &Event| matches!(event.kind, Kind::Fence) && event.order == Order::Sc;
    let (a, b) = (&graph.events[a], &graph.events[b]);
    sc(a) && sc(b) && scopes_meet(a, b)
}

/// The name of an event of an execution.
pub(crate) fn name_of(events: &[Event], event: usize) -> Name {
    let thread = events[event].thread.map(|thread| thread as usize);
    Name {
        thread,
        index: events[..event].iter().filter(|other| other.thread == events[event].thread).count(),
    }
}
