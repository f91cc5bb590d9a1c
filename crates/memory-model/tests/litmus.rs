//! The named patterns in `tests/litmus`: what each model says is written in the files, as comments
//! `(* expect WHAT [MODEL or VERSION] VALUE *)`, where WHAT is `holds`, `race` or `terminates`, and the expectation is for
//! the models of that family, or from that version on, or for all.

use memory_model::answer::{Options, Question, races_of_trace};
use memory_model::checker::{Checker, all_outcomes};
use memory_model::language::{Version, parse_version};
use memory_model::model::{Family, Model};
use memory_model::program::Program;
use memory_model::search::Proof;
use memory_model::{dialect, explain};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn tests() -> Vec<(String, String, Program)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/litmus");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut tests: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "litmus"))
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let program = dialect::parse(&text).unwrap_or_else(|problem| panic!("{name}: {problem}"));
            assert_eq!(program.name, name);
            (name, text, program)
        })
        .collect();
    tests.sort_by(|a, b| a.0.cmp(&b.0));
    tests
}

fn models() -> Vec<Model> {
    let of =
        |family: Family| family.versions().iter().map(move |&version| Model::new(family, version).unwrap());
    of(Family::Isa).chain(of(Family::Dartagnan)).collect()
}

/// What a file expects of a model.
fn expected(text: &str, what: &str, model: &Model) -> Option<bool> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("(* expect ")?.strip_suffix(" *)"));
    let mut found = None;
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let applies = match words[..] {
            [_, _] => true,
            [_, filter, _] => match (parse_version(filter), Family::from_name(filter)) {
                (Some(version), _) => model.version >= version,
                (_, Some(family)) => model.family == family,
                _ => panic!("`{line}` is not understood"),
            },
            _ => panic!("`{line}` is not understood"),
        };
        if applies && words[0] == what {
            found = Some(words[words.len() - 1] == "1");
        }
    }
    found
}

#[test]
fn verdicts_are_as_the_files_say_and_certified() {
    let mut asked = 0;
    for (name, text, program) in tests() {
        for model in models() {
            let question = Question::new(&program, &model, Options::default());
            let checker = Checker::new(&program, model.family, model.version, Options::default());
            let verdict = question.verdict().unwrap();
            if let Some(holds) = expected(&text, "holds", &model) {
                assert_eq!(verdict.holds, holds, "{name} under {model}");
                asked += 1;
            }
            if let Some(race) = expected(&text, "race", &model) {
                assert_eq!(question.race().unwrap().is_some(), race, "race of {name} under {model}");
            }
            if let Some(terminates) = expected(&text, "terminates", &model) {
                assert_eq!(
                    question.liveness().unwrap().terminates,
                    terminates,
                    "liveness of {name} under {model}"
                );
            }
            match &verdict.execution {
                Some(execution) => {
                    assert!(
                        checker.accepts_execution(execution),
                        "{name} under {model}: the execution is rejected"
                    );
                    assert!(
                        question.proof().unwrap().is_none(),
                        "{name} under {model}: allowed, and proven not to be"
                    );
                }
                None => {
                    let proof = question.proof().unwrap().unwrap();
                    assert!(checker.accepts_proof(&proof), "{name} under {model}: the proof is rejected");
                    if let Some(forbidden) = question.forbidden().unwrap() {
                        assert!(!forbidden.edges.is_empty(), "{name} under {model}: no edges");
                        assert!(explain::reason(&forbidden).contains("->"));
                    }
                }
            }
        }
    }
    assert!(asked > 200, "{asked}");
}

#[test]
fn a_certificate_for_another_test_is_rejected() {
    // Each certificate of a pattern against each other pattern whose verdict is the opposite.
    let model = Model::new(Family::Isa, Version(8, 6)).unwrap();
    let tests = tests();
    let mut rejected = 0;
    for (_, _, program) in &tests {
        let question = Question::new(program, &model, Options::default());
        let execution = question.verdict().unwrap().execution;
        let proof = question.proof().unwrap();
        for (name, _, other) in &tests {
            let allowed =
                Question::new(other, &model, Options::default()).verdict().unwrap().execution.is_some();
            let checker = Checker::new(other, model.family, model.version, Options::default());
            if let Some(execution) = execution.as_ref().filter(|_| !allowed) {
                assert!(
                    !checker.accepts_execution(execution),
                    "{name} accepts an execution of {}",
                    program.name
                );
                rejected += 1;
            }
            if let Some(proof) = proof.as_ref().filter(|_| allowed) {
                assert!(!checker.accepts_proof(proof), "{name} accepts a proof of {}", program.name);
                rejected += 1;
            }
        }
    }
    assert!(rejected > 500, "{rejected}");
}

