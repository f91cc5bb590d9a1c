//! The approximate functions: `rcp`, `sqrt`, `rsqrt`, `sin`, `cos`, `lg2`, `ex2`, `tanh`, `div` with `.approx` or
//! `.full` (PTX manual, "Floating Point Instructions").
//!
//! Bit for bit what an H200 computes, for every operand: docs/numerics.md tells how that was found, and `cargo xtask
//! fingerprints` checks it. The hardware has one unit for these functions, which interpolates in tables, flushes
//! subnormal operands and results, and knows nothing of `.ftz`; around it stand a few exact multiplications that bring
//! subnormal and huge operands into its range and the result back. This module has the same two layers: here is what an
//! `sm_90` does around the unit, [`mod@unit`] is the unit, and [`interpolate`] is the arithmetic in it.
//!
//! No function of the platform's mathematics library is used, so results do not depend on the host.

use crate::float::{DEFAULT_NAN_F64, QUIET_F64, fma_f64, is_nan_f32, is_nan_f64, mul_f32, mul_f64};
use crate::format::{F32, F64, Format, round_f32, widen};
use crate::rounding::{Rn, Rz};

pub mod interpolate;
#[rustfmt::skip]
mod tables;
pub mod unit;

/// A function of the unit with a table, for who interpolates in code of his own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolated {
    /// 1/x.
    Rcp,
    /// 1/sqrt(x).
    Rsqrt,
    /// sqrt(x).
    Sqrt,
    /// The sine of turns.
    Sin,
    /// 2^x.
    Ex2,
    /// log2(x).
    Lg2,
}

impl Interpolated {
    /// What is added to every value, and the rows of coefficients as [`interpolate`] packs them.
    pub fn table(self) -> (u64, &'static [u64]) {
        match self {
            Self::Rcp => tables::RCP.parts(),
            Self::Rsqrt => tables::RSQRT.parts(),
            Self::Sqrt => tables::SQRT.parts(),
            Self::Sin => tables::SIN.parts(),
            Self::Ex2 => tables::EX2.parts(),
            Self::Lg2 => tables::LG2.parts(),
        }
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
    u64::from(unit::rcp64h((x >> 32) as u32)) << 32
}

/// `rsqrt.approx.ftz.f64`: the upper word of the operand gives the upper word of the result.
#[inline(always)]
pub fn rsqrt_approx_ftz_f64(x: u64) -> u64 {
    u64::from(unit::rsqrt64h((x >> 32) as u32)) << 32
}

/// `rsqrt.approx.f64`: one step from the unit's 20 bits to about 50.
#[inline(always)]
pub fn rsqrt_approx_f64(x: u64) -> u64 {
    const TWO_54: u64 = 0x4350_0000_0000_0000;
    const TWO_27: u64 = 0x41a0_0000_0000_0000;
    const THREE_EIGHTHS: u64 = 0x3fd8_0000_0000_0000;
    const HALF: u64 = 0x3fe0_0000_0000_0000;
    let tiny = x & F64::INFINITY == 0;
    let scaled = mul_f64::<Rn>(x, TWO_54);
    let operand = if tiny { scaled } else { x };
    let root = rsqrt_approx_ftz_f64(operand);
    // With e = 1 - x root^2, the inverse root is root (1 + e/2 + 3/8 e^2 ...).
    let square = mul_f64::<Rn>(root, root);
    let error = fma_f64::<Rn>(square ^ F64::SIGN, operand, F64::ONE);
    let factor = fma_f64::<Rn>(error, THREE_EIGHTHS, HALF);
    let better = fma_f64::<Rn>(factor, mul_f64::<Rn>(root, error), root);
    let scaled_back = mul_f64::<Rn>(better, TWO_27);
    let finite = if tiny { scaled_back } else { better };
    let magnitude = x & !F64::SIGN;
    if is_nan_f64(x) {
        x | QUIET_F64
    } else if magnitude == 0 {
        x | F64::INFINITY
    } else if x & F64::SIGN != 0 {
        DEFAULT_NAN_F64
    } else if magnitude == F64::INFINITY {
        0
    } else {
        finite
    }
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
