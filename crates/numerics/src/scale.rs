//! `.ue8m0`, the format of scale factors: an exponent alone, without sign or zero (PTX manual, "cvt").
//!
//! `x` stands for 2^(x - 127), and 0xff for NaN. A conversion takes the magnitude, and rounds it down or up to a power of
//! two. What is below the least value becomes that one; infinities and what is too large become NaN, or with `.satfinite`
//! the greatest value. No target that is later than `sm_90` has been asked: the manual and CUDA's header `cuda_fp8.hpp`,
//! which does the same on hosts, are the source.

use crate::format::{Bf16, F32, Format, widen};
use crate::packed;
use crate::rounding::{Mode, Rounding};

const NAN: u8 = 0xff;
/// The greatest value, 2^127.
const GREATEST: u8 = 0xfe;
/// The least value, 2^-127, as `.f32`: a subnormal.
const LEAST_F32: u32 = F32::MIN_NORMAL as u32 >> 1;

/// One `.f32` to `.ue8m0`. `R` is to zero, or up.
#[inline(always)]
pub fn from_f32<R: Rounding, const SATFINITE: bool>(a: u32) -> u8 {
    let magnitude = a & !(F32::SIGN as u32);
    let finite = magnitude < F32::INFINITY as u32;
    let between = magnitude & (F32::MIN_NORMAL as u32 - 1) != 0;
    // The binade of subnormals is below the least value but for its upper half.
    let up = matches!(R::MODE, Mode::Up) & finite & between & (magnitude > LEAST_F32);
    let scale = (magnitude >> F32::MANTISSA_BITS) as u8 + u8::from(up);
    let number = magnitude <= F32::INFINITY as u32;
    if SATFINITE & number & (scale == NAN) { GREATEST } else { scale }
}

/// `cvt.ue8m0x2.f32`: the first operand goes to the upper element.
#[inline(always)]
pub fn pair_from_f32<R: Rounding, const SATFINITE: bool>(a: u32, b: u32) -> u16 {
    u16::from_le_bytes([from_f32::<R, SATFINITE>(b), from_f32::<R, SATFINITE>(a)])
}

/// `cvt.ue8m0x2.bf16x2`.
#[inline(always)]
pub fn pair_from_bf16<R: Rounding, const SATFINITE: bool>(a: u32) -> u16 {
    pair_from_f32::<R, SATFINITE>(widen::<Bf16>(a >> 16), widen::<Bf16>(a & 0xffff))
}

/// One `.ue8m0` to `.bf16`, which holds each of its values: the least is a subnormal.
#[inline(always)]
pub fn to_bf16(a: u8) -> u16 {
    match a {
        NAN => Bf16::NAN as u16,
        0 => Bf16::MIN_NORMAL as u16 >> 1,
        _ => u16::from(a) << Bf16::MANTISSA_BITS,
    }
}

/// `cvt.rn.bf16x2.ue8m0x2`.
#[inline(always)]
pub fn pair_to_bf16(a: u16) -> u32 {
    let [low, high] = a.to_le_bytes();
    packed::pack(to_bf16(low), to_bf16(high))
}
