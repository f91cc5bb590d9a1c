//! Half-precision arithmetic in `.f16` and `.bf16` (PTX manual, "Half Precision Floating Point Instructions").
//!
//! Every function is generic over the format and takes one value; [`crate::packed`] applies it to `.f16x2` and
//! `.bf16x2`. Every result is the exact one, rounded once to nearest even. Where a wider native result would be
//! rounded twice, the wider one is exact or rounded to odd:
//!
//! - a sum of two halves in `f32` may round, harmlessly: 24 bits are at least twice 11 and two more;
//! - a product of two `.f16` is exact in `f32`; one of two `.bf16` can leave the range of `f32` and is exact in `f64`;
//! - in `fma` the product is exact and the sum rounded to odd.
//!
//! The one NaN result is `0x7fff`.

use crate::format::{Bf16, F16, Format, add_odd_f32, add_odd_f64, round_f32, round_f64, widen};
use crate::rounding::{Rn, Rounding};

/// A half-precision format: `.f16` or `.bf16`.
pub trait Half: Format {
    /// The product, rounded once.
    fn product<const FTZ: bool>(a: u32, b: u32) -> u16;
    /// The product plus a third value, rounded once.
    fn product_sum<const FTZ: bool>(a: u32, b: u32, c: u32) -> u16;
}

/// Rounds `f32` bits to a half.
#[inline(always)]
fn narrow<F: Format, const FTZ: bool>(x: u32) -> u16 {
    round_f32::<F, Rn, FTZ, false>(x) as u16
}

impl Half for F16 {
    #[inline(always)]
    fn product<const FTZ: bool>(a: u32, b: u32) -> u16 {
        narrow::<F16, FTZ>((f32::from_bits(a) * f32::from_bits(b)).to_bits())
    }
    #[inline(always)]
    fn product_sum<const FTZ: bool>(a: u32, b: u32, c: u32) -> u16 {
        let product = f32::from_bits(a) * f32::from_bits(b);
        narrow::<F16, FTZ>(add_odd_f32(product, f32::from_bits(c)).to_bits())
    }
}

impl Half for Bf16 {
    #[inline(always)]
    fn product<const FTZ: bool>(a: u32, b: u32) -> u16 {
        let product = f64::from(f32::from_bits(a)) * f64::from(f32::from_bits(b));
        round_f64::<Bf16, Rn, FTZ, false>(product.to_bits()) as u16
    }
    #[inline(always)]
    fn product_sum<const FTZ: bool>(a: u32, b: u32, c: u32) -> u16 {
        let product = f64::from(f32::from_bits(a)) * f64::from(f32::from_bits(b));
        let sum = add_odd_f64(product, f64::from(f32::from_bits(c)));
        round_f64::<Bf16, Rn, FTZ, false>(sum.to_bits()) as u16
    }
}

/// `.ftz`: a subnormal becomes the zero of its sign.
#[inline(always)]
pub fn flush<F: Format, const FTZ: bool>(x: u16) -> u16 {
    let tiny = x & F::INFINITY as u16 == 0;
    if FTZ & tiny { x & F::SIGN as u16 } else { x }
}

#[inline(always)]
fn is_nan<F: Format>(x: u16) -> bool {
    x & 0x7fff > F::INFINITY as u16
}

/// `.sat` clamps to \[0.0, 1.0\] and turns NaN into +0; `.relu` turns what is negative into +0 and keeps NaN.
#[inline(always)]
pub(crate) fn clamp<F: Format, const SAT: bool, const RELU: bool>(x: u16) -> u16 {
    let negative = x & 0x8000 != 0;
    let nan = is_nan::<F>(x);
    let one = F::ONE as u16;
    let saturated = if negative | nan { 0 } else { x.min(one) };
    let relu = if negative & !nan { 0 } else { x };
    if SAT {
        saturated
    } else if RELU {
        relu
    } else {
        x
    }
}

#[inline(always)]
fn operand<F: Format, const FTZ: bool>(x: u16) -> u32 {
    widen::<F>(u32::from(flush::<F, FTZ>(x)))
}

/// `add`.
#[inline(always)]
pub fn add<F: Half, const FTZ: bool, const SAT: bool>(a: u16, b: u16) -> u16 {
    let sum = f32::from_bits(operand::<F, FTZ>(a)) + f32::from_bits(operand::<F, FTZ>(b));
    clamp::<F, SAT, false>(narrow::<F, FTZ>(sum.to_bits()))
}

/// `sub`.
#[inline(always)]
pub fn sub<F: Half, const FTZ: bool, const SAT: bool>(a: u16, b: u16) -> u16 {
    add::<F, FTZ, SAT>(a, b ^ 0x8000)
}

