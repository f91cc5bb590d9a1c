//! Warp instructions a second, one host thread, for kernels that are integer, floating, shared-memory and divergent.
//!
//! `kernels.ptx` is what clang makes of `kernels.cu`:
//! `clang-22 -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 --cuda-feature=+ptx80 -nocudalib -nocudainc -O2
//! -ffp-contract=off -S kernels.cu`.

#[allow(dead_code, reason = "the sanitizer's benchmark uses more of it")]
mod kernels;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kernels::Bench;

fn interpreter(c: &mut Criterion) {
    let bench = Bench::new();
    let mut group = c.benchmark_group("interpreter");
    for case in bench.cases() {
        group.throughput(Throughput::Elements(bench.run(&case, None)));
        group.bench_function(case.kernel, |bencher| bencher.iter(|| bench.run(&case, None)));
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(std::time::Duration::from_secs(3));
    targets = interpreter
}
criterion_main!(benches);
