//! Against [`dot`], which the H200's recordings judge.

use super::{Arithmetic, Config, Floats, Integers, Kind, LANES, Operand, Portable, QUAD, Vectors};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::{Avx2, Avx512};
use crate::rounding::Mode;
use crate::tensor::{Accumulator, BitOperation, Element, Unit, dot};

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

/// Words of A, two for each four words along k, of B, one, and two of C.
struct Operands {
    a: Vec<[u32; LANES]>,
    b: Vec<[u32; LANES]>,
    c: [[u32; LANES]; 2],
}

/// The sums that vectors of a level have.
fn sums_of<A: Arithmetic, V: Vectors>(
    v: V,
    config: &Config,
    operands: &Operands,
) -> Option<[[u32; LANES]; 2]> {
    let decode = |operand, words: &[u32; LANES]| {
        let mut factors = A::ZERO;
        A::decode(v, operand, v.transpose(v.load(words)), &mut factors);
        factors
    };
    let rows: Vec<_> = operands.a.iter().map(|words| decode(config.a, words)).collect();
    let columns: Vec<_> = operands.b.iter().map(|words| decode(config.b, words)).collect();
    let mut d = [[0; LANES]; 2];
    A::sums(v, config, &rows, &columns, operands.c.each_ref(), &mut d).then_some(d)
}

/// The same with all levels of the host, which agree.
fn sums<A: Arithmetic>(config: &Config, operands: &Operands) -> Option<[[u32; LANES]; 2]> {
    let sums = sums_of::<A, _>(Portable, config, operands);
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        if is_x86_feature_detected!("avx2") {
            // SAFETY: it has been detected.
            assert_eq!(sums_of::<A, _>(unsafe { Avx2::of_host() }, config, operands), sums);
        }
        let avx512 = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
        if avx512 && is_x86_feature_detected!("avx512dq") && is_x86_feature_detected!("avx512vl") {
            // SAFETY: it has been detected.
            assert_eq!(sums_of::<A, _>(unsafe { Avx512::of_host() }, config, operands), sums);
        }
    }
    sums
}

/// The elements of the line that a quad has.
fn line(operand: Operand, words: &[[u32; LANES]], quad: usize) -> Vec<Element> {
    let bits = match operand {
        Operand::Tf32 => 32,
        Operand::F16 | Operand::Bf16 => 16,
        Operand::S4 | Operand::U4 => 4,
        _ => 8,
    };
    let words = words.iter().flat_map(|words| &words[QUAD * quad..][..QUAD]);
    words
        .flat_map(|word| (0..32 / bits).map(move |i| operand.decode(u64::from(word >> (bits * i)))))
        .collect()
}

/// Whether what is computed side by side is right; `None` if it is left to others.
fn agree<A: Arithmetic>(config: &Config, operands: &Operands) -> Option<bool> {
    let sums = sums::<A>(config, operands)?;
    Some((0..2).all(|p| {
        (0..LANES).all(|l| {
            let of_a = line(config.a, &operands.a, l / QUAD);
            let of_b = line(config.b, &operands.b, 2 * (l % QUAD) + p);
            assert!(Kind::of(config, of_a.len()).is_some());
            u64::from(sums[p][l]) == dot(config, &of_a, &of_b, u64::from(operands.c[p][l]))
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
        let mut word = || match kind {
            2 => element() << upper,
            _ => element() << 16 | element(),
        };
        let a = (0..2).map(|_| [0; LANES].map(|_: u32| word())).collect();
        let b = (0..2).map(|_| [0; LANES].map(|_: u32| word())).collect();
        let c = [[0; LANES]; 2].map(|lanes| {
            lanes.map(|_: u32| match round & 48 {
                0 => random() & 0x807f_ffff | (120 + random() % 12) << 23,
                16 => 0,
                32 if random() & 7 == 0 => 0x8000_0000,
                _ => random() & 0x8fff_ffff | 0x3000_0000,
            })
        });
        let operands = Operands { a, b, c };
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
        let mut config = config(operands[round % 4], Accumulator::S32);
        config.b = operands[((round % 4) & 2) | ((round >> 2) & 1)];
        config.satfinite = round & 8 != 0;
        let registers = 1 + (round >> 4 & 1);
        let a = (0..registers).map(|_| [0; LANES].map(|_: u32| random())).collect();
        let b = (0..registers).map(|_| [0; LANES].map(|_: u32| random())).collect();
        let near_the_end = round & 64 != 0;
        let c = [[0; LANES]; 2].map(|lanes| {
            lanes.map(|_: u32| if near_the_end { 0x7fff_ff00 ^ (random() & 0x8000_00ff) } else { random() })
        });
        let operands = Operands { a, b, c };
        assert_eq!(agree::<Integers>(&config, &operands), Some(true), "round {round}");
    }
}

/// The sum of 16 products of one element each of A and B, in all lanes, and `c`.
fn of_one(operand: Operand, a: u32, b: u32, c: u32) -> Option<u32> {
    let words = |element: u32| vec![[element << 16 | element; LANES]; 2];
    let operands = Operands { a: words(a), b: words(b), c: [[c; LANES]; 2] };
    sums::<Floats>(&config(operand, Accumulator::F32), &operands).map(|sums| sums[0][0])
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
