//! The model beside an H100 (driver 580.159.04, 1980 MHz): the clock that kernels read themselves, and laws that hold of any launch.

use machine::{Device as Memory, DeviceOptions, Profile};
use sass_machine::{FaultKind, Launch, Loaded, Program};
use sim::{Device, DeviceError, Failure, Report, Stall, simulate};
use std::num::NonZeroUsize;
use std::sync::Arc;

fn memory() -> Arc<Memory> {
    Memory::new(Profile::default(), DeviceOptions::default()).expect("a device")
}

fn cubin(kernel: &str) -> Program {
    let text = format!("\t.target sm_90\n\t.kernel probe, 8\n{kernel}");
    let source = ptx::source::Source::new("probe", text);
    let assembled = cuasm::assemble(&source).unwrap_or_else(|wrong| panic!("{}", wrong[0].message));
    Program::read(&assembled.bytes, false).expect("a cubin of our own")
}

/// Launches a kernel whose parameter is a buffer of that many words; what they are then, and the report.
fn run(
    kernel: &str,
    grid: u32,
    block: u32,
    words: usize,
    device: &Device,
) -> (Vec<u32>, Result<Report, Failure>) {
    run_on(kernel, grid, block, words, device, 1)
}

/// The same by so many threads of the host.
fn run_on(
    kernel: &str,
    grid: u32,
    block: u32,
    words: usize,
    device: &Device,
    threads: usize,
) -> (Vec<u32>, Result<Report, Failure>) {
    let memory = memory();
    let program = cubin(kernel);
    let loaded = Loaded::new(&program, memory.memory()).expect("memory");
    let out = memory.memory().allocate(words as u64 * 4).expect("memory");
    let launch = Launch {
        kernel: "probe",
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        cluster: 1,
        dynamic_shared: 1024,
        params: &out.to_le_bytes(),
        budget: 1 << 20,
        timed: false,
    };
    let threads = NonZeroUsize::new(threads).expect("a thread");
    let report = simulate(&loaded, &launch, device, threads);
    let mut bytes = vec![0; words * 4];
    memory.memory().read(out, &mut bytes).expect("the buffer");
    (bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect(), report)
}

fn h100() -> Device {
    Device::named("h100").expect("a device that comes along")
}

/// Cycles between two readings of the clock by one warp, the second time it comes there, when the code has been fetched.
fn between(lines: &str) -> u32 {
    let kernel = format!(
        "[B------:R-:W0:-:S02] LDC.64 R2, c[0x0][0x210] ;\n\
         [B------:R-:W-:Y:S15] ULDC.64 UR4, c[0x0][0x208] ;\n\
         [B0-----:R-:W-:Y:S15] MOV R38, 0x0 ;\n\
         [B------:R-:W0:-:S02] S2R R8, SR_TID.X ;\n\
         [B0-----:R-:W-:Y:S15] SHF.L.U32 R22, R8, 0x4, RZ ;\n\
         [B------:R-:W-:Y:S15] IADD3 R22, R22, 0x400, RZ ;\n\
         [B------:R-:W-:Y:S15] ISETP.EQ.AND P1, PT, RZ, RZ, PT ;\n\
         .L_round:\n\
         [B------:R-:W-:Y:S15] NOP ;\n\
         [B------:R-:W-:-:S11] CS2R.32 R56, SR_CLOCKLO ;\n\
         {lines}\
         [B012345:R-:W-:-:S11] CS2R.32 R57, SR_CLOCKLO ;\n\
         [B------:R-:W-:-:S11] IADD3 R57, R57, -R56, RZ ;\n\
         [B------:R0:W-:-:S02] STG.E desc[UR4][R2.64], R57 ;\n\
         [B0-----:R-:W-:-:S11] IADD3 R38, R38, 0x1, RZ ;\n\
         [B------:R-:W-:Y:S15] ISETP.LT.AND P2, PT, R38, 0x2, PT ;\n\
         [B------:R-:W-:-:S05] @P2 BRA `(.L_round) ;\n\
         [B------:R-:W-:-:S05] EXIT ;\n"
    );
    let (words, report) = run(&kernel, 1, 32, 1, &h100());
    report.expect("it is modelled");
    words[0]
}

