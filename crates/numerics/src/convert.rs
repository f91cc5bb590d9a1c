//! `cvt` between the integer types and `.f16`, `.bf16`, `.f32`, `.f64`, `.tf32` (PTX manual, "Data Movement and
//! Conversion Instructions"). The 8-bit and smaller formats are in [`crate::fp8`].
//!
//! A conversion to a float rounds once. A conversion to an integer rounds to a whole number in mode `R` and clamps to
//! the type's range. NaNs differ, as measured: from `.f64`, and to 64-bit integers, NaN gives the pattern with only the
//! top bit set, otherwise zero; `.f32` to a half gives `0x7fff`, while conversions from and to `.f64` keep the payload.

use crate::float::{QUIET_F64, flush_f32, is_nan_f32, is_nan_f64, saturate_f32};
use crate::format::{F32, F64, Format, Tf32, round_f32, round_f64, widen};
use crate::integer::Int;
use crate::rounding::{Mode, Rn, Rounding};

/// Between integers: cut or extended to the target's size, or with `SAT` clamped to its range.
#[inline(always)]
pub fn int_to_int<S: Int, D: Int, const SAT: bool>(a: S) -> D {
    let bits = a.to_u64();
    if !SAT {
        return D::from_u64(bits);
    }
    // Both bounds as values of the source, where they lie inside its range.
    let below = (a < S::ZERO) & (!D::SIGNED | ((bits as i64) < D::MIN.to_u64() as i64));
    let above = (a > S::ZERO) & (bits > D::MAX.to_u64());
    let clamped = if above { D::MAX } else { D::from_u64(bits) };
    if below { D::MIN } else { clamped }
}

/// The integer as an `f64`, rounded to odd if it has more than 53 bits.
#[inline(always)]
fn odd_f64<T: Int>(a: T) -> f64 {
    if T::BITS <= 32 {
        return a.to_f64();
    }
    let negative = a < T::ZERO;
    let magnitude = if negative { T::ZERO.wrapping_sub(a) } else { a }.to_u64();
    let long = magnitude >> 53 != 0;
    let sticky = (magnitude >> 11) | u64::from(magnitude & 0x7ff != 0);
    let value = if long { sticky.to_f64() * 2048.0 } else { magnitude.to_f64() };
    if negative { -value } else { value }
}

/// An integer to `.f32`.
#[inline(always)]
pub fn int_to_f32<T: Int, R: Rounding>(a: T) -> u32 {
    match R::MODE {
        Mode::NearestEven => a.to_f32().to_bits(),
        _ => round_f64::<F32, R, false, false>(odd_f64(a).to_bits()) as u32,
    }
}

/// An integer to `.f64`.
#[inline(always)]
pub fn int_to_f64<T: Int, R: Rounding>(a: T) -> u64 {
    match R::MODE {
        Mode::NearestEven => a.to_f64().to_bits(),
        _ if T::BITS <= 32 => a.to_f64().to_bits(),
        _ => {
            let wide = if T::SIGNED { i128::from(a.to_u64() as i64) } else { i128::from(a.to_u64()) };
            crate::exact::Exact::from_int(wide).round::<F64, R>()
        }
    }
}

/// An integer to `.f16` or `.bf16`.
#[inline(always)]
pub fn int_to_half<T: Int, F: Format, R: Rounding>(a: T) -> u16 {
    round_f64::<F, R, false, false>(odd_f64(a).to_bits()) as u16
}

/// The `f32` as a whole number.
#[inline(always)]
fn whole_f32<R: Rounding>(x: f32) -> f32 {
    match R::MODE {
        Mode::NearestEven => x.round_ties_even(),
        Mode::NearestAway => x.round(),
        Mode::TowardZero => x.trunc(),
        Mode::Down => x.floor(),
        Mode::Up => x.ceil(),
    }
}

/// The `f64` as a whole number.
#[inline(always)]
fn whole_f64<R: Rounding>(x: f64) -> f64 {
    match R::MODE {
        Mode::NearestEven => x.round_ties_even(),
        Mode::NearestAway => x.round(),
        Mode::TowardZero => x.trunc(),
        Mode::Down => x.floor(),
        Mode::Up => x.ceil(),
    }
}

/// The pattern with only the top bit set.
#[inline(always)]
fn top_bit<T: Int>() -> T {
    T::from_u64(1 << (T::BITS - 1))
}

/// `.f32` to an integer.
#[inline(always)]
pub fn f32_to_int<T: Int, R: Rounding, const FTZ: bool>(a: u32) -> T {
    let value = T::from_f32(whole_f32::<R>(f32::from_bits(flush_f32::<FTZ>(a))));
    if (T::BITS == 64) & is_nan_f32(a) { top_bit() } else { value }
}

