//! Replays what an H200's tensor cores computed (`hardware/tensor.gz`, made by `cargo xtask record products`).
//!
//! With `WARPLOOM_TENSOR_RECORDING` set to a file, that recording is replayed instead (say, one of greater scale).
//! Every result of every configuration must agree in every bit.

use replay::products::{Case, Hash, KINDS, Line, parse};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Compares one kind of inputs of one configuration; the number of results, or what differs.
fn replay(case: &Case, line: &Line, kind: usize) -> Result<usize, String> {
    let recorded = &line.kinds[kind];
    let mut hash = Hash::default();
    for tile in (kind..line.tiles).step_by(KINDS) {
        let results = case.results(tile);
        for (i, want) in recorded.first.iter().enumerate().filter(|_| tile == kind) {
            if results[i] != *want {
                let got = results[i];
                return Err(format!("{}, inputs {kind}, result {i}: {got:x}, hardware {want:x}", line.name));
            }
        }
        results.iter().for_each(|result| hash.add(*result));
    }
    if hash.value() == recorded.hash {
        Ok(hash.count)
    } else {
        Err(format!("{}, inputs {kind}: the first results agree, others differ", line.name))
    }
}

#[test]
fn results_agree_in_every_bit() {
    let path = std::env::var("WARPLOOM_TENSOR_RECORDING")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hardware/tensor.gz").to_owned());
    let (salt, lines) = parse(&replay::read(Path::new(&path)).expect("the recording is in the repository"));
    let next = AtomicUsize::new(0);
    let work = || {
        let (mut compared, mut failures) = (0, Vec::new());
        while let Some(line) = lines.get(next.fetch_add(1, Ordering::Relaxed)) {
            let case = Case::new(&line.name, salt);
            for kind in 0..KINDS {
                match replay(&case, line, kind) {
                    Ok(count) => compared += count,
                    Err(failure) => failures.push(failure),
                }
            }
        }
        (compared, failures)
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (compared, failures) = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().fold((0, Vec::new()), |(compared, mut failures), worker| {
            let (more, others) = worker.join().expect("a worker that ends");
            failures.extend(others);
            (compared + more, failures)
        })
    });
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.join("\n"));
    assert!(compared > 6_000_000, "only {compared} results compared");
}
