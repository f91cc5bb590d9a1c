//! Kernels on both engines: memory must be the same afterwards.

use jit::{Effort, Jit};
use machine::compiled::Engine;
use machine::{Device, DeviceOptions, Launch, LaunchOptions, Profile};

/// A device with a module, buffers filled with a pattern, and what is in them after a launch.
fn run(
    text: &str,
    kernel: &str,
    grid: [u32; 3],
    block: [u32; 3],
    buffers: &[usize],
    numbers: &[u32],
    engine: Option<&dyn Engine>,
) -> Vec<Vec<u8>> {
    let source = ptx::source::Source::new("kernel.ptx", text);
    let (module, _) = ptx::compile(&source).into_result().expect("a correct module");
    let device = Device::new(Profile::default(), DeviceOptions::default()).expect("a device");
    let module = device.load(module).expect("a loaded module");
    let mut params = Vec::new();
    let mut places = Vec::new();
    for (seed, &bytes) in buffers.iter().enumerate() {
        let address = device.memory().allocate(bytes as u64).expect("memory");
        let pattern: Vec<u8> = (0..bytes / 4)
            .flat_map(|i| (1.0 + ((i * 7 + seed * 13) % 1000) as f32 / 64.0).to_le_bytes())
            .collect();
        device.memory().write(address, &pattern).expect("memory");
        params.extend(address.to_le_bytes());
        places.push((address, bytes));
    }
    numbers.iter().for_each(|n| params.extend(n.to_le_bytes()));
    let launch = Launch {
        kernel: module.kernel(kernel).expect("the kernel"),
        grid,
        block,
        cluster: None,
        nonportable_cluster: false,
        dynamic_shared: 0,
        params,
    };
    let options = LaunchOptions { threads: 1, engine, budget: Some(1 << 32), ..LaunchOptions::default() };
    let begun = std::time::Instant::now();
    let report = device.launch(&launch, &options).expect("a launch without fault");
    eprintln!(
        "{kernel}: {:?} first launch, {:?} of it running, {:?}",
        begun.elapsed(),
        report.elapsed,
        report.compiled
    );
    let mut times: Vec<_> = (0..5).map(|_| device.launch(&launch, &options).unwrap().elapsed).collect();
    times.sort();
    eprintln!("   median {:?}", times[2]);
    if engine.is_some() {
        assert_eq!(report.compiled, Some(Ok(())));
    }
    places
        .iter()
        .map(|&(address, bytes)| {
            let mut back = vec![0; bytes];
            device.memory().read(address, &mut back).expect("memory");
            back
        })
        .collect()
}

const SAXPY: &str = include_str!("kernels/saxpy.ptx");

fn both(text: &str, kernel: &str, grid: [u32; 3], block: [u32; 3], buffers: &[usize], numbers: &[u32]) {
    let expected = run(text, kernel, grid, block, buffers, numbers, None);
    for effort in [Effort::Quick, Effort::Full] {
        let jit = match Jit::find() {
            Ok(jit) => jit.always(effort),
            Err(why) => return eprintln!("skipped: {why}"),
        };
        let found = run(text, kernel, grid, block, buffers, numbers, Some(&jit));
        for (e, f) in expected.iter().zip(&found) {
            let differs = e.iter().zip(f).position(|(e, f)| e != f);
            assert_eq!(differs, None, "{kernel}, {effort:?}");
        }
    }
}

#[test]
fn saxpy() {
    both(SAXPY, "saxpy", [65536, 1, 1], [256, 1, 1], &[1 << 26, 1 << 26], &[2.0f32.to_bits(), (1 << 24) - 5]);
}

#[test]
fn bench_kernels() {
    let text = include_str!("../../bench-kernels/src/kernels.ptx");
    both(text, "integer", [8, 1, 1], [256, 1, 1], &[1 << 22], &[2000]);
    both(text, "floating", [8, 1, 1], [256, 1, 1], &[1 << 22], &[2000]);
    both(text, "divergent", [64, 1, 1], [256, 1, 1], &[1 << 22], &[128, 512]);
    both(text, "shared", [16, 16, 1], [16, 16, 1], &[1 << 18, 1 << 18, 1 << 22], &[256]);
}

