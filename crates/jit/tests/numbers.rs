//! Instructions on floats, and chains of carries, that have code of their own, against the interpreter: on all pairs of awkward numbers, and on random
//! ones. What the interpreter computes of them is recorded of an H200.

mod common;

use common::Setting;
use jit::{Effort, Jit};
use machine::LaunchOptions;
use machine::compiled::Engine;

/// An instruction, the bits of its result, and those of its operands.
const INSTRUCTIONS: [(&str, u32, &[u32]); 61] = [
    ("neg.f64", 64, &[64]),
    ("abs.f64", 64, &[64]),
    ("neg.ftz.f32", 32, &[32]),
    ("abs.ftz.f32", 32, &[32]),
    ("min.f64", 64, &[64, 64]),
    ("max.f64", 64, &[64, 64]),
    ("copysign.f32", 32, &[32, 32]),
    ("copysign.f64", 64, &[64, 64]),
    ("rcp.rn.f64", 64, &[64]),
    ("cvt.rn.f32.f64", 32, &[64]),
    ("cvt.f64.f32", 64, &[32]),
    ("cvt.sat.f32.f32", 32, &[32]),
    ("cvt.ftz.f32.f32", 32, &[32]),
    ("cvt.ftz.sat.f32.f32", 32, &[32]),
    ("cvt.rni.f64.f64", 64, &[64]),
    ("cvt.rzi.f64.f64", 64, &[64]),
    ("cvt.rmi.f64.f64", 64, &[64]),
    ("cvt.rpi.f64.f64", 64, &[64]),
    ("cvt.rni.s32.f64", 32, &[64]),
    ("cvt.rzi.u32.f64", 32, &[64]),
    ("cvt.rmi.s64.f64", 64, &[64]),
    ("cvt.rpi.u64.f64", 64, &[64]),
    ("cvt.rzi.s64.f64", 64, &[64]),
    ("cvt.rni.s64.f32", 64, &[32]),
    ("cvt.rzi.u64.f32", 64, &[32]),
    ("cvt.rmi.ftz.u64.f32", 64, &[32]),
    ("cvt.rzi.s32.f32", 32, &[32]),
    ("add.rm.f32", 32, &[32, 32]),
    ("add.rp.f32", 32, &[32, 32]),
    ("add.rz.f32", 32, &[32, 32]),
    ("add.rm.sat.f32", 32, &[32, 32]),
    ("sub.rm.f32", 32, &[32, 32]),
    ("sub.rp.f32", 32, &[32, 32]),
    ("sub.rz.f32", 32, &[32, 32]),
    ("mul.rm.f32", 32, &[32, 32]),
    ("mul.rp.f32", 32, &[32, 32]),
    ("mul.rz.f32", 32, &[32, 32]),
    ("mul.rz.sat.f32", 32, &[32, 32]),
    ("fma.rm.f32", 32, &[32, 32, 32]),
    ("fma.rp.f32", 32, &[32, 32, 32]),
    ("fma.rz.f32", 32, &[32, 32, 32]),
    ("fma.rp.sat.f32", 32, &[32, 32, 32]),
    ("min.f32", 32, &[32, 32]),
    ("max.f32", 32, &[32, 32]),
    ("neg.f32", 32, &[32]),
    ("abs.f32", 32, &[32]),
    ("add.rn.f64", 64, &[64, 64]),
    ("sub.rn.f64", 64, &[64, 64]),
    ("mul.rn.f64", 64, &[64, 64]),
    ("div.rn.f64", 64, &[64, 64]),
    ("fma.rn.f64", 64, &[64, 64, 64]),
    ("sqrt.rn.f64", 64, &[64]),
    ("rcp.rn.f32", 32, &[32]),
    ("add.cc.u32 %r, %a0, %a1; addc.cc.u32 %r, %a1, %a0; addc.u32", 32, &[32, 32]),
    ("sub.cc.u32 %r, %a0, %a1; subc.cc.u32 %r, %r, %a0; subc.s32", 32, &[32, 32]),
    ("mad.lo.cc.u32 %r, %a0, %a1, %a2; madc.hi.cc.u32 %r, %a0, %a1, %r; madc.lo.u32", 32, &[32, 32, 32]),
    ("mad.hi.cc.s32 %r, %a0, %a1, %a2; madc.lo.cc.s32 %r, %a0, %r, %a1; madc.hi.s32", 32, &[32, 32, 32]),
    ("add.cc.u64 %r, %a0, %a1; addc.cc.u64 %r, %a1, %a0; addc.u64", 64, &[64, 64]),
    ("sub.cc.u64 %r, %a0, %a1; subc.cc.s64 %r, %r, %a0; subc.u64", 64, &[64, 64]),
    ("mad.lo.cc.u64 %r, %a0, %a1, %a2; madc.hi.cc.u64 %r, %a0, %a1, %r; madc.lo.u64", 64, &[64, 64, 64]),
    ("mad.hi.cc.s64 %r, %a0, %a1, %a2; madc.hi.s64", 64, &[64, 64, 64]),
];

/// Threads of a CTA, each with three operands of 64 bits and two results.
const ROWS: usize = 1024;
const ROW: usize = 40;

