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

use crate::tensor::lanes::Portable;
use lookup::Lookup;
use unit::Function;

pub mod interpolate;
pub mod lookup;
#[rustfmt::skip]
mod tables;
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

/// What an instruction does around a function of the unit, for one lane or for many side by side.
pub trait Approximation {
    /// The function of the unit.
    type Unit: unit::Function;
    /// What the unit gets.
    #[inline(always)]
    fn operand(x: u32) -> u32 {
        x
    }
    /// The result for an operand, of what the unit gives.
    #[inline(always)]
    fn result(_x: u32, y: u32) -> u32 {
        y
    }

    /// The instruction.
    #[inline(always)]
    fn lane(x: u32) -> u32 {
        Self::result(x, Self::Unit::lane(Self::operand(x)))
    }

    /// The instruction in each lane. Ordinary operands are the unit's as they are, or else no operand is ordinary.
    #[inline(always)]
    fn lanes<V: Lookup, const L: usize>(v: V, x: &[u32; L]) -> [u32; L] {
        if unit::are_ordinary::<Self::Unit, L>(x) {
            return Self::Unit::ordinary_lanes(v, x);
        }
        let mut words = [0; L];
        for l in 0..L {
            words[l] = Self::operand(x[l]);
        }
        words = Self::Unit::lanes(v, &words);
        for l in 0..L {
            words[l] = Self::result(x[l], words[l]);
        }
        words
    }
}

macro_rules! lane {
    ($($name:ident $(<$ftz:ident>)? = $approximation:ty;)*) => {$(
        #[doc = concat!("[`", stringify!($approximation), "`] of a lane.")]
        #[inline(always)]
        pub fn $name$(<const $ftz: bool>)?(x: u32) -> u32 {
            <$approximation>::lane(x)
        }
    )*};
}
lane! {
    rcp_approx_f32<FTZ> = Rcp<FTZ>;
    sqrt_approx_f32<FTZ> = Sqrt<FTZ>;
    rsqrt_approx_f32<FTZ> = Rsqrt<FTZ>;
    lg2_approx_f32<FTZ> = Lg2<FTZ>;
    ex2_approx_f32<FTZ> = Ex2<FTZ>;
    sin_approx_f32 = Sine<0>;
    cos_approx_f32 = Sine<1>;
    tanh_approx_f32 = Tanh;
}

/// An operand below the normal range scaled up by 2^24.
#[inline(always)]
fn lifted<const FTZ: bool>(x: u32) -> u32 {
    let tiny = !FTZ & is_subnormal_or_zero(x);
    let scaled = scale(x, SCALE_UP);
    if tiny { scaled } else { x }
}

/// A result, brought `back` if its operand was scaled up.
#[inline(always)]
fn lowered<const FTZ: bool>(x: u32, y: u32, back: impl Fn(u32) -> u32) -> u32 {
    let tiny = !FTZ & is_subnormal_or_zero(x);
    let scaled_back = back(y);
    if tiny { scaled_back } else { y }
}

/// `rcp.approx.f32`.
#[derive(Debug)]
pub struct Rcp<const FTZ: bool>;

impl<const FTZ: bool> Rcp<FTZ> {
    /// By what operand and result are multiplied.
    #[inline(always)]
    fn factor(x: u32) -> u32 {
        let up = if is_subnormal_or_zero(x) { SCALE_UP } else { F32::ONE as u32 };
        if is_huge(x) { QUARTER } else { up }
    }
}

impl<const FTZ: bool> Approximation for Rcp<FTZ> {
    type Unit = unit::Rcp;
    #[inline(always)]
    fn operand(x: u32) -> u32 {
        if FTZ { x } else { scale(x, Self::factor(x)) }
    }
    #[inline(always)]
    fn result(x: u32, y: u32) -> u32 {
        if FTZ { y } else { scale(y, Self::factor(x)) }
    }
}

/// `sqrt.approx.f32`.
#[derive(Debug)]
pub struct Sqrt<const FTZ: bool>;

impl<const FTZ: bool> Approximation for Sqrt<FTZ> {
    type Unit = unit::Sqrt;
    #[inline(always)]
    fn operand(x: u32) -> u32 {
        lifted::<FTZ>(x)
    }
    #[inline(always)]
    fn result(x: u32, y: u32) -> u32 {
        lowered::<FTZ>(x, y, |y| scale(y, 0x3980_0000)) // 2^-12
    }
}

/// `rsqrt.approx.f32`.
#[derive(Debug)]
pub struct Rsqrt<const FTZ: bool>;

impl<const FTZ: bool> Approximation for Rsqrt<FTZ> {
    type Unit = unit::Rsqrt;
    #[inline(always)]
    fn operand(x: u32) -> u32 {
        lifted::<FTZ>(x)
    }
    #[inline(always)]
    fn result(x: u32, y: u32) -> u32 {
        lowered::<FTZ>(x, y, |y| scale(y, 0x4580_0000)) // 2^12
    }
}

/// `lg2.approx.f32`.
#[derive(Debug)]
pub struct Lg2<const FTZ: bool>;

