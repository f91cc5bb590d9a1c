//! How barriers can have met.

use super::threads::{Call, Name, Run};
use super::{Checker, NamePairs};
use crate::event::{Kind, Part, Placement, Scope};
use crate::model::Family;
use crate::program::{Instruction, Operand};
use std::collections::BTreeSet;

/// Which barrier: instance, scope, place and resource.
type Group = (u32, Scope, Placement, Option<Option<i64>>);

/// A thread's coming to a barrier.
struct Arrival {
    name: Name,
    instruction: usize,
    group: Group,
    quorum: Option<Option<i64>>,
    part: Part,
}

/// What some arrivals release among others.
fn meetings(from: &[&Arrival], to: &[&Arrival]) -> NamePairs {
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
fn split(company: &[&Arrival], size: usize) -> Vec<NamePairs> {
    let Some(first) = company.iter().find(|arrival| arrival.part != Part::Arrive) else {
        return vec![NamePairs::new()];
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
    /// The threads that meet there: those of the CTA, or of the cluster.
    fn place(&self, thread: usize, scope: Scope) -> Placement {
        let placement = self.program.threads[thread].placement;
        if scope == Scope::Cta { placement } else { Placement { cta: 0, ..placement } }
    }

    fn arrivals(&self, runs: &[Run]) -> Vec<Arrival> {
        let calls = runs
            .iter()
            .enumerate()
            .flat_map(|(thread, run)| run.barriers.iter().map(move |call| (thread, call)));
        let arrival = |(thread, &(index, instruction, [resource, quorum])): (usize, &Call)| {
            let Kind::Barrier(barrier) = runs[thread].events[index].kind else { return None };
            let group = (barrier.instance, barrier.scope, self.place(thread, barrier.scope), resource);
            let name = Name { thread: Some(thread), index };
            Some(Arrival { name, instruction, group, quorum, part: barrier.part })
        };
        calls.filter_map(arrival).collect()
    }

    /// The barriers that meet in any case: those without quorum whose resources are known.
    pub(super) fn certain(&self, runs: &[Run]) -> NamePairs {
        let all = self.arrivals(runs);
        let fixed: Vec<_> = all.iter().filter(|a| a.quorum.is_none() && a.group.3 != Some(None)).collect();
        meetings(&fixed, &fixed)
    }

    /// All ways in which the barriers of ended threads can have met.
    pub(super) fn ways(&self, runs: &[Run]) -> BTreeSet<NamePairs> {
        let all = self.arrivals(runs);
        let mut ways = BTreeSet::from([NamePairs::new()]);
        for group in all.iter().map(|arrival| arrival.group).collect::<BTreeSet<_>>() {
            let company: Vec<_> = all.iter().filter(|arrival| arrival.group == group).collect();
            let size =
                company.iter().filter_map(|a| a.quorum).map(|quorum| quorum.unwrap_or(0) as usize).max();
            let came = |thread: usize, at: usize, instruction: &Instruction| {
                let Instruction::Barrier { instance, scope, resource, .. } = instruction else { return true };
                let resource = resource.map(|operand| match operand {
                    Operand::Constant(value) => Some(value),
                    Operand::Register(register) => runs[thread].registers[register].0,
                });
                (*instance, *scope, self.place(thread, *scope), resource) != group
                    || all.iter().any(|a| a.name.thread == Some(thread) && a.instruction == at)
            };
            let everyone = || {
                let mut threads = self.program.threads.iter().enumerate();
                threads.all(|(thread, text)| text.code.iter().enumerate().all(|(at, i)| came(thread, at, i)))
            };
            let splits: Vec<NamePairs> = match size {
                _ if company.iter().any(|a| a.quorum.is_none()) && !everyone() => Vec::new(),
                None => vec![meetings(&company, &company)],
                Some(size) if self.family == Family::Dartagnan => {
                    choose(&company, size).iter().map(|chosen| meetings(chosen, &company)).collect()
                }
                Some(size) => split(&company, size),
            };
            ways = ways.iter().flat_map(|way| splits.iter().map(move |more| way | more)).collect();
        }
        ways
    }
}