fn row(count: usize, line: &str) -> String {
    format!("{line} ;\n").repeat(count)
}

/// Whoever waits for a product of a warpgroup waits until its last warp has begun it.
#[test]
fn a_product_is_waited_for_by_four_warps() {
    let late = row(100, "[B------:R-:W-:Y:S15] NOP");
    let kernel = format!(
        "[B------:R-:W0:-:S02] LDC.64 R2, c[0x0][0x210] ;\n\
         [B------:R-:W-:Y:S15] ULDC.64 UR4, c[0x0][0x208] ;\n\
         [B------:R-:W1:-:S02] S2R R8, SR_TID.X ;\n\
         [B01----:R-:W-:Y:S15] IMAD.WIDE R2, R8, 0x4, R2 ;\n\
         [B------:R-:W-:Y:S15] ISETP.LT.AND P0, PT, R8, 0x60, PT ;\n\
         [B------:R-:W-:-:S11] CS2R.32 R12, SR_CLOCKLO ;\n\
         [B------:R-:W-:-:S05] @P0 BRA `(.L_product) ;\n\
         {late}\
         .L_product:\n\
         [B------:R-:W-:Y:S15] WARPGROUP.ARRIVE ;\n\
         [B------:R-:W-:Y:S15] HGMMA.64x64x16.F32 R24, gdesc[UR8], RZ, !UPT, gsb0 ;\n\
         [B------:R-:W-:Y:S15] WARPGROUP.DEPBAR.LE gsb0, 0x0 ;\n\
         [B------:R-:W-:-:S11] CS2R.32 R13, SR_CLOCKLO ;\n\
         [B------:R-:W-:-:S11] IADD3 R13, R13, -R12, RZ ;\n\
         [B------:R0:W-:-:S02] STG.E desc[UR4][R2.64], R13 ;\n\
         [B0-----:R-:W-:-:S05] EXIT ;\n"
    );
    let (words, report) = run(&kernel, 1, 128, 128, &h100());
    report.expect("it is modelled");
    let cycles = [0, 32, 64, 96].map(|thread| words[thread]);
    // What keeps the last one is known, and a product takes the same for all four.
    assert!(cycles.iter().all(|&cycles| (1500..2500).contains(&cycles)), "{cycles:?}");
}

/// What an H100 answered: `measured/h100`, the rows named beside each.
#[test]
fn clocks_differ_as_on_a_gpu() {
    for (what, lines, cycles) in [
        ("empty", String::new(), 11),
        ("NOP", row(64, "[B------:R-:W-:-:S01] NOP"), 75),
        ("FADD", row(64, "[B------:R-:W-:-:S01] FADD R40, R16, R17"), 75),
        ("banks/even", row(64, "[B------:R-:W-:-:S01] FFMA R40, R16, R18, R24"), 199),
        ("banks/same", row(64, "[B------:R-:W-:-:S01] FFMA R40, R16, R16, R16"), 75),
        ("IADD3", row(64, "[B------:R-:W-:-:S01] IADD3 R40, R12, R15, RZ"), 139),
        ("MUFU.RCP", row(64, "[B--2---:R-:W2:-:S02] MUFU.RCP R20, R20"), 1099),
        ("LDS", row(64, "[B--2---:R-:W2:-:S02] LDS R20, [R22]"), 1867),
        ("SHFL", row(64, "[B--2---:R-:W2:-:S02] SHFL.IDX PT, R20, R20, RZ, 0x1f"), 1547),
        ("LDC", row(64, "[B--2---:R-:W2:-:S02] LDC R20, c[0x0][0x4]"), 1611),
        ("BRA/not-taken", row(64, "[B------:R-:W-:-:S01] @!P1 BRA `(.L_round)"), 75),
    ] {
        let model = between(&lines);
        // Two clocks are read within a cycle or two of a row's end.
        assert!(model.abs_diff(cycles) <= 2, "{what}: {model} in the model, {cycles} on an H100");
    }
}

