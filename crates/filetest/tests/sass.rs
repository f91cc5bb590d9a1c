//! The cases of `tests/run` and `tests/clang` whose kernels our ptxas compiles, as SASS on the machine that executes that:
//! at both levels, and with so few registers that much is spilled. The same for other devices than sm_90, at both levels, with control codes honoured: a dependence that they
//! break by the device's table of latencies fails the test.

use filetest::{Level, Options, Target};
use libtest_mimic::{Arguments, Failed, Trial};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use walkdir::WalkDir;

/// Expected is what a machine gives that copies at once.
const FORGETS: &str = "its kernel forgets to wait for a copy, which the machine shows";

/// Files that fail, and why. One that passes does not belong here.
const FAIL: [(&str, &str); 17] = [
    ("tests/run/async/copy-barrier-is-no-wait.ptx", FORGETS),
    ("tests/run/async/copy-committed-too-early.ptx", FORGETS),
    ("tests/run/async/copy-destination-overwritten.ptx", FORGETS),
    ("tests/run/async/copy-no-wait.ptx", FORGETS),
    ("tests/run/async/copy-one-group-too-many.ptx", FORGETS),
    ("tests/run/async/copy-pipeline-tail.ptx", FORGETS),
    ("tests/run/async/copy-thread-arrives.ptx", FORGETS),
    ("tests/run/async/copy-uncommitted.ptx", FORGETS),
    (
        "tests/run/async/product-b-overwritten.ptx",
        "its kernel forgets to wait for a product, which the machine shows",
    ),
    ("tests/run/bulk/atoms.ptx", "its tensor maps swizzle as those of sm_100"),
    ("tests/run/bulk/packed.ptx", "its tensor maps are of elements that sm_100 has"),
    (
        "tests/run/cluster/memory.ptx",
        "it updates 64 bits of another CTA's shared memory by a generic address, which ends in a trap",
    ),
    ("tests/run/cluster/pairs.ptx", "it waits for ever at an object in the machine; why is not known"),
    ("tests/run/memory/lanes-of-a-copy.ptx", "which lane's row of STSM stays is not the machine's rule"),
    ("tests/run/memory/lanes-of-a-store.ptx", "which lane's wide store stays is not the machine's rule"),
    ("tests/run/memory/spaces.ptx", "the machine puts no addresses into initial values of variables"),
    (
        "tests/run/warp/members.ptx",
        "lanes that have exited vote where WARPSYNC.COLLECTIVE has collected the others",
    ),
];

/// As few registers as a kernel is held to.
fn few() -> Options {
    Options { max_registers: Some(24), ..Level::Overlapped.into() }
}

/// Those of them that fail for other devices, as far as these have what the file uses.
const FAIL_ELSEWHERE: [&str; 9] = [
    "tests/run/async/copy-barrier-is-no-wait.ptx",
    "tests/run/async/copy-committed-too-early.ptx",
    "tests/run/async/copy-destination-overwritten.ptx",
    "tests/run/async/copy-no-wait.ptx",
    "tests/run/async/copy-one-group-too-many.ptx",
    "tests/run/async/copy-pipeline-tail.ptx",
    "tests/run/async/copy-uncommitted.ptx",
    "tests/run/memory/lanes-of-a-store.ptx",
    "tests/run/memory/spaces.ptx",
];

/// Those that fail besides where shared memory belongs to clusters.
const FAIL_WITH_CLUSTERS: [&str; 5] = [
    "tests/run/async/copy-thread-arrives.ptx",
    "tests/run/bulk/packed.ptx",
    "tests/run/cluster/memory.ptx",
    "tests/run/memory/lanes-of-a-copy.ptx",
    "tests/run/warp/members.ptx",
];

/// A file for another device.
fn on(target: Target, file: PathBuf) -> Trial {
    Trial::test(format!("{} on {target}", file.display()), move || {
        let at = |level| {
            let options = Options { target, level, ..Options::default() };
            filetest::run_file_on_sass(&file, &file.with_extension("ptx"), options, true)
        };
        // The lowest level differs little from device to device.
        let lowest = if [80, 120].contains(&target.sm()) { at(Level::Serial).map(drop) } else { Ok(()) };
        let ended = lowest.and_then(|()| at(Level::Overlapped));
        let mut fail = FAIL_ELSEWHERE.to_vec();
        if target.has_ranks {
            fail.extend(FAIL_WITH_CLUSTERS);
        }
        match (ended, fail.iter().any(|name| Path::new(name) == file)) {
            (Ok(count), true) if count.passed > 0 => Err(Failed::from("it passes, though it is listed")),
            (Ok(count), _) => {
                println!(
                    "{} on {target}: {} passed, {} skipped",
                    file.display(),
                    count.passed,
                    count.skipped
                );
                Ok(())
            }
            (Err(_), true) => Ok(()),
            (Err(why), false) => Err(Failed::from(why)),
        }
    })
    .with_kind("sass")
}

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // Names of tests, and of files in messages, are paths from the root of the repository.
    std::env::set_current_dir(&root).expect("the repository is there");
    let under = |folder: &str, extension: &'static str| {
        let entries = WalkDir::new(folder).sort_by_file_name().into_iter().filter_map(Result::ok);
        let paths = entries.map(walkdir::DirEntry::into_path);
        paths.filter(move |path| path.extension().is_some_and(|e| e == extension)).collect::<Vec<PathBuf>>()
    };
    let all = || under("tests/run", "ptx").into_iter().chain(under("tests/clang", "cu"));
    let trials = all().map(|file| {
        Trial::test(file.display().to_string(), move || {
            let at = |options| filetest::run_file_on_sass(&file, &file.with_extension("ptx"), options, false);
            let ended =
                at(Level::Serial.into()).and_then(|_| at(few())).and_then(|_| at(Level::Overlapped.into()));
            match (ended, FAIL.iter().find(|(name, _)| Path::new(name) == file)) {
                (Ok(count), None) => {
                    println!("{}: {} passed, {} skipped", file.display(), count.passed, count.skipped);
                    Ok(())
                }
                (Err(_), Some(_)) => Ok(()),
                (Ok(_), Some((_, why))) => Err(Failed::from(format!("it passes, though {why}"))),
                (Err(why), None) => Err(Failed::from(why)),
            }
        })
        .with_kind("sass")
    });
    let others = Target::all().filter(|&target| target != Target::default());
    let elsewhere = others.flat_map(|target| all().map(move |file| on(target, file)));
    libtest_mimic::run(&Arguments::from_args(), trials.chain(elsewhere).collect()).exit_code()
}
