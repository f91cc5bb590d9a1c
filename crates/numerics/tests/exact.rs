//! The exact sums of later tensor cores, and stochastic rounding, against arithmetic with rational numbers that shares no
//! code with them: elements are decoded from the manual's description of their formats.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, Zero};
use numerics::format::{Bf16, E2m1, E2m3, E3m2, E4m3, E5m2, F16};
use numerics::stochastic;
use numerics::tensor::{Accumulator, Element, Operand, Scale, Scaling, dot_scaled};

/// A format: bits of exponent and mantissa, and whether the greatest exponent is of infinities and NaNs.
#[derive(Clone, Copy)]
struct Fields(u32, u32, bool);

const F16_FIELDS: Fields = Fields(5, 10, true);
const BF16_FIELDS: Fields = Fields(8, 7, true);
const F32_FIELDS: Fields = Fields(8, 23, true);

fn power(exponent: i32) -> BigRational {
    let two = BigRational::from_integer(BigInt::from(2));
    two.pow(exponent)
}

impl Fields {
    fn bits(self) -> u32 {
        1 + self.0 + self.1
    }

    fn bias(self) -> i32 {
        (1 << (self.0 - 1)) - 1
    }

    /// The value of a finite number.
    fn value(self, bits: u64) -> BigRational {
        let mantissa = (bits & ((1 << self.1) - 1)) as i64;
        let field = (bits >> self.1 & ((1 << self.0) - 1)) as i32;
        let significand = if field == 0 { mantissa } else { mantissa + (1 << self.1) };
        let magnitude =
            BigRational::from_integer(significand.into()) * power(field.max(1) - self.bias() - self.1 as i32);
        if bits >> (self.0 + self.1) & 1 == 1 { -magnitude } else { magnitude }
    }

    /// The steps of the least size below a magnitude: what a number's bits without its sign count.
    fn floor(self, magnitude: &BigRational) -> (u64, BigRational) {
        let (mut low, mut high) = (0_u64, 1 << (self.0 + self.1));
        while high - low > 1 {
            let middle = low.midpoint(high);
            if self.value(middle) <= *magnitude { low = middle } else { high = middle }
        }
        let (below, above) = (self.value(low), self.value(low + 1));
        (low, (magnitude - &below) / (above - below))
    }

    /// The nearest number, ties to the even one.
    fn nearest(self, value: &BigRational) -> u64 {
        let (floor, rest) = self.floor(&value.abs());
        let half = BigRational::new(1.into(), 2.into());
        let up = rest > half || rest == half && floor & 1 == 1;
        let infinity = ((1 << self.0) - 1) << self.1;
        let magnitude = (floor + u64::from(up)).min(infinity);
        if value.is_negative() && magnitude != 0 { magnitude | 1 << (self.0 + self.1) } else { magnitude }
    }
}

/// A generator that is good enough for inputs.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 29
    }

    /// The bits of a finite number, now and then of one that is special in its format: zero, a subnormal, a large one.
    fn finite(&mut self, fields: Fields) -> u64 {
        loop {
            let bits = self.next() & ((1 << fields.bits()) - 1);
            let field = bits >> fields.1 & ((1 << fields.0) - 1);
            let bits = match self.next() % 16 {
                0 => bits & !(((1 << fields.0) - 1) << fields.1),
                1 => bits & !((1 << (fields.bits() - 1)) - 1),
                _ => bits,
            };
            let special = (1 << fields.0) - 1;
            let e4m3_nan = fields.0 == 4 && bits & 0x7f == 0x7f;
            let is_special = fields.2 && field == special || e4m3_nan;
            if !is_special {
                return bits;
            }
        }
    }
}

const OPERANDS: [(Operand, Fields); 8] = [
    (Operand::F16, F16_FIELDS),
    (Operand::Bf16, BF16_FIELDS),
    (Operand::Tf32, Fields(8, 10, true)),
    (Operand::E4m3, Fields(4, 3, false)),
    (Operand::E5m2, Fields(5, 2, true)),
    (Operand::E3m2, Fields(3, 2, false)),
    (Operand::E2m3, Fields(2, 3, false)),
    (Operand::E2m1, Fields(2, 1, false)),
];

