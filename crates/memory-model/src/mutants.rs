//! Changed models, and which tests tell them from the model.
//!
//! A mutant is the model with one line changed; the list is `model/mutants.txt`. A test kills a mutant if some outcome of
//! the test is allowed by one and not by the other. The suite is generated ([`suite`]): small shapes of each kind of
//! instruction, and cycles.

use crate::answer::{Options, Question};
use crate::dialect;
use crate::generate::{Annotation, Edge, Shape, from_cycle};
use crate::language::Version;
use crate::model::{self, Family, Model};
use crate::program::Program;

const LIST: &str = include_str!("../model/mutants.txt");

/// A change of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// A part of a line of the model.
    pub from: &'static str,
    /// What it becomes.
    pub to: &'static str,
}

/// All mutants.
pub fn all() -> Vec<Mutant> {
    let lines = LIST.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(" => ")).map(|(from, to)| Mutant { from, to }).collect()
}

impl Mutant {
    /// The changed model; none if the change does not apply to exactly one place, or gives no model.
    pub fn model(&self, version: Version) -> Option<Model> {
        let text = model::text();
        if text.matches(self.from).count() != 1 {
            return None;
        }
        Model::from_text(Family::Isa, version, &text.replace(self.from, self.to)).ok()
    }
}

/// A test of the suite, with its outcomes under the model.
#[derive(Clone, Debug)]
pub struct Test {
    /// Its text.
    pub text: String,
    program: Program,
    outcomes: Vec<Vec<i64>>,
}

/// The version whose model is changed: the newest, as it has all rules.
pub const VERSION: Version = Version(8, 6);

fn outcomes(program: &Program, model: &Model) -> Option<Vec<Vec<i64>>> {
    let outcomes = Question::new(program, model, Options::default()).outcomes().ok()?;
    Some(outcomes.list.into_iter().map(|outcome| outcome.values).collect())
}

/// Prepares tests; those that cannot be decided are left out.
pub fn prepare(texts: impl IntoIterator<Item = String>, model: &Model) -> Vec<Test> {
    let test = |text: String| {
        let program = dialect::parse(&text).ok()?;
        let outcomes = outcomes(&program, model)?;
        Some(Test { text, program, outcomes })
    };
    texts.into_iter().filter_map(test).collect()
}

/// The first test that kills a mutant.
pub fn killer(mutant: &Model, tests: &[Test]) -> Option<usize> {
    tests.iter().position(|test| outcomes(&test.program, mutant).is_some_and(|found| found != test.outcomes))
}

const NEAR: &str = "cta 0,gpu 0";
const FAR: &str = "cta 1,gpu 0";
const OTHER_GPU: &str = "cta 0,gpu 1";

/// The generated suite, as texts.
pub fn suite() -> Vec<String> {
    let mut texts = Vec::new();
    cycles(&mut texts);
    for shape in shapes() {
        shape.programs(&mut |text| {
            texts.push(text);
            true
        });
    }
    texts
}

/// The named patterns (MP, SB, LB, R, S, 2+2W, IRIW, WRC, RWC, WWC, ISA2, and coherence), with fences, orders, scopes and
/// places varied.
fn cycles(texts: &mut Vec<String>) {
    let patterns: [(&str, &str); 13] = [
        ("MP", "Pod Rfe Pod Fre"),
        ("SB", "Pod Fre Pod Fre"),
        ("LB", "Pod Rfe Pod Rfe"),
        ("R", "Pod Coe Pod Fre"),
        ("S", "Pod Rfe Pod Coe"),
        ("2+2W", "Pod Coe Pod Coe"),
        ("WRC", "Rfe Pod Rfe Pod Fre"),
        ("ISA2", "Pod Rfe Pod Rfe Pod Fre"),
        ("RWC", "Rfe Pod Fre Pod Fre"),
        ("WWC", "Rfe Pod Rfe Pod Coe"),
        ("IRIW", "Rfe Pod Fre Rfe Pod Fre"),
        ("CoRR", "Rfe Pos Fre"),
        ("CoWR", "Pos Fre"),
    ];
    let fences = ["", "fence.acq_rel.gpu", "fence.sc.gpu", "fence.sc.cta", "fence.release.gpu", "fence.acquire.gpu"];
    let annotations = [
        Annotation { write: "weak", read: "weak", other: "weak" },
        Annotation { write: "relaxed.gpu", read: "relaxed.gpu", other: "weak" },
        Annotation { write: "relaxed.gpu", read: "relaxed.gpu", other: "relaxed.gpu" },
        Annotation { write: "release.gpu", read: "acquire.gpu", other: "weak" },
        Annotation { write: "release.gpu", read: "acquire.gpu", other: "relaxed.gpu" },
        Annotation { write: "release.cta", read: "acquire.gpu", other: "weak" },
        Annotation { write: "release.gpu", read: "acquire.cta", other: "weak" },
        Annotation { write: "release.gpu", read: "relaxed.gpu", other: "weak" },
        Annotation { write: "relaxed.gpu", read: "acquire.gpu", other: "weak" },
    ];
    let places: [&[&str]; 4] = [&[NEAR, FAR], &[NEAR], &[NEAR, OTHER_GPU], &[NEAR, NEAR, FAR]];
    for (name, pattern) in patterns {
        for fence in fences {
            let edge = |text: &str| {
                let fenced = !fence.is_empty() && text.starts_with("Po");
                Edge::parse(&if fenced { format!("{text}:{fence}") } else { text.to_owned() })
            };
            let Some(edges) = pattern.split(' ').map(edge).collect::<Option<Vec<_>>>() else { continue };
            for annotation in &annotations {
                for places in places {
                    texts.extend(from_cycle(name, &edges, annotation, places));
                }
            }
        }
    }
}

