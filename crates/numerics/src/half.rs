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
use crate::rounding::Rn;

/// A half-precision format: `.f16` or `.bf16`.
pub trait Half: Format {
    /// The product, rounded once.
    fn product(a: u32, b: u32) -> u16;
    /// The product plus a third value, rounded once.
    fn product_sum(a: u32, b: u32, c: u32) -> u16;
}

/// Rounds `f32` bits to a half.
#[inline(always)]
fn narrow<F: Format>(x: u32) -> u16 {
    round_f32::<F, Rn, false>(x) as u16
}

impl Half for F16 {
    #[inline(always)]
    fn product(a: u32, b: u32) -> u16 {
        narrow::<F16>((f32::from_bits(a) * f32::from_bits(b)).to_bits())
    }
    #[inline(always)]
    fn product_sum(a: u32, b: u32, c: u32) -> u16 {
        let product = f32::from_bits(a) * f32::from_bits(b);
        narrow::<F16>(add_odd_f32(product, f32::from_bits(c)).to_bits())
    }
}

impl Half for Bf16 {
    #[inline(always)]
    fn product(a: u32, b: u32) -> u16 {
        let product = f64::from(f32::from_bits(a)) * f64::from(f32::from_bits(b));
        round_f64::<Bf16, Rn, false>(product.to_bits()) as u16
    }
    #[inline(always)]
    fn product_sum(a: u32, b: u32, c: u32) -> u16 {
        let product = f64::from(f32::from_bits(a)) * f64::from(f32::from_bits(b));
        let sum = add_odd_f64(product, f64::from(f32::from_bits(c)));
        round_f64::<Bf16, Rn, false>(sum.to_bits()) as u16
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

/// `.sat` clamps to [0.0, 1.0] and turns NaN into +0; `.relu` turns what is negative into +0 and keeps NaN.
#[inline(always)]
fn clamp<F: Format, const SAT: bool, const RELU: bool>(x: u16) -> u16 {
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
    clamp::<F, SAT, false>(flush::<F, FTZ>(narrow::<F>(sum.to_bits())))
}

/// `sub`.
#[inline(always)]
pub fn sub<F: Half, const FTZ: bool, const SAT: bool>(a: u16, b: u16) -> u16 {
    add::<F, FTZ, SAT>(a, b ^ 0x8000)
}

/// `mul`.
#[inline(always)]
pub fn mul<F: Half, const FTZ: bool, const SAT: bool>(a: u16, b: u16) -> u16 {
    let product = F::product(operand::<F, FTZ>(a), operand::<F, FTZ>(b));
    clamp::<F, SAT, false>(flush::<F, FTZ>(product))
}

/// `fma`.
#[inline(always)]
pub fn fma<F: Half, const FTZ: bool, const SAT: bool, const RELU: bool>(a: u16, b: u16, c: u16) -> u16 {
    let sum = F::product_sum(operand::<F, FTZ>(a), operand::<F, FTZ>(b), operand::<F, FTZ>(c));
    clamp::<F, SAT, RELU>(flush::<F, FTZ>(sum))
}