#[test]
fn ordinary_kernels() {
    let text = include_str!("kernels/ordinary.ptx");
    let n = 1 << 18;
    both(text, "black_scholes", [n / 256, 1, 1], [256, 1, 1], &[4 << 18; 4], &[n - 3]);
    both(text, "nbody", [8, 1, 1], [256, 1, 1], &[16 << 11, 16 << 11], &[1 << 11]);
    both(text, "softmax", [256, 1, 1], [256, 1, 1], &[4 << 18, 4 << 18], &[1 << 10]);
    both(text, "histogram", [64, 1, 1], [256, 1, 1], &[1 << 10, 4 << 18], &[n]);
    both(text, "gather", [n / 256, 1, 1], [256, 1, 1], &[4 << 18; 3], &[n - 3]);
    both(text, "transpose", [16, 16, 1], [32, 8, 1], &[4 << 18, 4 << 18], &[1 << 9]);
    both(text, "halves", [n / 256, 1, 1], [256, 1, 1], &[4 << 18, 4 << 18], &[n - 3]);
    both(text, "array", [n / 256, 1, 1], [256, 1, 1], &[4 << 18, 4 << 18], &[n]);
}

/// Addresses by `or` and `xor`, with and without bits in common.
#[test]
fn bits_put_together() {
    let how = [
        "shl.b32 %r4, %r2, 8; or.b32 %r4, %r4, %r1;",
        "shl.b32 %r4, %r2, 3; or.b32 %r4, %r4, %r1;",
        "or.b32 %r4, %r1, 256;",
        "or.b32 %r4, %r1, 80;",
        "xor.b32 %r4, %r1, 64;",
        "xor.b32 %r4, %r1, 70;",
        "shl.b32 %r4, %r1, 2; or.b32 %r4, %r4, 3;",
        "shl.b32 %r4, %r1, 1; xor.b32 %r4, %r4, %r3;",
        "shl.b32 %r4, %r3, 6; or.b32 %r4, %r4, %r1; or.b32 %r4, %r4, 32;",
    ];
    let loads: String = how
        .map(|how| {
            format!(
                "{how}\nmul.wide.u32 %rd3, %r4, 4;\nadd.s64 %rd4, %rd1, %rd3;
                ld.global.u32 %r5, [%rd4];\nxor.b32 %r6, %r6, %r4;\nmad.lo.u32 %r6, %r6, 31, %r5;\n"
            )
        })
        .concat();
    let kernel = format!(
        ".version 8.0\n.target sm_80\n.address_size 64
        .visible .entry beside(.param .u64 in, .param .u64 out, .param .u32 number) {{
        .reg .b32 %r<8>;\n.reg .b64 %rd<6>;
        ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\nld.param.u32 %r3, [number];
        mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r6, 1;
        {loads}
        mov.u32 %r7, %ntid.x;\nmad.lo.u32 %r4, %r2, %r7, %r1;\nmul.wide.u32 %rd3, %r4, 4;
        add.s64 %rd4, %rd2, %rd3;\nst.global.u32 [%rd4], %r6;\nret;\n}}"
    );
    for threads in [32, 96, 250, 256] {
        both(&kernel, "beside", [5, 1, 1], [threads, 1, 1], &[1 << 16, 5 * 4 * 256], &[9]);
    }
    both(&kernel, "beside", [5, 1, 1], [16, 6, 1], &[1 << 16, 5 * 4 * 256], &[9]);
}

