//! What a model says of a litmus test.

use crate::certificate::{Certificate, Choices, Name, Proof, Reader};
use crate::consistency::Decided;
use crate::event::{Cell, Event, Kind};
use crate::facts::{Base, Facts};
use crate::layout::Layout;
use crate::model::Model;
use crate::plan::{Stage, Values};
use crate::program::{Access, Condition, Instruction, Program, Quantifier, Term, Thread, elements};
use crate::relation::{EventId, MAX_EVENTS};
use crate::search::{End, Goal, Search};
use crate::unfold::{Context, State, Status, TooLarge};
use std::collections::BTreeMap;
use std::fmt;

/// How a question is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The most iterations of a loop that writes or synchronises. Loops that only read are exact without a bound.
    pub bound: u32,
    /// The most choices that a search tries.
    pub budget: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { bound: 2, budget: 20_000_000 }
    }
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undecided {
    /// An execution has too many events, or a thread computes for too long.
    TooLarge,
    /// There are too many executions.
    TooMany,
}

impl fmt::Display for Undecided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLarge => {
                "an execution has more events than can be held, or a thread does not stop computing"
            }
            Self::TooMany => "there are too many executions to try",
        })
    }
}

impl From<TooLarge> for Undecided {
    fn from(_: TooLarge) -> Self {
        Self::TooLarge
    }
}

/// One execution, complete.
#[derive(Clone, Debug)]
pub struct Execution {
    /// Its events, base relations and orders.
    pub facts: Facts,
    /// What each event wrote or returned.
    pub event_values: Vec<Option<i64>>,
    /// For each cell of each read: the read, the write it takes, and the place of the cell.
    pub reads_from: Vec<(EventId, EventId, Cell)>,
    /// The pairs of coherence that were chosen and do not follow.
    pub chosen_co: Vec<(EventId, EventId)>,
    /// The pairs of Fence-SC that were chosen and do not follow.
    pub chosen_scf: Vec<(EventId, EventId)>,
    /// The values asked about.
    pub outcome: Vec<(Term, i64)>,
    /// For each location asked about and each of its cells, the write that is the last.
    finals: Vec<(Reader, EventId)>,
    pub(crate) decided: Decided,
    pub(crate) sources: Vec<crate::unfold::Source>,
}

impl Execution {
    fn new(state: &State, decided: &Decided, outcome: Vec<(Term, i64)>) -> Self {
        Self {
            facts: state.facts.clone(),
            event_values: (0..state.facts.len()).map(|event| state.value_of(event)).collect(),
            reads_from: state.sources.iter().filter_map(|s| Some((s.read, s.write?, s.cell))).collect(),
            chosen_co: decided.co.clone(),
            chosen_scf: decided.scf.clone(),
            outcome,
            finals: decided.finals.clone(),
            decided: decided.clone(),
            sources: state.sources.clone(),
        }
    }

    /// Its events.
    pub fn events(&self) -> &[Event] {
        self.facts.events()
    }

    /// What was chosen of it, for the checker.
    pub fn choices(&self) -> Choices {
        let name = |event| Name::of(self.events(), event);
        let pairs = |pairs: &[(EventId, EventId)]| pairs.iter().map(|&(a, b)| (name(a), name(b))).collect();
        let bar: Vec<_> = self.facts.base(Base::Bar).pairs().collect();
        let reads = self.reads_from.iter().map(|&(read, write, cell)| ((name(read), cell), name(write)));
        Choices {
            sources: reads.chain(self.finals.iter().map(|&(reader, write)| (reader, name(write)))).collect(),
            barriers: Some(pairs(&bar)),
            coherence: pairs(&self.chosen_co),
            fences: pairs(&self.chosen_scf),
            ..Choices::default()
        }
    }
}

/// A way in which executions end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The values asked about.
    pub values: Vec<i64>,
    /// How many executions end so: choices of reads-from, barriers, Fence-SC and coherence as far as it must be chosen.
    pub count: u64,
    /// Whether the condition holds.
    pub satisfies: bool,
}

/// Two conflicting accesses that nothing orders.
#[derive(Clone, Debug)]
pub struct Race {
    /// The accesses.
    pub pair: (EventId, EventId),
    /// Whether they overlap in part.
    pub mixed_size: bool,
    /// An execution with the race.
    pub execution: Execution,
}

/// The verdict on the assertion.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Whether the assertion holds.
    pub holds: bool,
    /// For `exists` an execution that ends so; for `~exists` and `forall` a counterexample. Where there is none,
    /// [`Question::proof`] shows it.
    pub execution: Option<Box<Execution>>,
    /// Whether loops with effects were left after [`Options::bound`] iterations.
    pub truncated: bool,
}

/// All ways to end.
#[derive(Clone, Debug, Default)]
pub struct Outcomes {
    /// What the values are of.
    pub terms: Vec<Term>,
    /// The ways, by their values.
    pub list: Vec<Outcome>,
    /// Whether loops with effects were left early.
    pub truncated: bool,
}

