//! The brute-force judge: every execution of a test without branches, nothing pruned.
//!
//! It tries every write for every read, every direction of every pair of fences, and every partial order of the writes of
//! each location, and only then asks the axioms. So it agrees with the search only if nothing that the search leaves out
//! was an execution.

use super::axioms::{Rel, is_sc_pair};
use super::threads::{Name, Progress};
use super::{Checker, NamePairs, Trial, World};
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
        let world = self.world(trial)?;
        for (thread, run) in world.runs.iter().enumerate() {
            match run.progress {
                Progress::Ended => {}
                Progress::Undecided(Some(read)) => {
                    for succeeds in [true, false] {
                        let mut trial = trial.clone();
                        trial.swaps.insert(Name { thread: Some(thread), index: read }, succeeds);
                        self.every_source(&trial, terms, found)?;
                    }
                    return Some(());
                }
                _ => return None,
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
            for way in self.ways(&world.runs) {
                self.every_order(&Trial { bar: Some(way), ..trial.clone() }, terms, found)?;
            }
        }
        Some(())
    }

    fn every_order(&self, trial: &Trial, terms: &[Term], found: &mut BTreeSet<Vec<i64>>) -> Option<()> {
        let world = self.world(trial)?;
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
            let scf: NamePairs = (0..fences.len()).map(pair).collect();
            let mut world = self.world(&Trial { scf, ..trial.clone() })?;
            let least = world.derived.least_coherence(&world.graph, &Rel(vec![0; n]));
            let derived = &world.derived;
            // What an order decides beyond the axioms is which writes are last.
            let allowed: Vec<&Rel> = orders
                .iter()
                .filter(|co| {
                    let total =
                        |a: usize, b: usize| !derived.coherent.has(a, b) || co.has(a, b) || co.has(b, a);
                    let whole = (0..n).all(|a| (0..a).all(|b| total(a, b)));
                    whole && least.is_in(co) && derived.violated(&world.graph, co).is_none()
                })
                .collect();
            for co in allowed {
                world.co = co.clone();
                let ends = self.ends(&world, terms);
                found
                    .extend(ends.into_iter().filter_map(|end| end.into_iter().collect::<Option<Vec<i64>>>()));
            }
        }
        Some(())
    }
}

/// Every strict partial order of the writes of each object, the initial write first.
fn partial_orders(world: &World) -> Vec<Rel> {
    let events = &world.graph.events;
    let overlap =
        |a: usize, b: usize| events[a].bytes().zip(events[b].bytes()).is_some_and(|(a, b)| a.overlap(b));
    let writes: Vec<usize> = (0..events.len()).filter(|&id| events[id].is_write()).collect();
    let mut orders = vec![Rel(vec![0; events.len()])];
    for (index, &b) in writes.iter().enumerate() {
        for &a in writes[..index].iter().filter(|&&a| overlap(a, b)) {
            let with = |order: &Rel, from: usize, to: usize| {
                let mut order = order.clone();
                order.0[from] |= 1 << to;
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
    orders.retain(|order| order.plus() == *order && !order.loops());
    orders
}
