//! A model compiled: its relations as a list of operations on bit relations, each computed once.
//!
//! Equal expressions are one operation. Each operation has a stage: what follows from the events alone, what also
//! depends on reads-from, Fence-SC and barriers, and what depends on coherence. The search changes the later ones
//! often and the first rarely.

use crate::facts::{Base, Facts, Sort};
use crate::language::{Claim, Expression, ModelError, Statement};
use crate::relation::{Relation, Set};
use rustc_hash::FxHashMap;

/// When an operation's result changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// With the events.
    Events,
    /// With reads-from, Fence-SC or barriers.
    Choices,
    /// With coherence.
    Coherence,
}

/// An operation's place in the plan.
type Slot = usize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum SetNode {
    Base(Sort),
    Union(Slot, Slot),
    Intersection(Slot, Slot),
    Difference(Slot, Slot),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Node {
    Base(Base),
    Identity(Slot),
    Union(Slot, Slot),
    Intersection(Slot, Slot),
    Difference(Slot, Slot),
    Sequence(Slot, Slot),
    RestrictFrom(Slot, Slot),
    RestrictTo(Slot, Slot),
    Optional(Slot),
    Closure(Slot),
    Inverse(Slot),
}

/// An axiom's part, compiled.
#[derive(Clone, Debug)]
pub struct Requirement {
    /// The axiom's name.
    pub axiom: String,
    /// What it says.
    pub claim: Claim,
    /// The relation as it was written, for explanations.
    pub expression: Expression,
    pub(crate) slot: Slot,
    pub(crate) stage: Stage,
}

/// A compiled model.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    sets: Vec<SetNode>,
    nodes: Vec<(Node, Stage)>,
    relations: FxHashMap<String, Slot>,
    /// The definitions as they were written, for explanations.
    pub(crate) definitions: FxHashMap<String, Expression>,
    /// The axioms' parts.
    pub(crate) requirements: Vec<Requirement>,
}

/// Values of a plan's operations for one execution. Storage is kept between evaluations.
#[derive(Clone, Debug, Default)]
pub struct Values {
    sets: Vec<Set>,
    relations: Vec<Relation>,
}

enum Operand {
    Set(Slot),
    Relation(Slot),
}

#[derive(Default)]
struct Compiler {
    plan: Plan,
    set_slots: FxHashMap<SetNode, Slot>,
    slots: FxHashMap<Node, Slot>,
    set_names: FxHashMap<String, Slot>,
}

impl Plan {
    /// Compiles a model's statements.
    pub fn new(statements: &[(usize, Statement)]) -> Result<Self, ModelError> {
        let mut compiler = Compiler::default();
        for (line, statement) in statements {
            compiler.statement(statement).map_err(|message| ModelError { line: *line, message })?;
        }
        Ok(compiler.plan)
    }

    /// Computes what belongs to a stage; the stages before it must be up to date.
    pub fn evaluate(&self, stage: Stage, facts: &Facts, values: &mut Values) {
        let n = facts.len();
        if stage == Stage::Events {
            values.sets.clear();
            for node in &self.sets {
                let set = match *node {
                    SetNode::Base(sort) => facts.set(sort),
                    SetNode::Union(a, b) => values.sets[a].or(values.sets[b]),
                    SetNode::Intersection(a, b) => values.sets[a].and(values.sets[b]),
                    SetNode::Difference(a, b) => values.sets[a].minus(values.sets[b]),
                };
                values.sets.push(set);
            }
            values.relations.resize_with(self.nodes.len(), Relation::default);
        }
        for (slot, (node, of)) in self.nodes.iter().enumerate() {
            if *of != stage {
                continue;
            }
            // Operands come before: the value is taken out, computed from them, and put back.
            let mut value = std::mem::take(&mut values.relations[slot]);
            match *node {
                Node::Base(base) => value.copy(facts.base(base)),
                Node::Identity(set) => value.set_identity(n, values.sets[set]),
                Node::Union(a, b) => {
                    value.copy(&values.relations[a]);
                    value.unite(&values.relations[b]);
                }
                Node::Intersection(a, b) => {
                    value.copy(&values.relations[a]);
                    value.intersect(&values.relations[b]);
                }
                Node::Difference(a, b) => {
                    value.copy(&values.relations[a]);
                    value.subtract(&values.relations[b]);
                }
                Node::Sequence(a, b) => value.set_composition(&values.relations[a], &values.relations[b]),
                Node::RestrictFrom(set, a) => {
                    value.copy(&values.relations[a]);
                    value.restrict_from(values.sets[set]);
                }
                Node::RestrictTo(a, set) => {
                    value.copy(&values.relations[a]);
                    value.restrict_to(values.sets[set]);
                }
                Node::Optional(a) => {
                    value.copy(&values.relations[a]);
                    value.reflex();
                }
                Node::Closure(a) => {
                    value.copy(&values.relations[a]);
                    value.close();
                }
                Node::Inverse(a) => value.set_inverse(&values.relations[a]),
            }
            values.relations[slot] = value;
        }
    }

