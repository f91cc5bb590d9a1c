//! How fast PTX is resolved and checked, alone and after reading it: `cargo bench -p warploom-ptx --bench check`, and
//! `WARPLOOM_BENCH_PTX=file.ptx` to measure a file too.

mod synthetic;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

fn check(criterion: &mut Criterion) {
    for source in synthetic::sources() {
        let mut group = criterion.benchmark_group(source.name());
        group.throughput(Throughput::Bytes(source.text().len() as u64));
        group.sample_size(20);
        let module = ptx::syntax::parse(&source).module;
        let diagnostics = ptx::check(&module).diagnostics;
        assert!(diagnostics.is_empty(), "{:?}", diagnostics[0]);
        group.bench_function("check", |bencher| bencher.iter(|| ptx::check(black_box(&module))));
        group.bench_function("compile", |bencher| bencher.iter(|| ptx::compile(black_box(&source))));
        group.finish();
    }
}

criterion_group!(benches, check);
criterion_main!(benches);
