//! Tests of many threads and events, each decided in seconds: `tests/growth`.

use memory_model::answer::{Options, Question};
use memory_model::checker::Checker;
use memory_model::dialect;
use memory_model::language::Version;
use memory_model::model::{Family, Model};
use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs};

/// What a file expects of one question: `(* expect QUESTION 0|1 *)`.
fn expected(text: &str, question: &str) -> Option<bool> {
    let find = |answer: &str| text.contains(&format!("(* expect {question} {answer} *)"));
    if find("1") { Some(true) } else { find("0").then_some(false) }
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begin = Instant::now();
    (work(), begin.elapsed())
}

/// The figures of `docs/memory-model.md`: run with `--nocapture`.
#[test]
fn many_threads_and_events_are_decided_in_seconds() {
    let model = Model::new(Family::Isa, Version(8, 6)).unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/growth");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    println!("{:26} {:>9} {:>9} {:>9} {:>9} {:>9}", "test", "verdict", "proof", "check", "race", "liveness");
    for path in files {
        let name = path.file_stem().unwrap().to_string_lossy();
        let text = fs::read_to_string(&path).unwrap();
        let program = dialect::parse(&text).unwrap();
        let question = Question::new(&program, &model, Options::default());
        let (verdict, deciding) = timed(|| question.verdict().unwrap());
        let (certificate, proving) = timed(|| question.certificate(&verdict).unwrap());
        let checker = Checker::new(&program, model.family, model.version, Options::default().bound);
        let (accepted, checking) = timed(|| checker.accepts(&certificate));
        let (race, racing) = timed(|| question.race().unwrap().is_some());
        let (liveness, living) = timed(|| question.liveness().unwrap().terminates);
        let times = [deciding, proving, checking, racing, living];
        let figures = times.map(|time| format!("{:7.1}ms", time.as_secs_f64() * 1e3)).join(" ");
        println!("{name:26} {figures}");
        assert!(accepted, "{name}: the certificate is rejected");
        for (of, found) in [("holds", verdict.holds), ("race", race), ("terminates", liveness)] {
            assert!(expected(&text, of).is_none_or(|expected| expected == found), "{of} of {name}: {found}");
        }
        // Some seconds on a machine of its own; others may use this one.
        assert!(times.iter().sum::<Duration>() < Duration::from_secs(40), "{name}: {times:?}");
    }
}