/// Small shapes around each rule.
fn shapes() -> Vec<Shape<'static>> {
    let shape = |places: &[&'static str], templates: &[&'static str], accesses, others, locations| Shape {
        places: places.to_vec(),
        templates: templates.to_vec(),
        accesses,
        others,
        locations,
        connected: true,
    };
    let barrier = "bar.cta.sync 1";
    vec![
        // Weak and strong accesses of one location.
        shape(&[NEAR, FAR], &["ld.weak {r}, {x}", "ld.relaxed.gpu {r}, {x}", "st.weak {x}, {v}", "st.relaxed.gpu {x}, {v}"], 3, 0, 1),
        shape(&[NEAR, FAR], &["ld.relaxed.gpu {r}, {x}", "ld.relaxed.cta {r}, {x}", "st.relaxed.gpu {x}, {v}", "st.relaxed.cta {x}, {v}"], 4, 0, 1),
        // Patterns of several instructions.
        shape(
            &[NEAR, FAR],
            &["ld.weak {r}, {x}", "ld.relaxed.gpu {r}, {x}", "ld.acquire.gpu {r}, {x}", "st.weak {x}, {v}", "st.relaxed.gpu {x}, {v}", "st.release.gpu {x}, {v}"],
            4, 0, 2,
        ),
        shape(
            &[NEAR, FAR],
            &["ld.weak {r}, {x}", "ld.acquire.gpu {r}, {x}", "st.weak {x}, {v}", "st.relaxed.gpu {x}, {v}", "st.release.gpu {x}, {v}"],
            5, 0, 2,
        ),
        // Atomics and reductions.
        shape(
            &[NEAR, FAR],
            &["ld.weak {r}, {x}", "st.weak {x}, {v}", "atom.relaxed.gpu.exch {r}, {x}, {v}", "atom.acq_rel.gpu.add {r}, {x}, {v}", "atom.relaxed.cta.exch {r}, {x}, {v}"],
            3, 0, 2,
        ),
        shape(
            &[NEAR, FAR],
            &["ld.weak {r}, {x}", "st.weak {x}, {v}", "atom.relaxed.gpu.exch {r}, {x}, {v}", "st.release.gpu {x}, {v}", "red.relaxed.gpu.add {x}, {v}", "fence.acq_rel.gpu"],
            4, 1, 2,
        ),
        shape(
            &[NEAR, FAR, FAR],
            &["ld.weak {r}, {x}", "st.weak {x}, {v}", "atom.relaxed.gpu.exch {r}, {x}, {v}", "st.release.gpu {x}, {v}", "ld.acquire.gpu {r}, {x}"],
            5, 0, 2,
        ),
        // Barriers.
        shape(&[NEAR, NEAR], &["ld.weak {r}, {x}", "st.weak {x}, {v}", barrier], 3, 2, 2),
        // Asynchronous copies.
        shape(&[NEAR, NEAR], &["ld.weak {r}, {x}", "st.weak {x}, {v}", "cp.async z, {x} ", "cp.async.wait", barrier], 2, 4, 1),
        // Proxies and aliases.
        shape(&[NEAR], &["ld.weak {r}, {x}", "suld.weak {r}, {s}", "st.weak {x}, {v}", "sust.weak {s}, {v}", "fence.proxy.surface"], 3, 1, 1),
        shape(
            &[NEAR],
            &["ld.weak {r}, {x}", "tld.weak {r}, {t}", "sust.weak {s}, {v}", "fence.proxy.surface", "fence.proxy.texture"],
            2, 3, 1,
        ),
        shape(&[NEAR], &["ld.weak {r}, {x}", "ld.weak {r}, {a}", "st.weak {x}, {v}", "st.weak {a}, {v}", "fence.proxy.alias"], 3, 1, 1),
        shape(
            &[NEAR, FAR],
            &["ld.weak {r}, {x}", "suld.weak {r}, {s}", "sust.weak {s}, {v}", "st.weak {x}, {v}", "st.release.gpu {x}, {v}", "ld.acquire.gpu {r}, {x}", "fence.proxy.surface"],
            4, 1, 2,
        ),
    ]
}
