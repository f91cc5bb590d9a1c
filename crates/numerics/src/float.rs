//! Floating-point arithmetic in `.f32` and `.f64` (PTX manual, "Floating Point Instructions").
//!
//! Every result is the exact one, rounded once. `.rn` is the host's own arithmetic. The directed modes of `.f32` go
//! through `f64`: there a product of two `.f32` is exact, a sum is rounded to odd, and a quotient or root cannot come
//! so near to an `.f32` without being it that the wider rounding would hide the difference; [`round_f64`] then rounds
//! as asked. The directed modes of `.f64`, which are rare, go through [`Exact`].
//!
//! An `.f32` NaN result is always `0x7fffffff`. An `.f64` NaN result is a NaN operand made quiet, sign and payload kept,
//! or `0xfff8000000000000` if no operand is NaN.

use crate::exact::Exact;
use crate::format::{F32, F64, Format, add_odd_f64, round_f64};
use crate::rounding::{Mode, Rounding};

/// The only NaN that `.f32` arithmetic produces.
pub const NAN_F32: u32 = F32::NAN as u32;
/// What an invalid `.f64` operation produces.
pub(crate) const DEFAULT_NAN_F64: u64 = 0xfff8_0000_0000_0000;
/// The mantissa bit that makes a NaN quiet.
pub(crate) const QUIET_F64: u64 = 1 << 51;
const SIGN_F32: u32 = F32::SIGN as u32;
const INFINITY_F32: u32 = F32::INFINITY as u32;

/// Whether the bits of an `.f32` are a NaN.
#[inline(always)]
pub fn is_nan_f32(x: u32) -> bool {
    x & !SIGN_F32 > INFINITY_F32
}

/// Whether the bits of an `.f64` are a NaN.
#[inline(always)]
pub fn is_nan_f64(x: u64) -> bool {
    x & !F64::SIGN > F64::INFINITY
}

/// `.ftz`: a subnormal becomes the zero of its sign.
#[inline(always)]
pub fn flush_f32<const FTZ: bool>(x: u32) -> u32 {
    let tiny = x & INFINITY_F32 == 0;
    if FTZ & tiny { x & SIGN_F32 } else { x }
}

/// `.sat`: clamps to \[0.0, 1.0\]; NaN and negative zero become positive zero.
#[inline(always)]
pub fn saturate_f32<const SAT: bool>(x: u32) -> u32 {
    if !SAT {
        return x;
    }
    let value = f32::from_bits(x);
    let clamped = if value < 1.0 { x } else { F32::ONE as u32 };
    if value > 0.0 { clamped } else { 0 }
}

/// What every `.f32` result goes through: one NaN, flushing, saturation.
#[inline(always)]
fn finish<const FTZ: bool, const SAT: bool>(x: u32) -> u32 {
    let canonical = if is_nan_f32(x) { NAN_F32 } else { x };
    saturate_f32::<SAT>(flush_f32::<FTZ>(canonical))
}

/// An `.f32` operand as a number.
#[inline(always)]
fn operand<const FTZ: bool>(x: u32) -> f32 {
    f32::from_bits(flush_f32::<FTZ>(x))
}

/// The sum of two `f64` rounded to odd, except that a sum of exactly zero has the sign that `R` gives it.
#[inline(always)]
fn add_odd<R: Rounding>(a: f64, b: f64) -> f64 {
    let sum = add_odd_f64(a, b);
    let opposite = (a.to_bits() ^ b.to_bits()) >> 63 != 0;
    let cancelled = matches!(R::MODE, Mode::Down) & opposite & (sum == 0.0);
    if cancelled { -0.0 } else { sum }
}

/// Rounds an `f64` to `.f32` in mode `R`.
#[inline(always)]
fn narrow<R: Rounding, const FTZ: bool>(x: f64) -> u32 {
    round_f64::<F32, R, FTZ, false>(x.to_bits()) as u32
}

/// `add.f32`.
#[inline(always)]
pub fn add_f32<R: Rounding, const FTZ: bool, const SAT: bool>(a: u32, b: u32) -> u32 {
    let (a, b) = (operand::<FTZ>(a), operand::<FTZ>(b));
    finish::<FTZ, SAT>(match R::MODE {
        Mode::NearestEven => (a + b).to_bits(),
        _ => narrow::<R, FTZ>(add_odd::<R>(f64::from(a), f64::from(b))),
    })
}

/// `sub.f32`.
#[inline(always)]
pub fn sub_f32<R: Rounding, const FTZ: bool, const SAT: bool>(a: u32, b: u32) -> u32 {
    add_f32::<R, FTZ, SAT>(a, b ^ SIGN_F32)
}

/// A power of two which lifts any subnormal well into the normal range.
const LIFT: f32 = 18_446_744_073_709_551_616.0; // 2^64