#[test]
fn the_brute_force_judge_agrees_on_outcomes() {
    let mut judged = 0;
    for (name, _, program) in tests() {
        let accesses = program.threads.iter().map(|thread| thread.code.len()).sum::<usize>();
        if accesses > 8 {
            continue;
        }
        for model in models() {
            let outcomes = Question::new(&program, &model, Options::default()).outcomes().unwrap();
            let checker = Checker::new(&program, model.family, model.version, Options::default());
            let Some(all) = all_outcomes(&checker, &outcomes.terms) else { continue };
            let found: BTreeSet<Vec<i64>> = outcomes.list.into_iter().map(|outcome| outcome.values).collect();
            assert_eq!(found, all, "{name} under {model}");
            judged += 1;
        }
    }
    assert!(judged > 200, "{judged}");
}

/// The proof without one of its cases, if it has any.
fn damaged(proof: &Proof) -> Option<Proof> {
    let mut proof = proof.clone();
    match &mut proof {
        Proof::Source { cases, .. } if !cases.is_empty() => drop(cases.pop()),
        Proof::Orient { forth, .. } => **forth = Proof::Violated,
        Proof::Swap { success, .. } => **success = Proof::Violated,
        _ => return None,
    }
    Some(proof)
}

#[test]
fn a_proof_that_lacks_a_case_is_rejected() {
    let model = Model::new(Family::Isa, Version(8, 6)).unwrap();
    let mut rejected = 0;
    for (name, _, program) in tests() {
        let proof = Question::new(&program, &model, Options::default()).proof().unwrap();
        let Some(proof) = proof.as_ref().and_then(damaged) else { continue };
        let checker = Checker::new(&program, model.family, model.version, Options::default());
        assert!(!checker.accepts_proof(&proof), "{name}");
        rejected += 1;
    }
    assert!(rejected > 10, "{rejected}");
}

#[test]
fn problems_stand_under_what_is_wrong() {
    let at = |text: &str| dialect::parse(text).map(|_| ()).map_err(|problem| (problem.line, problem.column));
    let head = "PTX t { x=0; }\nP0@cta 0,gpu 0;\n";
    assert_eq!(at(&format!("{head}st.acquire.gpu x, 1;\nexists (x == 1)")), Err((3, 4)));
    assert_eq!(at(&format!("{head}ld.weak r0, x;\nexists (P0:r7 == y)")), Err((4, 18)));
    assert_eq!(at(&format!("{head}nop;\nexists (x == 1)")), Err((3, 1)));
    assert_eq!(at(&format!("{head}goto LC00;\nexists (x == 1)")), Err((4, 1)));
}

#[test]
fn a_trace_tells_its_races() {
    // The execution of message passing in which the flag is seen: with patterns no race, without them one.
    for (name, racy) in [("MP-release-acquire", false), ("MP-weak", true)] {
        let (_, _, mut program) = tests().into_iter().find(|(known, ..)| known == name).unwrap();
        let seen = dialect::parse(
            "PTX t { y=0; } P0@cta 0,gpu 0|P1@cta 1,gpu 0; |ld.weak r0, y; exists (P1:r0 == 1)",
        );
        program.condition = seen.unwrap().condition;
        let model = Model::new(Family::Isa, Version(8, 6)).unwrap();
        let execution =
            Question::new(&program, &model, Options::default()).verdict().unwrap().execution.unwrap();
        assert_eq!(!races_of_trace(&execution.facts, &model).is_empty(), racy, "{name}");
    }
}

/// A ring of threads, each of which stores, fences, and loads what the next one stores; then stores as often again as is
/// asked.
fn ring(threads: usize, fence: &str, more: usize) -> Program {
    let heads: Vec<String> = (0..threads).map(|i| format!("P{i}@cta {i},gpu 0")).collect();
    let row = |cell: &dyn Fn(usize) -> String| (0..threads).map(cell).collect::<Vec<_>>().join("|") + ";\n";
    let condition: Vec<String> = (0..threads).map(|i| format!("P{i}:r0 == 0")).collect();
    let text = format!(
        "PTX ring\n{{}}\n{};\n{}{}{}{}exists ({})",
        heads.join("|"),
        row(&|i| format!("st.weak x{i}, 1")),
        row(&|_| fence.to_owned()),
        row(&|i| format!("ld.weak r0, x{}", (i + 1) % threads)),
        row(&|i| format!("st.relaxed.gpu y{i}, 1")).repeat(more),
        condition.join(" /\\ ")
    );
    dialect::parse(&text).unwrap()
}

#[test]
fn twelve_threads_and_forty_events_are_decided_in_a_second() {
    let model = Model::new(Family::Isa, Version(8, 6)).unwrap();
    // 36, 40 and 48 events without the initial writes.
    for (threads, more) in [(12, 0), (10, 1), (12, 1), (4, 7)] {
        for (fence, holds) in [("fence.sc.gpu", false), ("fence.acq_rel.gpu", true)] {
            let program = ring(threads, fence, more);
            let begin = std::time::Instant::now();
            let question = Question::new(&program, &model, Options::default());
            assert_eq!(question.verdict().unwrap().holds, holds, "{threads} threads, {fence}");
            let time = begin.elapsed();
            println!("{threads} threads, {} events, {fence}: {time:?}", threads * (3 + more));
            // A second on a machine of its own; others may use this one.
            assert!(time.as_secs() < 10, "{time:?}");
        }
    }
}
