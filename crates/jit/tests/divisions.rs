//! Quotients and remainders of integers, which compiled code makes of floats: against the host's integers.

mod common;

use common::Setting;
use jit::{Effort, Jit};
use machine::LaunchOptions;

const TYPES: [&str; 6] = ["u16", "s16", "u32", "s32", "u64", "s64"];

/// Pairs of a CTA.
const PAIRS: usize = 256;

/// A kernel that divides pairs, which lie beside one another, each by each, the first one by all, and all by the first.
fn text(operation: &str, ty: &str) -> String {
    let bits = &ty[1..];
    let forms = [("%a", "%b"), ("%first", "%b"), ("%a", "%divisor")];
    let code: String = forms
        .iter()
        .enumerate()
        .map(|(i, (a, b))| {
            format!("{operation}.{ty} %q, {a}, {b};\nst.global.b{bits} [%at+{}], %q;\n", 16 + 8 * i)
        })
        .collect();
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64
        .visible .entry divide(.param .u64 pairs) {{
        .reg .b{bits} %a, %b, %first, %divisor, %q;\n.reg .b32 %thread;\n.reg .b64 %all, %at;
        ld.param.u64 %all, [pairs];\nld.global.b{bits} %first, [%all];\nld.global.b{bits} %divisor, [%all+8];
        mov.u32 %thread, %tid.x;\nmad.wide.u32 %at, %thread, {ROW}, %all;
        ld.global.b{bits} %a, [%at];\nld.global.b{bits} %b, [%at+8];\n{code}ret;\n}}"
    )
}

/// Bytes of a pair and its results.
const ROW: usize = 40;

/// What PTX says: by zero all bits are ones, as is recorded of an H200; the least number by -1 wraps.
fn expected(operation: &str, ty: &str, a: u64, b: u64) -> u64 {
    let bits: u32 = ty[1..].parse().unwrap();
    let ones = u64::MAX >> (64 - bits);
    let wide = |x: u64| match ty.starts_with('s') {
        true => i128::from((x << (64 - bits)) as i64 >> (64 - bits)),
        false => i128::from(x & ones),
    };
    let (a, b) = (wide(a), wide(b));
    let result = match operation {
        _ if b == 0 => -1,
        "div" => a / b,
        _ => a % b,
    };
    result as u64 & ones
}

/// Numbers of any size, and those where something changes.
fn number(random: &mut fastrand::Rng) -> u64 {
    let edge = [0, 1, 15, 16, 31, 32, 52, 53, 63][random.usize(..9)];
    match random.u32(..4) {
        0 => (1u64 << edge).wrapping_add(random.u64(..4)).wrapping_sub(2),
        1 => (1u64 << edge).wrapping_neg().wrapping_add(random.u64(..3)),
        _ => random.u64(..) >> random.u32(..64),
    }
}

fn check(jit: &Jit, operation: &str, ty: &str, pairs: &[[u64; 2]]) {
    let setting = Setting::new(&text(operation, ty), PAIRS * ROW);
    for (i, [a, b]) in pairs.iter().enumerate() {
        let bytes = [a.to_le_bytes(), b.to_le_bytes()].concat();
        setting.device.memory().write(setting.buffer + (i * ROW) as u64, &bytes).expect("memory");
    }
    let launch = setting.launch("divide", 1, PAIRS as u32, &[]);
    let options = LaunchOptions { threads: 1, engine: Some(jit), ..LaunchOptions::default() };
    let report = setting.device.launch(&launch, &options).expect("a launch without fault");
    assert_eq!(report.compiled, Some(Ok(())));
    let words = setting.words(PAIRS * ROW / 4);
    let [first, divisor] = pairs[0];
    for (row, &[a, b]) in words.chunks_exact(ROW / 4).zip(pairs) {
        for (form, [a, b]) in [[a, b], [first, b], [a, divisor]].into_iter().enumerate() {
            let found = u64::from(row[4 + 2 * form]) | u64::from(row[5 + 2 * form]) << 32;
            assert_eq!(found, expected(operation, ty, a, b), "{operation}.{ty} of {a:#x} and {b:#x}");
        }
    }
}

#[test]
fn divisions_are_exact() {
    let mut random = fastrand::Rng::with_seed(52);
    for effort in [Effort::Quick, Effort::Full] {
        let jit = match Jit::find() {
            Ok(jit) => jit.always(effort),
            Err(why) => return eprintln!("skipped: {why}"),
        };
        for ty in TYPES {
            for _ in 0..8 {
                // Rows of small numbers take another way than those with a large one.
                let small = random.bool();
                let mut number =
                    || if small { number(&mut random) & ((1 << 52) - 1) } else { number(&mut random) };
                let pairs: Vec<[u64; 2]> = (0..PAIRS).map(|_| [number(), number()]).collect();
                ["div", "rem"].iter().for_each(|operation| check(&jit, operation, ty, &pairs));
            }
        }
    }
}
