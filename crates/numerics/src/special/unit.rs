//! The special-function unit itself, on `.f32` bits: subnormal operands and results are zero, NaN is `0x7fffffff`.
//!
//! **Not the hardware's tables**: each function is computed in `f64` to about 2^-40, by series and without branches,
//! and rounded to nearest. Against the recordings of an H200, `rcp`, `rsqrt`, `sqrt` and `ex2` are at most one unit in
//! the last place away, `sin` and `cos` 2^-20, `lg2` two units or 2^-22, `tanh` 200 units.

use crate::float::{NAN_F32, flush_f32, is_nan_f32};
use std::f64::consts::{LN_2, LOG2_E, PI};

#[inline(always)]
fn operand(x: u32) -> f64 {
    f64::from(f32::from_bits(flush_f32::<true>(x)))
}

#[inline(always)]
fn result(x: f64) -> u32 {
    let bits = (x as f32).to_bits();
    if is_nan_f32(bits) { NAN_F32 } else { flush_f32::<true>(bits) }
}

/// `c[0] + c[1] x + c[2] x^2 ...`
#[inline(always)]
fn polynomial<const N: usize>(c: &[f64; N], x: f64) -> f64 {
    let mut sum = c[N - 1];
    for &term in c[..N - 1].iter().rev() {
        sum = sum * x + term;
    }
    sum
}

/// Adding this to a number of moderate size leaves its nearest integer in the low bits.
const TO_INTEGER: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52

#[inline(always)]
fn nearest_integer(x: f64) -> f64 {
    (x + TO_INTEGER) - TO_INTEGER
}

/// 1/x.
#[inline(always)]
pub fn rcp(x: u32) -> u32 {
    result(1.0 / operand(x))
}

/// The square root.
#[inline(always)]
pub fn sqrt(x: u32) -> u32 {
    result(operand(x).sqrt())
}

/// 1/sqrt(x); of a zero, the infinity of its sign.
#[inline(always)]
pub fn rsqrt(x: u32) -> u32 {
    result(1.0 / operand(x).sqrt())
}

/// Taylor coefficients of 2^x.
const EX2: [f64; 12] = {
    let mut c = [1.0; 12];
    let mut k = 1;
    while k < 12 {
        c[k] = c[k - 1] * LN_2 / k as f64;
        k += 1;
    }
    c
};

/// 2^x for |x| up to 1000.
#[inline(always)]
fn power_of_two(x: f64) -> f64 {
    let shifted = x + TO_INTEGER;
    let fraction = x - (shifted - TO_INTEGER);
    let scale = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52));
    polynomial(&EX2, fraction) * scale
}

/// 2^x.
#[inline(always)]
pub fn ex2(x: u32) -> u32 {
    let value = operand(x);
    // Beyond these bounds the result is infinite or zero all the same; NaN passes.
    let low = if value < -200.0 { -200.0 } else { value };
    result(power_of_two(if low > 200.0 { 200.0 } else { low }))
}

/// Coefficients of log2((1 + s)/(1 - s)) / s in powers of s^2.
const LG2: [f64; 9] = {
    let mut c = [0.0; 9];
    let mut k = 0;
    while k < 9 {
        c[k] = 2.0 * LOG2_E / (2 * k + 1) as f64;
        k += 1;
    }
    c
};

/// The binary logarithm.
#[inline(always)]
pub fn lg2(x: u32) -> u32 {
    let x = flush_f32::<true>(x);
    // Split into 2^e m with m between sqrt(1/2) and sqrt(2), whose bits start at 0x3f3504f3.
    let offset = x.wrapping_sub(0x3f35_04f3);
    let exponent = f64::from(offset as i32 >> 23);
    let m = f64::from(f32::from_bits((offset & 0x7f_ffff) + 0x3f35_04f3));
    let s = (m - 1.0) / (m + 1.0);
    let finite = result(exponent + s * polynomial(&LG2, s * s));
    let zero = x << 1 == 0;
    let infinite = x == 0x7f80_0000;
    let positive = if infinite { x } else { finite };
    let number = if zero { 0xff80_0000 } else { positive };
    if is_nan_f32(x) | ((x >> 31 != 0) & !zero) { NAN_F32 } else { number }
}

/// Taylor coefficients of sin(pi x) / x in powers of x^2.
const SIN: [f64; 10] = {
    let mut c = [PI; 10];
    let mut k = 1;
    while k < 10 {
        c[k] = -c[k - 1] * PI * PI / (2 * k * (2 * k + 1)) as f64;
        k += 1;
    }
    c
};

/// The sine of a number of half turns.
#[inline(always)]
fn sin_half_turns(x: f64) -> f64 {
    let whole = nearest_integer(x);
    let fraction = x - whole;
    let odd = (x + TO_INTEGER).to_bits() << 63;
    let sine = fraction * polynomial(&SIN, fraction * fraction);
    f64::from_bits(sine.to_bits() ^ odd)
}

/// A magnitude in turns, without its whole part if that is all there is: from 2^24 on.
#[inline(always)]
fn turns(x: u32) -> f64 {
    let turns = operand(x).abs();
    let large = (16_777_216.0..f64::INFINITY).contains(&turns);
    if large { 0.0 } else { turns }
}

/// The sine of a number of turns; a zero has the operand's sign at whole turns, the other at half turns.
#[inline(always)]
pub fn sin(x: u32) -> u32 {
    let sine = result(sin_half_turns(2.0 * turns(x)));
    if is_nan_f32(sine) { sine } else { sine ^ (x & 0x8000_0000) }
}

/// The cosine of a number of turns.
#[inline(always)]
pub fn cos(x: u32) -> u32 {
    result(sin_half_turns(2.0 * turns(x) + 0.5))
}

/// The hyperbolic tangent; below 2^-8 the operand itself, subnormals included.
#[inline(always)]
pub fn tanh(x: u32) -> u32 {
    let value = f64::from(f32::from_bits(x));
    let magnitude = value.abs();
    let capped = if magnitude > 20.0 { 20.0 } else { magnitude };
    let e = power_of_two(capped * (-2.0 * LOG2_E));
    let quotient = (1.0 - e) / (1.0 + e);
    let square = magnitude * magnitude;
    let series = magnitude * (1.0 - square * (1.0 / 3.0 - square * (2.0 / 15.0 - square * (17.0 / 315.0))));
    let small = if magnitude < 0.003_906_25 { magnitude } else { series };
    let tanh = if magnitude < 0.0625 { small } else { quotient };
    let bits = (tanh as f32).to_bits() | (x & 0x8000_0000);
    if is_nan_f32(x) { NAN_F32 } else { bits }
}
