//! Whether a (partial) execution obeys a model's axioms.
//!
//! Orders are completed by what they must contain, least: Fence-SC by base causality, coherence by causality. As the
//! notation has no complement, a violation stays one whatever is chosen later, and the least coherence order is violated
//! only if every one is.

use crate::certificate::Reader;
use crate::facts::{Base, Facts};
use crate::language::{Claim, Ordering};
use crate::model::Model;
use crate::plan::{Plan, Stage, Values};
use crate::relation::{EventId, Relation};
use crate::unfold::{Source, State};

/// A violated axiom: the part of the model's plan.
pub(crate) type Violation = usize;

/// Completes the orders of an execution and checks the axioms. The error is the first part that is violated.
pub(crate) fn check(
    state: &mut State,
    decided: &Decided,
    model: &Model,
    values: &mut Values,
) -> Result<(), Violation> {
    check_facts(&mut state.facts, &state.sources, decided, model, values)
}

/// Pairs of the orders that the search has chosen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decided {
    pub(crate) co: Vec<(EventId, EventId)>,
    pub(crate) scf: Vec<(EventId, EventId)>,
    /// The writes that cells of final values are of.
    pub(crate) finals: Vec<(Reader, EventId)>,
}

impl Decided {
    /// Whether a write that a final value is of comes before another.
    pub(crate) fn is_overwritten(&self, facts: &Facts) -> bool {
        self.finals.iter().any(|&((_, cell), write)| {
            facts.base(Base::Co).row(write).iter().any(|later| facts.events()[later].covers(cell))
        })
    }

    /// With one more pair, one way or the other.
    pub(crate) fn with(&self, pair: Open, forth: bool) -> Self {
        let mut decided = self.clone();
        let pairs = match pair.ordering {
            Ordering::Co => &mut decided.co,
            Ordering::Scf => &mut decided.scf,
        };
        pairs.push(if forth { (pair.a, pair.b) } else { (pair.b, pair.a) });
        decided
    }
}

pub(crate) fn check_facts(
    facts: &mut Facts,
    sources: &[Source],
    decided: &Decided,
    model: &Model,
    values: &mut Values,
) -> Result<(), Violation> {
    let plan = &model.plan;
    let n = facts.len();
    let rf = facts.base_mut(Base::Rf);
    rf.clear(n);
    for source in sources {
        if let Some(write) = source.write {
            rf.insert(write, source.read);
        }
    }
    let scf = facts.base_mut(Base::Scf);
    scf.clear(n);
    for &(a, b) in &decided.scf {
        scf.insert(a, b);
    }
    plan.evaluate(Stage::Events, facts, values);
    loop {
        plan.evaluate(Stage::Choices, facts, values);
        if !include(plan, facts, values, Ordering::Scf)? {
            break;
        }
    }
    verify(plan, values, Stage::Choices)?;
    order(facts, sources, decided, model, values)
}

/// Completes coherence alone, where all before it is up to date, and checks the axioms that depend on it.
pub(crate) fn order(
    facts: &mut Facts,
    sources: &[Source],
    decided: &Decided,
    model: &Model,
    values: &mut Values,
) -> Result<(), Violation> {
    let (plan, n) = (&model.plan, facts.len());
    let mut co = Relation::empty(n);
    for (init, event) in facts.events().iter().enumerate() {
        let Some(bytes) = event.bytes().filter(|_| event.thread.is_none()) else { continue };
        let later =
            |other: &usize| facts.events()[*other].thread.is_some() && facts.events()[*other].is_write();
        for write in (0..n).filter(later) {
            if facts.events()[write].bytes().is_some_and(|b| b.overlap(bytes)) {
                co.insert(init, write);
            }
        }
    }
    for &(a, b) in &decided.co {
        co.insert(a, b);
    }
    *facts.base_mut(Base::Co) = co;
    include(plan, facts, values, Ordering::Co)?;
    let co = facts.base_mut(Base::Co);
    co.close();
    if !co.is_irreflexive() {
        return Err(part(plan, |claim| claim == Claim::In(Ordering::Co)));
    }
    from_reads(facts, sources);
    plan.evaluate(Stage::Coherence, facts, values);
    verify(plan, values, Stage::Coherence)
}

fn from_reads(facts: &mut Facts, sources: &[Source]) {
    let mut fr = Relation::empty(facts.len());
    for source in sources {
        let Some(write) = source.write else { continue };
        for later in facts.base(Base::Co).row(write).iter() {
            if facts.events()[later].bytes().is_some_and(|bytes| source.cell.is_in(bytes)) {
                fr.insert(source.read, later);
            }
        }
    }
    *facts.base_mut(Base::Fr) = fr;
}

