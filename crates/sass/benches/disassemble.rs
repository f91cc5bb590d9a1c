//! How fast words become text: the goal is five million instructions a second on one core.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sass::{Arch, decode};

/// The words of the committed samples, in their order: one of each form.
fn words(samples: &str) -> Vec<u128> {
    let word = |line: &str| u128::from_str_radix(line.split(' ').next()?, 16).ok();
    samples.lines().filter(|it| !it.starts_with('#')).filter_map(word).collect()
}

/// Ordinary code: what nvcc makes of a few kernels.
const CODE: &str = include_str!("../tests/samples/code_sm_90.txt");

fn disassemble(criterion: &mut Criterion) {
    let code = words(CODE);
    let mut group = criterion.benchmark_group("disassemble");
    group.throughput(Throughput::Elements(code.len() as u64));
    group.bench_function("sm_90", |bencher| {
        let mut text = String::new();
        bencher.iter(|| {
            text.clear();
            for (at, &word) in black_box(&code).iter().enumerate() {
                if let Some(instruction) = decode(Arch::Sm90, word) {
                    instruction.print(16 * at as u64, &mut text);
                    text.push('\n');
                }
            }
            text.len()
        });
    });
    group.finish();
}

criterion_group!(benches, disassemble);
criterion_main!(benches);
