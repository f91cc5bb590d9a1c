//! The approximate functions: `rcp`, `sqrt`, `rsqrt`, `sin`, `cos`, `lg2`, `ex2`, `tanh`, `div` with `.approx` or
//! `.full` (PTX manual, "Floating Point Instructions").
//!
//! **Not yet bit-identical to hardware.** The hardware has one unit for these functions, which interpolates in tables,
//! flushes subnormal operands and results, and knows nothing of `.ftz`; around it stand a few exact multiplications
//! that bring subnormal and huge operands into its range and the result back. This module has the same two layers.
//! The outer layer is what an `sm_90` does. The inner one, [`unit`], computes each function to about 2^-40 and rounds
//! it to nearest: within the manual's error bounds and exact in its special cases, but often one or two units in the
//! last place away from the tables. An exact model of the unit replaces that module and nothing else.
//!
//! No function of the platform's mathematics library is used, so results do not depend on the host.

use crate::float::{NAN_F32, flush_f32, is_nan_f32, is_nan_f64, mul_f32, quiet_f64};
use crate::format::{F32, F64, Format, round_f32, widen};
use crate::rounding::{Rn, Rz};

/// The special-function unit itself, on `.f32` bits: subnormal operands and results are zero, NaN is `0x7fffffff`.
pub mod unit {
    use super::{NAN_F32, flush_f32, is_nan_f32};
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
        let series =
            magnitude * (1.0 - square * (1.0 / 3.0 - square * (2.0 / 15.0 - square * (17.0 / 315.0))));
        let small = if magnitude < 0.003_906_25 { magnitude } else { series };
        let tanh = if magnitude < 0.0625 { small } else { quotient };
        let bits = (tanh as f32).to_bits() | (x & 0x8000_0000);
        if is_nan_f32(x) { NAN_F32 } else { bits }
    }
}

const SCALE_UP: u32 = 0x4b80_0000; // 2^24
const QUARTER: u32 = 0x3e80_0000;
/// Above this magnitude, 2^126, a reciprocal is subnormal.
const HUGE: u32 = 0x7e80_0000;

#[inline(always)]
fn magnitude(x: u32) -> u32 {
    x & 0x7fff_ffff
}

#[inline(always)]
fn is_subnormal_or_zero(x: u32) -> bool {
    magnitude(x) < F32::MIN_NORMAL as u32
}

#[inline(always)]
fn is_huge(x: u32) -> bool {
    (magnitude(x) > HUGE) & !is_nan_f32(x)
}

/// A product in which subnormals count.
#[inline(always)]
fn scale(x: u32, by: u32) -> u32 {
    mul_f32::<Rn, false, false>(x, by)
}

/// `f` with an operand below the normal range scaled up by 2^24, and its result given to `back`.
#[inline(always)]
fn with_subnormals<const FTZ: bool>(x: u32, f: impl Fn(u32) -> u32, back: impl Fn(u32) -> u32) -> u32 {
    let tiny = !FTZ & is_subnormal_or_zero(x);
    let scaled = scale(x, SCALE_UP);
    let y = f(if tiny { scaled } else { x });
    let scaled_back = back(y);
    if tiny { scaled_back } else { y }
}

/// `rcp.approx.f32`.
#[inline(always)]
pub fn rcp_approx_f32<const FTZ: bool>(x: u32) -> u32 {
    let one = F32::ONE as u32;
    let up = if is_subnormal_or_zero(x) { SCALE_UP } else { one };
    let factor = if FTZ {
        one
    } else if is_huge(x) {
        QUARTER
    } else {
        up
    };
    if FTZ { unit::rcp(x) } else { scale(unit::rcp(scale(x, factor)), factor) }
}

/// `sqrt.approx.f32`.
#[inline(always)]
pub fn sqrt_approx_f32<const FTZ: bool>(x: u32) -> u32 {
    with_subnormals::<FTZ>(x, unit::sqrt, |y| scale(y, 0x3980_0000)) // 2^-12
}

/// `rsqrt.approx.f32`.
#[inline(always)]
pub fn rsqrt_approx_f32<const FTZ: bool>(x: u32) -> u32 {
    with_subnormals::<FTZ>(x, unit::rsqrt, |y| scale(y, 0x4580_0000)) // 2^12
}

/// `lg2.approx.f32`.
#[inline(always)]
pub fn lg2_approx_f32<const FTZ: bool>(x: u32) -> u32 {
    with_subnormals::<FTZ>(x, unit::lg2, |y| {
        crate::float::add_f32::<Rn, false, false>(y, 0xc1c0_0000) // -24
    })
}

