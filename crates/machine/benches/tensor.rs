//! Matrix products a second, one host thread: `mma.sync` of a warp, `wgmma.mma_async` of a warpgroup.
//! Measured is the thread's processor time.

mod support;

use bench_kernels::{Bench, Case};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::fmt::Write;
use std::time::Duration;
use support::ProcessorTime;

/// Rounds of a kernel, of which each has [`UNROLLED`] products.
const ROUNDS: u32 = 256;
const UNROLLED: u32 = 4;

/// A product, with registers of A, B and of C, which is also D.
struct Product {
    name: &'static str,
    instruction: &'static str,
    registers: [usize; 3],
    /// The bits that all of its elements have, in words, of which the random ones are in `mantissas`.
    one: u32,
    mantissas: u32,
}

/// Factors of floats lie between 1 and 2, those of bytes are any.
const PRODUCTS: [Product; 4] = [
    Product {
        name: "mma.m16n8k16.f16",
        instruction: "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        registers: [4, 2, 4],
        one: 0x3c00_3c00,
        mantissas: 0x03ff_03ff,
    },
    Product {
        name: "mma.m16n8k16.bf16",
        instruction: "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
        registers: [4, 2, 4],
        one: 0x3f80_3f80,
        mantissas: 0x007f_007f,
    },
    Product {
        name: "mma.m16n8k8.tf32",
        instruction: "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
        registers: [4, 2, 4],
        one: 0x3f80_0000,
        mantissas: 0x007f_e000,
    },
    Product {
        name: "mma.m16n8k32.s8",
        instruction: "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
        registers: [4, 2, 4],
        one: 0,
        mantissas: u32::MAX,
    },
];

/// `{first, ...}`: registers by name and number.
fn list(name: &str, count: usize) -> String {
    let registers: Vec<String> = (0..count).map(|i| format!("%{name}{i}")).collect();
    format!("{{{}}}", registers.join(", "))
}

/// A kernel that repeats an instruction, behind `before` it.
fn kernel(name: &str, before: &str, instruction: &str) -> String {
    let products = format!("    {instruction}\n").repeat(UNROLLED as usize);
    format!(
        ".visible .entry {name}(.param .u64 factors) {{
    .reg .b32 %a<4>, %b<2>, %c<128>, %i;
    .reg .b64 %p, %adesc, %bdesc;
    .reg .pred %again;
    mov.u32 %i, %tid.x;
    ld.param.u64 %p, [factors];
    mad.wide.u32 %p, %i, 24, %p;
{before}    mov.u32 %i, {ROUNDS};
again:
{products}    sub.u32 %i, %i, 1;
    setp.ne.u32 %again, %i, 0;
    @%again bra again;
    ret;
}}
"
    )
}

/// The kernels, a product each, and `wgmma`, whose factors lie in shared memory.
fn module() -> String {
    let mut text =
        ".version 8.0\n.target sm_90a\n.address_size 64\n.shared .align 128 .b8 tiles[16384];\n".to_owned();
    for (i, Product { instruction, registers: [a, b, c], .. }) in PRODUCTS.iter().enumerate() {
        let mut before = String::new();
        for (at, register) in
            (0..*a).map(|i| format!("a{i}")).chain((0..*b).map(|i| format!("b{i}"))).enumerate()
        {
            writeln!(before, "    ld.global.u32 %{register}, [%p+{}];", 4 * at).unwrap();
        }
        (0..*c).for_each(|i| writeln!(before, "    mov.b32 %c{i}, 0;").unwrap());
        let c = list("c", *c);
        let product = format!("{instruction} {c}, {}, {}, {c};", list("a", *a), list("b", *b));
        text += &kernel(&format!("product{i}"), &before, &product);
    }
    let mut before =
        String::from("    mad.lo.u32 %a0, %i, 96, 0;\n    mov.u32 %a1, tiles;\n    add.u32 %a1, %a1, %a0;\n");
    // 128 threads fill 12 KiB: A has 2, B 8.
    before += "    ld.global.u32 %a2, [%p];\n    ld.global.u32 %a3, [%p+4];\n";
    (0..12).for_each(|i| writeln!(before, "    st.shared.v2.u32 [%a1+{}], {{%a2, %a3}};", 8 * i).unwrap());
    before += "    bar.sync 0;\n    mov.u64 %adesc, tiles;\n    shr.u64 %adesc, %adesc, 4;\n";
    // No swizzling: blocks of 8 lines follow one another, the other halves of them 1 KiB, 4 KiB on.
    before += "    add.u64 %bdesc, %adesc, 128;\n    or.b64 %adesc, %adesc, 0x0000000800400000;\n";
    before += "    or.b64 %bdesc, %bdesc, 0x0000000801000000;\n";
    (0..128).for_each(|i| writeln!(before, "    mov.b32 %c{i}, 0;").unwrap());
    before += "    setp.eq.u32 %again, %i, %i;\n    wgmma.fence.sync.aligned;\n";
    let product = format!(
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {}, %adesc, %bdesc, 1, 1, 1, 0, 0;",
        list("c", 128)
    );
    text + &kernel("warpgroup", &before, &product)
}

fn tensor(c: &mut Criterion<ProcessorTime>) {
    let bench = Bench::of(&module());
    let words = 128 * 6;
    let factors = bench.buffer(4 * words);
    let mut group = c.benchmark_group("tensor");
    let mut measure = |name: &str, kernel: &'static str, threads: u32, one: u32, mantissas: u32| {
        let word = |i: u64| (one | (i as u32).wrapping_mul(0x9e37_79b9) & mantissas).to_le_bytes();
        bench.fill(factors, &(0..words).flat_map(word).collect::<Vec<u8>>());
        let case =
            Case { kernel, grid: [1; 3], block: [threads, 1, 1], params: factors.to_le_bytes().to_vec() };
        group.throughput(Throughput::Elements((ROUNDS * UNROLLED).into()));
        group.bench_function(name, |bencher| bencher.iter(|| bench.run(&case, None)));
    };
    let kernels = ["product0", "product1", "product2", "product3"];
    for (product, kernel) in PRODUCTS.iter().zip(kernels) {
        measure(product.name, kernel, 32, product.one, product.mantissas);
    }
    measure("wgmma.m64n256k16.f16", "warpgroup", 128, PRODUCTS[0].one, PRODUCTS[0].mantissas);
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .with_measurement(ProcessorTime)
        .sample_size(10)
        .measurement_time(Duration::from_secs(2));
    targets = tensor
}
criterion_main!(benches);
