//! Sums of products of integers of up to 8 bits, which are exact in 32: elements are spread to 16 bits, and two products are added at a
//! time, as hosts do it in one step.

use super::{Arithmetic, Config, LANES, LINES, Operand, QUAD, Vectors};

/// The most terms of a dot product, C left out.
pub(super) const TERMS: usize = 64;

/// Integers of up to 8 bits that are added up in 32.
#[derive(Debug)]
pub struct Integers;

/// Elements of 32 words, spread to 16 bits with sign, two a word: the first of each half word, then the next of each.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Factors([[u32; LANES]; 4]);

/// How many elements a half word holds.
#[inline(always)]
fn in_half(operand: Operand) -> usize {
    match operand {
        Operand::S4 | Operand::U4 => 4,
        _ => 2,
    }
}

impl Arithmetic for Integers {
    type Factors = Factors;

    const ZERO: Factors = Factors([[0; LANES]; 4]);

    #[inline(always)]
    fn decode<V: Vectors>(v: V, operand: Operand, words: V::W, Factors(pairs): &mut Factors) {
        for (part, pairs) in pairs.iter_mut().enumerate().take(in_half(operand)) {
            let at_top = match (in_half(operand), part) {
                (4, 0) => v.shl_halves::<12>(words),
                (4, 1) => v.shl_halves::<8>(words),
                (4, 2) => v.shl_halves::<4>(words),
                (2, 0) => v.shl_halves::<8>(words),
                _ => words,
            };
            let elements = match operand {
                Operand::S8 => v.sar_halves::<8>(at_top),
                Operand::S4 => v.sar_halves::<12>(at_top),
                Operand::U4 => v.shr_halves::<12>(at_top),
                _ => v.shr_halves::<8>(at_top),
            };
            v.store(elements, pairs);
        }
    }

    #[inline(always)]
    fn sums<V: Vectors>(
        v: V,
        config: &Config,
        rows: &[Factors],
        columns: &[Factors],
        c: [&[u32; LANES]; 2],
        d: &mut [[u32; LANES]; 2],
    ) -> bool {
        let mut parts = v.parts(c);
        for (parity, part) in parts.iter_mut().enumerate() {
            let mut sums = v.splat(0);
            for (Factors(a), Factors(b)) in rows.iter().zip(columns) {
                for (a, b) in a.iter().zip(b).take(in_half(config.a)) {
                    for u in 0..QUAD {
                        let (a, b) = (v.rows(a, LINES * u + QUAD * parity), v.columns(b, LINES * u));
                        sums = v.add(sums, v.multiply_pairs(a, b));
                    }
                }
            }
            let c = *part;
            *part = v.add(sums, c);
            if config.satfinite {
                let overflow = v.and(v.xor(*part, sums), v.xor(*part, c));
                let (overflown, end) =
                    (v.sar::<31>(overflow), v.xor(v.sar::<31>(c), v.splat(i32::MAX as u32)));
                *part = v.or(v.and_not(*part, overflown), v.and(end, overflown));
            }
        }
        v.registers(parts, d);
        true
    }
}
