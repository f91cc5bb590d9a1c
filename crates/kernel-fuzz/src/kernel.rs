//! A kernel as a tree of statements, and its text.

use crate::frame::{self, FUNCTION_FRAME};
use std::fmt::Write;

/// What a thread does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// Instructions that belong together, without labels.
    Plain(String),
    /// Where `%test`, which the instructions set, holds, one list, elsewhere the other.
    Branch {
        /// Instructions that set `%test`.
        test: String,
        /// What is done where it holds.
        then: Vec<Statement>,
        /// What is done elsewhere.
        otherwise: Vec<Statement>,
    },
    /// A loop that counts.
    Loop {
        /// How often it is repeated.
        trips: Trips,
        /// Whether it can be repeated zero times.
        tested_first: bool,
        /// What is repeated.
        body: Vec<Statement>,
    },
    /// Leaves the loop around it, if a predicate holds.
    Leave(String),
    /// One of the lists, whose number is a power of two, by the low bits of a register.
    Switch {
        /// The register.
        by: String,
        /// The lists.
        cases: Vec<Vec<Statement>>,
    },
}

/// How often a loop is repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trips {
    /// So many times.
    Times(u32),
    /// As low bits of a register say when the loop begins.
    LowBits {
        /// The register.
        of: String,
        /// The bits.
        mask: u32,
    },
}

impl Statement {
    /// The lists of statements in it.
    pub(crate) fn lists(&mut self) -> Vec<&mut Vec<Self>> {
        match self {
            Self::Plain(_) | Self::Leave(_) => Vec::new(),
            Self::Branch { then, otherwise, .. } => vec![then, otherwise],
            Self::Loop { body, .. } => vec![body],
            Self::Switch { cases, .. } => cases.iter_mut().collect(),
        }
    }
}

/// What a kernel uses of its frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// Shared memory.
    pub shared: bool,
    /// Cells in shared memory that all threads of a CTA update.
    pub cells: bool,
    /// Local memory.
    pub local: bool,
}

/// A kernel and how it is launched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// CTAs.
    pub ctas: u32,
    /// The shape of a CTA.
    pub block: [u32; 3],
    /// What the contents of memory follow from.
    pub data: u64,
    /// What it uses of its frame.
    pub uses: Uses,
    /// The bodies of device functions; each may call those before it.
    pub functions: Vec<Vec<Statement>>,
    /// The kernel's own statements.
    pub body: Vec<Statement>,
}

/// Loops in loops that there may be.
pub(crate) const NESTING: usize = 4;

impl Kernel {
    /// Threads of a CTA.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// The module's text.
    pub fn text(&self) -> String {
        let mut text = frame::head();
        for (number, body) in self.functions.iter().enumerate() {
            let _ = writeln!(
                text,
                ".func (.param .b32 result) device_{number}(.param .b32 a, .param .b64 b)\n{{"
            );
            text.push_str(&frame::registers());
            text.push_str(FUNCTION_FRAME);
            Printer::new(&mut text).list(body, 0, None);
            text.push_str("\txor.b32 %r0, %r0, %r1;\n\tst.param.b32 [result], %r0;\n\tret;\n}\n");
        }
        let mut statements = String::new();
        Printer::new(&mut statements).list(&self.body, 0, None);
        frame::around(self, &statements, &mut text);
        text
    }
}

struct Printer<'a> {
    text: &'a mut String,
    labels: usize,
}

impl<'a> Printer<'a> {
    fn new(text: &'a mut String) -> Self {
        Self { text, labels: 0 }
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "\t{line}");
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels)
    }

    fn place(&mut self, label: &str) {
        let _ = writeln!(self.text, "{label}:");
    }

    /// Statements inside so many loops, the innermost of which ends at a label.
    fn list(&mut self, statements: &[Statement], depth: usize, end: Option<&str>) {
        for statement in statements {
            self.statement(statement, depth, end);
        }
    }

    fn statement(&mut self, statement: &Statement, depth: usize, end: Option<&str>) {
        match statement {
            Statement::Plain(lines) => lines.lines().for_each(|line| self.line(line)),
            Statement::Leave(predicate) => {
                if let Some(end) = end {
                    self.line(&format!("@{predicate} bra {end};"));
                }
            }
            Statement::Branch { test, then, otherwise } => {
                let (other, join) = (self.label(), self.label());
                test.lines().for_each(|line| self.line(line));
                self.line(&format!("@!%test bra {other};"));
                self.list(then, depth, end);
                if !otherwise.is_empty() {
                    self.line(&format!("bra {join};"));
                }
                self.place(&other);
                self.list(otherwise, depth, end);
                self.place(&join);
            }
            Statement::Loop { trips, tested_first, body } => {
                let (head, exit) = (self.label(), self.label());
                let trips = match trips {
                    Trips::Times(times) => times.to_string(),
                    Trips::LowBits { of, mask } => {
                        self.line(&format!("and.b32 %limit{depth}, {of}, {mask};"));
                        format!("%limit{depth}")
                    }
                };
                self.line(&format!("mov.u32 %count{depth}, 0;"));
                self.place(&head);
                if *tested_first {
                    self.line(&format!("setp.ge.u32 %test, %count{depth}, {trips};"));
                    self.line(&format!("@%test bra {exit};"));
                }
                self.list(body, depth + 1, Some(&exit));
                self.line(&format!("add.u32 %count{depth}, %count{depth}, 1;"));
                if *tested_first {
                    self.line(&format!("bra {head};"));
                } else {
                    self.line(&format!("setp.lt.u32 %test, %count{depth}, {trips};"));
                    self.line(&format!("@%test bra {head};"));
                }
                self.place(&exit);
            }
            Statement::Switch { by, cases } => {
                let labels: Vec<String> = cases.iter().map(|_| self.label()).collect();
                let (table, join) = (self.label(), self.label());
                self.line(&format!("and.b32 %i0, {by}, {};", cases.len() - 1));
                self.line(&format!("{table}: .branchtargets {};", labels.join(", ")));
                self.line(&format!("brx.idx %i0, {table};"));
                for (label, case) in labels.iter().zip(cases) {
                    self.place(label);
                    self.list(case, depth, end);
                    self.line(&format!("bra {join};"));
                }
                self.place(&join);
            }
        }
    }
}