/// The first part of an axiom with this claim.
fn part(plan: &Plan, claim: impl Fn(Claim) -> bool) -> Violation {
    plan.requirements.iter().position(|requirement| claim(requirement.claim)).unwrap_or_default()
}

/// Adds what an order must contain; whether that was new.
fn include(plan: &Plan, facts: &mut Facts, values: &Values, ordering: Ordering) -> Result<bool, Violation> {
    let base = match ordering {
        Ordering::Co => Base::Co,
        Ordering::Scf => Base::Scf,
    };
    let mut changed = false;
    for (index, requirement) in plan.requirements.iter().enumerate() {
        if requirement.claim != Claim::In(ordering) {
            continue;
        }
        for (a, b) in plan.value(requirement, values).pairs() {
            let order = facts.base_mut(base);
            if a == b || order.contains(b, a) {
                return Err(index);
            }
            changed |= !order.contains(a, b);
            order.insert(a, b);
        }
    }
    Ok(changed)
}

fn verify(plan: &Plan, values: &Values, stage: Stage) -> Result<(), Violation> {
    for (index, requirement) in plan.requirements.iter().enumerate() {
        let due =
            requirement.stage == stage || (stage == Stage::Choices && requirement.stage == Stage::Events);
        if !due {
            continue;
        }
        let relation = plan.value(requirement, values);
        let holds = match requirement.claim {
            Claim::Empty => relation.is_empty(),
            Claim::Acyclic => relation.is_acyclic(),
            Claim::Irreflexive => relation.is_irreflexive(),
            Claim::In(_) | Claim::TotalIn(_) => true,
        };
        if !holds {
            return Err(index);
        }
    }
    Ok(())
}

/// A pair that has one direction only, and the axiom that forbids the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Forced {
    pub(crate) pair: Open,
    pub(crate) forth: bool,
    pub(crate) violated: Violation,
}

/// Directs pairs of coherence that have one direction only, until no more do. The error is a pair that has none, with the
/// axioms that forbid each. The values must be those of the last check of the same state.
pub(crate) fn direct(
    state: &mut State,
    decided: &mut Decided,
    pairs: impl Fn(&Facts, Open) -> bool,
    model: &Model,
    values: &mut Values,
) -> (Vec<Forced>, Option<(Open, [Violation; 2])>) {
    let mut forced = Vec::new();
    loop {
        let before = forced.len();
        let open = open_pairs(&state.facts, model, values);
        for pair in open {
            let co = state.facts.base(Base::Co);
            let is_open = !co.contains(pair.a, pair.b) && !co.contains(pair.b, pair.a);
            if pair.ordering != Ordering::Co || !is_open || !pairs(&state.facts, pair) {
                continue;
            }
            let mut try_one =
                |decided: &Decided| order(&mut state.facts, &state.sources, decided, model, values).err();
            let violations = [true, false].map(|forth| try_one(&decided.with(pair, forth)));
            let direction = match violations {
                [Some(forth), Some(back)] => return (forced, Some((pair, [forth, back]))),
                [None, Some(violated)] => Some(Forced { pair, forth: true, violated }),
                [Some(violated), None] => Some(Forced { pair, forth: false, violated }),
                [None, None] => None,
            };
            if let Some(one) = direction {
                *decided = decided.with(pair, one.forth);
                forced.push(one);
            }
            // The pairs decided so far are consistent.
            let _ = try_one(decided);
        }
        if forced.len() == before {
            return (forced, None);
        }
    }
}

/// A pair of an order that has to be related and is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Open {
    pub(crate) ordering: Ordering,
    pub(crate) a: EventId,
    pub(crate) b: EventId,
}

/// The pairs that still have to be ordered.
pub(crate) fn open_pairs(facts: &Facts, model: &Model, values: &Values) -> Vec<Open> {
    let mut open = Vec::new();
    for requirement in &model.plan.requirements {
        let Claim::TotalIn(ordering) = requirement.claim else { continue };
        let order = match ordering {
            Ordering::Co => facts.base(Base::Co),
            Ordering::Scf => facts.base(Base::Scf),
        };
        for (a, b) in model.plan.value(requirement, values).pairs() {
            let ordered = order.contains(a, b) || order.contains(b, a);
            if a != b && !ordered {
                let pair = Open { ordering, a: a.min(b), b: a.max(b) };
                if !open.contains(&pair) {
                    open.push(pair);
                }
            }
        }
    }
    // Fences first: what they decide orders writes.
    open.sort_by_key(|pair| pair.ordering == Ordering::Co);
    open
}