/// An element where [`Operand::decode`] expects it.
fn decode(operand: Operand, bits: u64) -> Element {
    operand.decode(match operand {
        Operand::Tf32 => bits << 13,
        Operand::E2m1 => bits << 2,
        _ => bits,
    })
}

fn scale(format: Scale, bits: u8) -> BigRational {
    match format {
        Scale::Ue8m0 => power(i32::from(bits) - 127),
        Scale::Ue4m3 => Fields(4, 3, false).value(u64::from(bits & 0x7f)),
    }
}

#[test]
fn sums_are_rounded_once() {
    let mut numbers = Numbers(1);
    for round in 0..3000 {
        let (a_type, a_fields) = OPERANDS[numbers.next() as usize % OPERANDS.len()];
        // Formats of one width meet.
        let (b_type, b_fields) = match a_fields.bits() > 8 {
            true => (a_type, a_fields),
            false => OPERANDS[3 + numbers.next() as usize % 5],
        };
        let (d, fields) = match numbers.next() % 4 {
            0 => (Accumulator::F16, F16_FIELDS),
            _ => (Accumulator::F32, F32_FIELDS),
        };
        // No instruction scales what has more than 8 bits.
        let blocks = if a_fields.bits() > 8 { 0 } else { [0, 1, 2, 4][numbers.next() as usize % 4] };
        let k: usize = [4, 16, 32, 64][numbers.next() as usize % 4];
        let format = if numbers.next().is_multiple_of(2) { Scale::Ue8m0 } else { Scale::Ue4m3 };
        let wide = numbers.next().is_multiple_of(2);
        let mut scales = || -> Vec<u8> {
            let of_format = |bits: u64| match format {
                Scale::Ue8m0 if wide => bits as u8 % 255,
                Scale::Ue8m0 => 120 + bits as u8 % 16,
                Scale::Ue4m3 => (bits as u8 & 0x7f).min(0x7e),
            };
            (0..blocks).map(|_| of_format(numbers.next())).collect()
        };
        let (of_a, of_b) = (scales(), scales());
        let a: Vec<u64> = (0..k).map(|_| numbers.finite(a_fields)).collect();
        let b: Vec<u64> = (0..k).map(|_| numbers.finite(b_fields)).collect();
        let c = numbers.finite(fields);
        let input = if numbers.next().is_multiple_of(4) { (numbers.next() % 16) as u32 } else { 0 };
        let mut exact = fields.value(c) * power(-(input as i32));
        for (i, (a, b)) in a.iter().zip(&b).enumerate() {
            let mut term = a_fields.value(*a) * b_fields.value(*b);
            if let Some(length) = k.checked_div(blocks) {
                let block = i / length;
                term *= scale(format, of_a[block]) * scale(format, of_b[block]);
            }
            exact += term;
        }
        let decoded = |scales: &[u8]| scales.iter().map(|&bits| format.decode(bits)).collect::<Vec<_>>();
        let (of_a, of_b) = (decoded(&of_a), decoded(&of_b));
        let elements =
            |operand, bits: &[u64]| bits.iter().map(|&bits| decode(operand, bits)).collect::<Vec<_>>();
        let (a, b) = (elements(a_type, &a), elements(b_type, &b));
        let scaling = Scaling { a: &of_a, b: &of_b, input };
        let got = dot_scaled(d, &a, &b, c, &scaling);
        let want = if exact.is_zero() { 0 } else { fields.nearest(&exact) };
        assert_eq!(got, want, "round {round}: {a_type:?} {b_type:?} to {d:?}, {blocks} blocks of {format:?}");
    }
}