/// A kernel that executes an instruction on each thread's operands, and on the first thread's.
fn text(instruction: &str, result: u32, operands: &[u32]) -> String {
    let load = |base: &str, name: &str| -> String {
        let one = |(i, bits): (usize, &u32)| format!("ld.global.b{bits} %{name}{i}, [{base}+{}];\n", 8 * i);
        operands.iter().enumerate().map(one).collect()
    };
    let declare = |(i, bits): (usize, &u32)| format!(".reg .b{bits} %a{i}, %u{i};\n");
    let list = |name: &str| (0..operands.len()).map(|i| format!("%{name}{i}")).collect::<Vec<_>>().join(", ");
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64
        .visible .entry compute(.param .u64 rows) {{
        .reg .b{result} %r;\n.reg .b32 %thread;\n.reg .b64 %all, %at;\n{}
        ld.param.u64 %all, [rows];\nmov.u32 %thread, %tid.x;\nmad.wide.u32 %at, %thread, {ROW}, %all;\n{}{}
        {instruction} %r, {};\nst.global.b{result} [%at+24], %r;
        {instruction} %r, {};\nst.global.b{result} [%at+32], %r;\nret;\n}}",
        operands.iter().enumerate().map(declare).collect::<String>(),
        load("%at", "a"),
        load("%all", "u"),
        list("a"),
        list("u"),
    )
}

/// Numbers at which something changes, as bits.
fn awkward(bits: u32) -> Vec<u64> {
    let doubles = [
        0.0,
        0.3,
        0.5,
        1.0,
        1.5,
        2.5,
        3.0,
        255.5,
        2147483646.5,
        2147483647.0,
        2147483647.5,
        2147483648.0,
        4294967294.5,
        4294967295.0,
        4294967295.5,
        4294967296.0,
        4503599627370495.5,
        9007199254740993.0,
        9223372036854774784.0,
        9223372036854775808.0,
        18446744073709549568.0,
        18446744073709551616.0,
        1e-45,
        1e-40,
        3.4e38,
        3.5e38,
        1e300,
        f64::MIN_POSITIVE,
        f64::from(f32::MIN_POSITIVE),
        f64::INFINITY,
    ];
    let patterns = match bits {
        32 => vec![1, 0x007f_ffff, 0x0080_0000, 0x7f7f_ffff, 0x7f80_0001, 0x7fc0_1234, 0x7fff_ffff],
        _ => vec![
            1,
            0x000f_ffff_ffff_ffff,
            0x7fef_ffff_ffff_ffff,
            0x7ff0_0000_0000_0001,
            0x7ff8_1234_5678_9abc,
            0x7fff_ffff_ffff_ffff,
            0x3690_0000_0000_0001,
            0x380f_ffff_e000_0000,
        ],
    };
    let of = |number: f64| match bits {
        32 => u64::from((number as f32).to_bits()),
        _ => number.to_bits(),
    };
    let positive: Vec<u64> = doubles.into_iter().map(of).chain(patterns).collect();
    positive.iter().flat_map(|&bits_of| [bits_of, bits_of | 1 << (bits - 1)]).collect()
}

/// What a kernel leaves in its buffer.
fn run(setting: &Setting, input: &[u8], engine: Option<&dyn Engine>) -> Vec<u32> {
    setting.device.memory().write(setting.buffer, input).expect("memory");
    let launch = setting.launch("compute", 1, ROWS as u32, &[]);
    let options = LaunchOptions { threads: 1, engine, ..LaunchOptions::default() };
    let report = setting.device.launch(&launch, &options).expect("a launch without fault");
    if engine.is_some() {
        assert_eq!(report.compiled, Some(Ok(())));
    }
    setting.words(ROWS * ROW / 4)
}

#[test]
fn both_engines_compute_the_same() {
    let jit = match Jit::find() {
        Ok(jit) => jit.always(Effort::Quick),
        Err(why) => return eprintln!("skipped: {why}"),
    };
    let mut random = fastrand::Rng::with_seed(29);
    for (instruction, result, operands) in INSTRUCTIONS {
        let setting = Setting::new(&text(instruction, result, operands), ROWS * ROW);
        let all = operands.iter().map(|&bits| awkward(bits)).collect::<Vec<_>>();
        let count: usize = all.iter().map(Vec::len).product();
        // Each combination of awkward numbers once, of three every seventeenth; behind them random ones near one another.
        let step = if operands.len() == 3 { 17 } else { 1 };
        let mut chosen: Vec<[u64; 3]> = (0..count)
            .step_by(step)
            .map(|mut n| {
                let mut row = [0; 3];
                for (operand, numbers) in row.iter_mut().zip(&all) {
                    (*operand, n) = (numbers[n % numbers.len()], n / numbers.len());
                }
                row
            })
            .collect();
        for _ in 0..4 * ROWS {
            let scale = random.u64(..);
            chosen.push([0, 1, 2].map(|i| match operands.get(i) {
                Some(32) => u64::from((scale >> 20) as u32 ^ random.u32(..) >> random.u32(..32)),
                _ => scale ^ random.u64(..) >> random.u32(..64),
            }));
        }
        for rows in chosen.chunks(ROWS) {
            let mut input = vec![0; ROWS * ROW];
            for (bytes, row) in input.chunks_exact_mut(ROW).zip(rows) {
                for (place, operand) in bytes.chunks_exact_mut(8).zip(row) {
                    place.copy_from_slice(&operand.to_le_bytes());
                }
            }
            let (interpreted, compiled) = (run(&setting, &input, None), run(&setting, &input, Some(&jit)));
            for (at, (a, b)) in interpreted.chunks(ROW / 4).zip(compiled.chunks(ROW / 4)).enumerate() {
                assert_eq!(a, b, "{instruction} of {:x?}", rows.get(at));
            }
        }
    }
}
