//! The brute-force judge: every execution of a test without branches, nothing pruned.
//!
//! It tries every write for every read, every direction of every pair of fences, and every partial order of the writes of
//! each location, and only then asks the axioms. So it agrees with the search only if nothing that the search leaves out
//! was an execution.

use super::axioms::{Derived, Pairs};
use super::threads::{Name, Progress};
use super::{Checker, NamePairs, Trial, World, is_sc_pair};
use crate::program::Term;
use std::collections::BTreeSet;

/// All ways in which a test can end, told by the terms' values; none if it has branches, which the judge does not know.
pub fn all_outcomes(checker: &Checker, terms: &[Term]) -> Option<BTreeSet<Vec<i64>>> {
    let mut found = BTreeSet::new();
    checker.every_source(&Trial::default(), terms, &mut found)?;
    Some(found)
}

impl Checker<'_> {
    fn every_source(&self, trial: &Trial, terms: &[Term], found: &mut BTreeSet<Vec<i64>>) -> Option<()> {
        let world = self.world(trial);
        for (thread, run) in world.runs.iter().enumerate() {
            if let Progress::Swapping(read) = run.progress {
                for succeeds in [true, false] {
                    let mut trial = trial.clone();
                    trial.swaps.insert(Name { thread: Some(thread), index: read }, succeeds);
                    self.every_source(&trial, terms, found)?;
                }
                return Some(());
            }
            if run.progress != Progress::Ended {
                return None;
            }
        }
        if let Some(key) = world.open.first() {
            for write in self.writes(&world, trial, key) {
                let mut trial = trial.clone();
                trial.sources.insert(*key, write);
                self.every_source(&trial, terms, found)?;
            }
            return Some(());
        }
        if world.runs.iter().all(|run| !run.refuted) {
            for way in self.ways(&world) {
                self.every_order(&Trial { bar: Some(way), ..trial.clone() }, terms, found);
            }
        }
        Some(())
    }

    fn every_order(&self, trial: &Trial, terms: &[Term], found: &mut BTreeSet<Vec<i64>>) {
        let world = self.world(trial);
        let n = world.names.len();
        let fences: Vec<(usize, usize)> = (0..n)
            .flat_map(|a| (0..a).map(move |b| (a, b)))
            .filter(|&(a, b)| is_sc_pair(&world.graph, a, b))
            .collect();
        for directions in 0..1u64 << fences.len() {
            let pair = |index: usize| {
                let (a, b) = fences[index];
                let (a, b) = if directions >> index & 1 != 0 { (a, b) } else { (b, a) };
                (world.names[a], world.names[b])
            };
            let scf: NamePairs = (0..fences.len()).map(pair).collect();
            let mut world = self.world(&Trial { scf, ..trial.clone() });
            let derived = Derived::new(&world.graph, self.family, self.version);
            for co in partial_orders(&world) {
                if self.is_coherent(&world, &derived, &co) && derived.violated(&world.graph, &co).is_none() {
                    world.co = co;
                    self.note(&world, terms, found);
                }
            }
        }
    }

    /// Whether an order contains what causality asks for, and relates all writes that it must.
    fn is_coherent(&self, world: &World, derived: &Derived, co: &Pairs) -> bool {
        let n = world.names.len();
        let least = derived.least_coherence(&world.graph, &Pairs::new());
        let total = |a: usize, b: usize| {
            a == b
                || !derived.must_be_coherent(&world.graph, a, b)
                || co.contains(&(a, b))
                || co.contains(&(b, a))
        };
        least.is_subset(co) && (0..n).all(|a| (0..n).all(|b| total(a, b)))
    }

    fn note(&self, world: &World, terms: &[Term], found: &mut BTreeSet<Vec<i64>>) {
        let mut ends = vec![Vec::new()];
        for &term in terms {
            let values: Vec<i64> = match term {
                Term::Constant(value) => vec![value],
                Term::Register(thread, register) => {
                    world.runs[thread].registers[register].into_iter().collect()
                }
                Term::Memory(location) => self.finals(world, location).into_iter().collect(),
            };
            let with = |end: &Vec<i64>| {
                let end = end.clone();
                values
                    .iter()
                    .map(move |&value| end.iter().copied().chain([value]).collect::<Vec<_>>())
                    .collect::<Vec<_>>()
            };
            ends = ends.iter().flat_map(with).collect();
        }
        found.extend(ends);
    }
}

/// Every strict partial order of the writes of each object, the initial write first.
fn partial_orders(world: &World) -> Vec<Pairs> {
    let events = &world.graph.events;
    let overlap =
        |a: usize, b: usize| events[a].bytes().zip(events[b].bytes()).is_some_and(|(a, b)| a.overlap(b));
    let writes: Vec<usize> = (0..events.len()).filter(|&id| events[id].is_write()).collect();
    let mut orders = vec![Pairs::new()];
    for (index, &b) in writes.iter().enumerate() {
        for &a in &writes[..index] {
            if !overlap(a, b) {
                continue;
            }
            let initial = events[a].thread.is_none();
            orders = orders
                .into_iter()
                .flat_map(|order| {
                    let with = |pair| order.iter().copied().chain([pair]).collect::<Pairs>();
                    let mut next = vec![with((a, b))];
                    if !initial {
                        next.push(with((b, a)));
                        next.push(order);
                    }
                    next
                })
                .collect();
        }
    }
    let transitive = |order: &Pairs| {
        order
            .iter()
            .all(|&(a, b)| order.iter().filter(|pair| pair.0 == b).all(|&(_, c)| order.contains(&(a, c))))
    };
    orders.retain(transitive);
    orders
}