/// `.ftz` of a product: flushes it if the same product times [`LIFT`], so rounded to full precision, is below the least
/// normal value times `LIFT`. Where lifting an operand overflows, the product is nowhere near.
#[inline(always)]
fn flush_tiny<const FTZ: bool>(result: f32, lifted: f32) -> u32 {
    let bits = result.to_bits();
    let tiny = lifted.abs() < f32::MIN_POSITIVE * LIFT;
    if FTZ & tiny { bits & SIGN_F32 } else { bits }
}

/// `mul.f32`.
#[inline(always)]
pub fn mul_f32<R: Rounding, const FTZ: bool, const SAT: bool>(a: u32, b: u32) -> u32 {
    let (a, b) = (operand::<FTZ>(a), operand::<FTZ>(b));
    finish::<FTZ, SAT>(match R::MODE {
        Mode::NearestEven => flush_tiny::<FTZ>(a * b, (a * LIFT) * b),
        _ => narrow::<R, FTZ>(f64::from(a) * f64::from(b)),
    })
}

/// `fma.f32`, and `mad.f32`.
#[inline(always)]
pub fn fma_f32<R: Rounding, const FTZ: bool, const SAT: bool>(a: u32, b: u32, c: u32) -> u32 {
    let (a, b, c) = (operand::<FTZ>(a), operand::<FTZ>(b), operand::<FTZ>(c));
    finish::<FTZ, SAT>(match R::MODE {
        Mode::NearestEven => flush_tiny::<FTZ>(a.mul_add(b, c), (a * LIFT).mul_add(b, c * LIFT)),
        _ => narrow::<R, FTZ>(add_odd::<R>(f64::from(a) * f64::from(b), f64::from(c))),
    })
}

/// `div.f32` with a rounding modifier.
#[inline(always)]
pub fn div_f32<R: Rounding, const FTZ: bool>(a: u32, b: u32) -> u32 {
    let (a, b) = (operand::<FTZ>(a), operand::<FTZ>(b));
    finish::<FTZ, false>(match R::MODE {
        Mode::NearestEven => (a / b).to_bits(),
        _ => narrow::<R, FTZ>(f64::from(a) / f64::from(b)),
    })
}

/// `rcp.f32` with a rounding modifier.
#[inline(always)]
pub fn rcp_f32<R: Rounding, const FTZ: bool>(a: u32) -> u32 {
    div_f32::<R, FTZ>(F32::ONE as u32, a)
}

/// `sqrt.f32` with a rounding modifier.
#[inline(always)]
pub fn sqrt_f32<R: Rounding, const FTZ: bool>(a: u32) -> u32 {
    let a = operand::<FTZ>(a);
    finish::<FTZ, false>(match R::MODE {
        Mode::NearestEven => a.sqrt().to_bits(),
        _ => narrow::<R, FTZ>(f64::from(a).sqrt()),
    })
}

/// `neg.f32`.
#[inline(always)]
pub fn neg_f32<const FTZ: bool>(a: u32) -> u32 {
    finish::<FTZ, false>(a ^ SIGN_F32)
}

/// `abs.f32`.
#[inline(always)]
pub fn abs_f32<const FTZ: bool>(a: u32) -> u32 {
    finish::<FTZ, false>(a & !SIGN_F32)
}

/// `copysign.f32`: the magnitude of `b` with the sign of `a`.
#[inline(always)]
pub fn copysign_f32(a: u32, b: u32) -> u32 {
    (a & SIGN_F32) | (b & !SIGN_F32)
}

/// `copysign.f64`: the magnitude of `b` with the sign of `a`.
#[inline(always)]
pub fn copysign_f64(a: u64, b: u64) -> u64 {
    (a & F64::SIGN) | (b & !F64::SIGN)
}

/// A result as bits; a NaN is the quieted first NaN of `operands`, or the negative default NaN if none is.
///
/// The order of the operands is the hardware's: last addend first, then the second factor, then the first.
#[inline(always)]
pub(crate) fn quiet_f64<const N: usize>(operands: [u64; N], result: f64) -> u64 {
    let mut nan = DEFAULT_NAN_F64;
    for &operand in operands.iter().rev() {
        nan = if is_nan_f64(operand) { operand | QUIET_F64 } else { nan };
    }
    if result.is_nan() { nan } else { result.to_bits() }
}

/// An operation whose operands are all finite, in mode `R`; other operands do not round and take `native`.
#[inline(always)]
fn directed_f64<R: Rounding, const N: usize>(
    operands: [u64; N],
    native: u64,
    exact: impl Fn() -> Exact,
) -> u64 {
    let finite = operands.iter().all(|x| x & F64::INFINITY != F64::INFINITY);
    match R::MODE {
        Mode::NearestEven => native,
        _ if finite => exact().round::<F64, R>(),
        _ => native,
    }
}

