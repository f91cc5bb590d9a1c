//! Against [`dot`], which the H200's recordings judge.

use super::{Arithmetic, Config, Floats, Integers, Kind, LANES, Operand};
use crate::rounding::Mode;
use crate::tensor::{Accumulator, BitOperation, Unit, dot};

fn config(operand: Operand, accumulator: Accumulator) -> Config {
    Config {
        a: operand,
        b: operand,
        c: accumulator,
        d: accumulator,
        unit: Unit::Mma,
        satfinite: false,
        rounding: Mode::NearestEven,
        bits: BitOperation::Xor,
    }
}

/// Numbers that look random.
fn numbers() -> impl FnMut() -> u32 {
    let mut state = 1_u64;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as u32
    }
}

/// Operands of dot products: words with one element at `shift`.
struct Operands {
    a: Vec<[u32; LANES]>,
    b: Vec<[u32; 8]>,
    c: [[u32; LANES]; 2],
    shift: u32,
}

/// Whether what is computed side by side is right; `None` if it is left to others.
fn agree<A: Arithmetic>(config: &Config, operands: &Operands) -> Option<bool> {
    let Operands { a, b, c, shift } = operands;
    assert!(Kind::of(config, a.len()).is_some());
    let rows: Vec<_> = a.iter().map(|words| A::decode(config.a, words, *shift)).collect();
    let columns: Vec<_> = b.iter().map(|words| A::decode(config.b, words, *shift)).collect();
    let sums = A::sums::<8, 2>(config, &rows, &columns, c.each_ref())?;
    Some((0..2).all(|p| {
        (0..LANES).all(|l| {
            let of_a: Vec<_> = a.iter().map(|words| config.a.decode(u64::from(words[l] >> shift))).collect();
            let of_b: Vec<_> =
                b.iter().map(|words| config.b.decode(u64::from(words[4 * p + l % 4] >> shift))).collect();
            u64::from(sums[p][l]) == dot(config, &of_a, &of_b, u64::from(c[p][l]))
        })
    }))
}

#[test]
fn each_lane_is_a_dot_product_of_floats() {
    let mut random = numbers();
    let mut compared = [0; 3];
    for round in 0..12_000 {
        let (kind, exponents) = (round % 3, round / 3);
        let operand = [Operand::F16, Operand::Bf16, Operand::Tf32][kind];
        let (mantissa, bias, upper) = [(10, 15, 0), (7, 127, 0), (10, 127, 13)][kind];
        // Of one exponent in some rounds, so that sums cancel; of any in others, where all but `.f16` are often refused.
        let spread = [1, 4, 12, if kind == 0 { 29 } else { 60 }, 255][exponents % 5];
        let least = if kind == 0 && spread > 12 { 0 } else { bias - spread / 2 };
        let mut element = || {
            let bits = random();
            let magnitude = match bits >> 20 & 31 {
                0 => 0,
                // A subnormal.
                1 if kind == 0 => bits & 0x3ff,
                _ => (least + (bits >> 24) % spread) << mantissa | bits & ((1 << mantissa) - 1),
            };
            let sign = random() & 1;
            magnitude | sign << (mantissa + if kind == 0 { 5 } else { 8 })
        };
        let k = if kind == 2 { 8 } else { 16 };
        let shift = if kind != 2 && round & 8 == 0 { 16 } else { 0 };
        let mut word = || element() << (shift + upper);
        let a = (0..k).map(|_| [0; LANES].map(|_: u32| word())).collect();
        let b = (0..k).map(|_| [0; 8].map(|_: u32| word())).collect();
        let c = [[0; LANES]; 2].map(|lanes| {
            lanes.map(|_: u32| match round & 48 {
                0 => random() & 0x807f_ffff | (120 + random() % 12) << 23,
                16 => 0,
                32 if random() & 7 == 0 => 0x8000_0000,
                _ => random() & 0x8fff_ffff | 0x3000_0000,
            })
        });
        let operands = Operands { a, b, c, shift };
        match agree::<Floats>(&config(operand, Accumulator::F32), &operands) {
            Some(right) => {
                assert!(right, "round {round}");
                compared[kind] += 1;
            }
            None => continue,
        }
    }
    assert!(compared.iter().all(|&rounds| rounds > 1500), "only {compared:?} rounds have been compared");
}

#[test]
fn each_lane_is_a_dot_product_of_integers() {
    let mut random = numbers();
    for round in 0..4_000 {
        let operands = [Operand::S8, Operand::U8, Operand::S4, Operand::U4];
        let bits = if round & 2 == 0 { 8 } else { 4 };
        let mut config = config(operands[round % 4], Accumulator::S32);
        config.b = operands[((round % 4) & 2) | ((round >> 2) & 1)];
        config.satfinite = round & 8 != 0;
        let k = 16 << (round >> 4 & 1);
        let a = (0..k).map(|_| [0; LANES].map(|_: u32| random())).collect();
        let b = (0..k).map(|_| [0; 8].map(|_: u32| random())).collect();
        let near_the_end = round & 64 != 0;
        let c = [[0; LANES]; 2].map(|lanes| {
            lanes.map(|_: u32| if near_the_end { 0x7fff_ff00 ^ (random() & 0x8000_00ff) } else { random() })
        });
        let operands = Operands { a, b, c, shift: bits * (round as u32 >> 7 & 3) };
        assert_eq!(agree::<Integers>(&config, &operands), Some(true), "round {round}");
    }
}

/// The sum of 16 products of one element each of A and B, in all lanes, and `c`.
fn of_one(operand: Operand, a: u32, b: u32, c: u32) -> Option<u32> {
    let operands = [Floats::decode(operand, &[a; LANES], 0); 16];
    let factors = [Floats::decode(operand, &[b; 8], 0); 16];
    let sums =
        Floats::sums::<8, 2>(&config(operand, Accumulator::F32), &operands, &factors, [&[c; LANES]; 2]);
    sums.map(|sums| sums[0][0])
}

#[test]
fn what_is_not_finite_or_does_not_fit_is_left_to_others() {
    for (operand, one, infinities) in
        [(Operand::F16, 0x3c00, [0x7c00, 0xfc00, 0x7e00]), (Operand::Bf16, 0x3f80, [0x7f80, 0xff80, 0x7fc0])]
    {
        for infinite in infinities {
            for finite in [0, one, 1] {
                assert_eq!(of_one(operand, infinite, finite, 0), None);
                assert_eq!(of_one(operand, finite, infinite, 0), None);
            }
        }
        assert_eq!(of_one(operand, one, one, 0x7f80_0000), None);
        assert_eq!(of_one(operand, one, one, 0x3f80_0000), Some(17_f32.to_bits()));
        // Nothing but zeros, and a sum that is subnormal.
        assert_eq!(of_one(operand, 0, one, 0), Some(0));
        assert_eq!(of_one(operand, 0, one, 1), None);
    }
    // Products that are too great, those that are lost, and 16 of the greatest with a C beside them.
    assert_eq!(of_one(Operand::Bf16, 0x7f7f, 0x7f7f, 0), None);
    assert_eq!(of_one(Operand::Bf16, 0x1a80, 0x1a80, 0), None);
    assert_eq!(of_one(Operand::Bf16, 0x1a80, 0x1a80, 0x3f80_0000), Some(0x3f80_0000));
    assert!(of_one(Operand::F16, 0x3fff, 0x3fff, 0).is_some());
    assert_eq!(of_one(Operand::F16, 0x3fff, 0x3fff, 0x3fff_ffff), None);
}
