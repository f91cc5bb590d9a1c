//! Replays what an H200's tensor cores computed (`hardware/tensor.gz`, written by `hardware/tensor.py`).
//!
//! With `WARPLOOM_TENSOR_RECORDING` set to a file, that recording is replayed instead (say, one of greater scale).
//! Every result of every configuration must agree in every bit.

#[path = "hardware/tensor.rs"]
mod tensor;

use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering};
use tensor::{Case, FNV_BASIS, KINDS, fnv};

/// What was recorded for one kind of inputs of one configuration.
struct Recorded {
    hash: u64,
    first: Vec<u64>,
}

/// A line of the recording.
struct Line {
    name: String,
    tiles: usize,
    kinds: Vec<Recorded>,
}

fn recording() -> (u64, Vec<Line>) {
    let path = std::env::var("WARPLOOM_TENSOR_RECORDING")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hardware/tensor.gz").to_owned());
    let mut text = String::new();
    let file = std::fs::File::open(path).expect("the recording is in the repository");
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("the recording is text");
    let hex = |digits: &str| u64::from_str_radix(digits, 16).expect("hexadecimal");
    let kind = |word: &str| {
        let (hash, first) = word.split_once(':').expect("a hash and values");
        Recorded { hash: hex(hash), first: first.split(',').map(hex).collect() }
    };
    let mut lines = text.lines();
    let salt = lines.next().and_then(|line| line.strip_prefix("salt ")).expect("the salt").parse();
    let line = |line: &str| {
        let mut words = line.split(' ');
        let mut next = || words.next().expect("a name and a number of tiles");
        let (name, tiles) = (next().to_owned(), next().parse().expect("a number"));
        Line { name, tiles, kinds: words.map(kind).collect() }
    };
    (salt.expect("a number"), lines.map(line).collect())
}

/// The hash which the recorder makes: results are dealt to 64 hashes, and these are hashed.
struct Hash {
    lanes: [u64; 64],
    count: usize,
}

impl Hash {
    fn add(&mut self, result: u64) {
        let lane = &mut self.lanes[self.count % 64];
        *lane = fnv(*lane, result);
        self.count += 1;
    }

    fn value(&self) -> u64 {
        self.lanes.iter().fold(FNV_BASIS, |hash, lane| fnv(hash, *lane))
    }
}

/// Compares one kind of inputs of one configuration; the number of results, or what differs.
fn replay(case: &Case, line: &Line, kind: usize) -> Result<usize, String> {
    let recorded = &line.kinds[kind];
    let mut hash = Hash { lanes: [FNV_BASIS; 64], count: 0 };
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
    let (salt, lines) = recording();
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
