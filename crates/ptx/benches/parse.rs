//! How fast PTX is read: `cargo bench -p warploom-ptx`, and `WARPLOOM_BENCH_PTX=file.ptx` to measure a file too.

mod synthetic;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ptx::source::Source;
use std::hint::black_box;
use std::sync::Arc;

fn measure(criterion: &mut Criterion, source: &Arc<Source>) {
    let mut group = criterion.benchmark_group(source.name());
    group.throughput(Throughput::Bytes(source.text().len() as u64));
    group.sample_size(20);
    group.bench_function("parse", |bencher| bencher.iter(|| ptx::syntax::parse(black_box(source))));
    let module = ptx::syntax::parse(source).module;
    group.bench_function("print", |bencher| bencher.iter(|| ptx::print::print(black_box(&module))));
    group.finish();
}

fn parse(criterion: &mut Criterion) {
    for source in synthetic::sources() {
        measure(criterion, &source);
    }
}

criterion_group!(benches, parse);
criterion_main!(benches);
