//! What a model says of a litmus test.

mod end;
mod race;
mod stuck;

pub(crate) use race::base_stages;
pub use race::races_of_trace;

use crate::certificate::{Certificate, Choices, Name, Proof, Reader};
use crate::consistency::Decided;
use crate::event::{Cell, Event};
use crate::facts::{Base, Facts};
use crate::layout::Layout;
use crate::model::Model;
use crate::program::{Program, Quantifier, Term};
use crate::relation::EventId;
use crate::search::{End, Goal, Search};
use crate::unfold::{Context, State, TooLarge};
use end::{Collect, Find};
use race::{FindRace, may_race};
use std::collections::BTreeMap;
use std::fmt;
use stuck::FindStuck;

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
            sc_atomics: self.model.sc_atomics,
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
        self.program.condition.evaluate(&|term| end::lookup(terms, values, term)) == Some(true)
    }

    /// What outcomes are told by: the values in the conditions, or else all registers.
    pub fn terms(&self) -> Vec<Term> {
        let mut terms = self.program.asked();
        if terms.is_empty() {
            for (index, thread) in self.program.threads.iter().enumerate() {
                terms.extend((0..thread.registers.len()).map(|register| Term::Register(index, register)));
            }
        }
        terms
    }

    /// An execution with a data race: one of accesses that overlap in part, if there is one.
    pub fn race(&self) -> Result<Option<Race>, Undecided> {
        if !may_race(self.program, self.model) {
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