/// Predicates that follow from thread numbers, read before and behind a barrier: each comparison, and numbers around those at
/// which it changes.
#[test]
fn comparisons_of_thread_numbers() {
    let types =
        [("s32", ["eq", "ne", "lt", "le", "gt", "ge"]), ("u32", ["eq", "ne", "lo", "ls", "hi", "hs"])];
    let operands = [
        ["%r1", "0"],
        ["%r1", "5"],
        ["%r1", "31"],
        ["%r1", "32"],
        ["33", "%r1"],
        ["%r1", "-3"],
        ["%r4", "%r1"],
        ["%r4", "70"],
        ["%r5", "%r4"],
        ["%r3", "2"],
        ["%r1", "%r3"],
    ];
    let (mut compares, mut reads, mut count) = (String::new(), String::new(), 0);
    for (ty, comparisons) in types {
        for (cmp, [a, b]) in comparisons.iter().flat_map(|cmp| operands.map(|operands| (cmp, operands))) {
            compares += &format!("setp.{cmp}.{ty} %p{count}, {a}, {b};\n");
            reads += &format!("mul.lo.u32 %r6, %r6, 3;\n@%p{count} add.u32 %r6, %r6, 1;\n");
            if count % 8 == 0 {
                reads += &format!("@!%p{count} bra L{count};\nst.shared.u32 [%r7], %r6;\nL{count}:\n");
            }
            count += 1;
        }
    }
    let kernel = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.shared .align 4 .b8 words[4096];
        .visible .entry compares(.param .u64 out) {{
        .reg .pred %p<{count}>;\n.reg .b32 %r<12>;\n.reg .b64 %rd<6>;
        ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %tid.y;
        mad.lo.u32 %r4, %r1, 3, 2;\nsub.u32 %r5, 90, %r1;\nmov.u32 %r6, 1;
        mov.u32 %r8, %ntid.x;\nmad.lo.u32 %r9, %r3, %r8, %r1;\nshl.b32 %r7, %r9, 2;\nmov.u32 %r10, words;
        add.u32 %r7, %r7, %r10;\nst.shared.u32 [%r7], %r9;
        {compares}
        {reads}
        bar.sync 0;
        {}
        ld.shared.u32 %r11, [%r7];\nadd.u32 %r6, %r6, %r11;
        mad.lo.u32 %r9, %r2, 256, %r9;\nmul.wide.u32 %rd2, %r9, 4;\nadd.s64 %rd3, %rd1, %rd2;
        st.global.u32 [%rd3], %r6;\nret;\n}}",
        reads.replace("L", "M"),
    );
    for block in [[32, 1, 1], [96, 1, 1], [250, 1, 1], [16, 6, 1], [32, 3, 1], [24, 5, 1]] {
        both(&kernel, "compares", [2, 1, 1], block, &[2 * 4 * 256], &[]);
    }
}

