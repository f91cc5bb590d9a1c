//! The notation of the model's files, in `model/`.
//!
//! A file is lines. What follows `#` is a comment. A line is a definition, `let NAME = EXPRESSION`, or a part of an axiom,
//! `AXIOM: EXPRESSION is CLAIM`, where the claim is one of `empty`, `acyclic`, `irreflexive`, `in ORDER` or
//! `total in ORDER`, and the orders are `co` and `scf`. Guards before a line say which models have it: `@isa` or
//! `@dartagnan`, `@>=7.5` or `@<7.5`.
//!
//! Expressions, from the loosest operator: `a | b` union; `a & b` intersection, `a \ b` difference (of sets only);
//! `a; b` composition; then behind an operand `?` reflexive, `+` transitive, `*` both, `^-1` inverse. `[S]` is the
//! identity on a set.
//!
//! There is no complement and no difference of relations. So whatever is defined grows with reads-from, coherence,
//! Fence-SC and barriers: what a partial execution violates, every completion of it violates. The search for executions
//! and the proofs that there are none rest on that.

use crate::model::Family;
use std::fmt;

/// A version of the PTX ISA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u8, pub u8);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// An expression, whose names are not yet looked up.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A set or a relation.
    Name(String),
    /// `[S]`.
    Identity(Box<Expression>),
    /// `a | b`.
    Union(Box<Expression>, Box<Expression>),
    /// `a & b`.
    Intersection(Box<Expression>, Box<Expression>),
    /// `a \ b`.
    Difference(Box<Expression>, Box<Expression>),
    /// `a; b`.
    Sequence(Box<Expression>, Box<Expression>),
    /// `a?`.
    Optional(Box<Expression>),
    /// `a+`.
    Closure(Box<Expression>),
    /// `a^-1`.
    Inverse(Box<Expression>),
}

/// What an axiom says of a relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Nothing is related.
    Empty,
    /// There is no cycle.
    Acyclic,
    /// Nothing is related to itself.
    Irreflexive,
    /// Its pairs are pairs of an order.
    In(Ordering),
    /// Its pairs are pairs of an order, in one direction or the other.
    TotalIn(Ordering),
}

/// The orders that an execution chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ordering {
    /// Coherence.
    Co,
    /// Fence-SC.
    Scf,
}

/// A line of a model.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// A name and what it stands for.
    Let(String, Expression),
    /// A part of an axiom.
    Axiom {
        /// The axiom's name.
        name: String,
        /// The relation it is about.
        relation: Expression,
        /// What it says.
        claim: Claim,
    },
}

/// Why a model's text is not one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the model: {}", self.line, self.message)
    }
}

impl std::error::Error for ModelError {}

/// The statements that a model of this family and version has.
pub fn parse(text: &str, family: Family, version: Version) -> Result<Vec<(usize, Statement)>, ModelError> {
    let mut statements = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line_number = index + 1;
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let fail = |message: String| ModelError { line: line_number, message };
        let (guarded, rest) = guards(line, family, version).map_err(fail)?;
        let statement = statement(rest).map_err(fail)?;
        if guarded {
            statements.push((line_number, statement));
        }
    }
    Ok(statements)
}

fn guards(mut line: &str, family: Family, version: Version) -> Result<(bool, &str), String> {
    let mut holds = true;
    while let Some(rest) = line.strip_prefix('@') {
        let (guard, after) = rest.split_once(char::is_whitespace).ok_or("a guard without a statement")?;
        holds &= if let Some(bound) = guard.strip_prefix(">=") {
            version >= parse_version(bound).ok_or_else(|| format!("`{bound}` is not a version"))?
        } else if let Some(bound) = guard.strip_prefix('<') {
            version < parse_version(bound).ok_or_else(|| format!("`{bound}` is not a version"))?
        } else {
            family == Family::from_name(guard).ok_or_else(|| format!("`{guard}` is not a model"))?
        };
        line = after.trim_start();
    }
    Ok((holds, line))
}

/// Reads `7.5`.
pub fn parse_version(text: &str) -> Option<Version> {
    let (major, minor) = text.split_once('.')?;
    Some(Version(major.parse().ok()?, minor.parse().ok()?))
}

