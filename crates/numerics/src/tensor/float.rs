//! Floating-point dot products: a sum in fixed point, aligned to the largest exponent.

use super::element::{FRACTION, INFINITE, NAN};
use super::{Accumulator, Config, Element, Operand, Unit};
use crate::float::fma_f64;
use crate::format::{F16, F32, Format, widen};
use crate::rounding::Rn;

/// Fraction bits of a product of two decoded significands.
const PRODUCT_FRACTION: u32 = 2 * FRACTION;

/// How one datapath adds.
struct Adder {
    /// How many products are added at once.
    group: usize,
    /// Fraction bits kept below the largest exponent.
    fraction: u32,
}

impl Adder {
    fn of(config: &Config) -> Self {
        let wgmma = matches!(config.unit, Unit::Wgmma | Unit::SparseWgmma);
        match config.a {
            Operand::Tf32 => Adder { group: 8, fraction: 25 },
            Operand::E4m3 | Operand::E5m2 if wgmma => Adder { group: 32, fraction: 13 },
            _ => Adder { group: 16, fraction: 25 },
        }
    }
}

/// One element of D for the formats of up to 19 bits.
pub(super) fn dot(config: &Config, a: &[Element], b: &[Element], c: u64) -> u64 {
    let adder = Adder::of(config);
    let mut sum = match config.c {
        Accumulator::F16 => u64::from(widen::<F16>(c as u32 & 0xffff)),
        _ => c & 0xffff_ffff,
    };
    let half = config.d == Accumulator::F16;
    for (a, b) in a.chunks(adder.group).zip(b.chunks(adder.group)) {
        sum = adder.add(a, b, sum as u32, half);
    }
    if half { u64::from(crate::format::round_f32::<F16, Rn, false, false>(sum as u32)) } else { sum }
}

impl Adder {
    /// The sum of one group and `c`, an `.f32`, as `.f32` bits: rounded to `.f16` if `half`, else truncated.
    fn add(&self, a: &[Element], b: &[Element], c: u32, half: bool) -> u64 {
        let field = (c >> 23 & 0xff) as i32;
        let c_significand = i64::from(c & 0x7f_ffff) | i64::from(field != 0) << 23;
        let c_exponent = field.max(1) - F32::BIAS;
        let mut top = c_exponent;
        for (a, b) in a.iter().zip(b) {
            top = top.max(a.exponent() + b.exponent());
        }
        if top >= INFINITE / 2 || field == 0xff {
            return u64::from(special(a, b, c));
        }
        // The lowest kept bit is worth 2^(top - fraction).
        let mut sum = self.align(c_significand, 23, top - c_exponent);
        if c >> 31 != 0 {
            sum = -sum;
        }
        for (a, b) in a.iter().zip(b) {
            let product = i64::from(a.significand()) * i64::from(b.significand());
            let aligned = self.align(product.abs(), PRODUCT_FRACTION, top - (a.exponent() + b.exponent()));
            sum += if product < 0 { -aligned } else { aligned };
        }
        let value =
            Value { negative: sum < 0, magnitude: sum.unsigned_abs(), exponent: top - self.fraction as i32 };
        u64::from(if half { value.to_f32_through_f16() } else { value.to_f32_truncated() })
    }

    /// A magnitude with `fraction` fraction bits, `distance` below the largest exponent, cut to the kept bits.
    #[inline(always)]
    fn align(&self, magnitude: i64, fraction: u32, distance: i32) -> i64 {
        let up = 40;
        let shift = (up + fraction) as i32 - self.fraction as i32 + distance;
        if shift > 63 { 0 } else { ((i128::from(magnitude) << up) >> shift) as i64 }
    }
}

/// A sum: `magnitude * 2^exponent`.
struct Value {
    negative: bool,
    magnitude: u64,
    exponent: i32,
}

impl Value {
    fn to_f32_truncated(&self) -> u32 {
        let sign = u32::from(self.negative) << 31;
        if self.magnitude == 0 {
            return sign;
        }
        let length = 64 - self.magnitude.leading_zeros() as i32;
        let leading = (self.exponent + length - 1).max(1 - F32::BIAS);
        let shift = leading - 23 - self.exponent;
        let kept = if shift <= 0 {
            self.magnitude << -shift
        } else {
            self.magnitude.checked_shr(shift as u32).unwrap_or(0)
        };
        let magnitude = ((leading + F32::BIAS - 1) as u64) * F32::MIN_NORMAL + kept;
        sign | if magnitude > F32::MAX_FINITE { F32::INFINITY as u32 } else { magnitude as u32 }
    }

    fn to_f32_through_f16(&self) -> u32 {
        let value = self.magnitude as f64 * f64::exp2(f64::from(self.exponent));
        let signed = if self.negative { -value } else { value };
        let half = crate::format::round_f64::<F16, Rn, false, false>(signed.to_bits());
        widen::<F16>(half as u32)
    }
}

/// A sum with a NaN or an infinity among its terms.
fn special(a: &[Element], b: &[Element], c: u32) -> u32 {
    let (mut positive, mut negative, mut nan) = (c == 0x7f80_0000, c == 0xff80_0000, c << 1 > 0xff00_0000);
    for (a, b) in a.iter().zip(b) {
        let exponent = a.exponent() + b.exponent();
        if exponent >= NAN / 2 {
            nan = true;
        } else if exponent >= INFINITE / 2 {
            let product = i64::from(a.significand()) * i64::from(b.significand());
            nan |= product == 0;
            positive |= product > 0;
            negative |= product < 0;
        }
    }
    if nan | (positive & negative) {
        F32::NAN as u32
    } else {
        F32::INFINITY as u32 | u32::from(negative) << 31
    }
}

/// One element of D for `.f64`: fused multiply-adds in the order of k.
pub(super) fn dot_f64(a: &[Element], b: &[Element], c: u64) -> u64 {
    let mut sum = c;
    for (a, b) in a.iter().zip(b) {
        sum = fma_f64::<Rn>(a.bits(), b.bits(), sum);
    }
    sum
}
