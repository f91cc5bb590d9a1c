//! All executions of a program that a model allows.
//!
//! The search chooses, one at a time: for each cell that a read takes, the write; whether a compare-and-swap succeeds;
//! how barriers meet; then the direction of each pair of fences and writes that must be ordered and is not yet. After each
//! choice the axioms are checked ([`crate::consistency`]), so that most wrong choices end at once. Base causality does not
//! depend on coherence, and more coherence only forbids more: coherence is least, and only pairs that have to be ordered
//! are tried both ways.
//!
//! A read may take a write that no thread has come to yet, because a branch there is undecided. Then the read is put off,
//! and later takes one of the writes that have appeared since. As No-Thin-Air forbids that a read waits for itself, some
//! order of choices reaches every execution, and putting off reaches each once.
//!
//! A search can write down why it found nothing, as a [`Proof`] of [`crate::certificate`].

use crate::barrier;
use crate::certificate::{Name, Pairs, Proof};
use crate::consistency::{self, Decided, Violation};
use crate::event::Kind;
use crate::facts::Base;
use crate::model::Model;
use crate::plan::Values;
use crate::program::{Condition, Term};
use crate::relation::{EventId, Relation, Set};
use crate::unfold::{Context, State, Status, TooLarge};

/// What is searched for.
pub(crate) trait Goal {
    /// Whether executions that go on from here are of no interest.
    fn is_hopeless(&self, state: &State) -> bool;
    /// A consistent execution, complete; whether the search ends here.
    fn found(&mut self, state: &State, decided: &Decided, values: &Values) -> bool;
    /// Why a consistent execution is not one that was searched for.
    fn refutation(&self, _state: &State) -> Proof {
        Proof::Refuted
    }
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Everything was tried.
    Exhausted,
    /// The goal had enough.
    Stopped,
    /// There were too many choices.
    Limit,
}

/// A search.
pub(crate) struct Search<'a, G> {
    pub(crate) context: Context<'a>,
    pub(crate) model: &'a Model,
    pub(crate) goal: G,
    /// The choices left to be tried.
    pub(crate) budget: u64,
    /// Whether a loop was left early.
    pub(crate) truncated: bool,
    /// Whether to write down why nothing was found.
    pub(crate) proving: bool,
    /// Reads whose values are asked for, by register terms.
    pub(crate) terms: Vec<Term>,
    values: Values,
}

type Outcome = Result<Option<Proof>, End>;

impl<'a, G: Goal> Search<'a, G> {
    pub(crate) fn new(context: Context<'a>, model: &'a Model, goal: G, budget: u64) -> Self {
        let mut terms = Vec::new();
        context.program.condition.terms(&mut terms);
        context
            .program
            .filter
            .as_ref()
            .map(|filter: &Condition| filter.terms(&mut terms))
            .unwrap_or_default();
        Self {
            context,
            model,
            goal,
            budget,
            truncated: false,
            proving: false,
            terms,
            values: Values::default(),
        }
    }

    /// Tries everything, until the goal has enough.
    pub(crate) fn run(&mut self) -> Result<(End, Option<Proof>), TooLarge> {
        let mut state = State::new(&self.context)?;
        state.run(&self.context)?;
        match self.explore(state, Decided::default())? {
            Ok(proof) => Ok((End::Exhausted, proof)),
            Err(end) => Ok((end, None)),
        }
    }

    fn leaf(&self, proof: Proof) -> Result<Outcome, TooLarge> {
        Ok(Ok(self.proving.then_some(proof)))
    }

    fn violated(&self, requirement: Violation) -> Result<Outcome, TooLarge> {
        self.leaf(Proof::Violated(self.model.plan.requirements[requirement].axiom.clone()))
    }

    fn explore(&mut self, mut state: State, decided: Decided) -> Result<Outcome, TooLarge> {
        if self.budget == 0 {
            return Ok(Err(End::Limit));
        }
        self.budget -= 1;
        if state.is_refuted() {
            return self.leaf(Proof::Refuted);
        }
        for thread in 0..state.threads.len() {
            match state.threads[thread].status {
                Status::Cut => {
                    self.truncated = true;
                    return self.leaf(Proof::Unfinished);
                }
                Status::Spinning(_) if !self.context.blocking => return self.leaf(Proof::Unfinished),
                _ => {}
            }
        }
        barrier::relate_certain(&mut state, &self.context);
        if let Err(violated) = consistency::check(&mut state, &decided, self.model, &mut self.values) {
            return self.violated(violated);
        }
        if self.goal.is_hopeless(&state) {
            return self.leaf(Proof::Refuted);
        }
        if let Some((thread, read)) = state.open_swap() {
            let read = Name::of(state.facts.events(), read);
            let mut proofs = Vec::new();
            for success in [true, false] {
                let mut next = state.clone();
                next.assume(&self.context, thread, success)?;
                next.run(&self.context)?;
                match self.explore(next, decided.clone())? {
                    Ok(proof) => proofs.push(Box::new(proof.unwrap_or(Proof::Unfinished))),
                    Err(end) => return Ok(Err(end)),
                }
            }
            let (failure, success) = (proofs.pop(), proofs.pop());
            let (Some(success), Some(failure)) = (success, failure) else {
                return self.leaf(Proof::Unfinished);
            };
            return self.leaf(Proof::Swap { read, success, failure });
        }
        if state.sources.iter().any(|source| source.write.is_none()) {
            return self.choose_source(state, decided);
        }
        if state.threads.iter().any(|thread| thread.status == Status::Undecided) {
            return self.leaf(Proof::Unfinished);
        }
        let ways = barrier::ways(&state, &self.context);
        let certain = state.facts.base(Base::Bar);
        if let [way] = &ways[..]
            && way == certain
        {
            return self.orient(state, decided);
        }
        let mut cases = Vec::new();
        for way in ways {
            let name = |event| Name::of(state.facts.events(), event);
            let pairs: Pairs = way.pairs().map(|(a, b)| (name(a), name(b))).collect();
            let mut next = state.clone();
            *next.facts.base_mut(Base::Bar) = way;
            let proof = match consistency::check(&mut next, &decided, self.model, &mut self.values) {
                Err(violated) => self.violated(violated)?,
                Ok(()) => self.orient(next, decided.clone())?,
            };
            match proof {
                Ok(proof) => cases.push((pairs, proof.unwrap_or(Proof::Unfinished))),
                Err(end) => return Ok(Err(end)),
            }
        }
        self.leaf(Proof::Barriers(cases))
    }

