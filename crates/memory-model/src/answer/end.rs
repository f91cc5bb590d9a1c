//! Ends of executions: the search for one that is asked about, and the collection of all.

use super::Execution;
use crate::certificate::{Name, Reader};
use crate::consistency::Decided;
use crate::event::Cell;
use crate::facts::Base;
use crate::plan::Values;
use crate::program::{Condition, Program, Term};
use crate::relation::EventId;
use crate::search::Goal;
use crate::unfold::{Context, State, Status};
use std::collections::BTreeMap;

/// A register's or constant's value, where it is final.
fn register_value(state: &State, term: Term) -> Option<i64> {
    match term {
        Term::Constant(value) => Some(value),
        Term::Register(thread, register) if state.threads[thread].status == Status::Ended => {
            state.register(thread, register)
        }
        _ => None,
    }
}

/// The cells of a location, as the condition reads them.
fn final_readers(context: &Context, location: usize) -> impl Iterator<Item = Reader> {
    let name = Name { thread: None, index: location };
    context.layout.cells_of(context.program.locations[location].bytes).map(move |cell| (name, cell))
}

/// The writes of a cell, and whether each is the last of a coherence order.
fn writes_of(state: &State, cell: Cell) -> impl Iterator<Item = (EventId, bool)> {
    let covers = move |&event: &EventId| {
        let event = &state.facts.events()[event];
        event.is_write() && event.covers(cell)
    };
    let co = state.facts.base(Base::Co);
    (0..state.facts.len()).filter(covers).map(move |write| (write, !co.row(write).iter().any(|b| covers(&b))))
}

/// All values that a location may have in the end, each with a coherence-last write for each of its cells.
fn final_values(state: &State, context: &Context, location: usize) -> BTreeMap<i64, Vec<(Reader, EventId)>> {
    let start = context.program.locations[location].bytes.start;
    let mut values = BTreeMap::from([(0u64, Vec::new())]);
    for (name, cell) in final_readers(context, location) {
        let last = writes_of(state, cell).filter(|(_, last)| *last);
        let parts: BTreeMap<u64, EventId> =
            last.filter_map(|(write, _)| Some((state.cell_value(context, write, cell)?, write))).collect();
        let with = |(value, writes): (&u64, &Vec<(Reader, EventId)>)| {
            let with = |(part, write): (&u64, &EventId)| {
                (
                    value | part << ((cell.start - start) * 8),
                    [&writes[..], &[((name, cell), *write)]].concat(),
                )
            };
            parts.iter().map(with).collect::<Vec<_>>()
        };
        values = values.iter().flat_map(with).collect();
    }
    values.into_iter().map(|(value, writes)| (value as i64, writes)).collect()
}

/// The values of some terms, with the writes that final values are of.
type Ended = (Vec<i64>, Vec<(Reader, EventId)>);

/// All combinations of the values of some terms at the end of an execution.
fn combinations(state: &State, context: &Context, terms: &[Term]) -> Vec<Ended> {
    let mut all = vec![(Vec::new(), Vec::new())];
    for &term in terms {
        let values = match term {
            Term::Memory(location) => final_values(state, context, location),
            _ => BTreeMap::from([(register_value(state, term).unwrap_or_default(), Vec::new())]),
        };
        let with = |(before, writes): &Ended| {
            let with = |(value, more): (&i64, &Vec<(Reader, EventId)>)| {
                ([&before[..], &[*value]].concat(), [&writes[..], &more[..]].concat())
            };
            values.iter().map(with).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    all
}

pub(super) fn lookup(terms: &[Term], values: &[i64], term: Term) -> Option<i64> {
    match term {
        Term::Constant(value) => Some(value),
        _ => terms.iter().position(|known| *known == term).map(|index| values[index]),
    }
}

/// The conditions of a program: whether its filter holds, and its condition is as wanted.
fn meets(program: &Program, wanted: bool, value: &impl Fn(Term) -> Option<i64>) -> Option<bool> {
    let filtered = program.filter.as_ref().map_or(Some(true), |filter: &Condition| filter.evaluate(value));
    let condition = program.condition.evaluate(value).map(|holds| holds == wanted);
    match (filtered, condition) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

pub(super) struct Find<'a> {
    pub(super) context: Context<'a>,
    pub(super) wanted: bool,
    pub(super) found: Option<Execution>,
}

impl Find<'_> {
    /// What is asked about, with the final values as far as their writes are chosen.
    fn value(&self, state: &State, decided: &Decided, term: Term) -> Option<i64> {
        let Term::Memory(location) = term else { return register_value(state, term) };
        let start = self.context.program.locations[location].bytes.start;
        let part = |reader: Reader| {
            let (_, write) = decided.finals.iter().find(|(known, _)| *known == reader)?;
            let (_, cell) = reader;
            Some(state.cell_value(&self.context, *write, cell)? << ((cell.start - start) * 8))
        };
        final_readers(&self.context, location).map(part).sum::<Option<u64>>().map(|value| value as i64)
    }

    fn meets(&self, state: &State, decided: &Decided) -> Option<bool> {
        meets(self.context.program, self.wanted, &|term| self.value(state, decided, term))
    }
}

impl Goal for Find<'_> {
    fn is_hopeless(&self, state: &State, _: &Values) -> bool {
        meets(self.context.program, self.wanted, &|term| register_value(state, term)) == Some(false)
    }

    fn next_final(&self, _: &State, decided: &Decided) -> Option<Reader> {
        let location = |term: Term| match term {
            Term::Memory(location) => Some(location),
            _ => None,
        };
        let mut readers = self
            .context
            .program
            .asked()
            .into_iter()
            .filter_map(location)
            .flat_map(|location| final_readers(&self.context, location));
        readers.find(|reader| decided.finals.iter().all(|(known, _)| known != reader))
    }

    fn is_refuted(&self, state: &State, decided: &Decided) -> bool {
        self.meets(state, decided) == Some(false)
    }

    fn found(&mut self, state: &State, decided: &Decided, _: &Values) -> bool {
        if self.meets(state, decided) != Some(true) {
            return false;
        }
        let value = |term: Term| (term, self.value(state, decided, term).unwrap_or_default());
        let outcome = self.context.program.asked().into_iter().map(value).collect();
        self.found = Some(Execution::new(state, decided, outcome));
        true
    }
}

pub(super) struct Collect<'a> {
    pub(super) context: Context<'a>,
    pub(super) terms: Vec<Term>,
    pub(super) found: BTreeMap<Vec<i64>, u64>,
}

impl Goal for Collect<'_> {
    fn is_hopeless(&self, _: &State, _: &Values) -> bool {
        false
    }

    fn found(&mut self, state: &State, _: &Decided, _: &Values) -> bool {
        let program = self.context.program;
        for (values, _) in combinations(state, &self.context, &self.terms) {
            let kept = |filter: &Condition| {
                filter.evaluate(&|term| lookup(&self.terms, &values, term)) == Some(true)
            };
            if program.filter.as_ref().is_none_or(kept) {
                *self.found.entry(values).or_default() += 1;
            }
        }
        false
    }
}