/// Whether every execution ends.
#[derive(Clone, Debug)]
pub struct Liveness {
    /// Whether every execution ends.
    pub terminates: bool,
    /// One that does not: the threads that are stuck, and the execution so far.
    pub stuck: Option<(Vec<usize>, Box<Execution>)>,
    /// Whether loops with effects were left early, so that one of them might still not end.
    pub truncated: bool,
}

/// A program with a model, ready to be asked.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    program: &'a Program,
    model: &'a Model,
    layout: Layout,
    options: Options,
}

impl<'a> Question<'a> {
    /// Prepares a program.
    pub fn new(program: &'a Program, model: &'a Model, options: Options) -> Self {
        Self { program, model, layout: Layout::new(program), options }
    }

    pub(crate) fn model(&self) -> &Model {
        self.model
    }

    /// An execution that ends as the assertion asks (or forbids), of which only No-Thin-Air is asked.
    pub(crate) fn candidate(&self) -> Result<Option<Execution>, Undecided> {
        let wanted = self.program.quantifier != Quantifier::Forall;
        let model = self.model.without_axioms_but("no-thin-air");
        let context = self.context(false);
        let goal = Find { context, wanted, found: None };
        let mut search = Search::new(context, &model, goal, self.options.budget);
        search.run()?;
        Ok(search.goal.found.take())
    }

    fn context(&self, blocking: bool) -> Context<'_> {
        Context {
            program: self.program,
            layout: &self.layout,
            family: self.model.family,
            bound: self.options.bound.max(1),
            blocking,
        }
    }

    fn search<G: Goal>(&self, goal: G, blocking: bool) -> Search<'_, G> {
        Search::new(self.context(blocking), self.model, goal, self.options.budget)
    }

    /// Whether the assertion holds.
    pub fn verdict(&self) -> Result<Verdict, Undecided> {
        let wanted = self.program.quantifier != Quantifier::Forall;
        let context = self.context(false);
        let mut search = self.search(Find { context, wanted, found: None }, false).up_to_symmetry();
        let (end, _) = search.run()?;
        let execution = search.goal.found.take().map(Box::new);
        if end == End::Limit {
            return Err(Undecided::TooMany);
        }
        let holds = execution.is_some() == (self.program.quantifier == Quantifier::Exists);
        Ok(Verdict { holds, execution, truncated: search.truncated })
    }

    /// A proof that no execution ends as the assertion asks (`exists`), or against it (`~exists`, `forall`); none if one
    /// does.
    pub fn proof(&self) -> Result<Option<Proof>, Undecided> {
        let wanted = self.program.quantifier != Quantifier::Forall;
        let goal = Find { context: self.context(false), wanted, found: None };
        let mut search = self.search(goal, false).up_to_symmetry();
        search.proving = true;
        match search.run()? {
            (End::Exhausted, proof) => Ok(proof),
            (End::Stopped, _) => Ok(None),
            (End::Limit, _) => Err(Undecided::TooMany),
        }
    }

    /// What shows that the verdict is right.
    pub fn certificate(&self, verdict: &Verdict) -> Result<Certificate, Undecided> {
        Ok(match &verdict.execution {
            Some(execution) => Certificate::Execution(execution.choices()),
            None => Certificate::Proof(self.proof()?.unwrap_or(Proof::Unfinished)),
        })
    }

    /// All ways to end, with their counts.
    pub fn outcomes(&self) -> Result<Outcomes, Undecided> {
        let terms = self.terms();
        let context = self.context(false);
        let mut search =
            self.search(Collect { context, terms: terms.clone(), found: BTreeMap::new() }, false);
        search.terms.clear();
        let (end, _) = search.run()?;
        if end == End::Limit {
            return Err(Undecided::TooMany);
        }
        let list = search.goal.found.iter().map(|(values, count)| Outcome {
            values: values.clone(),
            count: *count,
            satisfies: self.satisfies(&terms, values),
        });
        Ok(Outcomes { terms: terms.clone(), list: list.collect(), truncated: search.truncated })
    }

    fn satisfies(&self, terms: &[Term], values: &[i64]) -> bool {
        let value = |term: Term| match term {
            Term::Constant(value) => Some(value),
            _ => terms.iter().position(|known| *known == term).map(|index| values[index]),
        };
        self.program.condition.evaluate(&value) == Some(true)
    }

    /// What outcomes are told by: the values in the conditions, or else all registers.
    pub fn terms(&self) -> Vec<Term> {
        let mut terms = Vec::new();
        self.program.condition.terms(&mut terms);
        if let Some(filter) = &self.program.filter {
            filter.terms(&mut terms);
        }
        if terms.is_empty() {
            for (index, thread) in self.program.threads.iter().enumerate() {
                terms.extend((0..thread.registers.len()).map(|register| Term::Register(index, register)));
            }
        }
        terms
    }

    /// Whether two accesses in the text of different threads, or of one thread through different proxies, overlap, one of
    /// them writes, and they are not morally strong to one another wherever they are executed.
    fn may_race(&self) -> bool {
        let mut facts = Facts::default();
        for (thread, text) in self.program.threads.iter().enumerate() {
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
        base_stages(&facts, self.model, &mut values);
        let Some(ms) = self.model.plan.named("ms", &values) else { return true };
        let events = facts.events();
        facts.base(Base::Location).pairs().any(|(a, b)| {
            // One thread's accesses through one proxy are in order, but for copies.
            let own = events[a].thread == events[b].thread && events[a].proxy == events[b].proxy;
            let is_copy = |event: &Event| {
                let text = &self.program.threads[event.thread.unwrap_or_default() as usize];
                matches!(text.code[event.instruction as usize], Instruction::CopyAsync { .. })
            };
            let in_order = own && !is_copy(&events[a]) && !is_copy(&events[b]);
            a < b && (events[a].is_write() || events[b].is_write()) && !in_order && !ms.contains(a, b)
        })
    }

    /// An execution with a data race: one of accesses that overlap in part, if there is one.
    pub fn race(&self) -> Result<Option<Race>, Undecided> {
        if !self.may_race() {
            return Ok(None);
        }
        let goal = FindRace { model: self.model, mixed_wanted: self.layout.mixed_size, found: None };
        let mut search = self.search(goal, false).up_to_symmetry();
        // Which values are read does not matter here.
        search.terms.clear();
        let (end, _) = search.run()?;
        match (end, search.goal.found.take()) {
            (_, Some(race)) => Ok(Some(race)),
            (End::Limit, None) => Err(Undecided::TooMany),
            (_, None) => Ok(None),
        }
    }

    /// Whether every execution ends, if every thread that can go on does so and every write is seen in the end.
    pub fn liveness(&self) -> Result<Liveness, Undecided> {
        let mut search = self.search(FindStuck { found: None }, true).up_to_symmetry();
        let (end, _) = search.run()?;
        let stuck = search.goal.found.take();
        if end == End::Limit && stuck.is_none() {
            return Err(Undecided::TooMany);
        }
        Ok(Liveness { terminates: stuck.is_none(), stuck, truncated: search.truncated })
    }
}

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

