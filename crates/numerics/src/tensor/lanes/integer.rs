//! Sums of products of integers of up to 8 bits, which are exact in 32: elements are spread to 16 bits, and two products are added at a
//! time, as hosts do it in one step.

use super::{Arithmetic, COLUMNS, Config, LANES, Operand, QUAD, Vectors, eight};

/// The most terms of a dot product, C left out.
pub(super) const TERMS: usize = 64;

/// Integers of up to 8 bits that are added up in 32.
#[derive(Debug)]
pub struct Integers;

/// Two elements a lane, of 16 bits with sign.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Factors([u32; LANES]);

/// Two elements a column.
#[derive(Clone, Copy, Debug)]
pub struct Columns([u32; COLUMNS]);

impl Arithmetic for Integers {
    type Factors = Factors;
    type Columns = Columns;

    const ZERO: Factors = Factors([0; LANES]);

    #[inline(always)]
    fn parts(operand: Operand) -> usize {
        match operand {
            Operand::S4 | Operand::U4 => 4,
            _ => 2,
        }
    }

    /// Of a half word with elements e0, e1, ...: part i has ei.
    #[inline(always)]
    fn decode<V: Vectors>(v: V, operand: Operand, words: V::W, part: usize) -> Factors {
        let at_top = match (Self::parts(operand), part) {
            (_, 0) if matches!(operand, Operand::S4 | Operand::U4) => v.shl_halves::<12>(words),
            (_, 1) if matches!(operand, Operand::S4 | Operand::U4) => v.shl_halves::<8>(words),
            (_, 2) => v.shl_halves::<4>(words),
            (2, 0) => v.shl_halves::<8>(words),
            _ => words,
        };
        let elements = match operand {
            Operand::S8 => v.sar_halves::<8>(at_top),
            Operand::S4 => v.sar_halves::<12>(at_top),
            Operand::U4 => v.shr_halves::<12>(at_top),
            _ => v.shr_halves::<8>(at_top),
        };
        let mut factors = Self::ZERO;
        v.store(elements, &mut factors.0);
        factors
    }

    #[inline(always)]
    fn quad<V: Vectors, const U: usize>(v: V, factors: &Factors) -> Factors {
        let mut chosen = Self::ZERO;
        v.store(v.quad::<U>(v.load(&factors.0)), &mut chosen.0);
        chosen
    }

    #[inline(always)]
    fn columns(Factors(words): &Factors) -> [Columns; QUAD] {
        [
            Columns(eight(words, 0)),
            Columns(eight(words, 1)),
            Columns(eight(words, 2)),
            Columns(eight(words, 3)),
        ]
    }

    #[inline(always)]
    fn sums<V: Vectors>(
        v: V,
        config: &Config,
        rows: &[Factors],
        columns: &[Columns],
        c: [&[u32; LANES]; 2],
    ) -> Option<[V::W; 2]> {
        let mut sums = [v.splat(0); 2];
        for (Factors(a), Columns(b)) in rows.iter().zip(columns) {
            let a = v.load(a);
            for p in 0..2 {
                sums[p] = v.add(sums[p], v.multiply_pairs(a, v.repeat(b, p * QUAD)));
            }
        }
        let mut results = [v.splat(0); 2];
        for p in 0..2 {
            let c = v.load(c[p]);
            results[p] = v.add(sums[p], c);
            if config.satfinite {
                let overflow = v.and(v.xor(results[p], sums[p]), v.xor(results[p], c));
                let (overflown, end) =
                    (v.sar::<31>(overflow), v.xor(v.sar::<31>(c), v.splat(i32::MAX as u32)));
                results[p] = v.or(v.and_not(results[p], overflown), v.and(end, overflown));
            }
        }
        Some(results)
    }
}
