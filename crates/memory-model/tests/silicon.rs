//! What an H200 did with the tests of the catalogue: the model allows all of it.

use flate2::read::GzDecoder;
use memory_model::answer::{Options, Question};
use memory_model::catalogue::Place;
use memory_model::histogram::{Histograms, Seen};
use memory_model::model::{Family, Model};
use memory_model::program::Program;
use memory_model::{interleaving, kernel};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

const RECORDED: &[u8] = include_bytes!("silicon/sm_90.txt.gz");

fn recorded() -> Histograms {
    let mut text = String::new();
    GzDecoder::new(RECORDED).read_to_string(&mut text).unwrap();
    Histograms::parse(&text).unwrap()
}

/// The tests, one for each program and choice of CTAs and clusters: the model does not know warps.
fn tests(recorded: &Histograms) -> Vec<(Program, Seen)> {
    let mut joined: BTreeMap<(Vec<Vec<String>>, Vec<String>), (Program, Seen)> = BTreeMap::new();
    for test in recorded.programs() {
        let (program, places, seen) = test.unwrap();
        let texts = program.threads.iter().map(|thread| thread.texts.clone()).collect();
        let key = (texts, places.iter().map(|place: &Place| place.text()).collect());
        let (_, all) = joined.entry(key).or_insert((program, Seen::default()));
        seen.ways.iter().for_each(|(way, count)| all.add(way.clone(), *count));
    }
    joined.into_values().collect()
}

/// The outcomes that were seen and that a model forbids, as a count of tests, and the first of them.
fn refuted(tests: &[(Program, Seen)], model: &Model) -> Vec<String> {
    let mut wrong = Vec::new();
    for (program, seen) in tests {
        let question = Question::new(program, model, Options::default());
        assert_eq!(question.terms(), kernel::terms(program));
        let allowed: BTreeSet<Option<Vec<i64>>> =
            question.outcomes().unwrap().list.into_iter().map(|outcome| Some(outcome.values)).collect();
        for (way, count) in seen.ways.iter().filter(|(way, _)| !allowed.contains(way)) {
            let texts: Vec<String> = program.threads.iter().map(|thread| thread.texts.join("; ")).collect();
            wrong.push(format!("{}: {way:?}, {count} times", texts.join(" | ")));
        }
    }
    wrong
}

#[test]
fn the_model_allows_all_that_was_seen() {
    let recorded = recorded();
    let all: Vec<&Seen> = recorded.tests.values().flat_map(BTreeMap::values).collect();
    assert!(all.len() > 10_000 && all.iter().all(|seen| seen.instances() >= 100_000));
    let tests = tests(&recorded);
    for version in [Family::Isa.versions()[0], Family::Isa.versions()[4]] {
        let wrong = refuted(&tests, &Model::new(Family::Isa, version).unwrap());
        assert!(
            wrong.is_empty(),
            "{version}: {} outcomes: {:#?}",
            wrong.len(),
            &wrong[..wrong.len().min(10)]
        );
    }
}

/// The recording says something: turns do not explain it, nor do models with stronger axioms.
#[test]
fn weaker_than_turns_and_than_stronger_models() {
    let tests = tests(&recorded());
    let weak = tests.iter().filter(|(program, seen)| {
        let turns = interleaving::outcomes(program, &kernel::terms(program)).unwrap();
        seen.ways.keys().flatten().any(|way| !turns.contains(way))
    });
    let weak = weak.count();
    assert!(weak > 2_000, "{weak} of {}", tests.len());
    let newest = Family::Isa.versions()[4];
    let text = memory_model::model::text();
    let changes = [
        // Weak accesses that synchronise, scopes that do not matter, base causality without synchronisation.
        ("let strong = (M | F) & (relaxed | acquire | release | acq_rel | sc)", "let strong = M | F"),
        ("let rel = [W & release]; po-loc?; [W & strong]", "let rel = [W & strong]; po?; [W & strong]"),
        ("let releasing = F & (acq_rel | sc | release)", "let releasing = F | W & strong"),
    ];
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        let model = Model::from_text(Family::Isa, newest, &text.replace(from, to)).unwrap();
        println!("{to}: {} outcomes refute it", refuted(&tests, &model).len());
    }
}
