//! The binary floating-point formats, and rounding a wider float into a narrower format.
//!
//! [`round_f32`] and [`round_f64`] are the one place where a float loses bits under a chosen rounding mode. They work
//! on integers, without branches. An operation whose exact result does not fit `f64` first rounds it *to odd* (keeps
//! the last bit set when anything was lost): from there one more rounding to a format with at least two bits less is
//! the rounding of the exact value.
//!
//! `.ftz` of a result does not look at the rounded subnormal, which may have become the least normal value. The
//! hardware rounds to the full number of bits, as if exponents had no lower end, and flushes what is then below the
//! normal range (tininess after rounding, measured).

use crate::rounding::Rounding;

/// A binary floating-point format of at most 64 bits.
pub trait Format: Copy + 'static {
    /// Bits of the exponent field.
    const EXPONENT_BITS: u32;
    /// Bits of the mantissa field.
    const MANTISSA_BITS: u32;
    /// Magnitude bits of the largest finite value.
    const MAX_FINITE: u64;
    /// What `+inf` becomes. The largest finite value in a format without infinities.
    const INFINITY: u64;
    /// What a NaN becomes: sign clear, every other bit set, in each format that has NaNs.
    const NAN: u64;
    /// The exponent field of 1.0.
    const BIAS: i32 = (1 << (Self::EXPONENT_BITS - 1)) - 1;
    /// The sign bit.
    const SIGN: u64 = 1 << (Self::EXPONENT_BITS + Self::MANTISSA_BITS);
    /// The least magnitude which is normal.
    const MIN_NORMAL: u64 = 1 << Self::MANTISSA_BITS;
    /// 1.0.
    const ONE: u64 = (Self::BIAS as u64) << Self::MANTISSA_BITS;
}

macro_rules! formats {
    ($($name:ident($e:literal, $m:literal, $max:literal, $inf:literal, $nan:literal) $doc:literal),+ $(,)?) => {$(
        #[doc = $doc]
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl Format for $name {
            const EXPONENT_BITS: u32 = $e;
            const MANTISSA_BITS: u32 = $m;
            const MAX_FINITE: u64 = $max;
            const INFINITY: u64 = $inf;
            const NAN: u64 = $nan;
        }
    )+};
}
formats! {
    F64(11, 52, 0x7fef_ffff_ffff_ffff, 0x7ff0_0000_0000_0000, 0x7fff_ffff_ffff_ffff) "`.f64`.",
    F32(8, 23, 0x7f7f_ffff, 0x7f80_0000, 0x7fff_ffff) "`.f32`.",
    Tf32(8, 10, 0x3fbff, 0x3fc00, 0x3ffff) "`.tf32`, as the upper 19 bits of an `.f32`.",
    F16(5, 10, 0x7bff, 0x7c00, 0x7fff) "`.f16`.",
    Bf16(8, 7, 0x7f7f, 0x7f80, 0x7fff) "`.bf16`.",
    E5m2(5, 2, 0x7b, 0x7c, 0x7f) "`.e5m2`.",
    E4m3(4, 3, 0x7e, 0x7e, 0x7f) "`.e4m3`: no infinity, one NaN for each sign.",
    E3m2(3, 2, 0x1f, 0x1f, 0x1f) "`.e3m2`: neither infinity nor NaN.",
    E2m3(2, 3, 0x1f, 0x1f, 0x1f) "`.e2m3`: neither infinity nor NaN.",
    E2m1(2, 1, 0x7, 0x7, 0x7) "`.e2m1`: neither infinity nor NaN.",
}

