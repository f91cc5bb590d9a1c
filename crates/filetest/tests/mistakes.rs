//! The planted mistakes of asynchrony (`tests/run/async`): a file has one, in the kernel `mistake`, and its twin without it,
//! `repaired`. Both give the same where operations are done when they are issued. Under an adversary the mistake must show and
//! the twin must not; here they are counted, by the generation of processors that they need.

use filetest::case::{self, Case};
use filetest::directive::Program;
use filetest::execute;
use filetest::judge::judge;
use filetest::schedule::Schedule;
use machine::{Asynchrony, SchedulerKind};
use std::path::{Path, PathBuf};

/// Whether all is as expected.
fn is_right(program: &Program, case: &Case, asynchrony: Asynchrony) -> bool {
    let schedule = Schedule { asynchrony, ..Schedule::new(SchedulerKind::RoundRobin, 1) };
    let outcome =
        execute::run(program, case, schedule).unwrap_or_else(|why| panic!("{}: {why}", program.name));
    judge(case, &outcome).is_empty()
}

#[test]
fn planted_mistakes_are_found_and_their_twins_are_clean() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/run/async");
    let files = std::fs::read_dir(&folder).expect("the folder is there").map(|entry| entry.map(|e| e.path()));
    let mut files: Vec<PathBuf> = files.collect::<Result<_, _>>().expect("it can be read");
    files.sort();
    // What Hopper has, and what only Blackwell has.
    let [mut hopper, mut blackwell] = [0; 2];
    for file in files {
        let program = Program::read(&file, &file).expect("a test file");
        let cases = case::parse(&program).expect("cases");
        let [mistake, twin] = &cases[..] else { panic!("{}: {} cases", program.name, cases.len()) };
        assert_eq!([&*mistake.kernel, &*twin.kernel], ["mistake", "repaired"], "{}", program.name);
        for case in [mistake, twin] {
            assert!(is_right(&program, case, Asynchrony::Eager), "{}: {}", program.name, case.kernel);
        }
        assert!(!is_right(&program, mistake, Asynchrony::Adversarial), "{}: it is not found", program.name);
        assert!(is_right(&program, twin, Asynchrony::Adversarial), "{}: a false alarm", program.name);
        match program.source.text().contains(".target sm_100a") {
            true => blackwell += 1,
            false => hopper += 1,
        }
    }
    assert!(hopper + blackwell >= 40 && blackwell >= 12, "{hopper} of Hopper, {blackwell} of Blackwell");
}
