//! The adder of a floating-point tensor core: all products of a group and one accumulator, summed at once.
//!
//! Each term is `significand * 2^exponent` with the exponents as they stand in the operands: a product's is the sum of
//! its factors', a subnormal has the least exponent of its format and is not normalised, a zero has none. All terms
//! are aligned to the largest exponent, and of each magnitude only a fixed number of bits below it is kept; the rest is
//! dropped. The kept parts are added exactly, and the sum is rounded once. No term is rounded for itself, and no
//! product is too large or too small.

use super::element::{Element, FRACTION, INFINITE, NAN, ZERO};
use crate::format::{F16, F32, Format, round_f64};
use crate::rounding::Rn;

/// The width of an adder.
pub(super) trait Width {
    /// Bits kept below the largest exponent.
    const KEPT: u32;
    /// Mantissa bits of an `.f32` sum; the lower ones are zero.
    const MANTISSA: u32;
}

/// The adder for the 16-bit and `.tf32` operands.
pub(super) struct Wide;
impl Width for Wide {
    const KEPT: u32 = 25;
    const MANTISSA: u32 = F32::MANTISSA_BITS;
}

/// The adder for the 8-bit operands of `wgmma`.
pub(super) struct Narrow;
impl Width for Narrow {
    const KEPT: u32 = 13;
    const MANTISSA: u32 = 13;
}

/// Bits below the leading position in which terms are before they are cut to [`Width::KEPT`].
pub(super) const ALIGNED: u32 = Wide::KEPT;

/// The largest exponent counts as at least this. No `.f16` and no accumulator but zero is so small.
pub(super) const LEAST_EXPONENT: i32 = -133;

/// A sum for which each kind of accumulator knows its rounding.
pub(super) trait Sum: Format {
    /// Rounds `magnitude * 2^exponent`, which is not zero.
    fn round<W: Width>(negative: bool, magnitude: u64, exponent: i32) -> u64;
}

impl Sum for F32 {
    /// Towards zero; what is too large becomes an infinity all the same.
    #[inline(always)]
    fn round<W: Width>(negative: bool, magnitude: u64, exponent: i32) -> u64 {
        let above = 63 - magnitude.leading_zeros() as i32;
        let leading = (exponent + above).max(1 - F32::BIAS);
        let shift = leading - F32::MANTISSA_BITS as i32 - exponent;
        let kept = if shift <= 0 { magnitude << -shift } else { magnitude >> shift.min(63) };
        let below = F32::MANTISSA_BITS - W::MANTISSA;
        let rounded = ((leading + F32::BIAS - 1) as u64) * F32::MIN_NORMAL + (kept >> below << below);
        with_sign::<F32>(negative, rounded.min(F32::INFINITY))
    }
}

impl Sum for F16 {
    /// To nearest.
    #[inline(always)]
    fn round<W: Width>(negative: bool, magnitude: u64, exponent: i32) -> u64 {
        // The conversion to f64 and the scaling are exact: the magnitude has less than 53 bits.
        let scale = f64::from_bits(((exponent + 1023) as u64) << 52);
        let rounded = round_f64::<F16, Rn, false, false>((magnitude as f64 * scale).to_bits());
        with_sign::<F16>(negative, rounded)
    }
}

/// Zero is positive, also where a negative sum is rounded to it.
#[inline(always)]
fn with_sign<F: Format>(negative: bool, magnitude: u64) -> u64 {
    magnitude | if negative && magnitude != 0 { F::SIGN } else { 0 }
}

/// The sum of the products of `a` and `b` and of `c`, where C and the sum have format `F`.
#[inline(always)]
pub(super) fn sum<W: Width, F: Sum>(a: &[Element], b: &[Element], c: u64) -> u64 {
    let (c_significand, c_exponent) = accumulator::<F>(c);
    let mut top = c_exponent.max(LEAST_EXPONENT);
    for (a, b) in a.iter().zip(b) {
        top = top.max(a.exponent() + b.exponent());
    }
    if top >= INFINITE / 2 {
        return special::<F>(a, b, c);
    }
    let mut sum = align::<W>(c_significand << (ALIGNED - F::MANTISSA_BITS), top - c_exponent);
    for (a, b) in a.iter().zip(b) {
        let product = i64::from(a.significand()) * i64::from(b.significand());
        sum += align::<W>(product << (ALIGNED - 2 * FRACTION), top - (a.exponent() + b.exponent()));
    }
    if sum == 0 { 0 } else { F::round::<W>(sum < 0, sum.unsigned_abs(), top - W::KEPT as i32) }
}

/// A significand with [`ALIGNED`] fraction bits, cut to the bits which are kept of a term `distance` below the top.
#[inline(always)]
fn align<W: Width>(significand: i64, distance: i32) -> i64 {
    let shift = (ALIGNED - W::KEPT) as i32 + distance;
    let magnitude = significand.abs() >> shift.min(63);
    if significand < 0 { -magnitude } else { magnitude }
}

/// Significand (with the format's mantissa bits behind the point) and exponent of C.
#[inline(always)]
fn accumulator<F: Format>(bits: u64) -> (i64, i32) {
    let magnitude = bits & (F::SIGN - 1);
    let field = (magnitude >> F::MANTISSA_BITS) as i32;
    let mantissa = (magnitude & (F::MIN_NORMAL - 1)) | u64::from(field != 0) << F::MANTISSA_BITS;
    let significand = if bits & F::SIGN != 0 { -(mantissa as i64) } else { mantissa as i64 };
    let exponent = if magnitude == 0 {
        ZERO
    } else if magnitude < F::INFINITY {
        field.max(1) - F::BIAS
    } else if magnitude == F::INFINITY {
        INFINITE
    } else {
        NAN
    };
    (significand, exponent)
}

/// A sum with a NaN or an infinity among its terms. There is one NaN.
#[cold]
pub(super) fn special<F: Format>(a: &[Element], b: &[Element], c: u64) -> u64 {
    let (c_significand, c_exponent) = accumulator::<F>(c);
    let mut nan = c_exponent == NAN;
    let mut positive = c_exponent == INFINITE && c_significand > 0;
    let mut negative = c_exponent == INFINITE && c_significand < 0;
    for (a, b) in a.iter().zip(b) {
        let exponent = a.exponent() + b.exponent();
        let product = i64::from(a.significand()) * i64::from(b.significand());
        let infinite = exponent >= INFINITE / 2;
        nan |= exponent >= NAN / 2 || infinite && product == 0;
        positive |= infinite && product > 0;
        negative |= infinite && product < 0;
    }
    if nan || positive && negative { F::NAN } else { with_sign::<F>(negative, F::INFINITY) }
}