/// `mul`.
#[inline(always)]
pub fn mul<F: Half, const FTZ: bool, const SAT: bool>(a: u16, b: u16) -> u16 {
    let product = F::product::<FTZ>(operand::<F, FTZ>(a), operand::<F, FTZ>(b));
    clamp::<F, SAT, false>(product)
}

/// `fma`.
#[inline(always)]
pub fn fma<F: Half, const FTZ: bool, const SAT: bool, const RELU: bool>(a: u16, b: u16, c: u16) -> u16 {
    let sum = F::product_sum::<FTZ>(operand::<F, FTZ>(a), operand::<F, FTZ>(b), operand::<F, FTZ>(c));
    clamp::<F, SAT, RELU>(sum)
}

/// The magnitude of the out-of-bounds NaN, which a tensor load can put where there is no element (measured).
const OUT_OF_BOUNDS: u16 = 0x7ff7;

/// `fma.oob`: zero if a factor is the out-of-bounds NaN.
#[inline(always)]
pub fn fma_oob<F: Half, const SAT: bool, const RELU: bool>(a: u16, b: u16, c: u16) -> u16 {
    let outside = (a & 0x7fff == OUT_OF_BOUNDS) | (b & 0x7fff == OUT_OF_BOUNDS);
    let result = fma::<F, false, SAT, RELU>(a, b, c);
    if outside { 0 } else { result }
}

/// `fma.rz.bf16`, `fma.rm.bf16` and `fma.rp.bf16`, which the manual does not have and ptxas accepts. What it makes of them
/// takes the operands for `.f16`: their `fma` in `.f32` rounds as written, and once more to nearest into an `.f16`.
#[inline(always)]
pub fn fma_directed<R: Rounding>(a: u16, b: u16, c: u16) -> u16 {
    let wide = |x| widen::<F16>(u32::from(x));
    let sum = crate::float::fma_f32::<R, false, false>(wide(a), wide(b), wide(c));
    narrow::<F16, false>(sum)
}

/// A value of any kind as an instruction returns it: one NaN, flushed.
#[inline(always)]
fn finish<F: Format, const FTZ: bool>(x: u16) -> u16 {
    if is_nan::<F>(x) { F::NAN as u16 } else { flush::<F, FTZ>(x) }
}

/// `neg`.
#[inline(always)]
pub fn neg<F: Half, const FTZ: bool>(a: u16) -> u16 {
    finish::<F, FTZ>(a ^ 0x8000)
}

/// `abs`.
#[inline(always)]
pub fn abs<F: Half, const FTZ: bool>(a: u16) -> u16 {
    finish::<F, FTZ>(a & 0x7fff)
}

/// Bits as an integer in the order of the numbers, with -0 below +0.
#[inline(always)]
fn order(x: u16) -> i16 {
    x as i16 ^ ((x as i16 >> 15) as u16 >> 1) as i16
}

/// The chosen number by `a_wins`; one NaN loses, or wins if `NAN`; two give the canonical NaN.
#[inline(always)]
fn choose<F: Format, const NAN: bool>(a: u16, b: u16, a_wins: bool) -> u16 {
    let (a_nan, b_nan) = (is_nan::<F>(a), is_nan::<F>(b));
    let number = if (a_wins & !a_nan) | b_nan { a } else { b };
    let nan = if NAN { a_nan | b_nan } else { a_nan & b_nan };
    if nan { F::NAN as u16 } else { number }
}

/// With `.xorsign.abs` the magnitudes are compared, and a result other than NaN gets the sign of the product.
#[inline(always)]
fn with_xorsign<const XORSIGN_ABS: bool>(a: u16, b: u16, f: impl Fn(u16, u16) -> u16) -> u16 {
    if XORSIGN_ABS {
        let chosen = f(a & 0x7fff, b & 0x7fff);
        if chosen == 0x7fff { chosen } else { ((a ^ b) & 0x8000) | chosen }
    } else {
        f(a, b)
    }
}

/// `min`.
#[inline(always)]
pub fn min<F: Half, const FTZ: bool, const NAN: bool, const XORSIGN_ABS: bool>(a: u16, b: u16) -> u16 {
    let (a, b) = (flush::<F, FTZ>(a), flush::<F, FTZ>(b));
    with_xorsign::<XORSIGN_ABS>(a, b, |a, b| choose::<F, NAN>(a, b, order(a) < order(b)))
}

/// `max`.
#[inline(always)]
pub fn max<F: Half, const FTZ: bool, const NAN: bool, const XORSIGN_ABS: bool>(a: u16, b: u16) -> u16 {
    let (a, b) = (flush::<F, FTZ>(a), flush::<F, FTZ>(b));
    with_xorsign::<XORSIGN_ABS>(a, b, |a, b| choose::<F, NAN>(a, b, order(a) > order(b)))
}
