//! Warp instructions a second, one host thread, for kernels that are integer, floating, shared-memory and divergent.

use bench_kernels::Bench;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

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
