//! Floating-point dot products: which sums and roundings an instruction is made of on `sm_90`.
//!
//! Most instructions are one sum over all of k ([`sum()`]). The others have no datapath of their own: the assembler
//! (here that of CUDA 13.0) replaces them by several instructions, and their results are those of the replacement.

use super::element::Element;
use super::sum::{Narrow, Wide, sum};
use super::{Accumulator, Config, Operand, Unit};
use crate::float::{add_f32, fma_f32, fma_f64};
use crate::format::{F16, F32, round_f32, widen};
use crate::half;
use crate::rounding::{Mode, Rm, Rn, Rounding, Rp, Rz};

/// One element of D for the operands of up to 19 bits.
pub(super) fn dot(config: &Config, a: &[Element], b: &[Element], c: u64) -> u64 {
    match (config.c, config.d) {
        // Only `wmma` and `m8n8k4` have accumulators that differ. The sum is then `.f32`.
        (Accumulator::F16, Accumulator::F32) => {
            in_f32(config, a, b, u64::from(widen::<F16>(c as u32 & 0xffff)))
        }
        (Accumulator::F32, Accumulator::F16) => {
            let sum = in_f32(config, a, b, c) as u32;
            // This is all that the withdrawn `.satfinite` of floats does.
            u64::from(if config.satfinite { to_f16::<Rz>(sum) } else { to_f16::<Rn>(sum) })
        }
        (Accumulator::F16, _) => in_f16(config, a, b, c & 0xffff),
        _ => in_f32(config, a, b, c & 0xffff_ffff),
    }
}

fn to_f16<R: Rounding>(x: u32) -> u32 {
    round_f32::<F16, R, false, false>(x)
}

/// The dot product where C and the sum are `.f32`.
fn in_f32(config: &Config, a: &[Element], b: &[Element], c: u64) -> u64 {
    match (config.a, config.unit) {
        (Operand::F16, _) if a.len() == QUAD_K => {
            u64::from(add_f32::<Rn, false, false>(c as u32, chain(0, a, b)))
        }
        (Operand::Tf32, Unit::Wmma) => {
            a.chunks(4).zip(b.chunks(4)).fold(c, |c, (a, b)| sum::<Wide, F32>(a, b, c))
        }
        (Operand::E4m3 | Operand::E5m2, Unit::Wgmma | Unit::SparseWgmma) => sum::<Narrow, F32>(a, b, c),
        (Operand::E4m3 | Operand::E5m2, _) => {
            let products = halves(config, a, b, sum::<Wide, F32>);
            u64::from(add_f32::<Rn, false, false>(c as u32, products as u32))
        }
        _ => sum::<Wide, F32>(a, b, c),
    }
}

/// The dot product where C and D are `.f16`.
fn in_f16(config: &Config, a: &[Element], b: &[Element], c: u64) -> u64 {
    match (config.a, config.unit) {
        (Operand::F16, _) if a.len() == QUAD_K => {
            let c = widen::<F16>(c as u32);
            let (a, b) = (a.split_at(QUAD_K / 2), b.split_at(QUAD_K / 2));
            let first = add_f32::<Rn, false, false>(c, chain(NEGATIVE_ZERO, a.0, b.0));
            let both = add_f32::<Rn, false, false>(first, chain(NEGATIVE_ZERO, a.1, b.1));
            u64::from(to_f16::<Rn>(both))
        }
        (Operand::E4m3 | Operand::E5m2, Unit::Wgmma | Unit::SparseWgmma) => sum::<Narrow, F16>(a, b, c),
        (Operand::E4m3 | Operand::E5m2, _) => {
            let products = halves(config, a, b, sum::<Wide, F16>);
            u64::from(half::add::<F16, false, false>(c as u16, products as u16))
        }
        _ => sum::<Wide, F16>(a, b, c),
    }
}

/// The k of `mma.m8n8k4` with `.f16` operands, which no other instruction with such operands has. Scalar instructions on
/// `.f32` compute it.
const QUAD_K: usize = 4;

/// `-0.0`: the neutral addend, with which a fused multiply-add is a multiplication.
const NEGATIVE_ZERO: u32 = 0x8000_0000;

/// Fused multiply-adds of `.f32` in the order of k.
fn chain(start: u32, a: &[Element], b: &[Element]) -> u32 {
    a.iter().zip(b).fold(start, |sum, (a, b)| fma_f32::<Rn, false, false>(a.to_f32(), b.to_f32(), sum))
}

/// The most elements of 8-bit floats along k that `mma` multiplies.
const MOST: usize = 32;

/// The sum of products of `mma` with 8-bit floats: they are converted to `.f16`, and two instructions for `.f16` add their
/// products to zero. Of the four elements that share a register, the first takes the lower two, the second the upper.
#[inline(always)]
fn halves(
    config: &Config,
    a: &[Element],
    b: &[Element],
    sum: impl Fn(&[Element], &[Element], u64) -> u64,
) -> u64 {
    let zero = Element::float(0, 0);
    let mut result = 0;
    for upper in [0, 2] {
        let mut pairs = [[zero; MOST / 2]; 2];
        let mut count = 0;
        for (four, four_b) in a.chunks_exact(4).zip(b.chunks_exact(4)).take(MOST / 4) {
            for k in upper..upper + 2 {
                pairs[0][count] = as_half(config.a, four[k]);
                pairs[1][count] = as_half(config.b, four_b[k]);
                count += 1;
            }
        }
        result = sum(&pairs[0][..count], &pairs[1][..count], result);
    }
    result
}

/// An 8-bit float as it is after a conversion to `.f16`, where the subnormals of `.e4m3` are normal.
#[inline(always)]
fn as_half(operand: Operand, element: Element) -> Element {
    if operand == Operand::E4m3 { element.normal() } else { element }
}

/// One element of D for `.f64`: fused multiply-adds in the order of k.
pub(super) fn dot_f64(rounding: Mode, a: &[Element], b: &[Element], c: u64) -> u64 {
    let fma = match rounding {
        Mode::NearestEven | Mode::NearestAway => fma_f64::<Rn>,
        Mode::TowardZero => fma_f64::<Rz>,
        Mode::Down => fma_f64::<Rm>,
        Mode::Up => fma_f64::<Rp>,
    };
    a.iter().zip(b).fold(c, |sum, (a, b)| fma(a.bits(), b.bits(), sum))
}
