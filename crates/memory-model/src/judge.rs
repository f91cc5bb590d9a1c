//! The brute-force judge: every execution of a test without branches, nothing pruned.
//!
//! It tries every write for every read, every direction of every pair of fences, and every partial order of the writes of
//! each location, and only then asks the axioms, as the checker of certificates has them. So it agrees with the search only
//! if nothing that the search leaves out was an execution, and if both say the same by the axioms.

use crate::certificate::{Choices, Pairs};
use crate::checker::Checker;
use crate::checker::axioms::{Rel, is_sc_pair, overlap};
use crate::program::Term;
use crate::replay::{Stop, Values, World};
use std::collections::BTreeSet;

/// All ways in which a test can end, told by the terms' values; none if it has branches, which the judge does not know.
pub fn all_outcomes(checker: &Checker, terms: &[Term]) -> Option<BTreeSet<Vec<i64>>> {
    let mut judge = Judge { checker, terms, found: BTreeSet::new() };
    judge.every_source(&Choices::default())?;
    Some(judge.found)
}

/// A test, and the ends found so far.
struct Judge<'a> {
    checker: &'a Checker<'a>,
    terms: &'a [Term],
    found: BTreeSet<Vec<i64>>,
}

impl Judge<'_> {
    fn every_source(&mut self, chosen: &Choices) -> Option<()> {
        let checker = self.checker;
        let world = checker.world(chosen, &Values::new())?;
        for (stop, _) in &world.threads {
            match stop {
                Stop::Ended => {}
                Stop::Swap(read) => {
                    for succeeds in [true, false] {
                        let mut chosen = chosen.clone();
                        chosen.swaps.insert(*read, succeeds);
                        self.every_source(&chosen)?;
                    }
                    return Some(());
                }
                Stop::Branch | Stop::Loop => return None,
            }
        }
        if let Some(reader) = world.open.iter().find(|(name, _)| name.thread.is_some()) {
            for write in (0..world.names.len()).filter(|&write| checker.fits(&world, *reader, write)) {
                let mut chosen = chosen.clone();
                chosen.sources.insert(*reader, world.names[write]);
                self.every_source(&chosen)?;
            }
            return Some(());
        }
        if !world.refuted {
            for way in checker.ways(&world) {
                self.every_order(&Choices { barriers: Some(way), ..chosen.clone() })?;
            }
        }
        Some(())
    }

    fn every_order(&mut self, chosen: &Choices) -> Option<()> {
        let checker = self.checker;
        let world = checker.world(chosen, &Values::new())?;
        let n = world.names.len();
        let fences: Vec<(usize, usize)> = (0..n)
            .flat_map(|a| (0..a).map(move |b| (a, b)))
            .filter(|&(a, b)| is_sc_pair(&world.graph, a, b))
            .collect();
        let orders = partial_orders(&world);
        for directions in 0..1u64 << fences.len() {
            let pair = |index: usize| {
                let (a, b) = fences[index];
                let (a, b) = if directions >> index & 1 != 0 { (a, b) } else { (b, a) };
                (world.names[a], world.names[b])
            };
            let scf: Pairs = (0..fences.len()).map(pair).collect();
            let world = checker.world(&Choices { fences: scf, ..chosen.clone() }, &Values::new())?;
            let least = world.derived.least_coherence(&world.graph, &Rel::default());
            let derived = &world.derived;
            // What an order decides beyond the axioms is which writes are last.
            let allowed = orders.iter().filter(|co| {
                let total = |a: usize, b: usize| !derived.coherent.has(a, b) || co.has(a, b) || co.has(b, a);
                let whole = (0..n).all(|a| (0..a).all(|b| total(a, b)));
                whole && least.is_in(co) && derived.violated(&world.graph, co, checker.model).is_empty()
            });
            for co in allowed {
                self.found.extend(self.ends(&world, chosen, co)?);
            }
        }
        Some(())
    }

    /// All ways in which the terms end: a location may have several values, if no write of it is the last.
    fn ends(&self, world: &World, chosen: &Choices, co: &Rel) -> Option<BTreeSet<Vec<i64>>> {
        let checker = self.checker;
        let mut ends = BTreeSet::from([Vec::new()]);
        for term in self.terms {
            let values: BTreeSet<i64> = match *term {
                Term::Constant(value) => BTreeSet::from([value]),
                Term::Register(thread, register) => BTreeSet::from([world.threads[thread].1[register].0?]),
                Term::Memory(index) => {
                    let bytes = checker.program.locations[index].bytes;
                    let reader = crate::certificate::Name { thread: None, index };
                    let mut ways = vec![chosen.clone()];
                    for cell in checker.cells(bytes) {
                        let covers = |id: &usize| {
                            world.graph.events[*id].is_write() && world.graph.events[*id].covers(cell)
                        };
                        let last = |id: &usize| {
                            covers(id) && !(0..world.names.len()).any(|b| co.has(*id, b) && covers(&b))
                        };
                        let last: Vec<usize> = (0..world.names.len()).filter(last).collect();
                        let with = |way: &Choices| {
                            let taking = |write: &usize| {
                                let mut way = way.clone();
                                way.sources.insert((reader, cell), world.names[*write]);
                                way
                            };
                            last.iter().map(taking).collect::<Vec<_>>()
                        };
                        ways = ways.iter().flat_map(with).collect();
                    }
                    ways.iter().map(|way| checker.taken(world, way, reader, bytes)).collect::<Option<_>>()?
                }
            };
            ends = ends
                .iter()
                .flat_map(|end: &Vec<i64>| values.iter().map(move |value| [&end[..], &[*value]].concat()))
                .collect();
        }
        Some(ends)
    }
}

/// Every strict partial order of the writes of each object, the initial write first.
fn partial_orders(world: &World) -> Vec<Rel> {
    let events = &world.graph.events;
    let writes: Vec<usize> = (0..events.len()).filter(|&id| events[id].is_write()).collect();
    let mut orders = vec![Rel(vec![0; events.len()])];
    for (index, &b) in writes.iter().enumerate() {
        for &a in writes[..index].iter().filter(|&&a| overlap(events, a, b)) {
            let with = |order: &Rel, from: usize, to: usize| {
                let mut order = order.clone();
                order.link(1 << from, to);
                order
            };
            let initial = events[a].thread.is_none();
            orders = orders
                .into_iter()
                .flat_map(|order| match initial {
                    true => vec![with(&order, a, b)],
                    false => vec![with(&order, a, b), with(&order, b, a), order],
                })
                .collect();
        }
    }
    orders.retain(|order| order.plus() == *order && !order.is_cyclic());
    orders
}
