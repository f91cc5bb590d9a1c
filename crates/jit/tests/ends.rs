//! Every way in which a kernel is stopped: the compiled engine says what the interpreter says.

mod common;

use common::Setting;
use jit::Jit;
use machine::compiled::Engine;
use machine::{LaunchError, LaunchOptions};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const KERNELS: &str = include_str!("kernels/faults.ptx");

/// What a kernel that must be stopped is stopped with.
fn end(
    kernel: &str,
    engine: Option<&dyn Engine>,
    budget: Option<u64>,
    cancel: Option<&AtomicBool>,
) -> String {
    let setting = Setting::new(KERNELS, 1024);
    let launch = setting.launch(kernel, 4, 64, &[]);
    // With one host thread the first thread that is wrong is the same every time.
    let options = LaunchOptions { threads: 1, engine, budget, cancel, ..LaunchOptions::default() };
    if let Some(engine) = engine {
        assert_eq!(launch.kernel.compiles(engine, launch.block), Ok(()), "{kernel}");
    }
    match setting.device.launch(&launch, &options) {
        // The buffer is somewhere else each time.
        Err(LaunchError::Fault(fault)) => {
            format!("{fault:?}\n{fault}").replace(&format!("{:#x}", setting.buffer + 2), "BUFFER+2")
        }
        other => panic!("{kernel}: {other:?}"),
    }
}

#[test]
fn faults_are_told_alike() {
    let jit = match Jit::find() {
        Ok(jit) => jit,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    for (kernel, said) in [
        ("load_nowhere", "thread (37, 0, 0)"),
        ("store_nowhere", "illegal address: store of 4 bytes"),
        ("misaligned", "misaligned"),
        ("shared_nowhere", "shared"),
        ("index_before", "thread (19, 0, 0)"),
        ("index_behind", "thread (21, 0, 0)"),
        ("index_apart", "misaligned"),
        ("atomic_nowhere", "thread (5, 0, 0)"),
        ("traps", "thread (45, 0, 0)"),
        ("behind_a_barrier", "thread (40, 0, 0)"),
    ] {
        let interpreted = end(kernel, None, None, None);
        assert!(interpreted.contains(said), "{kernel}: {interpreted}");
        assert_eq!(end(kernel, Some(&jit), None, None), interpreted, "{kernel}");
    }
}

/// Each warp waits at a barrier of its own, and either may be said to be to blame.
#[test]
fn a_barrier_that_never_completes_is_a_fault() {
    let jit = match Jit::find() {
        Ok(jit) => jit,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    for engine in [None, Some(&jit as &dyn Engine)] {
        let said = end("apart", engine, None, None);
        assert!(said.contains("waits for all threads, but only 32 of 64 can ever arrive"), "{said}");
    }
}

#[test]
fn budgets_are_told_alike() {
    let jit = match Jit::find() {
        Ok(jit) => jit,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    for budget in [1_000, 10_000_000] {
        let interpreted = end("runs_away", None, Some(budget), None);
        assert!(interpreted.contains(&budget.to_string()), "{interpreted}");
        assert_eq!(end("runs_away", Some(&jit), Some(budget), None), interpreted);
    }
}

#[test]
fn a_launch_that_is_cancelled_ends_soon() {
    let jit = match Jit::find() {
        Ok(jit) => jit,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    let cancelled = |engine| {
        let cancel = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(200));
                cancel.store(true, Ordering::Relaxed);
            });
            end("runs_away", engine, None, Some(&cancel))
        })
    };
    assert_eq!(cancelled(Some(&jit as &dyn Engine)), cancelled(None));
}

/// The blocks before the last one may be all that the host threads run: others must come to run the last one.
#[test]
fn blocks_that_wait_do_not_keep_others_from_beginning() {
    let jit = match Jit::find() {
        Ok(jit) => jit,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    for (threads, blocks) in [(1, 2), (1, 40), (2, 1000)] {
        let setting = Setting::new(KERNELS, 1024);
        let launch = setting.launch("waits_for_the_last", blocks, 32, &[]);
        let options = LaunchOptions { threads, engine: Some(&jit), ..LaunchOptions::default() };
        let report = setting.device.launch(&launch, &options).expect("an end");
        assert_eq!(report.compiled, Some(Ok(())));
        assert_eq!(setting.words(8)[7], 1);
    }
}
