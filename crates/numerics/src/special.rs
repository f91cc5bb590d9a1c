//! The approximate functions: `rcp`, `sqrt`, `rsqrt`, `sin`, `cos`, `lg2`, `ex2`, `tanh`, `div` with `.approx` or
//! `.full` (PTX manual, "Floating Point Instructions").
//!
//! **Not yet bit-identical to hardware.** The hardware has one unit for these functions, which interpolates in tables,
//! flushes subnormal operands and results, and knows nothing of `.ftz`; around it stand a few exact multiplications
//! that bring subnormal and huge operands into its range and the result back. This module has the same two layers.
//! The outer layer is what an `sm_90` does. The inner one, [`mod@unit`], computes each function to about 2^-40 and rounds
//! it to nearest: within the manual's error bounds and exact in its special cases, but often one or two units in the
//! last place away from the tables. An exact model of the unit replaces that module and nothing else.
//!
//! No function of the platform's mathematics library is used, so results do not depend on the host.

use crate::float::{is_nan_f32, is_nan_f64, mul_f32, quiet_f64};
use crate::format::{F32, F64, Format, round_f32, widen};
use crate::rounding::{Rn, Rz};

pub mod unit;

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
