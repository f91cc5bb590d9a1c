//! Why an outcome is forbidden, and executions as text.

use crate::answer::{Execution, Question, Undecided};
use crate::consistency::{self, Decided};
use crate::event::{Event, Kind, Part};
use crate::facts::{Base, Facts};
use crate::language::{Claim, Expression};
use crate::model::Model;
use crate::plan::Values;
use crate::program::Program;
use crate::relation::{EventId, Relation};
use std::fmt::Write as _;

/// An edge of an execution, with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Where it begins.
    pub from: EventId,
    /// Its name, such as `rf`.
    pub name: String,
    /// Where it ends.
    pub to: EventId,
}

/// Why an outcome is forbidden: a candidate execution that has it, and what is wrong with that.
#[derive(Clone, Debug)]
pub struct Forbidden {
    /// The candidate.
    pub execution: Execution,
    /// The axiom that it violates.
    pub axiom: String,
    /// What the axiom says of which relation.
    pub statement: String,
    /// The edges that violate it: a cycle, or a way between two events that must not be related.
    pub edges: Vec<Edge>,
}

impl Question<'_> {
    /// A candidate with the asked outcome that the axioms forbid, and why; none if no thread's code can give the outcome,
    /// or if it is allowed.
    pub fn forbidden(&self) -> Result<Option<Forbidden>, Undecided> {
        let Some(mut execution) = self.candidate()? else { return Ok(None) };
        let mut values = Values::default();
        let Some((violated, facts)) =
            first_violation(&execution, &Decided::default(), self.model(), &mut values)
        else {
            return Ok(None);
        };
        let plan = &self.model().plan;
        let requirement = &plan.requirements[violated];
        let relation = plan.value(requirement, &values);
        let way = match requirement.claim {
            Claim::Acyclic => relation.cycle(),
            Claim::Irreflexive => (0..facts.len()).find(|&a| relation.contains(a, a)).map(|a| vec![a, a]),
            Claim::Empty => relation.pairs().next().map(|(a, b)| vec![a, b]),
            Claim::In(_) | Claim::TotalIn(_) => contradiction(relation, &facts),
        };
        let explainer = Explainer { model: self.model(), facts: &facts, values: &values };
        let mut edges = Vec::new();
        for pair in way.unwrap_or_default().windows(2) {
            if relation.contains(pair[0], pair[1]) {
                explainer.derive(&requirement.expression, pair[0], pair[1], &mut edges);
            } else {
                edges.push(Edge { from: pair[0], name: "co".into(), to: pair[1] });
            }
        }
        let claim = match requirement.claim {
            Claim::Empty => "is not empty",
            Claim::Acyclic => "has a cycle",
            Claim::Irreflexive => "relates an event to itself",
            Claim::In(_) | Claim::TotalIn(_) => "contradicts the order that it must be in",
        };
        let (axiom, statement) = (requirement.axiom.clone(), format!("{} {claim}", requirement.expression));
        execution.facts = facts;
        Ok(Some(Forbidden { execution, axiom, statement, edges }))
    }
}

/// Tries the open pairs one way and the other, until an axiom is violated.
fn first_violation(
    execution: &Execution,
    decided: &Decided,
    model: &Model,
    values: &mut Values,
) -> Option<(usize, Facts)> {
    let mut facts = execution.facts.clone();
    if let Err(violated) = consistency::check_facts(&mut facts, &execution.sources, decided, model, values) {
        return Some((violated, facts));
    }
    let open = consistency::open_pairs(&facts, model, values);
    let pair = open.first()?;
    [true, false].into_iter().find_map(|forth| {
        let decided = decided.with(*pair, forth);
        first_violation(execution, &decided, model, values)
    })
}

/// A pair that an order must contain, and the way back that the order has.
fn contradiction(relation: &Relation, facts: &Facts) -> Option<Vec<EventId>> {
    let co = facts.base(Base::Co);
    relation.pairs().find_map(|(a, b)| {
        if a == b {
            return Some(vec![a, a]);
        }
        (co.contains(b, a) || relation.contains(b, a)).then(|| vec![a, b, a])
    })
}

