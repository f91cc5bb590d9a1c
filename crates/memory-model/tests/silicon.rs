//! What an H200 did with the tests of the catalogue: the model allows all of it.

use flate2::read::GzDecoder;
use memory_model::answer::{Options, Question};
use memory_model::catalogue::ThreadPosition;
use memory_model::histogram::{Histograms, Seen};
use memory_model::language::Version;
use memory_model::model::{Family, Model};
use memory_model::program::Program;
use memory_model::{interleaving, kernel};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::thread;

const RECORDED: &[u8] = include_bytes!("silicon/sm_90.txt.gz");

fn recorded() -> Histograms {
    let mut text = String::new();
    GzDecoder::new(RECORDED).read_to_string(&mut text).unwrap();
    Histograms::parse(&text).unwrap()
}

/// The tests, one for each program and choice of CTAs and clusters: the model does not know warps.
fn tests(recorded: &Histograms) -> Vec<(Program, Seen)> {
    let mut joined = BTreeMap::new();
    for test in recorded.programs() {
        let (program, places, seen) = test.unwrap();
        let texts: Vec<Vec<String>> = program.threads.iter().map(|thread| thread.texts.clone()).collect();
        let key = (texts, places.iter().map(|place: &ThreadPosition| place.text()).collect::<Vec<_>>());
        let (_, all) = joined.entry(key).or_insert((program, Seen::default()));
        seen.ways.iter().for_each(|(way, count)| all.add(way.clone(), *count));
    }
    joined.into_values().collect()
}

/// The outcomes that were seen and that a model forbids.
fn refuted(tests: &[&(Program, Seen)], model: &Model) -> Vec<String> {
    let of = |(program, seen): &(Program, Seen)| {
        let question = Question::new(program, model, Options::default());
        assert_eq!(question.terms(), kernel::terms(program));
        let allowed: BTreeSet<Option<Vec<i64>>> =
            question.outcomes().unwrap().list.into_iter().map(|outcome| Some(outcome.values)).collect();
        let texts: Vec<String> = program.threads.iter().map(|thread| thread.texts.join("; ")).collect();
        let forbidden = seen.ways.iter().filter(|(way, _)| !allowed.contains(way));
        forbidden
            .map(|(way, count)| format!("{}: {way:?}, {count} times", texts.join(" | ")))
            .collect::<Vec<_>>()
    };
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get());
    thread::scope(|scope| {
        let part = |tests: &[&(Program, Seen)]| tests.iter().flat_map(|test| of(test)).collect::<Vec<_>>();
        let parts: Vec<_> =
            tests.chunks(tests.len().div_ceil(cores)).map(|tests| scope.spawn(move || part(tests))).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    })
}

#[test]
fn the_model_allows_all_that_was_seen() {
    let recorded = recorded();
    let all: Vec<&Seen> = recorded.tests.values().flat_map(BTreeMap::values).collect();
    assert!(all.len() > 10_000 && all.iter().all(|seen| seen.instances() >= 100_000));
    let tests = tests(&recorded);
    let newest = Model::new(Family::Isa, Version(8, 6)).unwrap();
    let wrong = refuted(&tests.iter().collect::<Vec<_>>(), &newest);
    assert!(wrong.is_empty(), "{} outcomes: {:#?}", wrong.len(), &wrong[..wrong.len().min(10)]);
    // A part of them under the first model, to which the same hardware conforms.
    let first = Model::new(Family::Isa, Version(6, 0)).unwrap();
    let wrong = refuted(&tests.iter().step_by(8).collect::<Vec<_>>(), &first);
    assert!(wrong.is_empty(), "{} outcomes: {:#?}", wrong.len(), &wrong[..wrong.len().min(10)]);
}

/// The recording says something: taking turns does not explain it, nor do models that are stronger by a line.
#[test]
fn stronger_models_are_refuted() {
    let tests = tests(&recorded());
    let weak = tests.iter().filter(|(program, seen)| {
        let turns = interleaving::outcomes(program, &kernel::terms(program)).unwrap();
        seen.ways.keys().flatten().any(|way| !turns.contains(way))
    });
    let weak = weak.count();
    assert!(weak > 2_000, "{weak} of {}", tests.len());
    let two: Vec<&(Program, Seen)> =
        tests.iter().filter(|(program, _)| program.threads.len() == 2).step_by(2).collect();
    let text = memory_model::model::text();
    let changes = [
        // A scope that only one side needs.
        ("let sr = includes & includes^-1", "let sr = includes | includes^-1"),
        // Every strong write releases what precedes it; every strong read acquires.
        ("let rel = [W & release]; po-loc?; [W & strong]", "let rel = [W & strong]; po?; [W & strong]"),
        ("let acq = [seen]; po-loc?; [R & acquire]", "let acq = [seen]; po?; [R & strong]"),
        // Fences of order acquire release too.
        ("let releasing = F & (acq_rel | sc | release)", "let releasing = F"),
    ];
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        let model = Model::from_text(Family::Isa, Version(8, 6), &text.replace(from, to)).unwrap();
        let refuted = refuted(&two, &model).len();
        println!("{to}: {refuted} outcomes refute it");
        assert!(refuted > 0, "{to}");
    }
}
