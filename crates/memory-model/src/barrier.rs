//! Which threads meet at a barrier.
//!
//! A barrier is used by the threads of one CTA (or cluster) that name the same instance and the same resource. Without a
//! quorum all of the program's threads that have it in their text must come. With a quorum that many must; where more
//! come, the ISA lets them meet in generations of that size, and Dartagnan's model chooses any set of at least that size,
//! whose members release whoever waits.
//!
//! For the ISA a barrier is used in phases: threads meet where each of them has arrived equally often. A barrier of a
//! cluster does not wait for threads that have exited ("all non-exited threads of the cluster", says the manual of
//! `barrier.cluster`). And coming together takes time: a thread that waits at one barrier has not arrived at the next, so
//! that barriers which are crossed in opposite orders are never passed ([`can_be_crossed`]).

use crate::event::{Kind, Part, Scope};
use crate::facts::{Base, may_meet};
use crate::model::Family;
use crate::program::{Instruction, Operand};
use crate::relation::{EventId, Relation};
use crate::unfold::{Arrival, Context, State, Status};

/// Whether both use one barrier, as far as is known.
fn same_barrier(state: &State, a: &Arrival, b: &Arrival) -> Option<bool> {
    let events = state.facts.events();
    let (Kind::Barrier(first), Kind::Barrier(second)) = (events[a.event].kind, events[b.event].kind) else {
        return Some(false);
    };
    let together = first.instance == second.instance
        && first.scope == second.scope
        && events[a.event].placement.shares(events[b.event].placement, first.scope);
    if !together {
        return Some(false);
    }
    match (a.resource, b.resource) {
        (None, None) => Some(true),
        (Some(a), Some(b)) if a == b => Some(true),
        (Some(a), Some(b)) => Some(state.known(a)? == state.known(b)?),
        _ => Some(false),
    }
}

fn part(state: &State, arrival: &Arrival) -> Option<Part> {
    match state.facts.events()[arrival.event].kind {
        Kind::Barrier(barrier) => Some(barrier.part),
        _ => None,
    }
}

/// Which use of the barrier by its thread an arrival is, from zero; none while it is not known which barriers the thread
/// has come to. A wait is for what the thread arrived at last, or else counts by itself.
fn phase(state: &State, context: &Context, arrival: &Arrival) -> Option<usize> {
    if context.family == Family::Dartagnan {
        return Some(0);
    }
    let (mut arrived, mut waited) = (0usize, 0);
    let earlier = |a: &&Arrival| a.thread == arrival.thread && a.event < arrival.event && a.quorum.is_none();
    for before in state.arrivals.iter().filter(earlier) {
        if same_barrier(state, before, arrival)? {
            match part(state, before) {
                Some(Part::Wait) => waited += 1,
                _ => arrived += 1,
            }
        }
    }
    Some(match part(state, arrival) {
        Some(Part::Wait) if arrived == 0 => waited,
        Some(Part::Wait) => arrived - 1,
        _ => arrived,
    })
}

/// Whether both arrivals are in one phase of one barrier.
fn same_phase(state: &State, context: &Context, a: &Arrival, b: &Arrival) -> bool {
    same_barrier(state, a, b) == Some(true)
        && phase(state, context, a).is_some_and(|phase_of_a| phase(state, context, b) == Some(phase_of_a))
}

/// The threads that an arrival has to meet and that have not come to its phase.
fn missing<'a>(
    state: &'a State,
    context: &'a Context,
    arrival: &'a Arrival,
) -> impl Iterator<Item = usize> + 'a {
    let event = &state.facts.events()[arrival.event];
    let takes_part = move |thread: usize| {
        let text = &context.program.threads[thread];
        text.code.iter().enumerate().any(|(at, instruction)| {
            let Instruction::Barrier { instance, part, scope, resource, .. } = instruction else {
                return false;
            };
            let Kind::Barrier(own) = event.kind else { return false };
            let known = |operand| match operand {
                Operand::Constant(value) => Some(value),
                Operand::Register(register) => state.register(thread, register),
            };
            let came = state.arrivals.iter().any(|a| {
                a.thread == thread && a.instruction == at && same_barrier(state, a, arrival) == Some(true)
            });
            let resources =
                (arrival.resource.and_then(|symbol| state.known(symbol)), resource.and_then(known));
            // Not reached: it was not to be met if it names another resource.
            *part != Part::Wait
                && *instance == own.instance
                && *scope == own.scope
                && text.placement.shares(event.placement, *scope)
                && resource.is_some() == arrival.resource.is_some()
                && (came || !matches!(resources, (Some(a), Some(b)) if a != b))
        })
    };
    let came = move |thread: usize| {
        state.arrivals.iter().any(|other| {
            other.thread == thread
                && part(state, other) != Some(Part::Wait)
                && same_phase(state, context, arrival, other)
        })
    };
    (0..context.program.threads.len()).filter(move |&thread| takes_part(thread) && !came(thread))
}