/// A barrier between a store to shared memory and a load of another thread's word: results are right, and all cycles of all warps are
/// accounted for.
#[test]
fn cycles_of_warps_are_accounted_for() {
    let kernel = "\
        [B------:R-:W0:-:S02] LDC.64 R2, c[0x0][0x210] ;\n\
        [B------:R-:W0:-:S02] S2R R8, SR_TID.X ;\n\
        [B------:R-:W-:Y:S15] ULDC.64 UR4, c[0x0][0x208] ;\n\
        [B0-----:R-:W-:Y:S15] IMAD.WIDE.U32 R2, R8, 0x4, R2 ;\n\
        [B------:R-:W-:Y:S15] SHF.L.U32 R9, R8, 0x2, RZ ;\n\
        [B------:R1:W-:-:S02] STS [R9+0x400], R8 ;\n\
        [B-1----:R-:W-:-:S05] BAR.SYNC.DEFER_BLOCKING 0x0 ;\n\
        [B------:R-:W-:Y:S15] LOP3.LUT R9, R9, 0x1fc, RZ, 0x3c, !PT ;\n\
        [B------:R-:W2:-:S02] LDS R10, [R9+0x400] ;\n\
        [B--2---:R0:W-:-:S02] STG.E desc[UR4][R2.64], R10 ;\n\
        [B0-----:R-:W-:Y:S15] EXIT ;\n";
    // Shared memory of the kernel, which has none of its own: the launch gives it.
    let memory = memory();
    let program = cubin(kernel);
    let loaded = Loaded::new(&program, memory.memory()).expect("memory");
    let out = memory.memory().allocate(4 * 128).expect("memory");
    let launch = Launch {
        kernel: "probe",
        grid: [3, 1, 1],
        block: [128, 1, 1],
        cluster: 1,
        dynamic_shared: 1024,
        params: &out.to_le_bytes(),
        budget: u64::MAX,
        timed: false,
    };
    let report = simulate(&loaded, &launch, &h100(), NonZeroUsize::MIN).expect("it is modelled");
    let again = simulate(&loaded, &launch, &h100(), NonZeroUsize::MIN).expect("it is modelled");
    let mut bytes = [0; 4 * 128];
    memory.memory().read(out, &mut bytes).expect("the buffer");
    for (thread, word) in bytes.as_chunks::<4>().0.iter().enumerate() {
        assert_eq!(u32::from_le_bytes(*word), 127 - thread as u32);
    }
    assert_eq!(
        (report.cycles, &report.counters),
        (again.cycles, &again.counters),
        "the same launch, the same cycles"
    );
    assert_eq!(report.counters.instructions, 3 * 4 * 11);
    assert_eq!(report.stalls().all(), report.counters.resident, "each cycle of a resident warp has a reason");
    assert_eq!(report.stalls().of(Stall::Selected), report.counters.instructions);
    assert!(report.stalls().of(Stall::Barrier) > 0);
    assert_eq!(report.counters.global_store, 3 * 4 * 4, "a warp's words are four sectors");
    assert_eq!((report.counters.shared_load, report.counters.load_conflicts), (3 * 4, 0));
    let sms: Vec<u32> = report.spans.iter().map(|span| span.sm).collect();
    assert_eq!(sms.len(), 3);
    assert!(sms[0] != sms[1] && sms[1] != sms[2] && sms[0] != sms[2], "each CTA has an SM of its own");
}