/// Elements one behind the other at scattered places: of all sizes, by vectors and one by one in any order, with a store between, under a
/// guard, by some lanes, in every memory.
#[test]
fn scattered_neighbours() {
    const WORDS: [&str; 6] = [
        "ld.SPACE.v4.u32 {%r10, %r11, %r12, %r13}, [%rd4];",
        "ld.SPACE.u32 %r12, [%rd4+8];\nld.SPACE.u32 %r10, [%rd4];\nld.SPACE.u32 %r13, [%rd4+12];\nld.SPACE.u32 %r11, [%rd4+4];",
        "ld.SPACE.u32 %r10, [%rd4];\nst.SPACE.u32 [%rd4+4], %r10;\nld.SPACE.u32 %r11, [%rd4+4];\nld.SPACE.v2.u32 {%r12, %r13}, [%rd4+8];",
        "ld.SPACE.v2.u64 {%rd5, %rd6}, [%rd4];\nmov.b64 {%r10, %r11}, %rd5;\nmov.b64 {%r12, %r13}, %rd6;",
        "ld.SPACE.u32 %r10, [%rd4];\n@%p1 ld.SPACE.u32 %r11, [%rd4+4];\nld.SPACE.u32 %r12, [%rd4+20];\nld.SPACE.u32 %r13, [%rd4+16];",
        "ld.SPACE.v4.u8 {%s1, %s2, %s3, %s4}, [%rd4];\ncvt.u32.u16 %r10, %s1;\ncvt.u32.u16 %r11, %s4;
        ld.SPACE.v2.u16 {%s1, %s2}, [%rd4+4];\ncvt.u32.u16 %r12, %s1;\ncvt.u32.u16 %r13, %s2;",
    ];
    let sum = "mad.lo.u32 %r6, %r6, 31, %r10;\nmad.lo.u32 %r6, %r6, 31, %r11;\nmad.lo.u32 %r6, %r6, 31, %r12;\nmad.lo.u32 %r6, %r6, 31, %r13;";
    let of = |space: &str| WORDS.map(|words| words.replace("SPACE", space) + "\n" + sum + "\n").concat();
    let (global, local) = (of("global"), of("local"));
    // Threads share places there, which none may write.
    let reads = WORDS.iter().filter(|words| !words.contains("st."));
    let shared: String = reads.map(|words| words.replace("SPACE", "shared") + "\n" + sum + "\n").collect();
    let eight: String = (0..8)
        .map(|n| format!("ld.global.u32 %r10, [%rd4+{}];\nmad.lo.u32 %r6, %r6, 31, %r10;\n", 4 * (7 - n)))
        .collect();
    let doubles: String = (0..4)
        .map(|n| format!("ld.global.u64 %rd5, [%rd4+{}];\nxor.b64 %rd7, %rd7, %rd5;\n", 8 * n))
        .collect();
    let kernel = format!(
        ".version 8.0\n.target sm_80\n.address_size 64
        .visible .entry neighbours(.param .u64 in, .param .u64 out) {{
        .reg .pred %p<5>;\n.reg .b16 %s<5>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<12>;
        .shared .align 16 .b8 rows[2048];\n.local .align 16 .b8 own[256];
        ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];
        mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r6, 1;\nmov.u64 %rd7, 0;
        mov.u32 %r11, 0;\nmov.u32 %r3, %ntid.x;\nmad.lo.u32 %r3, %r2, %r3, %r1;
        mul.lo.u32 %r4, %r3, 40503;\nshr.u32 %r4, %r4, 3;\nand.b32 %r4, %r4, 63;
        setp.gt.u32 %p1, %r4, 20;\nsetp.lt.u32 %p2, %r4, 50;
        mul.wide.u32 %rd8, %r3, 2048;\nadd.s64 %rd8, %rd8, %rd1;\nmul.wide.u32 %rd3, %r4, 16;\nadd.s64 %rd4, %rd8, %rd3;
        {global}{eight}{doubles}
        mul.lo.u32 %r5, %r1, 8;\nmov.u64 %rd9, rows;\nmul.wide.u32 %rd5, %r1, 8;\nadd.s64 %rd9, %rd9, %rd5;\nst.shared.u32 [%rd9], %r6;
        st.shared.u32 [%rd9+4], %r3;\nbar.sync 0;
        mov.u64 %rd9, rows;\nadd.s64 %rd4, %rd9, %rd3;
        @!%p2 bra no_shared;\n{shared}{sum}\nno_shared:
        mov.u64 %rd9, own;\nst.local.v4.u32 [%rd9], {{%r1, %r2, %r3, %r4}};\nst.local.v4.u32 [%rd9+16], {{%r6, %r2, %r3, %r4}};
        st.local.v4.u32 [%rd9+32], {{%r1, %r6, %r3, %r4}};\nst.local.v4.u32 [%rd9+48], {{%r1, %r2, %r6, %r4}};
        and.b32 %r5, %r4, 1;\nmul.wide.u32 %rd3, %r5, 16;\nadd.s64 %rd4, %rd9, %rd3;
        {local}
        mul.wide.u32 %rd3, %r3, 16;\nadd.s64 %rd4, %rd2, %rd3;
        mov.b64 {{%r7, %r8}}, %rd7;\nxor.b32 %r7, %r7, %r8;\nst.global.v2.u32 [%rd4], {{%r6, %r7}};\nret;\n}}"
    );
    for threads in [32, 96, 250, 16] {
        let bytes = 2 * threads as usize;
        both(&kernel, "neighbours", [2, 1, 1], [threads, 1, 1], &[2048 * bytes, 16 * bytes], &[]);
    }
}