/// `ex2.approx.f32`.
#[inline(always)]
pub fn ex2_approx_f32<const FTZ: bool>(x: u32) -> u32 {
    // Below -126 the result is subnormal: the square of 2^(x/2).
    let low = !FTZ & (f32::from_bits(x) < -126.0);
    let half = scale(x, 0x3f00_0000);
    let y = unit::ex2(if low { half } else { x });
    let square = scale(y, y);
    if low { square } else { y }
}

/// 1/(2 pi), by which an angle becomes a number of turns.
const PER_TURN: u32 = 0x3e22_f983;

/// `sin.approx.f32`; `.ftz` makes no difference.
#[inline(always)]
pub fn sin_approx_f32(x: u32) -> u32 {
    unit::sin(mul_f32::<Rz, false, false>(x, PER_TURN))
}

/// `cos.approx.f32`; `.ftz` makes no difference.
#[inline(always)]
pub fn cos_approx_f32(x: u32) -> u32 {
    unit::cos(mul_f32::<Rz, false, false>(x, PER_TURN))
}

/// `tanh.approx.f32`.
#[inline(always)]
pub fn tanh_approx_f32(x: u32) -> u32 {
    unit::tanh(x)
}

/// `div.approx.f32`: the product with the reciprocal. A divisor above 2^126 gives zero.
#[inline(always)]
pub fn div_approx_f32<const FTZ: bool>(a: u32, b: u32) -> u32 {
    let tiny = !FTZ & is_subnormal_or_zero(b);
    let (scaled_a, scaled_b) = (scale(a, SCALE_UP), scale(b, SCALE_UP));
    let a = if tiny { scaled_a } else { a };
    let b = if tiny { scaled_b } else { b };
    mul_f32::<Rn, FTZ, false>(unit::rcp(b), a)
}

/// `div.full.f32`: as `div.approx`, with a huge divisor scaled down first.
#[inline(always)]
pub fn div_full_f32<const FTZ: bool>(a: u32, b: u32) -> u32 {
    let huge = is_huge(b);
    let down = |x| mul_f32::<Rn, FTZ, false>(x, QUARTER);
    let (scaled_a, scaled_b) = (down(a), down(b));
    let a = if huge { scaled_a } else { a };
    let b = if huge { scaled_b } else { b };
    div_approx_f32::<FTZ>(a, b)
}

/// `rcp.approx.ftz.f64`: the upper word of the operand gives the upper word of the result.
#[inline(always)]
pub fn rcp_approx_ftz_f64(x: u64) -> u64 {
    upper_word(x, |x| 1.0 / x)
}

/// `rsqrt.approx.ftz.f64`: the upper word of the operand gives the upper word of the result.
#[inline(always)]
pub fn rsqrt_approx_ftz_f64(x: u64) -> u64 {
    upper_word(x, |x| 1.0 / x.sqrt())
}

#[inline(always)]
fn upper_word(x: u64, f: impl Fn(f64) -> f64) -> u64 {
    const UPPER: u64 = 0xffff_ffff_0000_0000;
    let flush = |x: u64| if x & F64::INFINITY == 0 { x & F64::SIGN } else { x };
    let result = flush(f(f64::from_bits(flush(x & UPPER))).to_bits());
    if is_nan_f64(result) { F64::NAN & UPPER } else { result & UPPER }
}

/// `rsqrt.approx.f64`.
#[inline(always)]
pub fn rsqrt_approx_f64(x: u64) -> u64 {
    quiet_f64([x], 1.0 / f64::from_bits(x).sqrt())
}

/// The result of the unit cut off (not rounded) to a half; what is too large is infinite all the same.
#[inline(always)]
fn truncate<F: Format, const FTZ: bool>(x: u32) -> u16 {
    let limit = ((F32::BIAS + F::BIAS + 1) as u32) << F32::MANTISSA_BITS;
    let half = round_f32::<F, Rz, FTZ, false>(x) as u16;
    if (x >= limit) & !is_nan_f32(x) & (x >> 31 == 0) { F::INFINITY as u16 } else { half }
}

/// `tanh.approx` of a half.
#[inline(always)]
pub fn tanh_approx_half<F: Format>(x: u16) -> u16 {
    truncate::<F, false>(unit::tanh(widen::<F>(u32::from(x))))
}

/// `ex2.approx` of a half; `.ftz` is always written with `.bf16` and never with `.f16`.
#[inline(always)]
pub fn ex2_approx_half<F: Format, const FTZ: bool>(x: u16) -> u16 {
    truncate::<F, FTZ>(unit::ex2(widen::<F>(u32::from(x))))
}
