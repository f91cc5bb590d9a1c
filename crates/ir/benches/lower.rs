//! What it costs to lower a function of 100,000 instructions, and what the analyses on it cost.
//!
//! The instructions are those of a loop that nvcc makes of saxpy, over and over.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use ir::{Cfg, Converged, Function, LaneOrder, Liveness, Shapes, Ssa, pass};
use ptx::module::{Checked, FuncId, Module};
use ptx::source::Source;
use std::fmt::Write;
use std::hint::black_box;

/// How often the ten instructions of the loop are repeated.
const REPEATED: usize = 10_000;

fn module() -> Checked<Module> {
    let mut text = ".version 8.0\n.target sm_90\n.address_size 64\n\
                    .visible .entry k(.param .u64 x, .param .u64 y, .param .u32 n) {\n\
                    .reg .pred %p<2>; .reg .f32 %f<5>; .reg .b32 %r<6>; .reg .b64 %rd<8>;\n\
                    ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.u32 %r2, [n];\n\
                    mov.u32 %r1, %tid.x; mov.f32 %f1, 0f3F800000;\n"
        .to_owned();
    for i in 0..REPEATED {
        let _ = writeln!(
            text,
            "L{i}: mul.wide.s32 %rd3, %r1, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;\n\
             ld.global.f32 %f2, [%rd4]; ld.global.f32 %f3, [%rd5]; fma.rn.f32 %f4, %f2, %f1, %f3;\n\
             st.global.f32 [%rd5], %f4; add.s32 %r1, %r1, %r2; setp.lt.s32 %p1, %r1, %r2; @%p1 bra L{i};"
        );
    }
    text.push_str("ret; }");
    match ptx::compile(&Source::new("benchmark.ptx", &text)).into_result() {
        Ok((module, _)) => module,
        Err(diagnostics) => panic!("{diagnostics:?}"),
    }
}

fn benchmark(criterion: &mut Criterion) {
    let module = module();
    let function = || Function::lower(&module, FuncId(0)).expect("it has a body");
    let mut group = criterion.benchmark_group("function of 100,000 instructions");
    group.throughput(Throughput::Elements(function().instructions.len() as u64));
    group.sample_size(20);
    group.bench_function("lower", |b| b.iter(|| black_box(function())));
    let lowered = function();
    group.bench_function("graph", |b| b.iter(|| black_box(Cfg::new(&lowered))));
    let cfg = Cfg::new(&lowered);
    group.bench_function("liveness", |b| b.iter(|| black_box(Liveness::new(&lowered, &cfg))));
    group.bench_function("shapes", |b| {
        b.iter(|| black_box(Shapes::new(&lowered, &cfg, LaneOrder::ConsecutiveX)));
    });
    let liveness = Liveness::new(&lowered, &cfg);
    let ssa = || Ssa::new(&lowered, cfg.clone(), &liveness).expect("few definitions meet");
    group.bench_function("ssa", |b| b.iter(|| black_box(ssa())));
    group.bench_function("simplify", |b| {
        b.iter_batched_ref(ssa, |ssa| pass::simplify(ssa), BatchSize::LargeInput);
    });
    let form = ssa();
    group.bench_function("shapes, lanes together", |b| {
        b.iter(|| black_box(Converged::new(&form, LaneOrder::ConsecutiveX)));
    });
    group.finish();
}

criterion_group!(benches, benchmark);
criterion_main!(benches);
