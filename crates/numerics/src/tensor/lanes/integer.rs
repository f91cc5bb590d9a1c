//! Sums of products of integers.
//!
//! Such a sum is below 2^24, so that `.f32` holds it and all parts of it exactly: products of floats are what hosts compute fastest, and
//! what compilers make vectors of lane by lane.

use super::{Arithmetic, Config, LANES, Operand, spread};

/// The most terms of a dot product, C left out: so many products of 8 bits are below 2^24.
pub(super) const TERMS: usize = 64;

/// Integers of up to 8 bits that are added up in 32.
#[derive(Debug)]
pub struct Integers;

/// So many elements of A or B.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Factors<const N: usize>([f32; N]);

impl Arithmetic for Integers {
    type Factors<const N: usize> = Factors<N>;

    fn zeros<const N: usize>() -> Factors<N> {
        Factors([0.0; N])
    }

    #[inline(always)]
    fn decode<const N: usize>(operand: Operand, words: &[u32; N], shift: u32) -> Factors<N> {
        match operand {
            Operand::S8 => each(words, |word| i32::from((word >> shift) as i8)),
            Operand::S4 => each(words, |word| ((word >> shift) as i32) << 28 >> 28),
            Operand::U4 => each(words, |word| (word >> shift & 0xf) as i32),
            _ => each(words, |word| (word >> shift & 0xff) as i32),
        }
    }

    #[inline(always)]
    fn at<const N: usize, const M: usize>(
        factors: &Factors<N>,
        index: impl Fn(usize) -> usize,
    ) -> Factors<M> {
        let mut chosen = [0.0; M];
        for (i, chosen) in chosen.iter_mut().enumerate() {
            *chosen = factors.0[index(i)];
        }
        Factors(chosen)
    }

    #[inline(always)]
    fn sums<const N: usize, const P: usize>(
        config: &Config,
        a: &[Factors<LANES>],
        b: &[Factors<N>],
        c: [&[u32; LANES]; P],
    ) -> Option<[[u32; LANES]; P]> {
        let mut products = [[0_f32; LANES]; P];
        for (a, b) in a.iter().zip(b).take(TERMS) {
            for (p, products) in products.iter_mut().enumerate() {
                let b = spread::<_, N, P>(&b.0, p);
                for l in 0..LANES {
                    products[l] += a.0[l] * b[l];
                }
            }
        }
        let mut results = [[0; LANES]; P];
        for p in 0..P {
            for l in 0..LANES {
                let (sum, c) = (products[p][l] as i32, c[p][l] as i32);
                results[p][l] =
                    if config.satfinite { sum.saturating_add(c) } else { sum.wrapping_add(c) } as u32;
            }
        }
        Some(results)
    }
}

/// What each word holds: a loop, since mapped arrays do not become vector code.
#[inline(always)]
fn each<const N: usize>(words: &[u32; N], element: impl Fn(u32) -> i32) -> Factors<N> {
    let mut factors = [0.0; N];
    for (factor, word) in factors.iter_mut().zip(words) {
        *factor = element(*word) as f32;
    }
    Factors(factors)
}