/// `add.f64`.
#[inline(always)]
pub fn add_f64<R: Rounding>(a: u64, b: u64) -> u64 {
    let native = quiet_f64([b, a], f64::from_bits(a) + f64::from_bits(b));
    directed_f64::<R, 2>([a, b], native, || Exact::from_f64(a).sum(Exact::from_f64(b), R::MODE))
}

/// `atom.add.f64` in global memory: a NaN stays as it is, the operand's before that in memory.
#[inline(always)]
pub fn add_f64_in_memory(memory: u64, operand: u64) -> u64 {
    match (is_nan_f64(operand), is_nan_f64(memory)) {
        (true, _) => operand,
        (false, true) => memory,
        (false, false) => add_f64::<crate::rounding::Rn>(memory, operand),
    }
}

/// `sub.f64`.
#[inline(always)]
pub fn sub_f64<R: Rounding>(a: u64, b: u64) -> u64 {
    let native = quiet_f64([b, a], f64::from_bits(a) - f64::from_bits(b));
    directed_f64::<R, 2>([a, b], native, || Exact::from_f64(a).sum(Exact::from_f64(b ^ F64::SIGN), R::MODE))
}

/// `mul.f64`.
#[inline(always)]
pub fn mul_f64<R: Rounding>(a: u64, b: u64) -> u64 {
    let native = quiet_f64([b, a], f64::from_bits(a) * f64::from_bits(b));
    directed_f64::<R, 2>([a, b], native, || Exact::from_f64(a).product(Exact::from_f64(b)))
}

/// `fma.f64`, and `mad.f64`.
#[inline(always)]
pub fn fma_f64<R: Rounding>(a: u64, b: u64, c: u64) -> u64 {
    let native = quiet_f64([b, c, a], f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c)));
    directed_f64::<R, 3>([a, b, c], native, || {
        Exact::from_f64(a).product(Exact::from_f64(b)).sum(Exact::from_f64(c), R::MODE)
    })
}

/// `div.f64`.
#[inline(always)]
pub fn div_f64<R: Rounding>(a: u64, b: u64) -> u64 {
    let native = quiet_f64([a, b], f64::from_bits(a) / f64::from_bits(b));
    // Division by zero does not round either: it is put among the operands that are not finite.
    let divisor = if b << 1 == 0 { F64::INFINITY } else { b };
    directed_f64::<R, 2>([a, divisor], native, || Exact::from_f64(a).quotient(Exact::from_f64(b)))
}

/// `rcp.f64` with a rounding modifier.
#[inline(always)]
pub fn rcp_f64<R: Rounding>(a: u64) -> u64 {
    div_f64::<R>(F64::ONE, a)
}

/// `sqrt.f64`.
#[inline(always)]
pub fn sqrt_f64<R: Rounding>(a: u64) -> u64 {
    let native = quiet_f64([a], f64::from_bits(a).sqrt());
    let negative = (a & F64::SIGN != 0) & (a << 1 != 0);
    let operand = if negative { F64::INFINITY } else { a };
    directed_f64::<R, 1>([operand], native, || Exact::from_f64(a).root())
}

/// `neg.f64`. A NaN is quieted and keeps its sign.
#[inline(always)]
pub fn neg_f64(a: u64) -> u64 {
    if is_nan_f64(a) { a | QUIET_F64 } else { a ^ F64::SIGN }
}

/// `abs.f64`. A NaN is quieted and keeps its sign.
#[inline(always)]
pub fn abs_f64(a: u64) -> u64 {
    if is_nan_f64(a) { a | QUIET_F64 } else { a & !F64::SIGN }
}

/// Bits as an integer in the order of the numbers, with -0 below +0.
#[inline(always)]
fn order_f32(x: u32) -> i32 {
    x as i32 ^ ((x as i32 >> 31) as u32 >> 1) as i32
}

#[inline(always)]
fn order_f64(x: u64) -> i64 {
    x as i64 ^ ((x as i64 >> 63) as u64 >> 1) as i64
}

/// The smaller (or greater) number by `a_wins`; one NaN loses, or wins if `NAN`; two give the canonical NaN.
#[inline(always)]
fn choose_f32<const NAN: bool>(a: u32, b: u32, a_wins: bool) -> u32 {
    let (a_nan, b_nan) = (is_nan_f32(a), is_nan_f32(b));
    let number = if (a_wins & !a_nan) | b_nan { a } else { b };
    let nan = if NAN { a_nan | b_nan } else { a_nan & b_nan };
    if nan { NAN_F32 } else { number }
}

/// With `.xorsign.abs` the magnitudes are compared, and a result other than NaN gets the sign of the product.
#[inline(always)]
fn with_xorsign<const XORSIGN_ABS: bool>(a: u32, b: u32, f: impl Fn(u32, u32) -> u32) -> u32 {
    if XORSIGN_ABS {
        let chosen = f(a & !SIGN_F32, b & !SIGN_F32);
        if chosen == NAN_F32 { chosen } else { ((a ^ b) & SIGN_F32) | chosen }
    } else {
        f(a, b)
    }
}

