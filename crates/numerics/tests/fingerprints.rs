//! The approximate functions against all that an H200 computes, in a few chunks; `cargo xtask fingerprints` checks all.

use replay::fingerprints::{fingerprint, fingerprints};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The chunks of an instruction to look at: zero and subnormals, around 1 in `.f32` and `.f64`, infinities and NaN in
/// both, and two that differ from one instruction to the next.
fn sample(instruction: usize, chunks: usize) -> BTreeSet<usize> {
    [0, 254, 255, 510, 511, 211 + 7 * instruction, 590 + 19 * instruction].map(|chunk| chunk % chunks).into()
}

#[test]
fn sampled_chunks_agree_in_every_bit() {
    let all = fingerprints(include_bytes!("hardware/approximate.gz"));
    let work: Vec<(usize, usize)> = all
        .iter()
        .enumerate()
        .flat_map(|(i, f)| sample(i, f.recorded.len()).into_iter().map(move |chunk| (i, chunk)))
        .collect();
    assert!(work.len() > 180, "only {} chunks", work.len());
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let worker = || {
        while let Some(&(i, chunk)) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
            let instruction = &all[i];
            let computed = fingerprint(&instruction.name, instruction.indices(chunk));
            if computed != Some(instruction.recorded[chunk]) {
                let indices = instruction.indices(chunk);
                let failure = format!("{}: {:#x} to {:#x}", instruction.name, indices.start, indices.end - 1);
                failures.lock().expect("no worker panics").push(failure);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(worker);
        }
    });
    let failures = failures.into_inner().expect("no worker panics");
    assert!(failures.is_empty(), "{} chunks differ:\n{}", failures.len(), failures.join("\n"));
}
