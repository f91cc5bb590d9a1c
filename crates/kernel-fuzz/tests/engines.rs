//! The engines agree: on a few seconds of random kernels, and on every kernel that they, or what our ptxas makes of it on a GPU, once differed on.
//!
//! `cargo xtask fuzz-engines` runs more.

use kernel_fuzz::engine::differences;
use kernel_fuzz::{Case, Engines, Outcome, STATEMENTS, generate};
use std::path::Path;

/// Kernels of a test run.
const COUNT: u64 = 60;

#[test]
fn random_kernels_are_run_alike() {
    let engines = Engines::find().expect("a device");
    let mut compiled = 0;
    for seed in 0..COUNT {
        let case = Case::of(&generate(seed, STATEMENTS));
        let (one, others) = (engines.interpret(&case), engines.compile(&case));
        assert!(matches!(one, Outcome::Memory(_)), "seed {seed}: {one:?}\n{}", case.text);
        assert_eq!(differences(&one, &others), None, "seed {seed}\n{}", case.file());
        compiled += u64::from(others.iter().all(|(_, other)| matches!(other, Outcome::Memory(_))));
    }
    match engines.without_jit() {
        Some(why) => eprintln!("skipped: {why}"),
        None => assert!(compiled > COUNT / 10, "{compiled} of {COUNT} kernels compiled"),
    }
}

/// A seed means the same kernel everywhere.
#[test]
fn a_seed_makes_a_kernel() {
    assert_eq!(generate(7, STATEMENTS), generate(7, STATEMENTS));
    assert_ne!(generate(7, STATEMENTS), generate(8, STATEMENTS));
}

#[test]
fn a_file_keeps_a_case() {
    let case = Case::of(&generate(3, STATEMENTS));
    assert_eq!(Case::parse(&case.file()), Ok(case));
    assert!(Case::parse("//: launch ctas=1 block=1,1\n").is_err());
}

#[test]
fn what_once_differed_is_run_alike() {
    let engines = Engines::find().expect("a device");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/findings");
    // There is no folder where nothing has been found.
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("a file").path();
        let case = Case::parse(&std::fs::read_to_string(&path).expect("a readable file"));
        let case = case.unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        let (one, mut others) = (engines.interpret(&case), engines.compile(&case));
        others.push(("SASS: ", kernel_fuzz::sass::run(&case, ptxas::Level::Overlapped.into())));
        assert_eq!(differences(&one, &others), None, "{}", path.display());
    }
}
