//! How barriers can have met.
//!
//! For the ISA a barrier without quorum has phases, one for each time that a thread arrives; one of a cluster does not wait
//! for threads that have exited; and threads must be able to pass their barriers one after the other in time, which is
//! tried by letting everything happen that can.

use super::Checker;
use super::axioms::members;
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
    phase: usize,
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
        Some((Self { name, at, group, phase: 0, quorum, part }, Barrier { instance, part, scope }))
    }

    /// In its phase: how often its thread has arrived before, or last arrived if it only waits.
    pub(crate) fn behind(mut self, others: &[Self]) -> Self {
        let own = others.iter().filter(|a| a.name.thread == self.name.thread && a.group == self.group);
        let own = own.filter(|a| a.quorum.is_none());
        let (waits, arrivals): (Vec<_>, Vec<_>) = own.partition(|a| a.part == Part::Wait);
        self.phase = match self.part {
            _ if self.quorum.is_some() => 0,
            Part::Wait if arrivals.is_empty() => waits.len(),
            Part::Wait => arrivals.len() - 1,
            _ => arrivals.len(),
        };
        self
    }

    /// Whether it is clear to which barrier and phase it belongs.
    fn is_certain(&self, others: &[Self]) -> bool {
        let other = |a: &Self| {
            (a.name.thread, a.group.0, a.group.1) != (self.name.thread, self.group.0, self.group.1)
        };
        let known = |a: &Self| other(a) || a.group.3 != Some(None);
        self.quorum.is_none() && others.iter().all(|a| a.name.index > self.name.index || known(a))
    }
}

/// What some arrivals release among others.
fn meetings(from: &[&Arrival], to: &[&Arrival]) -> Pairs {
    let pairs = from.iter().flat_map(|a| to.iter().map(move |b| (a, b)));
    let meets = |(a, b): &(&&Arrival, &&Arrival)| {
        a.group == b.group && a.phase == b.phase && a.part != Part::Wait && b.part != Part::Arrive
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
        let fixed: Vec<_> = world.arrivals.iter().filter(|a| a.is_certain(&world.arrivals)).collect();
        meetings(&fixed, &fixed)
    }

    /// The threads that have this barrier in their text and did not come to this phase of it.
    fn absent(&self, world: &World, (group, phase): (Group, usize)) -> Vec<usize> {
        let isa = self.model.0 == Family::Isa;
        let has_come = |thread: usize, at: Option<usize>| {
            let here = |a: &&Arrival| a.name.thread == Some(thread) && a.group == group;
            world.arrivals.iter().filter(here).any(|a| match at {
                Some(at) => a.at == at,
                None => a.phase == phase && a.part != Part::Wait,
            })
        };
        let is_absent = |(thread, text): (usize, &Thread)| {
            let comes = |at: usize| {
                let name = Name { thread: Some(thread), index: 0 };
                let called = Arrival::new(text, at, &world.threads[thread].1, name);
                let named = called.as_ref().is_some_and(|(called, _)| called.group == group);
                let here = called.is_some_and(|(called, _)| !isa || called.part != Part::Wait);
                let misses = if isa { !has_come(thread, None) } else { !has_come(thread, Some(at)) };
                misses && here && (named || has_come(thread, Some(at)))
            };
            (0..text.code.len()).any(comes).then_some(thread)
        };
        self.program.threads.iter().enumerate().filter_map(is_absent).collect()
    }

    /// All ways in which the barriers of ended threads can have met.
    pub(crate) fn ways(&self, world: &World) -> BTreeSet<Pairs> {
        let mut ways = BTreeSet::from([Pairs::new()]);
        for of in world.arrivals.iter().map(|a| (a.group, a.phase)).collect::<BTreeSet<_>>() {
            let company: Vec<_> = world.arrivals.iter().filter(|a| (a.group, a.phase) == of).collect();
            let size =
                company.iter().filter_map(|a| a.quorum).map(|quorum| quorum.unwrap_or(0) as usize).max();
            let exits = self.model.0 == Family::Isa && of.0.1 == Scope::Cluster;
            let waits = |a: &&&Arrival| self.model.0 != Family::Isa || a.part != Part::Arrive;
            let blocked = company.iter().filter(waits).any(|a| a.quorum.is_none());
            let splits: Vec<Pairs> = match size {
                _ if blocked && !exits && !self.absent(world, of).is_empty() => Vec::new(),
                None => vec![meetings(&company, &company)],
                Some(size) if self.model.0 == Family::Dartagnan => {
                    choose(&company, size).iter().map(|chosen| meetings(chosen, &company)).collect()
                }
                Some(size) => split(&company, size),
            };
            ways = ways.iter().flat_map(|way| splits.iter().map(move |more| way | more)).collect();
        }
        ways.retain(|way| self.model.0 != Family::Isa || self.can_happen(world, way));
        ways
    }

    /// Whether everything can happen, one after the other: an event after what its value or being depends on, and after
    /// the waits before it in its thread; a wait is over when all whom it is for have arrived, or exited.
    fn can_happen(&self, world: &World, way: &Pairs) -> bool {
        let (graph, n) = (&world.graph, world.names.len());
        let mut needed = vec![0u128; n];
        for a in world.arrivals.iter().filter(|a| a.part != Part::Arrive) {
            let Some(wait) = world.place(&a.name) else { return false };
            let met = way.iter().filter(|(_, to)| *to == a.name).filter_map(|(from, _)| world.place(from));
            let absent = if a.quorum.is_none() { self.absent(world, (a.group, a.phase)) } else { Vec::new() };
            let gone = |id: &usize| world.names[*id].thread.is_some_and(|thread| absent.contains(&thread));
            let before = met.chain((0..n).filter(gone)).fold(1 << wait, |all, id| all | 1u128 << id);
            members(graph.po.0[wait]).for_each(|later| needed[later] |= before);
        }
        for (from, rows) in graph.rmw.0.iter().zip(&graph.dependencies.0).enumerate().take(n) {
            members(rows.0 | rows.1).for_each(|to| needed[to] |= 1 << from);
        }
        graph.sources.iter().for_each(|&(read, write, _)| needed[read] |= 1 << write);
        let mut happened = 0u128;
        loop {
            let next = (0..n).filter(|&id| needed[id] & !happened == 0).fold(0, |all, id| all | 1u128 << id);
            if next == happened {
                return next.count_ones() as usize == n;
            }
            happened = next;
        }
    }
}