#[test]
fn what_is_not_finite() {
    let one = Operand::E5m2.decode(0x3c);
    let infinity = Operand::E5m2.decode(0x7c);
    let nan = Scale::Ue8m0.decode(0xff);
    let unit = Scale::Ue8m0.decode(127);
    let dot = |a: Element, scale: Element| {
        let scaling = Scaling { a: &[scale], b: &[unit], input: 0 };
        dot_scaled(Accumulator::F32, &[a], &[one], 0, &scaling)
    };
    assert_eq!(dot(one, unit), 0x3f80_0000);
    assert_eq!(dot(infinity, unit), 0x7f80_0000);
    assert_eq!(dot(one, nan), 0x7fff_ffff);
    // The sign of a factor of `.ue4m3` is not looked at.
    assert_eq!(Scale::Ue4m3.decode(0xb8), Scale::Ue4m3.decode(0x38));
}

/// What `.rs` is to give: the step below, or the next one if the part above it and the random bits make a whole.
fn stochastic(fields: Fields, greatest: u64, x: u32, random: u32, bits: u32) -> u64 {
    let (floor, rest) = fields.floor(&F32_FIELDS.value(x.into()).abs());
    let random = BigRational::new((random & ((1 << bits) - 1)).into(), (1_u64 << bits).into());
    let magnitude = (floor + u64::from(rest + random >= BigRational::from_integer(1.into()))).min(greatest);
    magnitude | u64::from(x >> 31) << (fields.0 + fields.1)
}

#[test]
fn stochastic_rounding() {
    let mut numbers = Numbers(2);
    macro_rules! agrees {
        ($format:ty, $fields:expr, $greatest:expr, $bits:literal) => {
            for _ in 0..2000 {
                let mut x = numbers.finite(F32_FIELDS) as u32;
                if numbers.next() % 4 != 0 {
                    // Near the range of the format.
                    x = x & 0x807f_ffff | (110 + numbers.next() as u32 % 36) << 23;
                }
                let random = numbers.next() as u32;
                let want = stochastic($fields, $greatest, x, random, $bits);
                let got = stochastic::round::<$format, true>(x, random);
                assert_eq!(u64::from(got), want, "{x:#x} by {random:#x} to {}", stringify!($format));
            }
        };
    }
    agrees!(F16, F16_FIELDS, 0x7bff, 13);
    agrees!(Bf16, BF16_FIELDS, 0x7f7f, 16);
    agrees!(E4m3, Fields(4, 3, false), 0x7e, 16);
    agrees!(E5m2, Fields(5, 2, true), 0x7b, 16);
    agrees!(E3m2, Fields(3, 2, false), 0x1f, 16);
    agrees!(E2m3, Fields(2, 3, false), 0x1f, 16);
    agrees!(E2m1, Fields(2, 1, false), 7, 8);
    // Halves and bytes of the random bits: 1.5 lies in the middle between two numbers of none of them, 2.5 of `.e2m1`.
    let middle = 2.5_f32.to_bits();
    assert_eq!(stochastic::nibbles::<false>([middle; 4], 0x8000_0000), 0x5444);
    assert_eq!(stochastic::nibbles::<false>([middle; 4], 0x0080_0000), 0x4454);
    assert_eq!(stochastic::nibbles::<false>([middle; 4], 0x0000_8000), 0x4544);
    assert_eq!(stochastic::nibbles::<false>([middle; 4], 0x0000_0080), 0x4445);
    assert_eq!(stochastic::nibbles::<true>([middle | 1 << 31, middle, middle, middle], !0), 0x0555);
    let middle = 17.0_f32.to_bits();
    assert_eq!(stochastic::bytes::<E4m3, false>([middle; 4], 0x8000_0000), 0x5959_5858);
    assert_eq!(stochastic::bytes::<E4m3, false>([middle; 4], 0x0000_8000), 0x5858_5959);
    let middle = (1.0_f32 + 1.0 / 2048.0).to_bits();
    assert_eq!(stochastic::half_pair::<F16, false, false>(middle, middle, 0x1000_0fff), 0x3c01_3c00);
    assert_eq!(
        stochastic::half_pair::<F16, false, false>(0x7f7f_ffff, 0x7fc0_0000, 0xe000_0000),
        0x7c00_7fff
    );
}
