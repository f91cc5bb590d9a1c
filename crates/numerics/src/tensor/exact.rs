//! The products of `mma` with `.kind::f8f6f4`: the exact sum of all terms, rounded once, to nearest.
//!
//! The manual leaves order, precision and rounding open, and no GPU that has the instruction was asked. Hopper's adders
//! ([`super::sum`]) keep a number of bits that was measured, so that they say nothing of others.

use super::Accumulator;
use super::element::{Element, FRACTION, INFINITE, ZERO};
use super::sum::{Sum, special};
use crate::exact::Exact;
use crate::format::{F16, F32, widen};
use crate::rounding::{Mode, Rn};

/// The exponent of what a sum of products counts: less than that of the lowest bit of the least product, two subnormals
/// of `.e5m2`.
const UNIT: i32 = -48;

/// One element of D. C has its type.
#[inline(always)]
pub(super) fn dot(d: Accumulator, a: &[Element], b: &[Element], c: u64) -> u64 {
    match d {
        Accumulator::F16 => rounded::<F16>(a, b, c & 0xffff, widen::<F16>(c as u32 & 0xffff)),
        _ => rounded::<F32>(a, b, c & 0xffff_ffff, c as u32),
    }
}

/// The same in format `F`, with C as `.f32` too.
fn rounded<F: Sum>(a: &[Element], b: &[Element], c: u64, wide: u32) -> u64 {
    let pairs = || a.iter().zip(b).map(|(a, b)| (a.exponent() + b.exponent(), a, b));
    let finite = pairs().all(|(exponent, ..)| exponent < INFINITE / 2);
    if !finite || c & (F::SIGN - 1) >= F::INFINITY {
        return special::<F>(a, b, c);
    }
    let products: i128 = pairs()
        .filter(|&(exponent, ..)| exponent > ZERO / 2)
        .map(|(exponent, a, b)| {
            let product = i128::from(a.significand()) * i128::from(b.significand());
            product << (exponent - 2 * FRACTION as i32 - UNIT)
        })
        .sum();
    let c = Exact::from_f64(f64::from(f32::from_bits(wide)).to_bits());
    let sum = Exact::from_int(products).scaled(UNIT).sum(c, Mode::NearestEven).round::<F, Rn>();
    // Zero is positive, as it is of every tensor core that was asked.
    if sum == F::SIGN { 0 } else { sum }
}
