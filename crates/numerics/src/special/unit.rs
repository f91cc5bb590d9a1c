//! The special-function unit itself, on `.f32` bits, bit for bit as an H200's: subnormal operands and results are zero
//! (except of `tanh`), NaN is `0x7fffffff`.
//!
//! Each function reduces its operand to a fixed-point argument, interpolates (see [`super::interpolate`]), and puts the
//! exponent to the result. All is written without branches, so that lanes stay in vectors.

use super::interpolate::{EX2, LG2, RCP, RSQRT, SIN, SQRT, TANH};
use super::tables;
use crate::float::{NAN_F32, is_nan_f32};

const SIGN: u32 = 0x8000_0000;
const INFINITY: u32 = 0x7f80_0000;
const MIN_NORMAL: i32 = 0x0080_0000;
const MANTISSA: u32 = 0x007f_ffff;
const HIDDEN: u32 = 0x0080_0000;
const BIAS: i32 = 127;
const ONE: u32 = 0x3f80_0000;

#[inline(always)]
fn exponent(x: u32) -> i32 {
    ((x & INFINITY) >> 23) as i32
}

/// An unsigned fixed-point number of at most 52 bits, `point` of them behind the binary point, as `.f32` bits: cut off,
/// not rounded. The result is zero or far from the ends of the exponent range.
#[inline(always)]
fn to_float(x: u64, point: u32) -> u32 {
    // As the low bits of an f64's mantissa; the f64 subtraction then finds the leading bit.
    const INTEGER: u64 = 1075 << 52;
    let float = f64::from_bits(x | INTEGER) - f64::from_bits(INTEGER);
    let rebias = (1023 - BIAS as u32 + point) << 23;
    let bits = ((float.to_bits() >> 29) as u32).wrapping_sub(rebias);
    if x == 0 { 0 } else { bits }
}

/// The same of a number from 2^`lead` to 2^(`lead` + 1), that one included, as `.f32` bits: the leading bit, one above the
/// mantissa, adds one to the exponent.
#[inline(always)]
fn significand(x: u64, lead: u32, point: u32) -> u32 {
    let exponent = (BIAS as u32 + lead - point - 1) << 23;
    ((x >> (lead - 23)) as u32).wrapping_add(exponent)
}

/// A positive result multiplied by 2^`exponent`: flushed to zero below the normal range, infinite above.
#[inline(always)]
fn scaled(x: u32, exponent: i32) -> u32 {
    let bits = x as i32 + (exponent << 23);
    let flushed = if bits < MIN_NORMAL { 0 } else { bits };
    flushed.min(INFINITY as i32) as u32
}

/// 1/x of \[1, 2), without the leading one.
#[inline(always)]
fn inverse(argument: u32) -> u32 {
    significand(tables::RCP.value(RCP, argument), RCP.point - 1, RCP.point)
}

/// 1/x.
#[inline(always)]
pub fn rcp(x: u32) -> u32 {
    let (sign, magnitude) = (x & SIGN, x & !SIGN);
    let finite = scaled(inverse(x & MANTISSA), BIAS - exponent(x));
    let small = if magnitude < HIDDEN { INFINITY } else { finite };
    let number = sign | if magnitude == INFINITY { 0 } else { small };
    if is_nan_f32(x) { NAN_F32 } else { number }
}

/// The exponent halved (rounded down) and the mantissa in \[1, 4) without the leading one.
#[inline(always)]
fn halve_exponent(x: u32) -> (i32, u32) {
    let exponent = exponent(x) - BIAS;
    (exponent >> 1, (x & MANTISSA) | ((exponent as u32 & 1) << 23))
}

/// What `sqrt` and `rsqrt` have in common: of a zero `zero`, of infinity `infinity`, of what is negative NaN.
#[inline(always)]
fn of_positive(x: u32, finite: u32, zero: u32, infinity: u32) -> u32 {
    let invalid = is_nan_f32(x) | (x > SIGN | MANTISSA);
    let number = if x == INFINITY { infinity } else { finite };
    let defined = if x & !SIGN < HIDDEN { (x & SIGN) | zero } else { number };
    if invalid { NAN_F32 } else { defined }
}

/// The square root.
#[inline(always)]
pub fn sqrt(x: u32) -> u32 {
    let (half, argument) = halve_exponent(x);
    let root = scaled(significand(tables::SQRT.value(SQRT, argument), SQRT.point, SQRT.point), half);
    of_positive(x, root, 0, INFINITY)
}

