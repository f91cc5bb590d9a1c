//! The products of later targets: `mma` and `mma.sp` with `.kind`, `tcgen05.mma`. The exact sum of all terms is rounded
//! once, to nearest.
//!
//! The manual leaves order, precision and rounding open, and no GPU that has these instructions was asked. Hopper's adders
//! ([`super::sum`]) keep a number of bits that was measured, so that they say nothing of others.
//!
//! A term is `significand * 2^exponent`. Where all of them lie within the bits of an integer, they are added as one; else, as
//! with scale factors, which span 508 binary orders, in an integer that has room for all terms that there can be.

use super::element::{Element, FRACTION, INFINITE};
use super::sum::{Sum, special};
use super::{Accumulator, Scaling};
use crate::exact::Exact;
use crate::format::{F16, F32, Format, widen};
use crate::rounding::Rn;

/// `significand * 2^exponent`. The product of two elements and two scale factors has at most 44 bits.
#[derive(Clone, Copy, Debug)]
struct Term {
    significand: i64,
    exponent: i32,
}

/// Bits that the sum of so many terms as instructions have may need above those of the greatest term.
const CARRIES: u32 = 10;

/// One element of D. C has its type.
#[inline(always)]
pub(super) fn dot(d: Accumulator, a: &[Element], b: &[Element], c: u64, scaling: &Scaling<'_>) -> u64 {
    match d {
        Accumulator::F16 => rounded::<F16>(a, b, c & 0xffff, widen::<F16>(c as u32 & 0xffff), scaling),
        _ => rounded::<F32>(a, b, c & 0xffff_ffff, c as u32, scaling),
    }
}

/// The same in format `F`, with C as `.f32` too.
fn rounded<F: Sum>(a: &[Element], b: &[Element], c: u64, wide: u32, scaling: &Scaling<'_>) -> u64 {
    let finite = |element: &Element| element.exponent() < INFINITE / 2;
    if ![scaling.a, scaling.b].into_iter().flatten().all(finite) {
        return F::NAN;
    }
    if !a.iter().chain(b).all(finite) || c & (F::SIGN - 1) >= F::INFINITY {
        return special::<F>(a, b, c);
    }
    let block = a.len() / scaling.a.len().max(1);
    let products = a.iter().zip(b).enumerate().map(|(i, (a, b))| {
        let mut significand = i64::from(a.significand()) * i64::from(b.significand());
        let mut exponent = a.exponent() + b.exponent() - 2 * FRACTION as i32;
        if let (Some(of_a), Some(of_b)) = (scaling.a.get(i / block), scaling.b.get(i / block)) {
            significand *= i64::from(of_a.significand()) * i64::from(of_b.significand());
            exponent += of_a.exponent() + of_b.exponent() - 2 * FRACTION as i32;
        }
        Term { significand, exponent }
    });
    let terms = products.chain([addend(wide, scaling.input)]).filter(|term| term.significand != 0);
    let sum = sum(terms).round::<F, Rn>();
    // Zero is positive, as it is of every tensor core that was asked.
    if sum == F::SIGN { 0 } else { sum }
}

/// C, times 2 to the power of `-input`.
fn addend(bits: u32, input: u32) -> Term {
    let field = (bits & !(F32::SIGN as u32)) >> F32::MANTISSA_BITS;
    let mantissa = bits & (F32::MIN_NORMAL as u32 - 1);
    let magnitude = i64::from(mantissa | u32::from(field != 0) << F32::MANTISSA_BITS);
    Term {
        significand: if bits & F32::SIGN as u32 != 0 { -magnitude } else { magnitude },
        exponent: field.max(1) as i32 - F32::BIAS - F32::MANTISSA_BITS as i32 - input as i32,
    }
}

/// The exact sum of terms that are not zero.
fn sum(terms: impl Iterator<Item = Term> + Clone) -> Exact {
    let (mut lowest, mut highest) = (i32::MAX, i32::MIN);
    for Term { significand, exponent } in terms.clone() {
        lowest = lowest.min(exponent);
        highest = highest.max(exponent + (u64::BITS - significand.unsigned_abs().leading_zeros()) as i32);
    }
    if lowest > highest {
        return Exact::from_int(0);
    }
    let bits = (highest - lowest) as u32 + CARRIES;
    if bits < i64::BITS {
        let sum: i64 = terms.map(|term| term.significand << (term.exponent - lowest)).sum();
        Exact::from_int(sum.into()).scaled(lowest)
    } else if bits < i128::BITS {
        let sum: i128 = terms.map(|term| i128::from(term.significand) << (term.exponent - lowest)).sum();
        Exact::from_int(sum).scaled(lowest)
    } else {
        let mut sum = Wide::default();
        terms.for_each(|term| sum.add(term.significand, (term.exponent - lowest) as u32));
        sum.exact().scaled(lowest)
    }
}

/// Words of the widest sum.
///
/// The least term is that of two subnormals of `.bf16` with 2^-272 for the lowest bit of its significand, or that of two of
/// `.e5m2` with scale factors of 2^-127 each, 2^-314; the greatest is below 2^315.
const WORDS: usize = 11;

/// An integer with room for every sum, in two's complement.
#[derive(Default)]
struct Wide([u64; WORDS]);

impl Wide {
    /// Adds `significand * 2^shift`.
    fn add(&mut self, significand: i64, shift: u32) {
        let (word, bit) = ((shift / 64) as usize, shift % 64);
        let moved = i128::from(significand) << bit;
        let sign = (significand >> 63) as u64;
        let mut carry = false;
        for (i, to) in self.0.iter_mut().enumerate().skip(word) {
            let part = match i - word {
                0 => moved as u64,
                1 => (moved >> 64) as u64,
                _ => sign,
            };
            let (sum, first) = to.overflowing_add(part);
            let (sum, second) = sum.overflowing_add(carry.into());
            (*to, carry) = (sum, first | second);
        }
    }

    /// Its value, to as many bits as rounding needs.
    fn exact(mut self) -> Exact {
        let negative = self.0[WORDS - 1] >> 63 != 0;
        if negative {
            let mut carry = true;
            for word in &mut self.0 {
                (*word, carry) = (!*word).overflowing_add(carry.into());
            }
        }
        let top = self.0.iter().rposition(|&word| word != 0).unwrap_or(0).max(1);
        let upper = u128::from(self.0[top]) << 64 | u128::from(self.0[top - 1]);
        // Of two words, if there are more, the upper one is not zero: 65 bits or more, which no format has.
        let shift = 2 * i32::from(upper >> 126 != 0);
        let sticky = upper & ((1 << shift) - 1) != 0 || self.0[..top - 1].iter().any(|&word| word != 0);
        Exact::with_sticky(negative, upper >> shift, sticky).scaled(64 * (top as i32 - 1) + shift)
    }
}