/// Relations that are shown by name and not taken apart.
const SHOWN: [&str; 10] = ["po", "rf", "fr", "co", "rmw", "sync", "scf", "bar", "async", "obs"];

struct Explainer<'a> {
    model: &'a Model,
    facts: &'a Facts,
    values: &'a Values,
}

impl Explainer<'_> {
    fn holds(&self, expression: &Expression, a: EventId, b: EventId) -> bool {
        self.model.plan.value_of(expression, self.facts, self.values).contains(a, b)
    }

    /// The edges of which a pair of a relation is made.
    fn derive(&self, expression: &Expression, a: EventId, b: EventId, edges: &mut Vec<Edge>) {
        match expression {
            Expression::Name(name) => {
                if name == "obs" && self.facts.base(Base::Rf).contains(a, b) {
                    edges.push(Edge { from: a, name: "rf".into(), to: b });
                    return;
                }
                match self.model.plan.definitions.get(name) {
                    Some(definition) if !SHOWN.contains(&name.as_str()) => {
                        self.derive(definition, a, b, edges)
                    }
                    _ => edges.push(Edge { from: a, name: name.clone(), to: b }),
                }
            }
            Expression::Identity(_) => {}
            Expression::Union(x, y) => {
                let side = if self.holds(x, a, b) { x } else { y };
                self.derive(side, a, b, edges);
            }
            Expression::Intersection(x, y) => {
                // The side that says how, not merely that both are at one place.
                let side = if self.is_place(x) { y } else { x };
                self.derive(side, a, b, edges);
            }
            Expression::Difference(x, _) => self.derive(x, a, b, edges),
            Expression::Sequence(x, y) => {
                let (first, second) = (
                    self.model.plan.value_of(x, self.facts, self.values),
                    self.model.plan.value_of(y, self.facts, self.values),
                );
                if let Some(mid) =
                    (0..self.facts.len()).find(|&mid| first.contains(a, mid) && second.contains(mid, b))
                {
                    self.derive(x, a, mid, edges);
                    self.derive(y, mid, b, edges);
                }
            }
            Expression::Optional(x) => {
                if a != b {
                    self.derive(x, a, b, edges);
                }
            }
            Expression::Closure(x) => {
                let path = self.model.plan.value_of(x, self.facts, self.values).path(a, b);
                for pair in path.unwrap_or_default().windows(2) {
                    self.derive(x, pair[0], pair[1], edges);
                }
            }
            Expression::Inverse(x) => {
                let mut back = Vec::new();
                self.derive(x, b, a, &mut back);
                back.reverse();
                edges.extend(back.into_iter().map(|e| Edge {
                    from: e.to,
                    name: format!("{}^-1", e.name),
                    to: e.from,
                }));
            }
        }
    }

    fn is_place(&self, expression: &Expression) -> bool {
        match expression {
            Expression::Name(name) => {
                matches!(
                    name.as_str(),
                    "loc" | "vloc" | "same" | "sr" | "scta" | "sameproxy" | "includes" | "ms"
                )
            }
            Expression::Intersection(x, y) => self.is_place(x) && self.is_place(y),
            _ => false,
        }
    }
}

/// The letter of an event.
pub fn letter(event: EventId) -> String {
    let first = char::from(b'a' + (event % 26) as u8);
    if event < 26 { first.to_string() } else { format!("{first}{}", event / 26) }
}

/// What an event did, in words of the program.
pub fn describe(program: &Program, execution: &Execution, event: EventId) -> String {
    let Event { thread, instruction, kind, .. } = execution.events()[event];
    let location = |bytes: crate::event::Bytes| {
        let whole = |l: &&crate::program::Location| l.bytes == bytes;
        let part = |l: &&crate::program::Location| l.bytes.object == bytes.object;
        let found = program.locations.iter().find(whole).or_else(|| program.locations.iter().find(part));
        found.map_or_else(|| format!("memory {}", bytes.object), |location| location.name.clone())
    };
    let value = execution.event_values[event].map_or("?".into(), |value| value.to_string());
    let text = thread.and_then(|thread| program.threads[thread as usize].texts.get(instruction as usize));
    let text = text.map(String::as_str).unwrap_or_default();
    match kind {
        Kind::Init(bytes) => format!("initial {}", location(bytes)),
        Kind::Read(bytes) => format!("{text}: {} is {value}", location(bytes)),
        Kind::Write(bytes) => format!("{text}: {} := {value}", location(bytes)),
        Kind::Barrier(barrier) if barrier.part == Part::Sync => format!("{text}: meets"),
        _ => text.to_owned(),
    }
}