#[test]
fn more_ctas_than_places_are_waves() {
    let kernel = "[B------:R-:W-:Y:S15] NOP ;\n[B------:R-:W-:Y:S15] EXIT ;\n";
    let mut device = h100();
    for change in ["gpu.sms=2", "sm.ctas=3"] {
        device.set(change).expect("a parameter");
    }
    let (_, report) = run(kernel, 10, 32, 1, &device);
    let report = report.expect("it is modelled");
    assert_eq!((report.occupancy.ctas, report.occupancy.limit()), (3, "CTAs"));
    assert_eq!(report.spans.len(), 10);
    for span in &report.spans {
        let others = report.spans.iter().filter(|other| other.sm == span.sm && other.place == span.place);
        let overlap = others.filter(|other| other.begun < span.ended && span.begun < other.ended).count();
        assert_eq!(overlap, 1, "a place has one CTA at a time");
    }
}

#[test]
fn what_cannot_be_modelled_is_named() {
    let mut device = h100();
    assert_eq!(device.set("l2.latancy=3"), Err(DeviceError::Unknown("l2.latancy".to_owned())));
    for change in ["gpu.sms=0", "gpu.sms=1000000", "l2.size=1099511627776", "l2.latency=-1", "l2.latency"] {
        assert!(matches!(device.set(change), Err(DeviceError::Wrong(..))), "{change}");
    }
    assert!(matches!(Device::read("name = \"x\""), Err(DeviceError::Missing(_))));
    let mut device = h100();
    device.opcodes.retain(|group| !group.names.iter().any(|name| name == "FADD"));
    let kernel = "[B------:R-:W-:Y:S15] FADD R0, R0, R0 ;\n[B------:R-:W-:Y:S15] EXIT ;\n";
    let (_, report) = run(kernel, 1, 32, 1, &device);
    assert_eq!(report.unwrap_err().to_string(), "the device's file says nothing of `FADD`");
    // Whose objects are other CTAs'.
    for copy in ["UBLKCP.S.S [UR4], [UR6], UR8", "UBLKCP.S.G.MULTICAST [UR4], [UR6], UR8"] {
        let kernel = format!("[B------:R-:W-:Y:S15] {copy} ;\n[B------:R-:W-:Y:S15] EXIT ;\n");
        let (_, report) = run(&kernel, 1, 32, 1, &h100());
        let name = copy.split(' ').next().unwrap();
        assert_eq!(report.unwrap_err().to_string(), format!("the device's file says nothing of `{name}`"));
    }
    // Round and round: the budget ends it.
    let kernel = ".L_again:\n[B------:R-:W-:Y:S15] NOP ;\n[B------:R-:W-:-:S05] BRA `(.L_again) ;\n";
    assert_eq!(run(kernel, 1, 32, 1, &h100()).1.unwrap_err(), Failure::Budget);
    // Nobody comes to the second barrier.
    let kernel = "[B------:R-:W-:Y:S15] BAR.SYNC.DEFER_BLOCKING 0x1, 0x40 ;\n[B------:R-:W-:Y:S15] EXIT ;\n";
    match run(kernel, 1, 32, 1, &h100()).1.unwrap_err() {
        Failure::Fault(fault) => assert_eq!(fault.kind, FaultKind::Deadlock),
        other => panic!("{other}"),
    }
}

#[test]
fn a_change_shows() {
    let kernel = row(64, "[B--2---:R-:W2:-:S02] MUFU.RCP R20, R20") + "[B--2---:R-:W-:Y:S15] EXIT ;\n";
    let cycles = |change: Option<&str>| {
        let mut device = h100();
        change.into_iter().for_each(|change| device.set(change).expect("a parameter"));
        run(&kernel, 1, 32, 1, &device).1.expect("it is modelled").cycles
    };
    // 64 results, each waited for: three cycles more each.
    assert_eq!(cycles(Some("MUFU.latency=20")), cycles(None) + 3 * 64);
}

