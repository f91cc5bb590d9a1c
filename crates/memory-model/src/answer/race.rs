//! Data races: whether the text of a program can have one at all, and the search for an execution with one.

use super::{Execution, Race};
use crate::consistency::Decided;
use crate::event::{Event, Kind};
use crate::facts::{Base, Facts};
use crate::model::Model;
use crate::plan::{Stage, Values};
use crate::program::{Access, Instruction, Program, Thread, elements};
use crate::relation::{EventId, MAX_EVENTS};
use crate::search::Goal;
use crate::unfold::{State, Status};

/// Whether two accesses in the text of different threads, or of one thread through different proxies, overlap, one of
/// them writes, and they are not morally strong to one another wherever they are executed.
pub(super) fn may_race(program: &Program, model: &Model) -> bool {
    let mut facts = Facts::default();
    for (thread, text) in program.threads.iter().enumerate() {
        for (at, instruction) in text.code.iter().enumerate() {
            for event in accesses(thread, at, text, instruction) {
                if facts.len() == MAX_EVENTS {
                    return true;
                }
                facts.push(event);
            }
        }
    }
    let mut values = Values::default();
    base_stages(&facts, model, &mut values);
    let Some(ms) = model.plan.named("ms", &values) else { return true };
    let events = facts.events();
    facts.base(Base::Location).pairs().any(|(a, b)| {
        // One thread's accesses through one proxy are in order, but for copies.
        let own = events[a].thread == events[b].thread && events[a].proxy == events[b].proxy;
        let is_copy = |event: &Event| {
            let text = &program.threads[event.thread.unwrap_or_default() as usize];
            matches!(text.code[event.instruction as usize], Instruction::CopyAsync { .. })
        };
        let in_order = own && !is_copy(&events[a]) && !is_copy(&events[b]);
        a < b && (events[a].is_write() || events[b].is_write()) && !in_order && !ms.contains(a, b)
    })
}

/// The accesses of an instruction, if it is executed.
fn accesses(thread: usize, at: usize, text: &Thread, instruction: &Instruction) -> Vec<Event> {
    let plain = |kind| Event::new(thread, at, text.placement, kind);
    let of = |kind, order, a: &Access| Event { order, scope: a.scope, proxy: a.proxy, ..plain(kind) };
    match instruction {
        Instruction::Load { destinations, access: a } => {
            let parts = elements(a.bytes, destinations.len()).into_iter();
            parts.map(|bytes| of(Kind::Read(bytes), a.order, a)).collect()
        }
        Instruction::Store { values, access: a } => {
            let parts = elements(a.bytes, values.len()).into_iter();
            parts.map(|bytes| of(Kind::Write(bytes), a.order, a)).collect()
        }
        Instruction::Atomic { access: a, .. } => {
            let write = of(Kind::Write(a.bytes), a.order.of_write(), a);
            vec![of(Kind::Read(a.bytes), a.order.of_read(), a), write]
        }
        Instruction::CopyAsync { to, from, proxy } => {
            [Kind::Read(*from), Kind::Write(*to)].map(|kind| Event { proxy: *proxy, ..plain(kind) }).to_vec()
        }
        Instruction::Fence { .. }
        | Instruction::ProxyFence(_)
        | Instruction::AliasFence
        | Instruction::Barrier { .. }
        | Instruction::WaitAsync
        | Instruction::Set { .. }
        | Instruction::Branch { .. }
        | Instruction::Jump(_) => Vec::new(),
    }
}

pub(super) struct FindRace<'a> {
    pub(super) model: &'a Model,
    pub(super) mixed_wanted: bool,
    pub(super) found: Option<Race>,
}

impl Goal for FindRace<'_> {
    /// Once all events are there causality only grows.
    fn is_hopeless(&self, state: &State, values: &Values) -> bool {
        let all = state.threads.iter().all(|thread| thread.status == Status::Ended);
        all && races(&state.facts, self.model, values).is_empty()
    }

    fn found(&mut self, state: &State, decided: &Decided, values: &Values) -> bool {
        for (a, b) in races(&state.facts, self.model, values) {
            let whole = state.facts.events()[a].bytes().zip(state.facts.events()[b].bytes());
            let mixed_size = whole.is_some_and(|(a, b)| (a.start, a.len) != (b.start, b.len));
            if self.found.is_none() || mixed_size {
                let execution = Execution::new(state, decided, Vec::new());
                self.found = Some(Race { pair: (a, b), mixed_size, execution });
            }
            if mixed_size || !self.mixed_wanted {
                return true;
            }
        }
        false
    }
}

/// The data races of a trace: an execution whose reads-from, Fence-SC order and barriers are known, given as base relations.
/// Causality does not depend on coherence, which need not be.
///
/// This is where an observer of running kernels joins: it pushes events into [`Facts`], relates them by program order,
/// reads-from and barriers, and asks.
pub fn races_of_trace(facts: &Facts, model: &Model) -> Vec<(EventId, EventId)> {
    let mut values = Values::default();
    base_stages(facts, model, &mut values);
    races(facts, model, &values)
}

/// Evaluates all that does not depend on coherence.
pub(crate) fn base_stages(facts: &Facts, model: &Model, values: &mut Values) {
    model.plan.evaluate(Stage::Events, facts, values);
    model.plan.evaluate(Stage::Choices, facts, values);
}

/// The data races of a consistent execution: accesses that overlap, one of them a write, that are not morally strong to
/// one another and that causality does not order. An atomic is one operation: what its write precedes its read precedes too.
fn races(facts: &Facts, model: &Model, values: &Values) -> Vec<(EventId, EventId)> {
    let (Some(ms), Some(cause)) = (model.plan.named("ms", values), model.plan.named("cause", values)) else {
        return Vec::new();
    };
    let events = facts.events();
    let mut races = Vec::new();
    for (a, b) in facts.base(Base::Location).pairs() {
        let initial = events[a].thread.is_none() || events[b].thread.is_none();
        // One thread's accesses through one proxy are in order even where they overlap in part.
        let ordered = facts.base(Base::Po).contains(a, b) || facts.base(Base::Po).contains(b, a);
        let own = ordered && events[a].proxy == events[b].proxy;
        let conflict = a < b && !initial && !own && (events[a].is_write() || events[b].is_write());
        let rmw = facts.base(Base::Rmw);
        let precedes = |a: EventId, b: EventId| {
            cause.contains(a, b) || rmw.row(a).iter().any(|write| cause.contains(write, b))
        };
        if conflict && !rmw.contains(a, b) && !ms.contains(a, b) && !precedes(a, b) && !precedes(b, a) {
            races.push((a, b));
        }
    }
    races
}