/// The edges of an execution that are worth showing, fewest: what follows by program order or through a third event is
/// left out.
pub fn shown_edges(model: &Model, execution: &Execution) -> Vec<Edge> {
    let mut values = Values::default();
    let mut facts = execution.facts.clone();
    let bar = facts.base(Base::Bar).clone();
    // The axioms may be violated; the relations are computed as far as that.
    let checked =
        consistency::check_facts(&mut facts, &execution.sources, &execution.decided, model, &mut values);
    debug_assert!(checked.is_ok() || !execution.events().is_empty());
    let mut edges = Vec::new();
    let mut add = |name: &str, relation: &Relation| {
        edges.extend(relation.pairs().map(|(from, to)| Edge { from, name: name.to_owned(), to }));
    };
    add("po", &reduced(facts.base(Base::Po)));
    add("rf", facts.base(Base::Rf));
    add("co", &reduced(facts.base(Base::Co)));
    let mut fr = facts.base(Base::Fr).clone();
    for read in 0..facts.len() {
        let row = fr.row(read);
        let later =
            row.iter().filter(|&write| row.iter().any(|other| facts.base(Base::Co).contains(other, write)));
        let later: crate::relation::Set = later.collect();
        *fr.row_mut(read) = row.minus(later);
    }
    add("fr", &fr);
    add("rmw", facts.base(Base::Rmw));
    if let Some(sync) = model.plan.named("sync", &values) {
        add("sync", sync);
    }
    add("scf", &reduced(facts.base(Base::Scf)));
    add("bar", &bar);
    add("async", facts.base(Base::Async));
    edges.retain(|edge| edge.from != edge.to);
    edges
}

/// The pairs of an order that do not follow from others.
fn reduced(order: &Relation) -> Relation {
    let mut through = Relation::default();
    through.set_composition(order, order);
    let mut kept = order.clone();
    kept.subtract(&through);
    kept
}

/// An execution as text: its events by thread, then its edges by kind.
pub fn text(program: &Program, model: &Model, execution: &Execution) -> String {
    let mut out = String::new();
    let own = |thread: Option<u32>| {
        (0..execution.events().len()).filter(move |&e| execution.events()[e].thread == thread)
    };
    for event in own(None) {
        let _ = writeln!(out, "  {}: {}", letter(event), describe(program, execution, event));
    }
    for (index, thread) in program.threads.iter().enumerate() {
        let place = thread.placement;
        let cluster = if place.cluster > 0 { format!(", cluster {}", place.cluster) } else { String::new() };
        let _ = writeln!(out, "  {} (cta {}{cluster}, gpu {})", thread.name, place.cta, place.gpu);
        for event in own(Some(index as u32)) {
            let _ = writeln!(out, "    {}: {}", letter(event), describe(program, execution, event));
        }
    }
    let edges = shown_edges(model, execution);
    for name in ["rf", "co", "fr", "sync", "scf", "bar", "async"] {
        let pairs: Vec<String> = edges
            .iter()
            .filter(|edge| edge.name == name)
            .map(|edge| format!("{} -> {}", letter(edge.from), letter(edge.to)))
            .collect();
        if !pairs.is_empty() {
            let _ = writeln!(out, "  {name}: {}", pairs.join(", "));
        }
    }
    out
}

/// The reason of a forbidden outcome as text.
pub fn reason(forbidden: &Forbidden) -> String {
    let mut out = format!("  violates {}: {}\n  ", forbidden.axiom, forbidden.statement);
    for (index, edge) in forbidden.edges.iter().enumerate() {
        if index == 0 || forbidden.edges[index - 1].to != edge.from {
            out.push_str(if index == 0 { "" } else { "; " });
            out.push_str(&letter(edge.from));
        }
        let _ = write!(out, " -{}-> {}", edge.name, letter(edge.to));
    }
    out.push('\n');
    out
}
