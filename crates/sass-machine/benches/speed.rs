//! How fast instructions are executed where control codes mean nothing: the goal is 50 million of a warp a second on one core.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use machine::{Device, DeviceOptions, Profile};
use sass_machine::{Launch, Loaded, Program};

/// A loop of what ordinary kernels are made of, and how often each warp goes over it.
const LOOP: [&str; 12] = [
    "IMAD R4, R5, R6, R4",
    "IADD3 R5, R5, R4, R6",
    "LOP3.LUT R6, R6, R5, R4, 0x96, !PT",
    "SHF.L.U32 R7, R6, 0x3, RZ",
    "FFMA R8, R8, R9, R10",
    "FADD R9, R8, R10",
    "MOV R10, R9",
    "LEA R11, R4, R5, 0x2",
    "IADD3 R12, P1, R4, R5, RZ",
    "IADD3.X R13, R6, R7, RZ, P1, !PT",
    "IADD3 R3, R3, 0x1, RZ",
    "ISETP.LT.AND P0, PT, R3, R2, PT",
];
/// Products of matrices, each of which adds to its own sums.
const PRODUCTS: [&str; 4] = [
    "HMMA.16816.F32 R12, R4, R8, R12",
    "IMMA.16832.S8.S8 R16, R4.ROW, R8.COL, R16",
    "IADD3 R3, R3, 0x1, RZ",
    "ISETP.LT.AND P0, PT, R3, R2, PT",
];
const ROUNDS: u32 = 1000;
const WARPS: u32 = 8;

fn cubin(lines: &[&str]) -> Vec<u8> {
    let mut text =
        format!("\t.target sm_90\n\t.kernel probe\n[B------:R-:W-:Y:S15] MOV R2, {ROUNDS:#x} ;\n.L_again:\n");
    for line in lines {
        text += &format!("[B------:R-:W-:Y:S15] {line} ;\n");
    }
    text += "[B------:R-:W-:Y:S15] @P0 BRA `(.L_again) ;\n[B------:R-:W-:Y:S15] EXIT ;\n";
    let source = ptx::source::Source::new("speed".to_owned(), text);
    let Ok(cubin) = cuasm::assemble(&source) else { panic!("the loop is not assembled") };
    cubin.bytes
}

fn speed(criterion: &mut Criterion) {
    let profile = Profile::by_name("h100").expect("a profile").clone();
    let device = Device::new(profile, DeviceOptions::default()).expect("a device");
    let mut group = criterion.benchmark_group("execute");
    for (name, lines, timed) in
        [("functional", &LOOP[..], false), ("timed", &LOOP, true), ("products", &PRODUCTS, false)]
    {
        let program = Program::read(&cubin(lines), false).expect("a cubin of our own");
        let loaded = Loaded::new(&program, device.memory()).expect("memory for a program");
        let launch = Launch {
            kernel: "probe",
            grid: [1, 1, 1],
            block: [32 * WARPS, 1, 1],
            cluster: 1,
            dynamic_shared: 0,
            params: &[],
            budget: u64::MAX,
            timed,
        };
        let instructions = loaded.launch(&launch).instructions;
        group.sample_size(10).throughput(Throughput::Elements(instructions));
        group.bench_function(name, |bencher| bencher.iter(|| black_box(loaded.launch(&launch).instructions)));
    }
    group.finish();
}

criterion_group!(benches, speed);
criterion_main!(benches);