/// 1/sqrt(x) of \[1, 4), without the leading one.
#[inline(always)]
fn inverse_root(argument: u32) -> u32 {
    let value = significand(tables::RSQRT.value(RSQRT, argument), RSQRT.point - 1, RSQRT.point);
    // The table falls short of 1 at its start.
    if argument == 0 { ONE } else { value }
}

/// 1/sqrt(x); of a zero, the infinity of its sign.
#[inline(always)]
pub fn rsqrt(x: u32) -> u32 {
    let (half, argument) = halve_exponent(x);
    of_positive(x, scaled(inverse_root(argument), -half), INFINITY, 0)
}

/// 2^x. The operand has 23 bits behind its point, the others do not count.
#[inline(always)]
pub fn ex2(x: u32) -> u32 {
    let magnitude = (x & MANTISSA) | HIDDEN;
    let exponent = exponent(x);
    // The largest exponent that gives neither infinity nor zero is 6.
    let large = exponent > BIAS + 6;
    let fixed = (magnitude << 6) >> (BIAS + 6 - exponent).clamp(0, 31);
    let negated = if fixed & MANTISSA == 0 { fixed.wrapping_neg() } else { !fixed };
    let argument = if x & SIGN == 0 { fixed } else { negated };
    let fraction = significand(tables::EX2.value(EX2, argument & MANTISSA), EX2.point, EX2.point);
    let finite = scaled(fraction, argument as i32 >> 23);
    let far = if x & SIGN == 0 { INFINITY } else { 0 };
    let number = if large { far } else { finite };
    if is_nan_f32(x) { NAN_F32 } else { number }
}

/// The binary logarithm.
#[inline(always)]
pub fn lg2(x: u32) -> u32 {
    const POINT: u32 = 36;
    let fraction = tables::LG2.value(LG2, x & MANTISSA) >> (LG2.point - POINT);
    let sum = (i64::from(exponent(x) - BIAS) << POINT) + fraction as i64;
    let negative = sum < 0;
    let value = to_float(if negative { !sum } else { sum } as u64, POINT) | if negative { SIGN } else { 0 };
    let finite = if x == ONE { 0 } else { value };
    let number = if x == INFINITY { x } else { finite };
    let positive = if x & !SIGN < HIDDEN { SIGN | INFINITY } else { number };
    if is_nan_f32(x) | (x > SIGN | MANTISSA) { NAN_F32 } else { positive }
}

/// The sine of a number of turns, or the cosine: the sine of a quarter turn more, of the magnitude.
#[inline(always)]
fn sine(x: u32, sign: u32, quarters_more: u32) -> u32 {
    let magnitude = if x & !SIGN < HIDDEN { 0 } else { (x & MANTISSA) | HIDDEN };
    // Quarter turns with 23 bits behind the point; all but two bits before it drop out.
    let shift = exponent(x) - (BIAS - 2);
    let quarters = (magnitude << shift.clamp(0, 31)) >> (-shift).clamp(0, 31);
    let quadrant = (quarters >> 23) + quarters_more;
    let argument = if quadrant & 1 == 0 { quarters } else { !quarters } & MANTISSA;
    let value = to_float(tables::SIN.value(SIN, argument), SIN.point);
    let signed = value | (sign ^ ((quadrant & 2) << 30));
    if x & INFINITY == INFINITY { NAN_F32 } else { signed }
}

/// The sine of a number of turns.
#[inline(always)]
pub fn sin(x: u32) -> u32 {
    sine(x, x & SIGN, 0)
}

/// The cosine of a number of turns.
#[inline(always)]
pub fn cos(x: u32) -> u32 {
    sine(x, 0, 1)
}

/// The first binade in which `tanh` interpolates, 2^-8.
const TANH_FIRST: i32 = BIAS - 8;
/// From here on, 8, `tanh` is 1.
const TANH_LAST: i32 = BIAS + 3;

/// Of each binade from 2^-8 to 4, the first segment of `tanh` and how far the mantissa is shifted down: by 6 if the
/// binade is one segment, by 5 if it is two.
const TANH_BINADES: [(u8, u8); 16] = {
    let segments = [1, 1, 1, 2, 2, 4, 4, 4, 8, 16, 8_u8];
    let mut binades = [(0, 0); 16];
    let (mut i, mut first) = (0, 0);
    while i < segments.len() {
        binades[i] = (first, 6 - segments[i].trailing_zeros() as u8);
        first += segments[i];
        i += 1;
    }
    binades
};