/// Numbers of threads in 16 bits, as compilers write small sums: with and without a sign, too large for their bits, and through a loop.
#[test]
fn thread_numbers_in_halves() {
    const SUMS: [&str; 9] = [
        "shl.b16 %s3, %s2, 4;\nadd.s16 %s4, %s3, %s1;",
        "mul.lo.u16 %s3, %s2, 300;\nadd.u16 %s4, %s3, %s1;",
        "mul.lo.s16 %s3, %s1, 9000;\nadd.s16 %s4, %s3, %s2;",
        "sub.s16 %s4, %s1, %s2;",
        "mad.lo.s16 %s4, %s1, 16, %s2;",
        "or.b16 %s4, %s1, 64;",
        "shl.b16 %s4, %s1, 15;",
        "mov.u16 %s4, %s1;\n@%p1 mov.u16 %s4, %s2;",
        "add.u16 %s4, %s1, 65530;",
    ];
    let sums = SUMS
        .map(|sum| {
            format!(
                "{sum}\ncvt.u32.u16 %r5, %s4;\nmad.lo.u32 %r6, %r6, 31, %r5;\ncvt.s32.s16 %r7, %s4;\nmad.lo.u32 %r6, %r6, 31, %r7;
                setp.lt.s16 %p2, %s4, 200;\nselp.u32 %r7, %r5, 3, %p2;\nmad.lo.u32 %r6, %r6, 31, %r7;
                mul.wide.u16 %r7, %s4, 3;\nmad.lo.u32 %r6, %r6, 31, %r7;\ncvt.u64.u16 %rd4, %s4;\nand.b64 %rd4, %rd4, 255;
                shl.b64 %rd4, %rd4, 2;\nadd.s64 %rd4, %rd1, %rd4;\nld.global.u32 %r7, [%rd4];\nmad.lo.u32 %r6, %r6, 31, %r7;\n"
            )
        });
    let kernel = ".version 8.0\n.target sm_80\n.address_size 64
        .visible .entry numbers(.param .u64 in, .param .u64 out) {
        .reg .pred %p<3>;\n.reg .b16 %s<5>;\n.reg .b32 %r<10>;\n.reg .b64 %rd<6>;
        ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];
        mov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\nmov.u32 %r6, 1;\nsetp.gt.u32 %p1, %r1, 5;
        cvt.u16.u32 %s1, %r1;\ncvt.u16.u32 %s2, %r2;
        SUMS
        mov.u32 %r3, %ntid.x;\nmad.lo.u32 %r3, %r2, %r3, %r1;
        mul.wide.u32 %rd3, %r3, 4;\nadd.s64 %rd3, %rd2, %rd3;\nst.global.u32 [%rd3], %r6;\nret;\n}";
    // Each in a kernel of its own: a register with several definitions is not followed.
    for (sum, block) in
        sums.iter().zip([[32, 4, 1], [16, 16, 1], [250, 1, 1], [48, 3, 1]].into_iter().cycle())
    {
        both(&kernel.replace("SUMS", sum), "numbers", [1, 1, 1], block, &[1 << 12, 1 << 12], &[]);
    }
}

