//! Changed models, and which tests tell them from the model.
//!
//! A mutant is the model with one line changed; the list is `model/mutants.txt`. A test kills a mutant if some outcome of
//! the test is allowed by one and not by the other. The suite is generated ([`suite`]): small shapes of each kind of
//! instruction, and cycles.

use crate::answer::{Options, Question};
use crate::dialect;
use crate::generate::{Annotation, Edge, Shape, from_columns, from_cycle};
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
    /// The version whose model it changes: the newest that has the line, unless the list names another.
    pub version: Version,
}

/// All mutants.
pub fn all() -> Vec<Mutant> {
    let lines = LIST.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let mutant = |line: &'static str| {
        let (from, to) = line.split_once(" => ")?;
        let old = from.strip_prefix("7.4 ");
        let version = if old.is_some() || from.starts_with("@<7.5") { BEFORE_PROXIES } else { NEWEST };
        Some(Mutant { from: old.unwrap_or(from), to, version })
    };
    lines.filter_map(mutant).collect()
}

impl Mutant {
    /// The changed model; none if the change does not apply to exactly one place, or gives no model.
    pub fn model(&self) -> Option<Model> {
        let text = model::text();
        if text.matches(self.from).count() != 1 {
            return None;
        }
        Model::from_text(Family::Isa, self.version, &text.replace(self.from, self.to)).ok()
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

/// The newest version.
pub const NEWEST: Version = Version(8, 6);
/// The last version before proxies.
pub const BEFORE_PROXIES: Version = Version(7, 4);

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
const OTHER_CTA: &str = "cta 2,gpu 0";
const OTHER_GPU: &str = "cta 0,gpu 1";

/// The generated suite, as texts.
pub fn suite() -> Vec<String> {
    let mut texts = Vec::new();
    cycles(&mut texts);
    passings(&mut texts);
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
    // The fences of the first program order, and of all others.
    let fences = [
        ("", ""),
        ("fence.acq_rel.gpu", "fence.acq_rel.gpu"),
        ("fence.sc.gpu", "fence.sc.gpu"),
        ("fence.sc.cta", "fence.sc.gpu"),
        ("fence.sc.gpu", "fence.acq_rel.gpu"),
        ("fence.acq_rel.gpu", "fence.sc.gpu"),
        ("fence.release.gpu", "fence.acquire.gpu"),
        ("fence.acquire.gpu", "fence.acquire.gpu"),
        ("fence.release.gpu", "fence.release.gpu"),
    ];
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
        for (first, rest) in fences {
            let mut fence = first;
            let edge = |text: &str| {
                let fence = if text.starts_with("Po") { std::mem::replace(&mut fence, rest) } else { "" };
                let fenced = !fence.is_empty();
                Edge::parse(&if fenced { format!("{text}:{fence}") } else { text.to_owned() })
            };
            let Some(edges) = pattern.split(' ').map(edge).collect::<Option<Vec<_>>>() else { continue };
            for annotation in &annotations[..if first.is_empty() { annotations.len() } else { 4 }] {
                for places in places {
                    texts.extend(from_cycle(name, &edges, annotation, places));
                }
            }
        }
    }
}

/// Message passing in all its ways: what writes, what passes on, what reads.
fn passings(texts: &mut Vec<String>) {
    let mut grid = |places: &[&str], writers: &[&str], middles: &[&str], readers: &[&str]| {
        for writer in writers {
            for middle in middles {
                for reader in readers {
                    let columns: Vec<&str> =
                        if middle.is_empty() { vec![writer, reader] } else { vec![writer, middle, reader] };
                    texts.push(from_columns("passing", &places[..columns.len()], &columns));
                }
            }
        }
    };
    // The flag is y; patterns of one and two instructions, through atomics and without.
    let writers = [
        "st.release.gpu y, 1",
        "st.release.gpu y, 1; st.relaxed.gpu y, 2",
        "st.release.gpu y, 1; st.relaxed.cta y, 2",
        "st.release.gpu z, 1; st.relaxed.gpu y, 2",
        "st.release.cta y, 1; st.relaxed.gpu y, 2",
        "fence.acq_rel.gpu; st.relaxed.gpu y, 1",
        "fence.sc.gpu; st.relaxed.gpu y, 1",
        "fence.release.gpu; st.relaxed.gpu y, 1",
        "fence.acq_rel.cta; st.relaxed.gpu y, 1",
    ]
    .map(|flag| format!("st.weak x, 7; {flag}"));
    let readers = [
        "ld.acquire.gpu r0, y",
        "ld.relaxed.gpu r0, y; ld.acquire.gpu r1, y",
        "ld.relaxed.gpu r0, y; ld.acquire.gpu r1, z",
        "ld.relaxed.gpu r0, y; ld.acquire.cta r1, y",
        "ld.relaxed.gpu r0, y; fence.acq_rel.gpu",
        "ld.relaxed.gpu r0, y; fence.sc.gpu",
        "ld.relaxed.gpu r0, y; fence.acquire.gpu",
        "red.relaxed.gpu.add y, 4; fence.acq_rel.gpu",
        "atom.relaxed.gpu.add r0, y, 4; fence.acq_rel.gpu",
    ]
    .map(|flag| format!("{flag}; ld.weak r9, x"));
    let middles = [
        "",
        "atom.relaxed.gpu.add r0, y, 10",
        "atom.relaxed.cta.add r0, y, 10",
        "ld.relaxed.gpu r0, y; st.relaxed.gpu y, 20",
    ];
    grid(
        &[NEAR, FAR, OTHER_CTA],
        &writers.each_ref().map(|w| &**w),
        &middles,
        &readers.each_ref().map(|r| &**r),
    );
    // What the writer does may be seen without synchronisation that lasts: causality through observation.
    let twice = ["st.weak x, 1; st.release.gpu y, 1", "st.weak x, 1; fence.acq_rel.gpu; st.relaxed.gpu y, 1"];
    grid(
        &[NEAR, FAR],
        &twice,
        &[""],
        &["ld.acquire.gpu r0, y; st.weak x, 2; ld.weak r1, x", "ld.acquire.gpu r0, y; st.relaxed.gpu x, 2"],
    );
    grid(
        &[NEAR, FAR, FAR],
        &["st.relaxed.gpu x, 1"],
        &["ld.relaxed.gpu r0, x; st.weak x, 2; st.release.gpu y, 1"],
        &["ld.acquire.gpu r0, y; ld.weak r1, x"],
    );
    // Barriers and asynchronous copies.
    let barriers =
        ["st.weak x, 1; bar.cta.sync 1", "st.weak x, 1; bar.cta.arrive 1", "bar.cta.sync 1; st.weak x, 1"];
    grid(
        &[NEAR, NEAR],
        &barriers,
        &[""],
        &[
            "bar.cta.sync 1; ld.weak r0, x",
            "bar.cta.arrive 1; ld.weak r0, x",
            "ld.weak r0, x; bar.cta.sync 1",
        ],
    );
    let copies = [
        "st.weak x, 1; cp.async y, x; ld.weak r0, y",
        "st.weak x, 1; cp.async y, x; cp.async.wait; ld.weak r0, y",
    ];
    grid(&[NEAR, NEAR], &copies, &[""], &["ld.weak r0, y", "st.weak z, 1; ld.weak r0, x"]);
    // Proxies and aliases, with the fence each side needs, another one, or none, in the right CTA or not.
    let writers = [
        "st.weak x, 1; st.release.gpu y, 1",
        "sust.weak sx, 1; st.release.gpu y, 1",
        "sust.weak sx, 1; fence.proxy.surface; st.release.gpu y, 1",
        "sust.weak sx, 1; fence.proxy.texture; st.release.gpu y, 1",
        "st.weak x, 1; fence.proxy.surface; st.release.gpu y, 1",
        "st.weak x, 1; fence.proxy.alias; st.release.gpu y, 1",
        "sust.weak sx, 1; fence.proxy.surface; fence.proxy.alias; st.release.gpu y, 1",
    ];
    let readers = [
        "ld.weak r0, x",
        "suld.weak r0, sx",
        "fence.proxy.surface; suld.weak r0, sx",
        "tld.weak r0, tx",
        "fence.proxy.texture; tld.weak r0, tx",
        "fence.proxy.surface; tld.weak r0, tx",
        "fence.proxy.surface; ld.weak r0, x",
        "ld.weak r0, ax",
        "fence.proxy.alias; ld.weak r0, ax",
        "fence.proxy.alias; fence.proxy.texture; tld.weak r0, tax",
        "cold.weak r0, cx",
        "fence.proxy.constant; cold.weak r0, cx",
    ]
    .map(|read| format!("ld.acquire.gpu r9, y; {read}"));
    let middles = ["", "ld.acquire.gpu r0, y; fence.proxy.surface; st.release.gpu y, 2"];
    for places in [[NEAR, NEAR, NEAR], [NEAR, FAR, FAR], [NEAR, NEAR, FAR], [NEAR, FAR, NEAR]] {
        grid(&places, &writers, &middles, &readers.each_ref().map(|r| &**r));
    }
    // One thread, two proxies.
    for places in [[NEAR, NEAR], [NEAR, FAR]] {
        let writes = [
            "st.weak x, 1",
            "sust.weak sx, 1",
            "st.weak x, 1; fence.proxy.surface",
            "sust.weak sx, 1; fence.proxy.surface",
        ];
        let own: Vec<String> = writes
            .iter()
            .flat_map(|write| {
                [
                    "ld.weak r0, x",
                    "suld.weak r0, sx",
                    "tld.weak r0, tx",
                    "ld.weak r0, ax",
                    "fence.proxy.alias; ld.weak r0, ax",
                ]
                .map(|read| format!("{write}; {read}"))
            })
            .collect();
        grid(&places, &own.iter().map(|own| &**own).collect::<Vec<_>>(), &[""], &["st.weak z, 1"]);
    }
    // Stores racing through proxies and aliases.
    let stores = [
        "st.weak x, 1; st.weak ax, 2",
        "st.weak x, 1; fence.proxy.alias; st.weak ax, 2",
        "sust.weak sx, 1; st.weak x, 2",
        "sust.weak sx, 1; sust.weak sx, 2",
        "sust.weak sx, 1; fence.proxy.surface; st.weak x, 2",
    ];
    grid(&[NEAR, NEAR], &stores, &[""], &["ld.weak r0, x", "ld.weak r0, x; ld.weak r1, x"]);
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
        shape(
            &[NEAR, FAR],
            &["ld.weak {r}, {x}", "ld.relaxed.gpu {r}, {x}", "st.weak {x}, {v}", "st.relaxed.gpu {x}, {v}"],
            3,
            0,
            1,
        ),
        shape(
            &[NEAR, FAR],
            &[
                "ld.relaxed.gpu {r}, {x}",
                "ld.relaxed.cta {r}, {x}",
                "st.relaxed.gpu {x}, {v}",
                "st.relaxed.cta {x}, {v}",
            ],
            4,
            0,
            1,
        ),
        // Patterns of several instructions.
        shape(
            &[NEAR, FAR],
            &[
                "ld.weak {r}, {x}",
                "ld.relaxed.gpu {r}, {x}",
                "ld.acquire.gpu {r}, {x}",
                "st.weak {x}, {v}",
                "st.relaxed.gpu {x}, {v}",
                "st.release.gpu {x}, {v}",
            ],
            4,
            0,
            2,
        ),
        // Atomics and reductions.
        shape(
            &[NEAR, FAR],
            &[
                "ld.weak {r}, {x}",
                "st.weak {x}, {v}",
                "atom.relaxed.gpu.exch {r}, {x}, {v}",
                "atom.acq_rel.gpu.add {r}, {x}, {v}",
                "atom.relaxed.cta.exch {r}, {x}, {v}",
            ],
            3,
            0,
            2,
        ),
        shape(
            &[NEAR, FAR],
            &[
                "ld.weak {r}, {x}",
                "st.weak {x}, {v}",
                "st.release.gpu {x}, {v}",
                "red.relaxed.gpu.add {x}, {v}",
                "fence.acq_rel.gpu",
            ],
            4,
            1,
            2,
        ),
        shape(
            &[NEAR, FAR, FAR],
            &[
                "ld.weak {r}, {x}",
                "atom.relaxed.gpu.exch {r}, {x}, {v}",
                "st.release.gpu {x}, {v}",
                "ld.acquire.gpu {r}, {x}",
            ],
            4,
            0,
            2,
        ),
        // Barriers.
        shape(&[NEAR, NEAR], &["ld.weak {r}, {x}", "st.weak {x}, {v}", barrier], 3, 2, 2),
        // Proxies and aliases.
        shape(
            &[NEAR],
            &[
                "ld.weak {r}, {x}",
                "suld.weak {r}, {s}",
                "st.weak {x}, {v}",
                "sust.weak {s}, {v}",
                "fence.proxy.surface",
            ],
            3,
            1,
            1,
        ),
        shape(
            &[NEAR],
            &[
                "ld.weak {r}, {x}",
                "tld.weak {r}, {t}",
                "sust.weak {s}, {v}",
                "fence.proxy.surface",
                "fence.proxy.texture",
            ],
            2,
            3,
            1,
        ),
        shape(
            &[NEAR],
            &[
                "ld.weak {r}, {x}",
                "ld.weak {r}, {a}",
                "st.weak {x}, {v}",
                "st.weak {a}, {v}",
                "fence.proxy.alias",
            ],
            3,
            1,
            1,
        ),
    ]
}
