//! Sums of products of 16-bit and `.tf32` floats in `.f32`.
//!
//! The adder (`tensor/sum.rs`) aligns each product to the largest exponent and cuts it towards zero. So does a conversion of
//! the product to an integer, once it is scaled so that the last bit which is kept counts 1: two multiplications of `.f32`,
//! both exact, for a product has 22 bits. The integers are below 2^27, and 16 of them below 2^31. What a multiplication
//! or a sum of 32 bits could not hold, and what is not finite, is left to [`dot`](crate::tensor::dot).
//!
//! The largest exponent is found as a power of two: of each factor the power below it is kept as well, and their products are
//! compared as floats.

use super::{Arithmetic, Config, LANES, Operand, spread};
use crate::format::{Bf16, F16, F32, Format, Tf32};
use crate::tensor::sum::{ALIGNED, Wide, Width};

/// The most terms of a dot product, C left out.
pub(super) const TERMS: usize = 16;

/// The bits of the powers of two among which the largest must be, so that all of a sum is a normal `.f32`, and each product one
/// that is exact, or below what is kept.
const POWERS: std::ops::RangeInclusive<u32> = power(-100)..=power(126);

/// The bits of `2^exponent`, which is normal.
const fn power(exponent: i32) -> u32 {
    ((exponent + F32::BIAS) as u32) << F32::MANTISSA_BITS
}

/// The field of an exponent.
const EXPONENT: u32 = F32::INFINITY as u32;

/// Floats that are added up in `.f32`.
#[derive(Debug)]
pub struct Floats;

/// So many elements of A or B.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Factors<const N: usize> {
    values: [f32; N],
    /// The powers of two that their exponents stand for: that of a subnormal is the format's least, that of a zero 0, and
    /// that of what is not finite is infinite.
    powers: [f32; N],
}

impl<const N: usize> Factors<N> {
    const ZERO: Self = Self { values: [0.0; N], powers: [0.0; N] };

    /// Whether no product of two powers of such factors is 0 but that with a zero.
    #[cold]
    fn multiply_to_some(&self) -> bool {
        let least = f32::from_bits(power(-70));
        self.powers.iter().all(|power| *power == 0.0 || *power >= least)
    }
}

impl Arithmetic for Floats {
    type Factors<const N: usize> = Factors<N>;

    fn zeros<const N: usize>() -> Factors<N> {
        Factors::ZERO
    }

    #[inline(always)]
    fn decode<const N: usize>(operand: Operand, words: &[u32; N], shift: u32) -> Factors<N> {
        match operand {
            // In the upper bits of a register.
            Operand::Tf32 => decode::<Tf32, N>(words, shift + F32::MANTISSA_BITS - Tf32::MANTISSA_BITS),
            Operand::Bf16 => decode::<Bf16, N>(words, shift),
            _ => decode::<F16, N>(words, shift),
        }
    }

    #[inline(always)]
    fn at<const N: usize, const M: usize>(
        factors: &Factors<N>,
        index: impl Fn(usize) -> usize,
    ) -> Factors<M> {
        let mut chosen = Factors::ZERO;
        for i in 0..M {
            chosen.values[i] = factors.values[index(i)];
            chosen.powers[i] = factors.powers[index(i)];
        }
        chosen
    }