fn statement(line: &str) -> Result<Statement, String> {
    if let Some(definition) = line.strip_prefix("let ") {
        let (name, value) = definition.split_once('=').ok_or("a definition without `=`")?;
        return Ok(Statement::Let(name.trim().to_owned(), expression(value)?));
    }
    let (name, claim) = line.split_once(':').ok_or("neither a definition nor an axiom")?;
    let (relation, claim) = claim.rsplit_once(" is ").ok_or("an axiom without `is`")?;
    let claim = match claim.trim() {
        "empty" => Claim::Empty,
        "acyclic" => Claim::Acyclic,
        "irreflexive" => Claim::Irreflexive,
        "in co" => Claim::In(Ordering::Co),
        "in scf" => Claim::In(Ordering::Scf),
        "total in co" => Claim::TotalIn(Ordering::Co),
        "total in scf" => Claim::TotalIn(Ordering::Scf),
        other => return Err(format!("`{other}` is not a claim")),
    };
    Ok(Statement::Axiom { name: name.trim().to_owned(), relation: expression(relation)?, claim })
}

fn expression(text: &str) -> Result<Expression, String> {
    let mut parser = Parser { rest: text.trim(), depth: 0 };
    let expression = parser.union()?;
    if parser.rest.is_empty() { Ok(expression) } else { Err(format!("unexpected `{}`", parser.rest)) }
}

/// How deep parentheses may nest.
const MAX_DEPTH: usize = 64;

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl Parser<'_> {
    fn eat(&mut self, token: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(token) else { return false };
        self.rest = rest.trim_start();
        true
    }

    fn union(&mut self) -> Result<Expression, String> {
        let mut left = self.intersection()?;
        while self.eat("|") {
            left = Expression::Union(Box::new(left), Box::new(self.intersection()?));
        }
        Ok(left)
    }

    fn intersection(&mut self) -> Result<Expression, String> {
        let mut left = self.sequence()?;
        loop {
            if self.eat("&") {
                left = Expression::Intersection(Box::new(left), Box::new(self.sequence()?));
            } else if self.eat("\\") {
                left = Expression::Difference(Box::new(left), Box::new(self.sequence()?));
            } else {
                return Ok(left);
            }
        }
    }

    fn sequence(&mut self) -> Result<Expression, String> {
        let mut left = self.postfix()?;
        while self.eat(";") {
            left = Expression::Sequence(Box::new(left), Box::new(self.postfix()?));
        }
        Ok(left)
    }

    fn postfix(&mut self) -> Result<Expression, String> {
        let mut operand = self.operand()?;
        loop {
            if self.eat("?") {
                operand = Expression::Optional(Box::new(operand));
            } else if self.eat("+") {
                operand = Expression::Closure(Box::new(operand));
            } else if self.eat("*") {
                operand = Expression::Optional(Box::new(Expression::Closure(Box::new(operand))));
            } else if self.eat("^-1") {
                operand = Expression::Inverse(Box::new(operand));
            } else {
                return Ok(operand);
            }
        }
    }

    fn operand(&mut self) -> Result<Expression, String> {
        for (open, close) in [("(", ")"), ("[", "]")] {
            if self.eat(open) {
                self.depth += 1;
                if self.depth > MAX_DEPTH {
                    return Err("parentheses nest too deeply".into());
                }
                let inner = self.union()?;
                self.depth -= 1;
                if !self.eat(close) {
                    return Err(format!("`{close}` is missing before `{}`", self.rest));
                }
                return Ok(if open == "[" { Expression::Identity(Box::new(inner)) } else { inner });
            }
        }
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'));
        let (name, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        if name.is_empty() {
            return Err(format!("a name is missing before `{}`", self.rest));
        }
        self.rest = rest.trim_start();
        Ok(Expression::Name(name.to_owned()))
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Identity(set) => write!(f, "[{set}]"),
            Self::Union(a, b) => write!(f, "({a} | {b})"),
            Self::Intersection(a, b) => write!(f, "({a} & {b})"),
            Self::Difference(a, b) => write!(f, "({a} \\ {b})"),
            Self::Sequence(a, b) => write!(f, "({a}; {b})"),
            Self::Optional(a) => write!(f, "{a}?"),
            Self::Closure(a) => write!(f, "{a}+"),
            Self::Inverse(a) => write!(f, "{a}^-1"),
        }
    }
}