macro_rules! round_from {
    ($(#[$doc:meta])* $name:ident, $bits:ty, $signed:ty, $source:ty) => {
        $(#[$doc])*
        #[inline(always)]
        pub fn $name<D: Format, R: Rounding, const FTZ: bool, const SATFINITE: bool>(x: $bits) -> $bits {
            const MANTISSA: u32 = <$source as Format>::MANTISSA_BITS;
            const SIGN: $bits = <$source as Format>::SIGN as $bits;
            const INFINITY: $bits = <$source as Format>::INFINITY as $bits;
            // The source's exponent field at which the target's normal range begins.
            let threshold = (<$source as Format>::BIAS - D::BIAS + 1) as $signed;
            let negative = x & SIGN != 0;
            let magnitude = x & !SIGN;
            let field = (magnitude >> MANTISSA) as $signed;
            let exponent = field.max(1);
            let significand =
                (magnitude & ((1 << MANTISSA) - 1)) | (<$bits>::from(field != 0) << MANTISSA);
            let below = if FTZ { 0 } else { (threshold - exponent).max(0) };
            let shift = (((MANTISSA - D::MANTISSA_BITS) as $signed) + below).min(MANTISSA as $signed + 3) as u32;
            let kept = significand >> shift;
            // With nothing to cut off (shift 0) the rest is zero, and half is made unreachable.
            let rest = significand & !(<$bits>::MAX << shift);
            let half = ((1 as $bits) << shift) >> 1;
            let up = R::MODE.steps_up(
                negative,
                kept & 1 != 0,
                rest > half,
                (rest == half) & (rest != 0),
                rest != 0,
            );
            // Below the normal range `base` is negative with FTZ, and stays 0 without.
            let base = if FTZ { exponent - threshold } else { (exponent - threshold).max(0) };
            let sum = (base << D::MANTISSA_BITS) + (kept + <$bits>::from(up)) as $signed;
            let rounded = if FTZ & (sum < D::MIN_NORMAL as $signed) { 0 } else { sum } as $bits;
            let infinite = magnitude == INFINITY;
            let overflow = if SATFINITE {
                D::MAX_FINITE
            } else if R::MODE.overflows_to_infinity(negative) | infinite {
                D::INFINITY
            } else {
                D::MAX_FINITE
            } as $bits;
            let too_large = (rounded > D::MAX_FINITE as $bits) | infinite;
            let result = if too_large { overflow } else { rounded };
            let signed = result | if negative { D::SIGN as $bits } else { 0 };
            if magnitude > INFINITY { D::NAN as $bits } else { signed }
        }
    };
}
round_from! {
    /// Rounds an `.f32` to format `D`; `FTZ` flushes, `SATFINITE` replaces infinities and overflow by the largest finite value.
    round_f32, u32, i32, F32
}
round_from! {
    /// Rounds an `.f64` to format `D`; `FTZ` flushes, `SATFINITE` replaces infinities and overflow by the largest finite value.
    round_f64, u64, i64, F64
}

macro_rules! add_odd {
    ($(#[$doc:meta])* $name:ident, $float:ty) => {
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(a: $float, b: $float) -> $float {
            let sum = a + b;
            let b_part = sum - a;
            let error = (a - (sum - b_part)) + (b - b_part);
            // Not `!= 0`: the error of an infinite sum is NaN.
            let inexact = (error > 0.0) | (error < 0.0);
            let bits = sum.to_bits();
            let outwards = (error > 0.0) == (sum > 0.0);
            let neighbour = if outwards { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
            <$float>::from_bits(if inexact & (bits & 1 == 0) { neighbour } else { bits })
        }
    };
}
add_odd! {
    /// The sum of two `f32` rounded to odd. It must not overflow.
    add_odd_f32, f32
}
add_odd! {
    /// The sum of two `f64` rounded to odd. It must not overflow.
    add_odd_f64, f64
}

/// The exact value of a 16-bit or smaller float in format `S`, as `.f32` bits. Every NaN becomes `0x7fffffff`.
#[inline(always)]
pub fn widen<S: Format>(x: u32) -> u32 {
    let shift = F32::MANTISSA_BITS - S::MANTISSA_BITS;
    let sign = (x & S::SIGN as u32) << (31 - S::EXPONENT_BITS - S::MANTISSA_BITS);
    let magnitude = x & (S::SIGN as u32 - 1);
    let moved = magnitude << shift;
    let rebias = ((F32::BIAS - S::BIAS) as u32) << F32::MANTISSA_BITS;
    // A subnormal gets an exponent just large enough to be normal, and the implicit bit it never had is taken off.
    let base = rebias + (1 << F32::MANTISSA_BITS);
    let lifted = (f32::from_bits(moved.wrapping_add(base)) - f32::from_bits(base)).to_bits();
    let subnormal = if S::EXPONENT_BITS == F32::EXPONENT_BITS { moved } else { lifted };
    let finite = if magnitude < S::MIN_NORMAL as u32 { subnormal } else { moved + rebias };
    let has_infinity = S::INFINITY != S::MAX_FINITE;
    let has_nan = S::NAN != S::MAX_FINITE;
    let infinite = has_infinity & (magnitude == S::INFINITY as u32);
    let top = if has_infinity { S::INFINITY } else { S::MAX_FINITE } as u32;
    let nan = has_nan & (magnitude > top);
    let value = sign | if infinite { F32::INFINITY as u32 } else { finite };
    if nan { F32::NAN as u32 } else { value }
}