fn lookup(terms: &[Term], values: &[i64], term: Term) -> Option<i64> {
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

struct Find<'a> {
    context: Context<'a>,
    wanted: bool,
    found: Option<Execution>,
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

    fn terms(&self) -> Vec<Term> {
        let mut terms = Vec::new();
        self.context.program.condition.terms(&mut terms);
        if let Some(filter) = &self.context.program.filter {
            filter.terms(&mut terms);
        }
        terms
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
            .terms()
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
        let outcome = self.terms().into_iter().map(value).collect();
        self.found = Some(Execution::new(state, decided, outcome));
        true
    }
}

struct Collect<'a> {
    context: Context<'a>,
    terms: Vec<Term>,
    found: BTreeMap<Vec<i64>, u64>,
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
        _ => Vec::new(),
    }
}

struct FindRace<'a> {
    model: &'a Model,
    mixed_wanted: bool,
    found: Option<Race>,
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
pub(crate) fn races(facts: &Facts, model: &Model, values: &Values) -> Vec<(EventId, EventId)> {
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

struct FindStuck {
    found: Option<(Vec<usize>, Box<Execution>)>,
}

impl FindStuck {
    /// Whether a thread that spins has not seen a later write: then it would in the end.
    fn is_unfair(state: &State) -> bool {
        state.threads.iter().enumerate().any(|(thread, of)| {
            let Status::Spinning(first) = of.status else { return false };
            let own =
                |event: EventId| event >= first && state.facts.events()[event].thread == Some(thread as u32);
            state.sources.iter().filter(|source| own(source.read)).any(|source| {
                let Some(write) = source.write else { return false };
                let overwrites = |later: EventId| {
                    !own(later)
                        && state.facts.events()[later].bytes().is_some_and(|bytes| source.cell.is_in(bytes))
                };
                state.facts.base(Base::Co).row(write).iter().any(overwrites)
            })
        })
    }
}

impl Goal for FindStuck {
    fn is_hopeless(&self, state: &State, _: &Values) -> bool {
        Self::is_unfair(state) || state.threads.iter().all(|thread| thread.status == Status::Ended)
    }

    fn found(&mut self, state: &State, decided: &Decided, _: &Values) -> bool {
        if Self::is_unfair(state) {
            return false;
        }
        let stuck: Vec<usize> = (0..state.threads.len())
            .filter(|&thread| state.threads[thread].status != Status::Ended)
            .collect();
        if stuck.is_empty() {
            return false;
        }
        self.found = Some((stuck, Box::new(Execution::new(state, decided, Vec::new()))));
        true
    }
}