/// Whether all came that an arrival has to meet, or have exited if it does not wait for them then.
fn all_came(state: &State, context: &Context, arrival: &Arrival) -> bool {
    if context.family == Family::Dartagnan {
        return all_reached(state, context, arrival);
    }
    missing(state, context, arrival)
        .all(|thread| is_of_cluster(state, arrival) && state.threads[thread].status == Status::Ended)
}

fn is_of_cluster(state: &State, arrival: &Arrival) -> bool {
    matches!(state.facts.events()[arrival.event].kind, Kind::Barrier(barrier) if barrier.scope == Scope::Cluster)
}

/// Whether every barrier in the text that an arrival has to meet was reached.
fn all_reached(state: &State, context: &Context, arrival: &Arrival) -> bool {
    let event = &state.facts.events()[arrival.event];
    let Kind::Barrier(own) = event.kind else { return true };
    context.program.threads.iter().enumerate().all(|(thread, text)| {
        text.code.iter().enumerate().all(|(at, instruction)| {
            let Instruction::Barrier { instance, scope, resource, .. } = instruction else { return true };
            let wanted = *instance == own.instance
                && *scope == own.scope
                && text.placement.shares(event.placement, *scope)
                && resource.is_some() == arrival.resource.is_some();
            if !wanted {
                return true;
            }
            if state.arrivals.iter().any(|a| a.thread == thread && a.instruction == at) {
                return true;
            }
            // Not reached: it was not to be met if it names another resource.
            let other = match *resource {
                None => return false,
                Some(Operand::Constant(value)) => Some(value),
                Some(Operand::Register(register)) => state.register(thread, register),
            };
            let resource = arrival.resource.and_then(|symbol| state.known(symbol));
            matches!((resource, other), (Some(a), Some(b)) if a != b)
        })
    })
}

/// Those that came to the barrier of an arrival, itself included.
fn company(state: &State, arrival: &Arrival) -> Vec<Arrival> {
    let same = |other: &&Arrival| same_barrier(state, arrival, other) == Some(true);
    state.arrivals.iter().filter(same).copied().collect()
}

fn quorum(state: &State, arrival: &Arrival) -> Option<Option<usize>> {
    match arrival.quorum {
        None => Some(None),
        Some(symbol) => state.known(symbol).map(|quorum| Some(usize::try_from(quorum).unwrap_or(usize::MAX))),
    }
}

/// Whether a waiting thread is released, for executions that may get stuck.
pub(crate) fn is_complete(state: &State, context: &Context, arrival: &Arrival) -> bool {
    if arrival.resource.is_some_and(|resource| state.known(resource).is_none()) {
        return false;
    }
    match quorum(state, arrival) {
        None => false,
        Some(None) => all_came(state, context, arrival),
        Some(Some(quorum)) => {
            // In generations, in the order in which they came; Dartagnan's model has but one.
            let company = company(state, arrival);
            let before = company.iter().take_while(|member| member.event != arrival.event).count();
            let generations = match context.family {
                Family::Isa => before.checked_div(quorum).map_or(0, |whole| whole + 1),
                Family::Dartagnan => 1,
            };
            company.len() >= quorum.saturating_mul(generations)
        }
    }
}

/// Relates the barriers of finished executions that meet whatever is still chosen: those without quorum or register.
pub(crate) fn relate_certain(state: &mut State, context: &Context) {
    for (index, a) in state.arrivals.iter().enumerate() {
        for b in &state.arrivals[..=index] {
            if a.quorum.is_none() && b.quorum.is_none() && same_phase(state, context, a, b) {
                let events = state.facts.events();
                let (forth, back) = (
                    may_meet(&events[a.event], &events[b.event]),
                    may_meet(&events[b.event], &events[a.event]),
                );
                if forth {
                    state.facts.base_mut(Base::Bar).insert(a.event, b.event);
                }
                if back {
                    state.facts.base_mut(Base::Bar).insert(b.event, a.event);
                }
            }
        }
    }
}

/// The most ways of meeting that are tried.
const MAX_WAYS: usize = 10_000;