    /// The value of an axiom's relation.
    pub fn value<'v>(&self, requirement: &Requirement, values: &'v Values) -> &'v Relation {
        &values.relations[requirement.slot]
    }

    /// The value of a named relation.
    pub fn named<'v>(&self, name: &str, values: &'v Values) -> Option<&'v Relation> {
        values.relations.get(*self.relations.get(name)?)
    }

    /// Evaluates an expression of the model's names, for explanations.
    pub(crate) fn value_of(&self, expression: &Expression, facts: &Facts, values: &Values) -> Relation {
        let n = facts.len();
        let operand = |e: &Expression| self.value_of(e, facts, values);
        let mut result = Relation::empty(n);
        match expression {
            Expression::Name(name) => match (self.named(name, values), Base::from_name(name)) {
                (Some(value), _) => result.copy(value),
                (None, Some(base)) => result.copy(facts.base(base)),
                (None, None) => {}
            },
            Expression::Identity(set) => result.set_identity(n, self.set_of(set, facts)),
            Expression::Union(a, b) => {
                result = operand(a);
                result.unite(&operand(b));
            }
            Expression::Intersection(a, b) => {
                result = operand(a);
                result.intersect(&operand(b));
            }
            Expression::Difference(a, b) => {
                result = operand(a);
                result.subtract(&operand(b));
            }
            Expression::Sequence(a, b) => result.set_composition(&operand(a), &operand(b)),
            Expression::Optional(a) => {
                result = operand(a);
                result.reflex();
            }
            Expression::Closure(a) => {
                result = operand(a);
                result.close();
            }
            Expression::Inverse(a) => result.set_inverse(&operand(a)),
        }
        result
    }

    fn set_of(&self, expression: &Expression, facts: &Facts) -> Set {
        match expression {
            Expression::Name(name) => match (Sort::from_name(name), self.definitions.get(name)) {
                (Some(sort), _) => facts.set(sort),
                (None, Some(definition)) => self.set_of(definition, facts),
                (None, None) => Set::default(),
            },
            Expression::Union(a, b) => self.set_of(a, facts).or(self.set_of(b, facts)),
            Expression::Intersection(a, b) => self.set_of(a, facts).and(self.set_of(b, facts)),
            Expression::Difference(a, b) => self.set_of(a, facts).minus(self.set_of(b, facts)),
            _ => Set::default(),
        }
    }
}

impl Compiler {
    fn statement(&mut self, statement: &Statement) -> Result<(), String> {
        match statement {
            Statement::Let(name, expression) => {
                let known = self.plan.relations.contains_key(name)
                    || self.set_names.contains_key(name)
                    || Base::from_name(name).is_some()
                    || Sort::from_name(name).is_some();
                if known {
                    return Err(format!("`{name}` is defined twice"));
                }
                match self.operand(expression)? {
                    Operand::Set(slot) => self.set_names.insert(name.clone(), slot),
                    Operand::Relation(slot) => self.plan.relations.insert(name.clone(), slot),
                };
                self.plan.definitions.insert(name.clone(), expression.clone());
            }
            Statement::Axiom { name, relation, claim } => {
                let slot = self.relation(relation)?;
                let stage = self.plan.nodes[slot].1;
                if stage == Stage::Coherence && matches!(claim, Claim::In(_) | Claim::TotalIn(_)) {
                    return Err("an order cannot be required by a relation that depends on it".into());
                }
                if stage != Stage::Events && matches!(claim, Claim::TotalIn(_)) {
                    return Err("what an order must relate has to follow from the events alone".into());
                }
                self.plan.requirements.push(Requirement {
                    axiom: name.clone(),
                    claim: *claim,
                    expression: relation.clone(),
                    slot,
                    stage,
                });
            }
        }
        Ok(())
    }

    fn set_node(&mut self, node: SetNode) -> Operand {
        let sets = &mut self.plan.sets;
        Operand::Set(*self.set_slots.entry(node).or_insert_with(|| {
            sets.push(node);
            sets.len() - 1
        }))
    }