impl<const FTZ: bool> Approximation for Lg2<FTZ> {
    type Unit = unit::Lg2;
    #[inline(always)]
    fn operand(x: u32) -> u32 {
        lifted::<FTZ>(x)
    }
    #[inline(always)]
    fn result(x: u32, y: u32) -> u32 {
        lowered::<FTZ>(x, y, |y| crate::float::add_f32::<Rn, false, false>(y, 0xc1c0_0000)) // -24
    }
}

/// `ex2.approx.f32`.
#[derive(Debug)]
pub struct Ex2<const FTZ: bool>;

impl<const FTZ: bool> Ex2<FTZ> {
    /// Below -126 the result is subnormal: the square of 2^(x/2).
    #[inline(always)]
    fn is_low(x: u32) -> bool {
        !FTZ & (f32::from_bits(x) < -126.0)
    }
}

impl<const FTZ: bool> Approximation for Ex2<FTZ> {
    type Unit = unit::Ex2;
    #[inline(always)]
    fn operand(x: u32) -> u32 {
        let half = scale(x, 0x3f00_0000);
        if Self::is_low(x) { half } else { x }
    }
    #[inline(always)]
    fn result(x: u32, y: u32) -> u32 {
        let square = scale(y, y);
        if Self::is_low(x) { square } else { y }
    }
}

/// 1/(2 pi), by which an angle becomes a number of turns.
const PER_TURN: u32 = 0x3e22_f983;

/// `sin.approx.f32`, and with one quarter turn more `cos.approx.f32`; `.ftz` makes no difference.
#[derive(Debug)]
pub struct Sine<const QUARTERS_MORE: u32>;

impl<const QUARTERS_MORE: u32> Approximation for Sine<QUARTERS_MORE> {
    type Unit = unit::Sine<QUARTERS_MORE>;
    // The product, cut off: where it was rounded away from zero, what it lacks has the other sign. What it lacks is not exact of products so
    // small that the unit takes them for zero.
    #[inline(always)]
    fn operand(x: u32) -> u32 {
        let (angle, per_turn) = (f32::from_bits(x), f32::from_bits(PER_TURN));
        let near = angle * per_turn;
        let lacks = angle.mul_add(per_turn, -near);
        let apart = (near.to_bits() ^ lacks.to_bits()) >> 31;
        let is_inexact = (lacks < 0.0) | (lacks > 0.0);
        near.to_bits() - (apart & u32::from(is_inexact))
    }
}

/// `tanh.approx.f32`.
#[derive(Debug)]
pub struct Tanh;

impl Approximation for Tanh {
    type Unit = unit::Tanh;
}

/// `div.approx.f32`: the product with the reciprocal. A divisor above 2^126 gives zero.
#[inline(always)]
pub fn div_approx_f32<const FTZ: bool>(a: u32, b: u32) -> u32 {
    let [quotient] = div_approx_lanes::<FTZ, _, 1>(Portable, &[a], &[b]);
    quotient
}

/// The same in each lane.
#[inline(always)]
pub fn div_approx_lanes<const FTZ: bool, V: Lookup, const L: usize>(
    v: V,
    a: &[u32; L],
    b: &[u32; L],
) -> [u32; L] {
    let mut quotients = [0; L];
    if unit::are_ordinary::<unit::Rcp, L>(b) {
        let inverses = unit::Rcp::ordinary_lanes(v, b);
        for l in 0..L {
            quotients[l] = mul_f32::<Rn, FTZ, false>(inverses[l], a[l]);
        }
        return quotients;
    }
    let mut divisors = [0; L];
    for l in 0..L {
        divisors[l] = lifted::<FTZ>(b[l]);
    }
    let inverses = unit::Rcp::lanes(v, &divisors);
    for l in 0..L {
        let tiny = !FTZ & is_subnormal_or_zero(b[l]);
        let scaled = scale(a[l], SCALE_UP);
        quotients[l] = mul_f32::<Rn, FTZ, false>(inverses[l], if tiny { scaled } else { a[l] });
    }
    quotients
}

/// `div.full.f32`: as `div.approx`, with a huge divisor scaled down first.
#[inline(always)]
pub fn div_full_f32<const FTZ: bool>(a: u32, b: u32) -> u32 {
    let [quotient] = div_full_lanes::<FTZ, _, 1>(Portable, &[a], &[b]);
    quotient
}

/// The same in each lane.
#[inline(always)]
pub fn div_full_lanes<const FTZ: bool, V: Lookup, const L: usize>(
    v: V,
    a: &[u32; L],
    b: &[u32; L],
) -> [u32; L] {
    let (mut dividends, mut divisors) = (*a, *b);
    for l in 0..L {
        let down = |x| mul_f32::<Rn, FTZ, false>(x, QUARTER);
        let (scaled_a, scaled_b) = (down(a[l]), down(b[l]));
        if is_huge(b[l]) {
            (dividends[l], divisors[l]) = (scaled_a, scaled_b);
        }
    }
    div_approx_lanes::<FTZ, V, L>(v, &dividends, &divisors)
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
    truncate::<F, false>(unit::Tanh::lane(widen::<F>(u32::from(x))))
}

/// `ex2.approx` of a half; `.ftz` is always written with `.bf16` and never with `.f16`.
#[inline(always)]
pub fn ex2_approx_half<F: Format, const FTZ: bool>(x: u16) -> u16 {
    truncate::<F, FTZ>(unit::Ex2::lane(widen::<F>(u32::from(x))))
}