/// Addresses by an index that each thread has loaded: with and without a sign, scaled in every way, kept over a barrier and
/// through a loop that threads leave one by one, and read as numbers.
#[test]
fn scattered_indices() {
    const ADDRESSES: [&str; 12] = [
        "mul.wide.s32 %rd3, %r5, 4;\nadd.s64 %rd4, %rd1, %rd3;",
        "mul.wide.u32 %rd3, %r4, 4;\nadd.s64 %rd4, %rd2, %rd3;",
        "cvt.s64.s32 %rd3, %r5;\nshl.b64 %rd3, %rd3, 2;\nadd.s64 %rd4, %rd3, %rd1;",
        "mad.wide.s32 %rd4, %r5, 8, %rd1;",
        "mad.wide.u32 %rd4, %r4, 4, %rd2;\nadd.s64 %rd4, %rd4, 16;",
        "cvt.u64.u32 %rd3, %r4;\nmul.lo.s64 %rd3, %rd3, 12;\nadd.s64 %rd4, %rd2, %rd3;",
        "mul.wide.s32 %rd3, %r5, 4;\nsub.s64 %rd4, %rd1, %rd3;",
        "mul.wide.s32 %rd3, %r5, -4;\nadd.s64 %rd4, %rd1, %rd3;",
        "mul.wide.u32 %rd3, %r4, 4;\nadd.s64 %rd3, %rd3, %rd3;\nadd.s64 %rd4, %rd2, %rd3;",
        "mul.wide.s32 %rd3, %r5, 4;\ncvt.u32.u64 %r8, %rd3;\nxor.b32 %r6, %r6, %r8;\nadd.s64 %rd4, %rd1, %rd3;",
        "mul.wide.s32 %rd3, %r5, 4;\nxor.b64 %rd5, %rd3, -4;\nadd.s64 %rd4, %rd1, %rd5;",
        "mul.wide.s32 %rd3, %r5, 4;\nadd.s64 %rd4, %rd1, %rd3;\n@%p1 add.s64 %rd4, %rd4, 8;",
    ];
    let loads = ADDRESSES
        .map(|address| {
            format!(
                "{address}\nld.global.u32 %r7, [%rd4];\nmad.lo.u32 %r6, %r6, 31, %r7;
                ld.global.u32 %r7, [%rd4+4];\nmad.lo.u32 %r6, %r6, 31, %r7;
                ld.global.s8 %r7, [%rd4+-3];\nmad.lo.u32 %r6, %r6, 31, %r7;
                @%p2 ld.global.u16 %r7, [%rd4+2];\nmad.lo.u32 %r6, %r6, 31, %r7;\n"
            )
        })
        .concat();
    let kernel = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.shared .align 4 .b8 words[1024];
        .visible .entry indices(.param .u64 in, .param .u64 out, .param .u32 number) {{
        .reg .pred %p<5>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<12>;
        ld.param.u64 %rd2, [in];\nld.param.u64 %rd8, [out];\nld.param.u32 %r3, [number];
        mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r6, 1;
        add.s64 %rd2, %rd2, 64;\nadd.s64 %rd1, %rd2, 65536;
        setp.eq.u32 %p1, %r3, 9;
        mad.lo.u32 %r9, %r2, 256, %r1;\nmul.wide.u32 %rd6, %r9, 4;\nadd.s64 %rd7, %rd2, %rd6;
        ld.global.u32 %r4, [%rd7];\nshr.u32 %r4, %r4, 11;\nand.b32 %r4, %r4, 4095;\nsub.s32 %r5, %r4, 2048;
        setp.gt.s32 %p2, %r5, 100;
        {loads}
        mul.wide.s32 %rd3, %r5, 4;\nadd.s64 %rd4, %rd1, %rd3;\nand.b32 %r10, %r4, 7;
        ROUND: ld.global.u32 %r7, [%rd4+-4];\nmad.lo.u32 %r6, %r6, 17, %r7;\nadd.s64 %rd4, %rd4, 4;
        add.s32 %r10, %r10, -1;\nsetp.gt.s32 %p3, %r10, 0;\n@%p3 bra ROUND;
        xor.b32 %r11, %r1, 21;\nmul.wide.u32 %rd9, %r11, 4;\nmov.u64 %rd10, words;\nadd.s64 %rd11, %rd10, %rd9;
        mul.wide.u32 %rd5, %r4, 4;\nadd.s64 %rd5, %rd5, %rd2;
        st.shared.u32 [%rd11], %r6;\nbar.sync 0;
        ld.shared.u32 %r7, [%rd11];\nmad.lo.u32 %r6, %r6, 31, %r7;
        ld.global.u32 %r7, [%rd5];\nmad.lo.u32 %r6, %r6, 31, %r7;
        mul.wide.u32 %rd3, %r9, 4;\nadd.s64 %rd4, %rd8, %rd3;\nst.global.u32 [%rd4], %r6;\nret;\n}}"
    );
    for threads in [32, 64, 224, 256] {
        both(&kernel, "indices", [5, 1, 1], [threads, 1, 1], &[1 << 17, 5 * 4 * 256], &[9]);
    }
}

