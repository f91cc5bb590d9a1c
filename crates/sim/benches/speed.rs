//! How fast the model is: the goal is 2 million instructions of a warp a second on one core.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use machine::{Device as Memory, DeviceOptions, Profile};
use sass_machine::{Launch, Loaded, Program};
use sim::{Device, simulate};
use std::hint::black_box;
use std::num::NonZeroUsize;

/// Arithmetic, accesses to shared memory with and without conflicts, loads and stores of words in a row: what stands in a loop.
const LOOPS: [(&str, &[&str]); 3] = [
    (
        "arithmetic",
        &[
            "[B------:R-:W-:-:S02] IMAD R4, R5, R6, R4",
            "[B------:R-:W-:-:S02] FFMA R8, R8, R9, R10",
            "[B------:R-:W-:-:S04] IADD3 R5, R5, R4, R6",
            "[B------:R-:W-:-:S04] FADD R9, R8, R10",
            "[B------:R-:W-:-:S04] LOP3.LUT R6, R6, R5, R4, 0x96, !PT",
            "[B------:R-:W0:-:S02] MUFU.RCP R11, R9",
            "[B0-----:R-:W-:-:S04] FADD R10, R11, R9",
        ],
    ),
    (
        "shared",
        &[
            "[B------:R-:W0:-:S02] LDS R4, [R22+0x400]",
            "[B------:R-:W1:-:S02] LDS R5, [R23+0x400]",
            "[B01----:R-:W-:-:S04] IADD3 R6, R4, R5, R6",
            "[B------:R2:W-:-:S02] STS [R22+0x400], R6",
            "[B--2---:R-:W-:-:S04] FADD R9, R8, R10",
        ],
    ),
    (
        "global",
        &[
            "[B------:R-:W0:-:S02] LDG.E R4, desc[UR4][R2.64]",
            "[B0-----:R-:W-:-:S04] IADD3 R5, R4, R5, RZ",
            "[B------:R2:W-:-:S02] STG.E desc[UR4][R2.64], R5",
            "[B--2---:R-:W-:-:S05] IADD3 R2, P1, R2, 0x1000, RZ",
            "[B------:R-:W-:-:S05] IADD3.X R3, RZ, R3, RZ, P1, !PT",
        ],
    ),
];
const ROUNDS: u32 = 64;
const CTAS: u32 = 264;
const THREADS: u32 = 256;

fn kernel(lines: &[&str]) -> String {
    let body: String = lines.iter().flat_map(|line| [line, " ;\n"]).collect();
    format!(
        "\t.target sm_90\n\t.kernel probe, 8\n\
         [B------:R-:W0:-:S02] LDC.64 R2, c[0x0][0x210] ;\n\
         [B------:R-:W-:Y:S15] ULDC.64 UR4, c[0x0][0x208] ;\n\
         [B------:R-:W1:-:S02] S2R R8, SR_TID.X ;\n\
         [B-1----:R-:W-:Y:S15] SHF.L.U32 R22, R8, 0x2, RZ ;\n\
         [B------:R-:W-:Y:S15] SHF.L.U32 R23, R8, 0x3, RZ ;\n\
         [B0-----:R-:W-:Y:S15] IMAD.WIDE.U32 R2, R8, 0x4, R2 ;\n\
         [B------:R-:W-:Y:S15] MOV R38, 0x0 ;\n\
         .L_round:\n{body}\
         [B------:R-:W-:-:S05] IADD3 R38, R38, 0x1, RZ ;\n\
         [B------:R-:W-:Y:S15] ISETP.LT.AND P2, PT, R38, {ROUNDS:#x}, PT ;\n\
         [B------:R-:W-:-:S05] @P2 BRA `(.L_round) ;\n\
         [B------:R-:W-:-:S05] EXIT ;\n"
    )
}

fn speed(criterion: &mut Criterion) {
    let device = Device::named("h100").expect("a device that comes along");
    let memory = Memory::new(Profile::default(), DeviceOptions::default()).expect("a device");
    let out = memory.memory().allocate(u64::from(ROUNDS + 1) * 0x1000).expect("memory");
    let host = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let mut group = criterion.benchmark_group("model");
    for (name, lines) in LOOPS {
        let source = ptx::source::Source::new(name, kernel(lines));
        let Ok(cubin) = cuasm::assemble(&source) else { panic!("{name} is not assembled") };
        let program = Program::read(&cubin.bytes, false).expect("a cubin of our own");
        let loaded = Loaded::new(&program, memory.memory()).expect("memory for a program");
        let launch = Launch {
            kernel: "probe",
            grid: [CTAS, 1, 1],
            block: [THREADS, 1, 1],
            cluster: 1,
            dynamic_shared: 8192,
            params: &out.to_le_bytes(),
            budget: u64::MAX,
            timed: false,
        };
        for threads in [1, 2, 4, 8, 16].into_iter().filter_map(NonZeroUsize::new).filter(|&it| it <= host) {
            let run = || {
                simulate(&loaded, &launch, &device, threads).expect("it is modelled").counters.instructions
            };
            group.sample_size(10).throughput(Throughput::Elements(run()));
            group.bench_function(format!("{name}/{threads}"), |bencher| bencher.iter(|| black_box(run())));
        }
    }
    group.finish();
}

criterion_group!(benches, speed);
criterion_main!(benches);
