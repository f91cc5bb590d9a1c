//! C++ atomics: what scoped RC11 says of known tests, and that PTX allows no more of them once they are compiled.

use memory_model::answer::{Options, Question};
use memory_model::cpp::{self, Mapping, family};
use memory_model::model::{Family, Model};
use memory_model::program::{Program, Quantifier};

fn newest() -> Model {
    Model::new(Family::Isa, Family::Isa.versions().last().copied().unwrap()).unwrap()
}

/// Tests of two lines: what each thread does, and whether C++ allows the condition; `race` if it says nothing.
#[test]
fn known_tests_are_decided() {
    let model = cpp::scoped_rc11();
    let mut count = 0;
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cpp")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let expected = text.lines().find_map(|line| line.strip_prefix("// expect: ")).unwrap();
        let program = cpp::parse(&text).unwrap_or_else(|problem| panic!("{}:{problem}", path.display()));
        assert_eq!(program.quantifier, Quantifier::Exists);
        let question = Question::new(&program, &model, Options::default());
        let found = match (question.race().unwrap(), question.verdict().unwrap().holds) {
            (Some(_), _) => "race",
            (None, true) => "allowed",
            (None, false) => "forbidden",
        };
        assert_eq!(found, expected, "{}", path.display());
        let compiled = cpp::compile(&program, Mapping::GUIDE);
        let verdicts = cpp::compare(&program, &compiled, &model, &newest(), Options::default()).unwrap();
        assert!(verdicts.excess().is_empty(), "{}: {:?}", path.display(), verdicts.excess());
        count += 1;
    }
    assert!(count >= 12);
}

/// The outcomes that PTX allows and C++ forbids, by test, and how many tests have a meaning.
fn excesses(mapping: Mapping, step: u64) -> (Vec<Program>, u64, u64) {
    let (cpp, ptx) = (cpp::scoped_rc11(), newest());
    let (mut found, mut defined, mut all) = (Vec::new(), 0, 0);
    let mut number = 0;
    while number < family::count() {
        let program = family::test(number).unwrap();
        let compiled = cpp::compile(&program, mapping);
        let verdicts = cpp::compare(&program, &compiled, &cpp, &ptx, Options::default()).unwrap();
        all += 1;
        defined += u64::from(verdicts.race.is_none());
        if !verdicts.excess().is_empty() {
            found.push(program);
        }
        number += step;
    }
    (found, defined, all)
}

fn describe(programs: &[Program]) -> String {
    programs
        .iter()
        .take(5)
        .map(|program| {
            let threads: Vec<String> =
                program.threads.iter().map(|thread| thread.texts.join("\n  ")).collect();
            format!("{}:\n  {}\n", program.name, threads.join("\n\n  "))
        })
        .collect()
}

#[test]
fn ptx_allows_nothing_that_cpp_forbids() {
    // A prime, so that all choices are met.
    for mapping in [Mapping::GUIDE, Mapping::GUIDE_FENCED, Mapping::GUIDE_12_8] {
        let (found, defined, all) = excesses(mapping, 41);
        println!("{}, choice {}: {all} tests, {defined} without a race", mapping.edition, mapping.choice);
        assert!(all > 1500 && defined > 500);
        assert!(found.is_empty(), "{}: {} tests\n{}", mapping.edition, found.len(), describe(&found));
    }
}

#[test]
fn a_mapping_that_is_too_weak_is_found() {
    let (found, ..) = excesses(Mapping::RELAXED_LOAD, 41);
    assert!(!found.is_empty());
}

#[test]
#[ignore = "minutes"]
fn the_whole_family() {
    for mapping in [Mapping::GUIDE, Mapping::GUIDE_FENCED, Mapping::GUIDE_12_8] {
        let (found, defined, all) = excesses(mapping, 1);
        println!("{}, choice {}: {all} tests, {defined} without a race", mapping.edition, mapping.choice);
        assert!(found.is_empty(), "{}", describe(&found));
    }
}