/// The first warp waits by plain loads for what the second stores: the interpreter lets both run.
#[test]
fn a_loop_that_only_memory_ends_is_interpreted() {
    let jit = match Jit::find() {
        Ok(jit) => jit,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    let source = ptx::source::Source::new("waits.ptx", include_str!("kernels/waits.ptx"));
    let (module, _) = ptx::compile(&source).into_result().expect("a correct module");
    let device = Device::new(Profile::default(), DeviceOptions::default()).expect("a device");
    let module = device.load(module).expect("a loaded module");
    let flag = device.memory().allocate(4).expect("memory");
    device.memory().write(flag, &[0; 4]).expect("memory");
    let launch = Launch {
        kernel: module.kernel("waits").expect("the kernel"),
        grid: [1, 1, 1],
        block: [64, 1, 1],
        cluster: None,
        nonportable_cluster: false,
        dynamic_shared: 0,
        params: flag.to_le_bytes().to_vec(),
    };
    let options = LaunchOptions { engine: Some(&jit), budget: Some(1 << 28), ..LaunchOptions::default() };
    let report = device.launch(&launch, &options).expect("a launch without fault");
    assert_eq!(report.compiled, Some(Err("a loop that may wait for other threads".to_owned())));
}

/// What threads tell one another in shared memory, in steps with barriers between them: from below, from above, from the mirrored place, by
/// trees, by stores elsewhere; by guards and by branches. In some orders of rows barriers can be left out, in others not.
#[test]
fn exchanges_in_shared_memory() {
    let mut random = fastrand::Rng::with_seed(7);
    for threads in [256, 96, 128, 224] {
        let (mut kernels, count) = (String::from(".version 8.0\n.target sm_80\n.address_size 64\n"), 4);
        for number in 0..count {
            let steps: String = (0..6).map(|step| exchange(&mut random, threads, step)).collect();
            kernels += &format!(
                ".visible .entry exchange{number}(.param .u64 in, .param .u64 out) {{
                .reg .pred %p<6>;\n.reg .b32 %r<13>;\n.reg .b64 %rd<6>;\n.shared .align 4 .b8 words[{bytes}];
                ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];
                mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmad.lo.u32 %r3, %r2, {threads}, %r1;
                mul.wide.u32 %rd3, %r3, 4;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;
                ld.global.u32 %r4, [%rd4];\nmov.u32 %r11, words;\nshl.b32 %r6, %r1, 2;\nadd.u32 %r5, %r11, %r6;
                sub.u32 %r7, {last}, %r1;\nshl.b32 %r12, %r7, 2;\nadd.u32 %r8, %r11, %r12;
                st.shared.u32 [%r5], %r4;\nbar.sync 0;
                {steps}
                ld.shared.u32 %r4, [%r5];\nst.global.u32 [%rd5], %r4;\nret;\n}}\n",
                bytes = 4 * threads,
                last = threads - 1,
            );
        }
        for number in 0..count {
            let bytes = 3 * 4 * threads as usize;
            let name = format!("exchange{number}");
            both(&kernels, &name, [3, 1, 1], [threads, 1, 1], &[bytes, bytes], &[]);
        }
    }
}

/// A step in which each word is written by one thread, and read by none meanwhile.
fn exchange(random: &mut fastrand::Rng, threads: u32, step: usize) -> String {
    let by = random.u32(1..threads);
    let guarded = |condition: String, what: &str, branches: bool| match branches {
        true => format!("setp.{condition};\n@!%p{step} bra L{step};\n{what}\nL{step}:\n"),
        false => {
            let guarded: String = what.lines().map(|line| format!("@%p{step} {line}\n")).collect();
            format!("setp.{condition};\n{guarded}")
        }
    };
    let branches = random.bool();
    let own = "ld.shared.u32 %r10, [%r5];\nmad.lo.u32 %r10, %r10, 3, %r9;\nst.shared.u32 [%r5], %r10;\n";
    let loads = |condition: String, from: String| {
        let load = guarded(condition, &format!("ld.shared.u32 %r9, [{from}];"), branches);
        format!("mov.u32 %r9, 5;\n{load}bar.sync 0;\n{own}bar.sync 0;\n")
    };
    match random.u32(0..5) {
        0 => loads(format!("ge.u32 %p{step}, %r1, {by}"), format!("%r5+-{}", 4 * by)),
        1 => loads(format!("lt.u32 %p{step}, %r1, {}", threads - by), format!("%r5+{}", 4 * by)),
        2 => loads(format!("ne.u32 %p{step}, %r1, {by}"), "%r8".to_owned()),
        3 => {
            let half = by.min(threads / 2);
            let adds = format!(
                "ld.shared.u32 %r9, [%r5+{}];\nld.shared.u32 %r10, [%r5];\nadd.u32 %r10, %r10, %r9;\nst.shared.u32 [%r5], %r10;",
                4 * half
            );
            format!("{}bar.sync 0;\n", guarded(format!("lt.u32 %p{step}, %r1, {half}"), &adds, branches))
        }
        _ => {
            let store = format!("st.shared.u32 [%r5+{}], %r10;", 4 * by);
            let store = guarded(format!("lt.u32 %p{step}, %r1, {}", threads - by), &store, branches);
            format!(
                "ld.shared.u32 %r10, [%r5];\nmad.lo.u32 %r10, %r10, 5, %r1;\nbar.sync 0;\n{store}bar.sync 0;\n"
            )
        }
    }
}
