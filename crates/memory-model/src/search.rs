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
use crate::certificate::{Name, Pairs, Proof, Reader};
use crate::consistency::{self, Decided, Forced, Open, Violation};
use crate::event::Kind;
use crate::facts::{Base, Facts};
use crate::language::Ordering;
use crate::model::Model;
use crate::plan::Values;
use crate::program::Term;
use crate::relation::{EventId, Relation, Set};
use crate::symmetry::Explored;
use crate::unfold::{Context, State, Status, TooLarge};

/// What is searched for.
pub(crate) trait Goal {
    /// Whether executions that go on from here are of no interest.
    fn is_hopeless(&self, state: &State, values: &Values) -> bool;
    /// A consistent execution, complete; whether the search ends here.
    fn found(&mut self, state: &State, decided: &Decided, values: &Values) -> bool;
    /// A cell of a final value whose write is to be chosen, if the goal depends on it.
    fn next_final(&self, _: &State, _: &Decided) -> Option<Reader> {
        None
    }
    /// Whether what is chosen, final values too, is not what is searched for.
    fn is_refuted(&self, _: &State, _: &Decided) -> bool {
        false
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
    /// Where it has been, if threads that are alike may be exchanged.
    explored: Option<Explored>,
}

type Outcome = Result<Option<Proof>, End>;

impl<'a, G: Goal> Search<'a, G> {
    pub(crate) fn new(context: Context<'a>, model: &'a Model, goal: G, budget: u64) -> Self {
        let terms = context.program.asked();
        Self {
            context,
            model,
            goal,
            budget,
            truncated: false,
            proving: false,
            terms,
            values: Values::default(),
            explored: None,
        }
    }

    /// Lets the search leave out what it has seen with two threads exchanged that are alike.
    pub(crate) fn up_to_symmetry(mut self) -> Self {
        self.explored = Some(Explored::new(self.context.program));
        self
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
        self.leaf(self.violation(requirement))
    }

    fn violation(&self, requirement: Violation) -> Proof {
        Proof::Violated(self.model.plan.requirements[requirement].axiom.clone())
    }

    fn oriented(&self, state: &State, pair: Open, forth: Proof, back: Proof) -> Proof {
        let name = |event| Name::of(state.facts.events(), event);
        let (forth, back) = (Box::new(forth), Box::new(back));
        Proof::Orient { ordering: pair.ordering, a: name(pair.a), b: name(pair.b), forth, back }
    }

    /// A proof for when some pairs are ordered in the only way there is.
    fn behind(&self, state: &State, forced: &[Forced], proof: Proof) -> Proof {
        forced.iter().rev().fold(proof, |proof, one| {
            let violated = self.violation(one.violated);
            match one.forth {
                true => self.oriented(state, one.pair, proof, violated),
                false => self.oriented(state, one.pair, violated, proof),
            }
        })
    }

    /// A proof for a pair that can be ordered neither way, behind those that are ordered in the only way there is.
    fn contradicted(
        &self,
        state: &State,
        forced: &[Forced],
        (pair, violations): (Open, [Violation; 2]),
    ) -> Proof {
        let [forth, back] = violations.map(|violated| self.violation(violated));
        self.behind(state, forced, self.oriented(state, pair, forth, back))
    }