/// All ways in which the barriers of an execution whose threads have ended can have met; none if one of them cannot have
/// been passed.
pub(crate) fn ways(state: &State, context: &Context) -> Vec<Relation> {
    let mut ways = vec![state.facts.base(Base::Bar).clone()];
    let mut done: Vec<EventId> = Vec::new();
    for arrival in &state.arrivals {
        if done.contains(&arrival.event) {
            continue;
        }
        let company = company(state, arrival);
        done.extend(company.iter().map(|member| member.event));
        let quorums: Vec<Option<usize>> = company.iter().filter_map(|member| quorum(state, member)).collect();
        let largest = quorums.iter().flatten().max().copied();
        let waits =
            |a: &&Arrival| context.family == Family::Dartagnan || part(state, a) != Some(Part::Arrive);
        let mut bound = company.iter().filter(|member| member.quorum.is_none()).filter(waits);
        let all = bound.all(|member| all_came(state, context, member));
        let blocked = largest.is_some_and(|quorum| company.len() < quorum);
        if !all || blocked {
            if context.blocking {
                continue;
            }
            return Vec::new();
        }
        // Without a quorum they meet in any case.
        let Some(size) = largest else { continue };
        let choices: Vec<Vec<Vec<EventId>>> = match context.family {
            Family::Dartagnan => subsets(&company, size).into_iter().map(|chosen| vec![chosen]).collect(),
            Family::Isa => generations(state, context, &company, size),
        };
        let before = std::mem::take(&mut ways);
        for choice in choices {
            let mut with = before.clone();
            match context.family {
                Family::Dartagnan => add(&mut with, state, &choice, &company),
                Family::Isa => {
                    for generation in &choice {
                        let members: Vec<Arrival> = company
                            .iter()
                            .filter(|member| generation.contains(&member.event))
                            .copied()
                            .collect();
                        add(&mut with, state, std::slice::from_ref(generation), &members);
                    }
                }
            }
            ways.extend(with);
            if ways.len() > MAX_WAYS {
                break;
            }
        }
    }
    if context.family == Family::Isa && !context.blocking {
        ways.retain(|way| can_be_crossed(state, context, way));
    }
    ways
}

/// Whether ended threads can have passed their barriers in some order of time. Who waits does nothing of what comes later
/// in the thread before all whom the wait is for have arrived, or exited; nobody arrives because of a value before it is
/// there.
fn can_be_crossed(state: &State, context: &Context, way: &Relation) -> bool {
    let (facts, n) = (&state.facts, state.facts.len());
    let mut awaited = way.clone();
    let waits = |a: &&Arrival| part(state, a) != Some(Part::Arrive);
    for arrival in state.arrivals.iter().filter(waits) {
        awaited.insert(arrival.event, arrival.event);
        if arrival.quorum.is_none() {
            for thread in missing(state, context, arrival) {
                let own = |event: &EventId| facts.events()[*event].thread == Some(thread as u32);
                (0..n).filter(own).for_each(|event| awaited.insert(event, arrival.event));
            }
        }
    }
    let mut before = Relation::default();
    before.set_composition(&awaited, facts.base(Base::Po));
    for base in [Base::Rf, Base::Ctrl, Base::Data, Base::Rmw] {
        before.unite(facts.base(base));
    }
    before.is_acyclic()
}

/// Lets the chosen arrivals release the waiting ones among the company.
fn add(ways: &mut [Relation], state: &State, chosen: &[Vec<EventId>], company: &[Arrival]) {
    let events = state.facts.events();
    for way in ways {
        for &from in chosen.iter().flatten() {
            for to in company {
                if may_meet(&events[from], &events[to.event]) {
                    way.insert(from, to.event);
                }
            }
        }
    }
}

/// All choices of `size` members.
fn subsets(company: &[Arrival], size: usize) -> Vec<Vec<EventId>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let mut found = Vec::new();
    for (index, member) in company.iter().enumerate() {
        for mut rest in subsets(&company[index + 1..], size - 1) {
            rest.push(member.event);
            found.push(rest);
            if found.len() > MAX_WAYS {
                return found;
            }
        }
    }
    found
}

/// All ways to split a company into generations of distinct threads. Threads left over may only be ones that do not wait,
/// unless executions may get stuck.
fn generations(state: &State, context: &Context, company: &[Arrival], size: usize) -> Vec<Vec<Vec<EventId>>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let waits = |arrival: &Arrival| matches!(state.facts.events()[arrival.event].kind, Kind::Barrier(barrier) if barrier.part != Part::Arrive);
    if !company.iter().any(waits) {
        return vec![Vec::new()];
    }
    let mut found = Vec::new();
    for chosen in subsets(company, size) {
        let thread = |event: EventId| state.facts.events()[event].thread;
        let mut threads: Vec<_> = chosen.iter().map(|&event| thread(event)).collect();
        threads.sort_unstable();
        threads.dedup();
        // The first member that waits is in the generation that is chosen first, so that each split is found once.
        let first =
            company.iter().find(|member| waits(member)).is_some_and(|first| chosen.contains(&first.event));
        if threads.len() < size || !first {
            continue;
        }
        let rest: Vec<Arrival> = company.iter().filter(|m| !chosen.contains(&m.event)).copied().collect();
        for mut others in generations(state, context, &rest, size) {
            others.push(chosen.clone());
            found.push(others);
            if found.len() > MAX_WAYS {
                return found;
            }
        }
    }
    if found.is_empty() && context.blocking {
        found.push(Vec::new());
    }
    found
}