/// `min.f32`.
#[inline(always)]
pub fn min_f32<const FTZ: bool, const NAN: bool, const XORSIGN_ABS: bool>(a: u32, b: u32) -> u32 {
    let (a, b) = (flush_f32::<FTZ>(a), flush_f32::<FTZ>(b));
    with_xorsign::<XORSIGN_ABS>(a, b, |a, b| choose_f32::<NAN>(a, b, order_f32(a) < order_f32(b)))
}

/// `max.f32`.
#[inline(always)]
pub fn max_f32<const FTZ: bool, const NAN: bool, const XORSIGN_ABS: bool>(a: u32, b: u32) -> u32 {
    let (a, b) = (flush_f32::<FTZ>(a), flush_f32::<FTZ>(b));
    with_xorsign::<XORSIGN_ABS>(a, b, |a, b| choose_f32::<NAN>(a, b, order_f32(a) > order_f32(b)))
}

/// Magnitudes, if `.abs` is written.
#[inline(always)]
fn magnitude_if<const ABS: bool>(x: u32) -> u32 {
    if ABS { x & !SIGN_F32 } else { x }
}

/// `min.f32` of three.
#[inline(always)]
pub fn min3_f32<const FTZ: bool, const NAN: bool, const ABS: bool>(a: u32, b: u32, c: u32) -> u32 {
    let (a, b, c) = (magnitude_if::<ABS>(a), magnitude_if::<ABS>(b), magnitude_if::<ABS>(c));
    min_f32::<FTZ, NAN, false>(min_f32::<FTZ, NAN, false>(a, b), c)
}

/// `max.f32` of three.
#[inline(always)]
pub fn max3_f32<const FTZ: bool, const NAN: bool, const ABS: bool>(a: u32, b: u32, c: u32) -> u32 {
    let (a, b, c) = (magnitude_if::<ABS>(a), magnitude_if::<ABS>(b), magnitude_if::<ABS>(c));
    max_f32::<FTZ, NAN, false>(max_f32::<FTZ, NAN, false>(a, b), c)
}

/// What `redux.sync.min.f32` makes of two lanes, or of one with itself.
#[inline(always)]
pub fn redux_min_f32<const NAN: bool, const ABS: bool>(a: u32, b: u32) -> u32 {
    min_f32::<false, NAN, false>(magnitude_if::<ABS>(a), magnitude_if::<ABS>(b))
}

/// What `redux.sync.max.f32` makes of two lanes, or of one with itself.
#[inline(always)]
pub fn redux_max_f32<const NAN: bool, const ABS: bool>(a: u32, b: u32) -> u32 {
    max_f32::<false, NAN, false>(magnitude_if::<ABS>(a), magnitude_if::<ABS>(b))
}

/// The smaller (or greater) number by `a_wins`; one NaN loses; of two, the second is kept.
#[inline(always)]
fn choose_f64(a: u64, b: u64, a_wins: bool) -> u64 {
    let (a_nan, b_nan) = (is_nan_f64(a), is_nan_f64(b));
    let number = if (a_wins & !a_nan) | b_nan { a } else { b };
    if a_nan & b_nan { b | QUIET_F64 } else { number }
}

/// `min.f64`.
#[inline(always)]
pub fn min_f64(a: u64, b: u64) -> u64 {
    choose_f64(a, b, order_f64(a) < order_f64(b))
}

/// `max.f64`.
#[inline(always)]
pub fn max_f64(a: u64, b: u64) -> u64 {
    choose_f64(a, b, order_f64(a) > order_f64(b))
}

/// `testp`: a property of a float. Zeros count as normal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    /// `.finite`: neither infinite nor NaN.
    Finite,
    /// `.infinite`.
    Infinite,
    /// `.number`: not NaN.
    Number,
    /// `.notanumber`.
    NotANumber,
    /// `.normal`: neither NaN, infinite nor subnormal.
    Normal,
    /// `.subnormal`.
    Subnormal,
}

/// `testp` on bits of format `F`.
#[inline(always)]
pub fn testp<F: Format>(property: Property, x: u64) -> bool {
    let magnitude = x & (F::SIGN - 1);
    let subnormal = (magnitude != 0) & (magnitude < F::MIN_NORMAL);
    match property {
        Property::Finite => magnitude < F::INFINITY,
        Property::Infinite => magnitude == F::INFINITY,
        Property::Number => magnitude <= F::INFINITY,
        Property::NotANumber => magnitude > F::INFINITY,
        Property::Normal => (magnitude < F::INFINITY) & !subnormal,
        Property::Subnormal => subnormal,
    }
}
