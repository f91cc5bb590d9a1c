//! How barriers can have met.

use super::Checker;
use crate::certificate::{Name, Pairs};
use crate::event::{Barrier, Part, Placement, Scope};
use crate::model::Family;
use crate::program::{Instruction, Thread};
use crate::replay::{Word, World, word};
use std::collections::BTreeSet;

/// Which barrier: instance, scope, the place of the threads that meet there, and resource.
type Group = (u32, Scope, Placement, Option<Option<i64>>);

/// A thread's coming to a barrier.
pub(crate) struct Arrival {
    name: Name,
    at: usize,
    group: Group,
    quorum: Option<Option<i64>>,
    part: Part,
}

impl Arrival {
    /// The barrier at a place of a thread's text, with what it is called with there.
    pub(crate) fn new(text: &Thread, at: usize, registers: &[Word], name: Name) -> Option<(Self, Barrier)> {
        let Instruction::Barrier { instance, part, scope, resource, quorum } = text.code[at] else {
            return None;
        };
        let place = if scope == Scope::Cta { text.placement } else { Placement { cta: 0, ..text.placement } };
        let [resource, quorum] =
            [resource, quorum].map(|with| with.map(|operand| word(registers, operand).0));
        let group = (instance, scope, place, resource);
        Some((Self { name, at, group, quorum, part }, Barrier { instance, part, scope }))
    }
}

/// What some arrivals release among others.
fn meetings(from: &[&Arrival], to: &[&Arrival]) -> Pairs {
    let pairs = from.iter().flat_map(|a| to.iter().map(move |b| (a, b)));
    let meets = |(a, b): &(&&Arrival, &&Arrival)| {
        a.group == b.group && a.part != Part::Wait && b.part != Part::Arrive
    };
    pairs.filter(meets).map(|(a, b)| (a.name, b.name)).collect()
}

/// All choices of so many.
fn choose<'a>(company: &[&'a Arrival], size: usize) -> Vec<Vec<&'a Arrival>> {
    let all = (0..1u32 << company.len().min(16)).filter(|mask| mask.count_ones() as usize == size);
    all.map(|mask| (0..company.len()).filter(|i| mask >> i & 1 != 0).map(|i| company[i]).collect()).collect()
}

/// All ways to meet in generations of so many distinct threads; who is left over must not wait.
fn split(company: &[&Arrival], size: usize) -> Vec<Pairs> {
    let Some(first) = company.iter().find(|arrival| arrival.part != Part::Arrive) else {
        return vec![Pairs::new()];
    };
    let mut ways = Vec::new();
    for chosen in choose(company, size) {
        let threads: BTreeSet<_> = chosen.iter().map(|arrival| arrival.name.thread).collect();
        let has = |a: &Arrival| chosen.iter().any(|b| b.name == a.name);
        if threads.len() == size && has(first) {
            let rest: Vec<&Arrival> = company.iter().filter(|a| !has(a)).copied().collect();
            let own = meetings(&chosen, &chosen);
            ways.extend(split(&rest, size).into_iter().map(|more| &more | &own));
        }
    }
    ways
}

impl Checker<'_> {
    /// The barriers that meet in any case: those without quorum whose resources are known.
    pub(crate) fn certain(&self, world: &World) -> Pairs {
        let fixed = world.arrivals.iter().filter(|a| a.quorum.is_none() && a.group.3 != Some(None));
        let fixed: Vec<_> = fixed.collect();
        meetings(&fixed, &fixed)
    }

    /// All ways in which the barriers of ended threads can have met.
    pub(crate) fn ways(&self, world: &World) -> BTreeSet<Pairs> {
        let mut ways = BTreeSet::from([Pairs::new()]);
        for group in world.arrivals.iter().map(|arrival| arrival.group).collect::<BTreeSet<_>>() {
            let company: Vec<_> = world.arrivals.iter().filter(|arrival| arrival.group == group).collect();
            let size =
                company.iter().filter_map(|a| a.quorum).map(|quorum| quorum.unwrap_or(0) as usize).max();
            // Whether all came whose text has this barrier.
            let came = |thread: usize, text: &Thread, at: usize| {
                let name = Name { thread: Some(thread), index: 0 };
                let called = Arrival::new(text, at, &world.threads[thread].1, name);
                called.is_none_or(|(called, _)| called.group != group)
                    || company.iter().any(|a| a.name.thread == Some(thread) && a.at == at)
            };
            let mut threads = self.program.threads.iter().enumerate();
            let everyone =
                threads.all(|(thread, text)| (0..text.code.len()).all(|at| came(thread, text, at)));
            let splits: Vec<Pairs> = match size {
                _ if company.iter().any(|a| a.quorum.is_none()) && !everyone => Vec::new(),
                None => vec![meetings(&company, &company)],
                Some(size) if self.model.0 == Family::Dartagnan => {
                    choose(&company, size).iter().map(|chosen| meetings(chosen, &company)).collect()
                }
                Some(size) => split(&company, size),
            };
            ways = ways.iter().flat_map(|way| splits.iter().map(move |more| way | more)).collect();
        }
        ways
    }
}