/// Words that go round in memory, atomic operations whose results say where a warp goes on, barriers, and CTAs that come later: whatever SMs do
/// to one another.
#[test]
fn threads_of_the_host_do_not_matter() {
    let kernel = "\
        [B------:R-:W0:-:S02] LDC.64 R2, c[0x0][0x210] ;\n\
        [B------:R-:W0:-:S02] S2R R8, SR_TID.X ;\n\
        [B------:R-:W1:-:S02] S2R R9, SR_CTAID.X ;\n\
        [B------:R-:W-:Y:S15] ULDC.64 UR4, c[0x0][0x208] ;\n\
        [B------:R-:W-:Y:S15] MOV R12, 0x1 ;\n\
        [B01----:R-:W-:Y:S15] IMAD R9, R9, 0x40, R8 ;\n\
        [B------:R-:W-:Y:S15] IMAD.WIDE.U32 R4, R9, 0x4, R2 ;\n\
        [B------:R-:W3:-:S02] ATOMG.E.ADD.STRONG.GPU PT, R10, desc[UR4][R2.64], R12 ;\n\
        [B---3--:R-:W-:Y:S15] LOP3.LUT R11, R10, 0xf, RZ, 0xc0, !PT ;\n\
        .L_again:\n\
        [B------:R-:W2:-:S02] LDG.E R13, desc[UR4][R4.64] ;\n\
        [B--2---:R-:W-:Y:S15] IADD3 R13, R13, R10, RZ ;\n\
        [B------:R1:W-:-:S02] STG.E desc[UR4][R4.64+0x100], R13 ;\n\
        [B-1----:R-:W-:Y:S15] IADD3 R11, R11, -0x1, RZ ;\n\
        [B------:R-:W-:Y:S15] ISETP.GT.AND P0, PT, R11, RZ, PT ;\n\
        [B------:R-:W-:-:S05] @P0 BRA `(.L_again) ;\n\
        [B------:R-:W-:-:S05] BAR.SYNC.DEFER_BLOCKING 0x0 ;\n\
        [B------:R-:W-:-:S05] EXIT ;\n";
    let mut device = h100();
    for change in ["gpu.sms=16", "sm.ctas=2"] {
        device.set(change).expect("a parameter");
    }
    let words = 64 * 101;
    let one = run_on(kernel, 96, 64, words, &device, 1);
    let first = one.1.as_ref().expect("it is modelled");
    assert_eq!(one.0[0], 96 * 64, "each thread has added one");
    assert!(first.counters.l2_atomic > 0 && first.spans.len() == 96);
    for threads in [2, 5, 16] {
        let other = run_on(kernel, 96, 64, words, &device, threads);
        let report = other.1.expect("it is modelled");
        assert_eq!(other.0, one.0, "{threads} threads");
        assert_eq!((report.cycles, &report.counters), (first.cycles, &first.counters), "{threads} threads");
        assert_eq!((&report.lines, &report.spans), (&first.lines, &first.spans), "{threads} threads");
    }
}

/// Slices have pages as these lie in memory, whichever line of one is touched first.
#[test]
fn pages_begin_where_memory_has_them() {
    let cycles = |first: u32, page: u32| {
        let kernel = format!(
            "[B------:R-:W0:-:S02] LDC.64 R2, c[0x0][0x210] ;\n\
             [B------:R-:W1:-:S02] S2R R8, SR_TID.X ;\n\
             [B------:R-:W-:Y:S15] ULDC.64 UR4, c[0x0][0x208] ;\n\
             [B------:R-:W-:Y:S15] MOV R12, 0x1 ;\n\
             [B0-----:R-:W2:-:S02] LDG.E R13, desc[UR4][R2.64+{first:#x}] ;\n\
             [B-1----:R-:W-:Y:S15] IMAD.WIDE.U32 R4, R8, 0x20, R2 ;\n"
        ) + &format!(
            "[B--2---:R3:W-:-:S02] REDG.E.ADD.STRONG.GPU desc[UR4][R4.64+{:#x}], R12 ;\n",
            page * 0x1000
        )
        .repeat(16)
            + "[B---3--:R-:W-:Y:S15] EXIT ;\n";
        // 128 sectors of a page, by all CTAs.
        run(&kernel, 132, 128, 1024 * 26, &h100()).1.expect("it is modelled").cycles
    };
    for page in 1..=24 {
        assert_eq!(cycles(0, page), cycles(0x400, page), "page {page}");
    }
}