/// `.f64` to an integer.
#[inline(always)]
pub fn f64_to_int<T: Int, R: Rounding>(a: u64) -> T {
    let value = T::from_f64(whole_f64::<R>(f64::from_bits(a)));
    if is_nan_f64(a) { top_bit() } else { value }
}

/// `.f16` or `.bf16` to an integer.
#[inline(always)]
pub fn half_to_int<T: Int, F: Format, R: Rounding>(a: u16) -> T {
    f32_to_int::<T, R, false>(widen::<F>(u32::from(a)))
}

/// `.f32` to a whole `.f32`.
#[inline(always)]
pub fn f32_to_whole<R: Rounding, const FTZ: bool, const SAT: bool>(a: u32) -> u32 {
    let whole = whole_f32::<R>(f32::from_bits(flush_f32::<FTZ>(a))).to_bits();
    saturate_f32::<SAT>(if is_nan_f32(a) { F32::NAN as u32 } else { whole })
}

/// `.f64` to a whole `.f64`.
#[inline(always)]
pub fn f64_to_whole<R: Rounding, const SAT: bool>(a: u64) -> u64 {
    let whole = whole_f64::<R>(f64::from_bits(a)).to_bits();
    saturate_f64::<SAT>(if is_nan_f64(a) { a | QUIET_F64 } else { whole })
}

/// `.f16` or `.bf16` to a whole number in the same format.
#[inline(always)]
pub fn half_to_whole<F: Format, R: Rounding, const SAT: bool>(a: u16) -> u16 {
    let whole = f32_to_whole::<R, false, SAT>(widen::<F>(u32::from(a)));
    round_f32::<F, Rn, false, false>(whole) as u16
}

/// `.sat` of an `.f64`: clamps to \[0.0, 1.0\]; NaN and negative zero become positive zero.
#[inline(always)]
pub fn saturate_f64<const SAT: bool>(x: u64) -> u64 {
    if !SAT {
        return x;
    }
    let value = f64::from_bits(x);
    let clamped = if value < 1.0 { x } else { F64::ONE };
    if value > 0.0 { clamped } else { 0 }
}

/// `.f32` to `.f32` without a rounding modifier: a copy, which with `.ftz` flushes and has the one NaN.
#[inline(always)]
pub fn f32_to_f32<const FTZ: bool, const SAT: bool>(a: u32) -> u32 {
    let canonical = if FTZ & is_nan_f32(a) { F32::NAN as u32 } else { a };
    saturate_f32::<SAT>(flush_f32::<FTZ>(canonical))
}

/// `.f32` to `.f64`, after the `.ftz` of [`f32_to_f32`]; a NaN keeps its sign and payload.
#[inline(always)]
pub fn f32_to_f64<const FTZ: bool, const SAT: bool>(a: u32) -> u64 {
    let a = f32_to_f32::<FTZ, false>(a);
    let sign = u64::from(a >> 31) << 63;
    let nan = sign | F64::INFINITY | QUIET_F64 | (u64::from(a & 0x7f_ffff) << 29);
    let value = f64::from(f32::from_bits(a)).to_bits();
    saturate_f64::<SAT>(if is_nan_f32(a) { nan } else { value })
}

/// `.f64` to a narrower format; a NaN keeps its sign and the upper bits of its payload.
#[inline(always)]
fn narrow_f64<D: Format, R: Rounding, const FTZ: bool>(a: u64) -> u64 {
    let sign = if a & F64::SIGN != 0 { D::SIGN } else { 0 };
    let payload = (a & (F64::MIN_NORMAL - 1)) >> (F64::MANTISSA_BITS - D::MANTISSA_BITS);
    let nan = sign | D::INFINITY | (D::MIN_NORMAL >> 1) | payload;
    let number = round_f64::<D, R, FTZ, false>(a);
    if is_nan_f64(a) { nan } else { number }
}

/// `.f64` to `.f32`.
#[inline(always)]
pub fn f64_to_f32<R: Rounding, const FTZ: bool, const SAT: bool>(a: u64) -> u32 {
    saturate_f32::<SAT>(narrow_f64::<F32, R, FTZ>(a) as u32)
}

/// `.f64` to `.f16` or `.bf16`.
#[inline(always)]
pub fn f64_to_half<F: Format, R: Rounding, const SAT: bool>(a: u64) -> u16 {
    saturate_half::<F, SAT>(narrow_f64::<F, R, false>(a) as u16)
}

#[inline(always)]
fn saturate_half<F: Format, const SAT: bool>(x: u16) -> u16 {
    crate::half::clamp::<F, SAT, false>(x)
}

/// `.f32` to `.f16` or `.bf16`. `.ftz` flushes the operand of a conversion to `.bf16`, and does nothing to `.f16`.
#[inline(always)]
pub fn f32_to_half<
    F: Format,
    R: Rounding,
    const FTZ: bool,
    const SAT: bool,
    const RELU: bool,
    const SATFINITE: bool,
