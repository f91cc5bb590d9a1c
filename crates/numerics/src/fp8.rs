//! `cvt` between wider floats and the packed formats of 8 bits and less (PTX manual, "cvt").
//!
//! These formats exist only packed; a function here converts one element, or the two of an `x2` type, whose first
//! operand goes to the upper element. Every conversion to them saturates: infinities and what is too large give the
//! largest finite value. NaN gives the format's NaN, or where it has none the largest finite value.
//!
//! The formats of less than 8 bits need a target later than the `sm_90` that the recordings come from: for them this
//! is the manual's word alone.

use crate::format::{E2m1, F16, Format, round_f32, widen};
use crate::half::clamp;
use crate::rounding::Rn;

/// One `.f32` to format `D`, with `.satfinite`.
#[inline(always)]
pub fn from_f32<D: Format, const RELU: bool>(a: u32) -> u8 {
    let rounded = round_f32::<D, Rn, false, true>(a) as u8;
    let negative = (rounded & D::SIGN as u8 != 0) & !crate::float::is_nan_f32(a);
    if RELU & negative { 0 } else { rounded }
}

/// `cvt.rn.satfinite.D.f32` with an `x2` type of 8-bit elements.
#[inline(always)]
pub fn pair_from_f32<D: Format, const RELU: bool>(a: u32, b: u32) -> u16 {
    u16::from_le_bytes([from_f32::<D, RELU>(b), from_f32::<D, RELU>(a)])
}

/// `cvt.rn.satfinite.D.S` with an `x2` type of 8-bit elements, from `.f16x2` or `.bf16x2`.
#[inline(always)]
pub fn pair_from_half<S: Format, D: Format, const RELU: bool>(a: u32) -> u16 {
    pair_from_f32::<D, RELU>(widen::<S>(a >> 16), widen::<S>(a & 0xffff))
}

/// `cvt.rn.satfinite.e2m1x2.f32`: two elements in one byte.
#[inline(always)]
pub fn e2m1_pair_from_f32<const RELU: bool>(a: u32, b: u32) -> u8 {
    (from_f32::<E2m1, RELU>(a) << 4) | from_f32::<E2m1, RELU>(b)
}

/// `cvt.rn.f16x2.e2m1x2`.
#[inline(always)]
pub fn e2m1_pair_to_f16<const RELU: bool>(a: u8) -> u32 {
    crate::packed::pack(to_half::<E2m1, F16, RELU>(a & 15), to_half::<E2m1, F16, RELU>(a >> 4))
}

/// One element of format `S` to the half `D`, which holds each of its values.
#[inline(always)]
pub fn to_half<S: Format, D: Format, const RELU: bool>(a: u8) -> u16 {
    clamp::<D, false, RELU>(round_f32::<D, Rn, false, false>(widen::<S>(u32::from(a))) as u16)
}

/// `cvt.rn.f16x2.S` with an `x2` type of 8-bit elements.
#[inline(always)]
pub fn pair_to_half<S: Format, D: Format, const RELU: bool>(a: u16) -> u32 {
    let [low, high] = a.to_le_bytes();
    crate::packed::pack(to_half::<S, D, RELU>(low), to_half::<S, D, RELU>(high))
}
