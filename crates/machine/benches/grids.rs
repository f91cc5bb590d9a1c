//! Launches of many CTAs, one host thread: what a CTA costs beside its instructions, rows of memory, and barriers.
//! Measured is the thread's processor time, which hardly depends on what else the machine does.
//!
//! `grids.ptx` is made of `grids.cu` as the kernels of `bench_kernels` are, which has the command.

mod support;

use bench_kernels::{Bench, Case};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::time::Duration;
use support::ProcessorTime;

/// Elements of the vectors that are streamed, and the width of the matrices.
const ELEMENTS: u32 = 1 << 24;
const WIDTH: u32 = 1024;
const SMALL: u32 = 256;

/// The kernels, each with how many of what [`Throughput`] counts one launch has: CTAs of the empty kernel, and elements
/// of the others.
fn cases(bench: &Bench) -> Vec<(Case, u32)> {
    let bytes = u64::from(ELEMENTS) * 4;
    let (a, b, c) = (bench.buffer(bytes), bench.buffer(bytes), bench.buffer(bytes));
    for address in [a, b] {
        let numbers: Vec<u8> = (0..ELEMENTS).flat_map(|i| ((i % 977) as f32 / 977.0).to_le_bytes()).collect();
        bench.fill(address, &numbers);
    }
    let places = bench.buffer(bytes);
    let near = |i: u32| i & !255 | (i.wrapping_mul(0x9e37_79b9) >> 24);
    bench.fill(places, &(0..ELEMENTS).flat_map(|i| near(i).to_le_bytes()).collect::<Vec<u8>>());
    let case = |kernel, grid: [u32; 2], block: [u32; 2], params: &[Vec<u8>], elements| {
        let (grid, block) = ([grid[0], grid[1], 1], [block[0], block[1], 1]);
        (Case { kernel, grid, block, params: params.concat() }, elements)
    };
    let pointer = |address: u64| address.to_le_bytes().to_vec();
    let number = |n: u32| n.to_le_bytes().to_vec();
    // A pointer behind a number is aligned.
    let factor = 2f32.to_le_bytes().into_iter().chain([0; 4]).collect::<Vec<u8>>();
    let row = [ELEMENTS / 256, 1];
    let square = [pointer(a), pointer(c), number(WIDTH)];
    let all = WIDTH * WIDTH;
    vec![
        case("empty", row, [256, 1], &[], row[0]),
        case("saxpy", row, [256, 1], &[factor, pointer(a), pointer(b), number(ELEMENTS)], ELEMENTS),
        case("transpose", [WIDTH / 32; 2], [32, 8], &square, all),
        case("stencil", [WIDTH / 32, WIDTH / 8], [32, 8], &square, all),
        case("scan", [all / 256, 1], [256, 1], &[pointer(places), pointer(c)], all),
        case("softmax", [all / 1024, 1], [256, 1], &[pointer(a), pointer(c)], all),
        case(
            "sgemm",
            [SMALL / 16; 2],
            [16, 16],
            &[pointer(a), pointer(b), pointer(c), number(SMALL)],
            SMALL * SMALL,
        ),
        case("gather", [all / 256, 1], [256, 1], &[pointer(places), pointer(a), pointer(c)], all),
    ]
}

fn grids(c: &mut Criterion<ProcessorTime>) {
    let bench = Bench::of(include_str!("grids.ptx"));
    let mut group = c.benchmark_group("grids");
    for (case, elements) in cases(&bench) {
        group.throughput(Throughput::Elements(elements.into()));
        group.bench_function(case.kernel, |bencher| bencher.iter(|| bench.run(&case, None)));
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .with_measurement(ProcessorTime)
        .sample_size(10)
        .measurement_time(Duration::from_secs(2));
    targets = grids
}
criterion_main!(benches);