>(
    a: u32,
) -> u16 {
    let flushed = if F::EXPONENT_BITS == F32::EXPONENT_BITS { flush_f32::<FTZ>(a) } else { a };
    let half = round_f32::<F, R, false, SATFINITE>(flushed) as u16;
    crate::half::clamp::<F, SAT, RELU>(half)
}

/// `.f16` or `.bf16` to `.f32`. A `.bf16` is the upper half of an `.f32` and is copied as such, NaNs too.
#[inline(always)]
pub fn half_to_f32<F: Format, const FTZ: bool, const SAT: bool>(a: u16) -> u32 {
    let copied = F::EXPONENT_BITS == F32::EXPONENT_BITS;
    f32_to_f32::<FTZ, SAT>(if copied { u32::from(a) << 16 } else { widen::<F>(u32::from(a)) })
}

/// `.f16` or `.bf16` to `.f64`; a NaN keeps its sign and payload.
#[inline(always)]
pub fn half_to_f64<F: Format, const SAT: bool>(a: u16) -> u64 {
    let sign = u64::from(a >> 15) << 63;
    let payload = u64::from(a & 0x7fff & !(F::INFINITY as u16)) << (F64::MANTISSA_BITS - F::MANTISSA_BITS);
    let nan = sign | F64::INFINITY | QUIET_F64 | payload;
    let value = f64::from(f32::from_bits(widen::<F>(u32::from(a)))).to_bits();
    saturate_f64::<SAT>(if a & 0x7fff > F::INFINITY as u16 { nan } else { value })
}

/// Between `.f16` and `.bf16`.
#[inline(always)]
pub fn half_to_half<S: Format, D: Format, R: Rounding, const SAT: bool>(a: u16) -> u16 {
    f32_to_half::<D, R, false, SAT, false, false>(widen::<S>(u32::from(a)))
}

/// `.f16` or `.bf16` to itself without a rounding modifier: a copy with the one NaN, clamped as asked.
#[inline(always)]
pub fn half_to_same<F: Format, const SAT: bool>(a: u16) -> u16 {
    saturate_half::<F, SAT>(if a & 0x7fff > F::INFINITY as u16 { F::NAN as u16 } else { a })
}

/// `.f64` to `.f64` without a rounding modifier: the bits, clamped as asked.
#[inline(always)]
pub fn f64_to_f64<const SAT: bool>(a: u64) -> u64 {
    saturate_f64::<SAT>(a)
}

/// `.f32` to `.tf32` with `.rn` or `.rz`: the low 13 bits of the result are clear, also of a NaN.
#[inline(always)]
pub fn f32_to_tf32<R: Rounding, const RELU: bool, const SATFINITE: bool>(a: u32) -> u32 {
    let tf32 = round_f32::<Tf32, R, false, SATFINITE>(a) << 13;
    let negative = (tf32 >> 31 != 0) & !is_nan_f32(a);
    if RELU & negative { 0 } else { tf32 }
}

/// `cvt.rna.tf32.f32`, which the hardware does with integer instructions: a NaN keeps its upper bits, and `.satfinite`
/// takes one unit off whatever is not finite after rounding, NaNs included.
#[inline(always)]
pub fn f32_to_tf32_rna<const SATFINITE: bool>(a: u32) -> u32 {
    const UNIT: u32 = 1 << 13;
    let finite = |x: u32| x & !(1 << 31) < F32::INFINITY as u32;
    let rounded = if finite(a) { a + UNIT / 2 } else { a } & !(UNIT - 1);
    if SATFINITE & !finite(rounded) { rounded - UNIT } else { rounded }
}

/// `cvt.pack.sat` of two `.s32` to the 16-bit type `T`: `a` above `b`.
#[inline(always)]
pub fn pack16<T: Int>(a: i32, b: i32) -> u32 {
    let clamp = |x| int_to_int::<i32, T, true>(x).to_u64() as u16;
    crate::packed::pack(clamp(b), clamp(a))
}

/// `cvt.pack.sat` of two `.s32` to `BITS` (2, 4 or 8) bits, signed or not: `a` above `b`, below them the lower part of
/// `c` moved up.
#[inline(always)]
pub fn pack_below<const BITS: u32, const SIGNED: bool>(a: i32, b: i32, c: u32) -> u32 {
    let (low, high) = if SIGNED { (-1 << (BITS - 1), (1 << (BITS - 1)) - 1) } else { (0, (1 << BITS) - 1) };
    let field = |x: i32| x.clamp(low, high) as u32 & ((1 << BITS) - 1);
    (c << (2 * BITS)) | (field(a) << BITS) | field(b)
}
