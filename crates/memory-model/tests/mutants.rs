//! The list of changed models, and how many of them the generated suite notices.

use memory_model::language::Version;
use memory_model::model::{Family, Model};
use memory_model::mutants::{self, BEFORE_PROXIES, Mutant, NEWEST, Test};

#[test]
fn every_mutant_is_one_change_that_gives_a_model() {
    let all = mutants::all();
    assert!(all.len() >= 60, "{}", all.len());
    for mutant in all {
        assert!(mutant.model().is_some(), "{mutant:?}");
        assert_ne!(mutant.from, mutant.to);
    }
}

#[test]
#[ignore = "a minute; run with --release -- --ignored"]
fn the_suite_kills_nearly_all() {
    let texts = mutants::suite();
    let prepare = |version: Version| {
        (version, mutants::prepare(texts.clone(), &Model::new(Family::Isa, version).unwrap()))
    };
    let suites: [(Version, Vec<Test>); 2] = [NEWEST, BEFORE_PROXIES].map(prepare);
    let all = mutants::all();
    let survives = |mutant: &&Mutant| {
        let suite = suites.iter().find(|(version, _)| *version == mutant.version).map(|(_, tests)| tests);
        mutants::killer(&mutant.model().unwrap(), suite.unwrap()).is_none()
    };
    let survivors: Vec<&Mutant> = all.iter().filter(survives).collect();
    let killed = all.len() - survivors.len();
    println!("{} tests kill {killed} of {} mutants; left: {survivors:#?}", texts.len(), all.len());
    assert!(killed * 100 >= all.len() * 95, "{survivors:#?}");
}
