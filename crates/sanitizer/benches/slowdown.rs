//! The interpreter with and without the sanitizer, on one host thread: the machine's own benchmark kernels.

#[path = "../../machine/benches/kernels/mod.rs"]
mod kernels;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kernels::{Bench, Case};
use sanitizer::{Sanitizer, Shape, Suppressions};

fn checked(bench: &Bench, case: &Case) -> u64 {
    let checks = "all".parse().expect("the name of all checks");
    let sanitizer = Sanitizer::new(checks, Suppressions::default());
    let &Case { kernel, grid, block, .. } = case;
    let shape = Shape { kernel, grid, block, cluster: [1; 3] };
    let watch = sanitizer.begin(bench.module.shared_module(), shape);
    let issued = bench.run(case, Some(&watch));
    watch.end();
    assert!(sanitizer.reports().is_empty(), "{}", sanitizer.reports()[0].text());
    issued
}

fn slowdown(c: &mut Criterion) {
    let bench = Bench::new();
    let mut group = c.benchmark_group("sanitizer");
    for case in bench.cases() {
        let name = case.kernel;
        group.throughput(Throughput::Elements(bench.run(&case, None)));
        group.bench_function(format!("{name}/without"), |bencher| bencher.iter(|| bench.run(&case, None)));
        group.bench_function(format!("{name}/with"), |bencher| bencher.iter(|| checked(&bench, &case)));
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).measurement_time(std::time::Duration::from_secs(2));
    targets = slowdown
}
criterion_main!(benches);