    /// The next cell to choose a write for: one that a branch waits for, then one that is asked about.
    fn next_source(&self, state: &State) -> Option<(usize, Vec<EventId>)> {
        let awaited = state.awaited(&self.context);
        let asked = self.asked(state);
        let urgency = |index: usize| {
            let source = &state.sources[index];
            (!awaited.contains(source.read), !asked.contains(source.read), index)
        };
        let mut open: Vec<usize> =
            (0..state.sources.len()).filter(|&index| state.sources[index].write.is_none()).collect();
        open.sort_by_key(|&index| urgency(index));
        // A read that was put off is taken up again when there is something new for it.
        open.into_iter()
            .map(|index| (index, candidates(state, index)))
            .find(|(index, candidates)| state.sources[*index].after == 0 || !candidates.is_empty())
    }

    fn asked(&self, state: &State) -> Set {
        let mut asked = Set::default();
        for term in &self.terms {
            if let Term::Register(thread, register) = *term {
                asked = asked.or(state.reads_of(thread, register));
            }
        }
        asked
    }

    fn choose_source(&mut self, state: State, decided: Decided) -> Result<Outcome, TooLarge> {
        let Some((source, candidates)) = self.next_source(&state) else {
            return self.leaf(Proof::Unfinished);
        };
        let reader = (Name::of(state.facts.events(), state.sources[source].read), state.sources[source].cell);
        let mut cases = Vec::new();
        for write in candidates {
            let name = Name::of(state.facts.events(), write);
            let mut next = state.clone();
            next.sources[source].write = Some(write);
            next.settle(&self.context);
            next.run(&self.context)?;
            match self.explore(next, decided.clone())? {
                Ok(proof) => cases.push((name, proof.unwrap_or(Proof::Unfinished))),
                Err(end) => return Ok(Err(end)),
            }
        }
        let mut later = None;
        let undecided = state.threads.iter().any(|thread| thread.status == Status::Undecided);
        if undecided {
            let mut next = state;
            next.sources[source].after = next.facts.len();
            match self.explore(next, decided)? {
                Ok(proof) => later = Some(Box::new(proof.unwrap_or(Proof::Unfinished))),
                Err(end) => return Ok(Err(end)),
            }
        }
        self.leaf(Proof::Source { reader, cases, later })
    }

    /// Orders what has to be ordered. Pairs with one possible direction come first, and are no choice.
    fn orient(&mut self, state: State, decided: Decided) -> Result<Outcome, TooLarge> {
        if self.budget == 0 {
            return Ok(Err(End::Limit));
        }
        self.budget -= 1;
        // The values are those of the last check: of this state, or of one that was tried since.
        let mut state = state;
        if let Err(violated) = consistency::check(&mut state, &decided, self.model, &mut self.values) {
            return self.violated(violated);
        }
        let open = consistency::open_pairs(&state.facts, self.model, &self.values);
        let Some(&first) = open.first() else {
            if self.goal.found(&state, &decided, &self.values) {
                return Ok(Err(End::Stopped));
            }
            let refutation = self.proving.then(|| self.goal.refutation(&state));
            return Ok(Ok(refutation));
        };
        let mut pair = first;
        if open.len() > 1 {
            for &candidate in &open {
                let possible = [true, false].map(|forth| {
                    let mut facts = state.facts.clone();
                    let with = decided.with(candidate, forth);
                    consistency::check_facts(&mut facts, &state.sources, &with, self.model, &mut self.values)
                        .is_ok()
                });
                if possible != [true, true] {
                    pair = candidate;
                    break;
                }
            }
        }
        let mut proofs = Vec::new();
        for forth in [true, false] {
            match self.orient(state.clone(), decided.with(pair, forth))? {
                Ok(proof) => proofs.push(Box::new(proof.unwrap_or(Proof::Unfinished))),
                Err(end) => return Ok(Err(end)),
            }
        }
        let (back, forth) = (proofs.pop(), proofs.pop());
        let (Some(forth), Some(back)) = (forth, back) else { return self.leaf(Proof::Unfinished) };
        let name = |event| Name::of(state.facts.events(), event);
        self.leaf(Proof::Orient { ordering: pair.ordering, a: name(pair.a), b: name(pair.b), forth, back })
    }
}

/// The writes that a cell of a read may take, of those that have appeared since it was put off.
pub(crate) fn candidates(state: &State, source: usize) -> Vec<EventId> {
    let source = &state.sources[source];
    let own: &Relation = state.facts.base(Base::Rmw);
    (source.after..state.facts.len())
        .filter(|&write| {
            let event = &state.facts.events()[write];
            matches!(event.kind, Kind::Init(bytes) | Kind::Write(bytes) if source.cell.is_in(bytes))
                && !own.contains(source.read, write)
        })
        .collect()
}