    fn explore(&mut self, mut state: State, decided: Decided) -> Result<Outcome, TooLarge> {
        if self.budget == 0 {
            return Ok(Err(End::Limit));
        }
        self.budget -= 1;
        if state.is_refuted() {
            return self.leaf(Proof::Refuted);
        }
        if let Some(places) = self.explored.as_mut().and_then(|explored| explored.mirror(&state)) {
            return self.leaf(Proof::Mirrored(places));
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
        // Atomics in a row leave few orders: often none, long before all is chosen.
        let atomics = |facts: &Facts, pair: Open| {
            let is_atomic = |write| (0..facts.len()).any(|read| facts.base(Base::Rmw).contains(read, write));
            is_atomic(pair.a) && is_atomic(pair.b)
        };
        let mut directed = decided.clone();
        let (forced, contradiction) =
            consistency::direct(&mut state, &mut directed, atomics, self.model, &mut self.values);
        if let Some(contradiction) = contradiction {
            return self.leaf(self.contradicted(&state, &forced, contradiction));
        }
        if !forced.is_empty() {
            // What was directed is no choice: a proof would have to say it again wherever it is used.
            let (facts, sources) = (&mut state.facts, &state.sources);
            if let Err(violated) = consistency::order(facts, sources, &decided, self.model, &mut self.values)
            {
                return self.violated(violated);
            }
        }
        if self.goal.is_hopeless(&state, &self.values) {
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
        match self.goal.next_final(&state, &decided) {
            Some(reader) => self.choose_final(state, decided, reader),
            None => self.meet(state, decided),
        }
    }

    /// Chooses the write that a cell of a final value is of: then most conditions can be told, before writes are ordered.
    fn choose_final(&mut self, state: State, decided: Decided, reader: Reader) -> Result<Outcome, TooLarge> {
        let events = state.facts.events();
        let writes = (0..events.len()).filter(|&id| events[id].is_write() && events[id].covers(reader.1));
        let mut cases = Vec::new();
        for write in writes {
            let mut decided = decided.clone();
            decided.finals.push((reader, write));
            let proof = if decided.is_overwritten(&state.facts) {
                self.leaf(Proof::Overwritten)?
            } else if self.goal.is_refuted(&state, &decided) {
                self.leaf(Proof::Refuted)?
            } else {
                match self.goal.next_final(&state, &decided) {
                    Some(reader) => self.choose_final(state.clone(), decided, reader)?,
                    None => self.meet(state.clone(), decided)?,
                }
            };
            match proof {
                Ok(proof) => cases.push((Name::of(events, write), proof.unwrap_or(Proof::Unfinished))),
                Err(end) => return Ok(Err(end)),
            }
        }
        self.leaf(Proof::Source { reader, cases, later: None })
    }

    /// Lets the barriers of ended threads meet.
    fn meet(&mut self, state: State, decided: Decided) -> Result<Outcome, TooLarge> {
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
        let awaited = state.reads_behind(state.awaited(&self.context));
        let asked = state.reads_behind(self.asked(state));
        let urgency = |index: usize| {
            let source = &state.sources[index];
            let read = source.read;
            // Atomics tell most of each other.
            let is_atomic = !state.facts.base(Base::Rmw).row(read).is_empty();
            (!awaited.contains(read), !asked.contains(read), !is_atomic, index)
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
        if state.threads.iter().any(|thread| thread.status == Status::Undecided) {
            let cell = state.sources[source].cell;
            let mut next = state;
            next.sources[source].after = next.facts.len();
            let goes_on =
                |thread: usize| matches!(next.threads[thread].status, Status::Undecided | Status::Waiting(_));
            let texts = self.context.program.threads.iter().enumerate();
            if !texts.into_iter().any(|(thread, text)| goes_on(thread) && text.writes(cell)) {
                later = Some(Box::new(Proof::Unfinished));
                return self.leaf(Proof::Source { reader, cases, later });
            }
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
        if decided.is_overwritten(&state.facts) {
            return self.leaf(Proof::Overwritten);
        }
        let open = consistency::open_pairs(&state.facts, self.model, &self.values);
        let fences = open.iter().any(|pair| pair.ordering == Ordering::Scf);
        if fences {
            return self.orient_one(state, decided, &open);
        }
        let mut decided = decided;
        let (forced, contradiction) =
            consistency::direct(&mut state, &mut decided, |_, _| true, self.model, &mut self.values);
        if let Some(contradiction) = contradiction {
            return self.leaf(self.contradicted(&state, &forced, contradiction));
        }
        let open = consistency::open_pairs(&state.facts, self.model, &self.values);
        let outcome = if decided.is_overwritten(&state.facts) {
            self.leaf(Proof::Overwritten)?
        } else if open.is_empty() {
            if self.goal.found(&state, &decided, &self.values) {
                return Ok(Err(End::Stopped));
            }
            self.leaf(Proof::Refuted)?
        } else {
            self.orient_one(state.clone(), decided, &open)?
        };
        Ok(outcome.map(|proof| proof.map(|proof| self.behind(&state, &forced, proof))))
    }

    /// Tries both directions of a pair: of fences one that has but one direction, if there is one.
    fn orient_one(&mut self, state: State, decided: Decided, open: &[Open]) -> Result<Outcome, TooLarge> {
        let Some(mut pair) = open.first().copied() else { return self.leaf(Proof::Unfinished) };
        let fences = || open.iter().filter(|pair| pair.ordering == Ordering::Scf);
        for &candidate in fences().filter(|_| open.len() > 1) {
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
        let mut proofs = Vec::new();
        for forth in [true, false] {
            match self.orient(state.clone(), decided.with(pair, forth))? {
                Ok(proof) => proofs.push(proof.unwrap_or(Proof::Unfinished)),
                Err(end) => return Ok(Err(end)),
            }
        }
        let (back, forth) = (proofs.pop(), proofs.pop());
        let (Some(forth), Some(back)) = (forth, back) else { return self.leaf(Proof::Unfinished) };
        self.leaf(self.oriented(&state, pair, forth, back))
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
