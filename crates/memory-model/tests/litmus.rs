//! The named patterns in `tests/litmus`: what each model says is written in the files, as comments
//! `(* expect WHAT [MODEL or VERSION] VALUE *)`, where WHAT is `holds`, `race` or `terminates`, and the expectation is for
//! the models of that family, or from that version on, or for all.

use memory_model::answer::{Options, Question, races_of_trace};
use memory_model::certificate::{Certificate, Choices, Name, Proof};
use memory_model::checker::Checker;
use memory_model::judge::all_outcomes;
use memory_model::language::{Version, parse_version};
use memory_model::model::{Family, Model};
use memory_model::program::Program;
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
            let checker = Checker::new(&program, model.family, model.version, Options::default().bound);
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
            let certificate = question.certificate(&verdict).unwrap();
            assert!(checker.accepts(&certificate), "{name} under {model}: {certificate:?} is rejected");
            match &verdict.execution {
                Some(_) => {
                    assert!(
                        question.proof().unwrap().is_none(),
                        "{name} under {model}: allowed, and proven not to be"
                    );
                }
                None => {
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
    let certificate = |program: &Program| {
        let question = Question::new(program, &model, Options::default());
        question.certificate(&question.verdict().unwrap()).unwrap()
    };
    let certificates: Vec<Certificate> = tests.iter().map(|(.., program)| certificate(program)).collect();
    let allows = |certificate: &Certificate| matches!(certificate, Certificate::Execution(_));
    let mut rejected = 0;
    for ((name, _, program), own) in tests.iter().zip(&certificates) {
        let checker = Checker::new(program, model.family, model.version, Options::default().bound);
        for ((other, ..), foreign) in tests.iter().zip(&certificates) {
            if allows(own) != allows(foreign) {
                assert!(!checker.accepts(foreign), "{name} accepts the certificate of {other}");
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
            let checker = Checker::new(&program, model.family, model.version, Options::default().bound);
            let Some(all) = all_outcomes(&checker, &outcomes.terms) else { continue };
            let found: BTreeSet<Vec<i64>> = outcomes.list.into_iter().map(|outcome| outcome.values).collect();
            assert_eq!(found, all, "{name} under {model}");
            judged += 1;
        }
    }
    assert!(judged > 200, "{judged}");
}

/// The proof without one case or with one end changed, for each of its cases and ends.
fn damaged(proof: &Proof) -> Vec<Proof> {
    // What is damaged within a part, put back into the whole.
    let within =
        |part: &Proof, put: &dyn Fn(Proof) -> Proof| damaged(part).into_iter().map(put).collect::<Vec<_>>();
    match proof {
        Proof::Source { reader, cases, later } => {
            let source = |cases: Vec<(Name, Proof)>, later: Option<Box<Proof>>| Proof::Source {
                reader: *reader,
                cases,
                later,
            };
            let mut all = Vec::new();
            for (index, (write, part)) in cases.iter().enumerate() {
                let mut rest = cases.clone();
                rest.remove(index);
                all.push(source(rest, later.clone()));
                all.extend(within(part, &|part| {
                    let mut cases = cases.clone();
                    cases[index] = (*write, part);
                    source(cases, later.clone())
                }));
            }
            if let Some(part) = later {
                all.push(source(cases.clone(), None));
                all.extend(within(part, &|part| source(cases.clone(), Some(Box::new(part)))));
            }
            all
        }
        Proof::Barriers(cases) => {
            (0..cases.len()).map(|but| Proof::Barriers([&cases[..but], &cases[but + 1..]].concat())).collect()
        }
        Proof::Orient { ordering, a, b, forth, back } => {
            let orient = |forth: Proof, back: Proof| Proof::Orient {
                ordering: *ordering,
                a: *a,
                b: *b,
                forth: Box::new(forth),
                back: Box::new(back),
            };
            let mut all = within(forth, &|part| orient(part, (**back).clone()));
            all.extend(within(back, &|part| orient((**forth).clone(), part)));
            all
        }
        Proof::Swap { read, success, failure } => {
            let swap = |success: Proof, failure: Proof| Proof::Swap {
                read: *read,
                success: Box::new(success),
                failure: Box::new(failure),
            };
            let mut all = within(success, &|part| swap(part, (**failure).clone()));
            all.extend(within(failure, &|part| swap((**success).clone(), part)));
            all
        }
        // An end never also is a thread that does not end, or an axiom of another name.
        Proof::Violated(_) | Proof::Refuted | Proof::Overwritten => {
            vec![Proof::Violated("an axiom that is none".into())]
        }
        Proof::Unfinished => vec![Proof::Overwritten],
        // Exchanged with itself, a case would be its own proof.
        Proof::Mirrored(places) => {
            vec![Proof::Mirrored((0..places.len()).collect()), Proof::Violated("coherence".into())]
        }
    }
}

#[test]
fn a_proof_that_lacks_a_case_is_rejected() {
    let model = Model::new(Family::Isa, Version(8, 6)).unwrap();
    let (mut rejected, mut of) = (0, 0);
    for (name, _, program) in tests() {
        let Some(proof) = Question::new(&program, &model, Options::default()).proof().unwrap() else {
            continue;
        };
        let checker = Checker::new(&program, model.family, model.version, Options::default().bound);
        of += 1;
        for damaged in damaged(&proof) {
            let certificate = Certificate::Proof(damaged);
            assert!(!checker.accepts(&certificate), "{name}: {certificate:?} instead of {proof:?}");
            rejected += 1;
        }
    }
    assert!(of > 20 && rejected > 200, "{rejected} of {of} tests");
}

#[test]
fn an_execution_that_is_changed_is_rejected() {
    let model = Model::new(Family::Isa, Version(8, 6)).unwrap();
    let mut rejected = 0;
    for (name, _, program) in tests() {
        let question = Question::new(&program, &model, Options::default());
        let Certificate::Execution(choices) = question.certificate(&question.verdict().unwrap()).unwrap()
        else {
            continue;
        };
        let checker = Checker::new(&program, model.family, model.version, Options::default().bound);
        let mut changed = Vec::new();
        for (reader, write) in &choices.sources {
            // No write at all, a write of other memory, and one that does not exist.
            let with = |source: Option<Name>| {
                let mut choices = choices.clone();
                choices.sources.remove(reader);
                choices.sources.extend(source.map(|write| (*reader, write)));
                choices
            };
            changed.push(with(None));
            changed.push(with(Some(Name { thread: Some(0), index: 99 })));
            let elsewhere = (0..program.objects.len()).find(|object| *object != reader.1.object as usize);
            changed.extend(elsewhere.map(|object| with(Some(Name { thread: None, index: object }))));
            // The read's own place: a read is no write.
            changed.extend(reader.0.thread.map(|_| with(Some(reader.0))));
            assert_ne!(*write, reader.0);
        }
        changed.push(Choices { barriers: None, ..choices.clone() });
        if choices.barriers.as_ref().is_some_and(|pairs| !pairs.is_empty()) {
            changed.push(Choices { barriers: Some(Default::default()), ..choices.clone() });
        }
        let (first, second) = (Name { thread: Some(0), index: 0 }, Name { thread: Some(1), index: 0 });
        let mut foreign = choices.barriers.clone().unwrap();
        if foreign.insert((first, second)) {
            changed.push(Choices { barriers: Some(foreign), ..choices.clone() });
        }
        for pairs in [&choices.coherence, &choices.fences] {
            let back = pairs.iter().map(|&(a, b)| (b, a));
            let both = pairs.iter().copied().chain(back).collect();
            if !pairs.is_empty() {
                changed.push(match pairs == &choices.coherence {
                    true => Choices { coherence: both, ..choices.clone() },
                    false => Choices { fences: both, ..choices.clone() },
                });
            }
        }
        assert!(checker.accepts(&Certificate::Execution(choices)));
        for choices in changed {
            let certificate = Certificate::Execution(choices);
            assert!(!checker.accepts(&certificate), "{name}: {certificate:?}");
            rejected += 1;
        }
    }
    assert!(rejected > 200, "{rejected}");
}

/// The lines that have to be trusted, all of them counted: the checker's, and those that run threads for it.
#[test]
fn the_checker_is_small() {
    let lines = |path: &str| {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(path)).unwrap();
        text.lines().count()
    };
    let checker = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/checker")).unwrap();
    let files = checker.map(|entry| format!("checker/{}", entry.unwrap().file_name().to_string_lossy()));
    let total: usize = files.map(|file| lines(&file)).sum();
    assert!(total <= 640, "the checker has {total} lines");
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