/// Where `tanh` interpolates, for a magnitude from 2^-8 to 8: segment and distance together.
#[inline(always)]
pub fn tanh_argument(x: u32) -> u32 {
    let (first, shift) = TANH_BINADES[(exponent(x) - TANH_FIRST) as usize & 15];
    (u32::from(first) << TANH.low_bits) + ((x & MANTISSA) >> shift)
}

/// The hyperbolic tangent; below 2^-8 the operand itself, subnormals included.
#[inline(always)]
pub fn tanh(x: u32) -> u32 {
    let exponent = exponent(x);
    let value = to_float(tables::TANH.value(TANH, tanh_argument(x)), TANH.point);
    let interpolated = scaled(value, exponent.min(BIAS - 1) - BIAS);
    let small = if exponent < TANH_FIRST { x & !SIGN } else { interpolated };
    let number = (x & SIGN) | if exponent < TANH_LAST { small } else { ONE };
    if is_nan_f32(x) { NAN_F32 } else { number }
}

/// What the two functions of `.f64` upper words see of an operand: the exponent without its bias, and 20 bits of
/// mantissa at the top of the 23 that the tables take.
#[inline(always)]
fn upper_word(x: u32) -> (i32, u32) {
    ((x << 1 >> 21) as i32 - BIAS_64, x << 3 & MANTISSA)
}

const BIAS_64: i32 = 1023;
const HIDDEN_64: u32 = 0x0010_0000;
const INFINITY_64: u32 = 0x7ff0_0000;

/// A positive `.f32` multiplied by 2^`exponent`, as the upper word of an `.f64`: what does not fit is cut off.
#[inline(always)]
fn scaled_64(x: u32, exponent: i32) -> u32 {
    let bits = (x >> 3) as i32 + ((BIAS_64 - BIAS + exponent) << 20);
    if bits < HIDDEN_64 as i32 { 0 } else { bits as u32 }
}

/// 1/x on the upper word of an `.f64`.
#[inline(always)]
pub fn rcp64h(x: u32) -> u32 {
    let (sign, magnitude) = (x & SIGN, x & !SIGN);
    let (exponent, mantissa) = upper_word(x);
    let finite = scaled_64(inverse(mantissa), -exponent);
    let small = if magnitude < HIDDEN_64 { INFINITY_64 } else { finite };
    let number = sign | if magnitude == INFINITY_64 { 0 } else { small };
    if magnitude > INFINITY_64 { NAN_F32 } else { number }
}

/// 1/sqrt(x) on the upper word of an `.f64`.
#[inline(always)]
pub fn rsqrt64h(x: u32) -> u32 {
    let (sign, magnitude) = (x & SIGN, x & !SIGN);
    let (exponent, mantissa) = upper_word(x);
    let finite = scaled_64(inverse_root(mantissa | ((exponent as u32 & 1) << 23)), -(exponent >> 1));
    let number = if magnitude == INFINITY_64 { 0 } else { finite };
    let defined = if magnitude < HIDDEN_64 { sign | INFINITY_64 } else { number };
    if (magnitude > INFINITY_64) | ((sign != 0) & (magnitude >= HIDDEN_64)) { NAN_F32 } else { defined }
}

#[cfg(test)]
mod tests {
    use super::super::interpolate::{Shape, Table};
    use super::*;

    /// Of all arguments below a limit the leading bit is where `significand` takes it to be.
    fn leads<const N: usize>(table: &Table<N>, shape: Shape, lead: u32, arguments: std::ops::Range<u32>) {
        for argument in arguments {
            let value = table.value(shape, argument);
            assert_eq!(significand(value, lead, shape.point), to_float(value, shape.point), "{argument:#x}");
        }
    }

    #[test]
    fn leading_bits_are_where_they_are_taken_to_be() {
        leads(&tables::RCP, RCP, RCP.point - 1, 0..1 << 23);
        leads(&tables::SQRT, SQRT, SQRT.point, 0..1 << 24);
        // 1 itself is not from the table.
        leads(&tables::RSQRT, RSQRT, RSQRT.point - 1, 1..1 << 24);
        leads(&tables::EX2, EX2, EX2.point, 0..1 << 23);
    }
}