    fn node(&mut self, node: Node) -> Slot {
        let nodes = &mut self.plan.nodes;
        *self.slots.entry(node).or_insert_with(|| {
            let stage = match node {
                Node::Base(base) => base.stage(),
                Node::Identity(_) => Stage::Events,
                Node::Union(a, b)
                | Node::Intersection(a, b)
                | Node::Difference(a, b)
                | Node::Sequence(a, b) => nodes[a].1.max(nodes[b].1),
                Node::RestrictFrom(_, a) | Node::RestrictTo(a, _) => nodes[a].1,
                Node::Optional(a) | Node::Closure(a) | Node::Inverse(a) => nodes[a].1,
            };
            nodes.push((node, stage));
            nodes.len() - 1
        })
    }

    fn relation(&mut self, expression: &Expression) -> Result<Slot, String> {
        match self.operand(expression)? {
            Operand::Relation(slot) => Ok(slot),
            Operand::Set(_) => Err(format!("`{expression}` is a set, where a relation is needed")),
        }
    }

    fn set(&mut self, expression: &Expression) -> Result<Slot, String> {
        match self.operand(expression)? {
            Operand::Set(slot) => Ok(slot),
            Operand::Relation(_) => Err(format!("`{expression}` is a relation, where a set is needed")),
        }
    }

    fn operand(&mut self, expression: &Expression) -> Result<Operand, String> {
        Ok(match expression {
            Expression::Name(name) => {
                if let Some(&slot) = self.set_names.get(name) {
                    Operand::Set(slot)
                } else if let Some(&slot) = self.plan.relations.get(name) {
                    Operand::Relation(slot)
                } else if let Some(sort) = Sort::from_name(name) {
                    self.set_node(SetNode::Base(sort))
                } else if let Some(base) = Base::from_name(name) {
                    Operand::Relation(self.node(Node::Base(base)))
                } else {
                    return Err(format!("`{name}` is not defined"));
                }
            }
            Expression::Identity(set) => {
                let set = self.set(set)?;
                Operand::Relation(self.node(Node::Identity(set)))
            }
            Expression::Union(a, b) => match (self.operand(a)?, self.operand(b)?) {
                (Operand::Set(a), Operand::Set(b)) => self.set_node(SetNode::Union(a, b)),
                (Operand::Relation(a), Operand::Relation(b)) => {
                    Operand::Relation(self.node(Node::Union(a, b)))
                }
                _ => return Err(format!("`{expression}` joins a set and a relation")),
            },
            Expression::Intersection(a, b) => match (self.operand(a)?, self.operand(b)?) {
                (Operand::Set(a), Operand::Set(b)) => self.set_node(SetNode::Intersection(a, b)),
                (Operand::Relation(a), Operand::Relation(b)) => {
                    Operand::Relation(self.node(Node::Intersection(a, b)))
                }
                _ => return Err(format!("`{expression}` joins a set and a relation")),
            },
            Expression::Difference(a, b) => match (self.operand(a)?, self.operand(b)?) {
                (Operand::Set(a), Operand::Set(b)) => self.set_node(SetNode::Difference(a, b)),
                // Of events that are there, nothing is added to these: what is missing from them stays missing.
                (Operand::Relation(a), Operand::Relation(b))
                    if self.plan.nodes[a].1 == Stage::Events && self.plan.nodes[b].1 == Stage::Events =>
                {
                    Operand::Relation(self.node(Node::Difference(a, b)))
                }
                _ => return Err(format!("`{expression}`: no difference of relations that are chosen")),
            },
            Expression::Sequence(a, b) => Operand::Relation(match (&**a, &**b) {
                // `[S]; r` keeps rows and `r; [S]` columns: cheaper than a composition.
                (Expression::Identity(set), other) => {
                    let (set, other) = (self.set(set)?, self.relation(other)?);
                    self.node(Node::RestrictFrom(set, other))
                }
                (other, Expression::Identity(set)) => {
                    let (other, set) = (self.relation(other)?, self.set(set)?);
                    self.node(Node::RestrictTo(other, set))
                }
                (a, b) => {
                    let (a, b) = (self.relation(a)?, self.relation(b)?);
                    self.node(Node::Sequence(a, b))
                }
            }),
            Expression::Optional(a) => {
                let a = self.relation(a)?;
                Operand::Relation(self.node(Node::Optional(a)))
            }
            Expression::Closure(a) => {
                let a = self.relation(a)?;
                Operand::Relation(self.node(Node::Closure(a)))
            }
            Expression::Inverse(a) => {
                let a = self.relation(a)?;
                Operand::Relation(self.node(Node::Inverse(a)))
            }
        })
    }
}