    #[inline(always)]
    fn sums<const N: usize, const P: usize>(
        config: &Config,
        a: &[Factors<LANES>],
        b: &[Factors<N>],
        c: [&[u32; LANES]; P],
    ) -> Option<[[u32; LANES]; P]> {
        // As bits, of which those of a NaN, an infinity times zero, are the greatest.
        let mut most = [[0; LANES]; P];
        for (a, b) in a.iter().zip(b).take(TERMS) {
            for (p, most) in most.iter_mut().enumerate() {
                let b = spread::<_, N, P>(&b.powers, p);
                for l in 0..LANES {
                    most[l] = most[l].max((a.powers[l] * b[l]).to_bits());
                }
            }
        }
        let mut top = [[0; LANES]; P];
        let (mut greatest, mut least, mut nothing) = (0, u32::MAX, false);
        for p in 0..P {
            for l in 0..LANES {
                let finite = (c[p][l] & EXPONENT).max(F32::MIN_NORMAL as u32);
                let most = most[p][l].max(if c[p][l] << 1 == 0 { 0 } else { finite });
                greatest = greatest.max(most);
                least = least.min(most.wrapping_sub(1));
                nothing |= most == 0;
                top[p][l] = most.max(*POWERS.start());
            }
        }
        let in_range = greatest <= *POWERS.end() && least >= *POWERS.start() - 1;
        // Products of two powers of `.f16` are normal.
        let may_vanish = nothing && config.a != Operand::F16;
        if !in_range
            || may_vanish
                && !(a.iter().all(Factors::multiply_to_some) && b.iter().all(Factors::multiply_to_some))
        {
            return None;
        }
        let mut scale = [[0.0; LANES]; P];
        for p in 0..P {
            for l in 0..LANES {
                scale[p][l] = f32::from_bits(power(ALIGNED as i32) + power(0) - top[p][l]);
            }
        }
        let mut products = [[0_i32; LANES]; P];
        for (a, b) in a.iter().zip(b).take(TERMS) {
            for p in 0..P {
                let b = spread::<_, N, P>(&b.values, p);
                for l in 0..LANES {
                    products[p][l] += cut(a.values[l] * b[l] * scale[p][l]);
                }
            }
        }
        let mut results = [[0; LANES]; P];
        let mut overflow = 0;
        for p in 0..P {
            for l in 0..LANES {
                let addend = cut(f32::from_bits(c[p][l]) * scale[p][l]);
                let sum = products[p][l].wrapping_add(addend);
                overflow |= (sum ^ products[p][l]) & (sum ^ addend);
                let magnitude = sum.unsigned_abs();
                // Without the first of the bits that do not fit, what is left of them is rounded down.
                let kept = (magnitude & !(magnitude >> (F32::MANTISSA_BITS + 1))) as i32;
                let unit = f32::from_bits(top[p][l] - (Wide::KEPT << F32::MANTISSA_BITS));
                results[p][l] = (kept as f32 * unit).to_bits() | sum as u32 & F32::SIGN as u32;
                // The one magnitude that is no `i32`.
                overflow |= kept;
            }
        }
        (overflow >= 0).then_some(results)
    }
}

#[inline(always)]
fn decode<F: Format, const N: usize>(words: &[u32; N], shift: u32) -> Factors<N> {
    let bias = (F32::BIAS - F::BIAS) as u32;
    let infinity = (F::INFINITY as u32) << (F32::MANTISSA_BITS - F::MANTISSA_BITS);
    let mut factors = Factors::ZERO;
    for l in 0..N {
        let bits = words[l] >> shift;
        let sign = (bits & F::SIGN as u32) << (31 - F::SIGN.trailing_zeros());
        let wide = (bits & (F::SIGN as u32 - 1)) << (F32::MANTISSA_BITS - F::MANTISSA_BITS);
        // Exact, for subnormals of F as well: their products with so great a power are normal.
        let value = if bias == 0 {
            wide
        } else {
            (f32::from_bits(wide) * f32::from_bits(power(bias as i32))).to_bits()
        };
        let finite = (value & EXPONENT).max(power(1 - F::BIAS));
        let finite = if wide == 0 { 0 } else { finite };
        factors.powers[l] = f32::from_bits(if wide & EXPONENT == infinity { EXPONENT } else { finite });
        factors.values[l] = f32::from_bits(value | sign);
    }
    factors
}

/// The integer below a number, towards zero.
#[inline(always)]
fn cut(x: f32) -> i32 {
    // SAFETY: the exponents of what is not finite, and those that make a product too great, have been refused. What is left is
    // a scaled term, less than 2^27.
    unsafe { x.to_int_unchecked() }
}
