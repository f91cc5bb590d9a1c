//! Dot products side by side, of several rows of A with one column of B: what [`dot`](super::dot) computes one by one,
//! for 16-bit floats that are added up in `.f32`. Loops over rows become vector code.
//!
//! All but the last step is in 32 bits: a product of two significands has 22, and [`ALIGNED`] leaves 5 below it, so
//! that 16 of them add up to less than 2^31.

use super::element::{FRACTION, INFINITE, ZERO};
use super::sum::{ALIGNED, LEAST_EXPONENT, Wide, Width};
use super::{Accumulator, Config, Operand, Unit};
use crate::format::{Bf16, F16, F32, Format};

/// How many dot products are computed side by side: the rows of A that an instruction has.
pub const ROWS: usize = 16;

/// The most terms of a dot product, C left out.
pub const TERMS: usize = 16;

/// A factor: `significand * 2^(exponent - FRACTION)`.
#[derive(Clone, Copy, Debug)]
pub struct Factor {
    significand: i32,
    exponent: i32,
}

impl Factor {
    /// Zero.
    pub const ZERO: Self = Self { significand: 0, exponent: ZERO };
}

/// So many factors.
#[derive(Clone, Copy, Debug)]
pub struct Factors<const N: usize> {
    significands: [i32; N],
    exponents: [i32; N],
}

impl<const N: usize> Factors<N> {
    /// So many zeros.
    pub const ZERO: Self = Self { significands: [0; N], exponents: [ZERO; N] };

    /// Decodes the elements that begin at bit `shift` of words.
    #[inline(always)]
    pub fn decode(operand: Operand, words: &[u32; N], shift: u32) -> Self {
        match operand {
            Operand::Bf16 => decode::<Bf16, N>(words, shift),
            _ => decode::<F16, N>(words, shift),
        }
    }

    /// One of them.
    #[inline(always)]
    pub fn get(&self, index: usize) -> Factor {
        Factor { significand: self.significands[index], exponent: self.exponents[index] }
    }

    /// Takes some of others: `M` from `first` on become every `step`-th, from `start` on, of `from`.
    #[inline(always)]
    pub fn take<const M: usize, const STEP: usize, const L: usize>(
        &mut self,
        first: usize,
        from: &Factors<L>,
        start: usize,
    ) {
        for i in 0..M {
            self.significands[first + i] = from.significands[start + STEP * i];
            self.exponents[first + i] = from.exponents[start + STEP * i];
        }
    }
}

#[inline(always)]
fn decode<F: Format, const N: usize>(words: &[u32; N], shift: u32) -> Factors<N> {
    let mut factors = Factors::ZERO;
    for l in 0..N {
        let bits = words[l] >> shift & 0xffff;
        let field = (bits & (F::SIGN as u32 - 1)) >> F::MANTISSA_BITS;
        let mantissa = bits & (F::MIN_NORMAL as u32 - 1);
        let implicit = if field != 0 { 1 << F::MANTISSA_BITS } else { 0 };
        let magnitude = ((mantissa | implicit) << (FRACTION - F::MANTISSA_BITS)) as i32;
        let finite = if magnitude == 0 { ZERO } else { field.max(1) as i32 - F::BIAS };
        let infinite = field == (F::INFINITY >> F::MANTISSA_BITS) as u32;
        factors.exponents[l] = if infinite { INFINITE } else { finite };
        factors.significands[l] = if bits & F::SIGN as u32 != 0 { -magnitude } else { magnitude };
    }
    factors
}

/// Whether [`sums`] computes dot products of `k` elements as an instruction does.
pub fn sums_are(config: &Config, k: usize) -> bool {
    let operands =
        matches!((config.a, config.b), (Operand::F16, Operand::F16) | (Operand::Bf16, Operand::Bf16));
    let accumulators = (config.c, config.d) == (Accumulator::F32, Accumulator::F32);
    // `m8n8k4` has no such sum.
    operands && accumulators && matches!(config.unit, Unit::Mma | Unit::Wmma) && (8..=TERMS).contains(&k)
}

/// The dot products of rows of A, whose factors stand side by side for each k, with one column of B; and `c`. `None` if
/// a NaN or an infinity is among the operands.
#[inline(always)]
pub fn sums(a: &[Factors<ROWS>], b: &[Factor], c: &[u32; ROWS]) -> Option<[u32; ROWS]> {
    let mut magnitudes = [0; ROWS];
    let mut exponents = [0; ROWS];
    let mut top = [0; ROWS];
    for l in 0..ROWS {
        let field = c[l] >> F32::MANTISSA_BITS & 0xff;
        let mantissa = c[l] & (F32::MIN_NORMAL as u32 - 1);
        magnitudes[l] = mantissa | if field != 0 { F32::MIN_NORMAL as u32 } else { 0 };
        let finite = if magnitudes[l] == 0 { ZERO } else { field.max(1) as i32 - F32::BIAS };
        exponents[l] = if field == 0xff { INFINITE } else { finite };
        top[l] = exponents[l].max(LEAST_EXPONENT);
    }
    for (a, b) in a.iter().zip(b) {
        for l in 0..ROWS {
            top[l] = top[l].max(a.exponents[l] + b.exponent);
        }
    }
    if top.iter().fold(top[0], |most, &top| most.max(top)) >= INFINITE / 2 {
        return None;
    }
    let mut products = [0; ROWS];
    for (a, b) in a.iter().zip(b).take(TERMS) {
        for l in 0..ROWS {
            let product = a.significands[l] * b.significand;
            let distance = top[l] - (a.exponents[l] + b.exponent);
            let magnitude = product.unsigned_abs() << (ALIGNED - 2 * FRACTION) >> distance.min(31);
            let sign = product >> 31;
            products[l] += (magnitude as i32 ^ sign) - sign;
        }
    }
    let mut results = [0; ROWS];
    for l in 0..ROWS {
        let aligned = magnitudes[l] << (ALIGNED - F32::MANTISSA_BITS) >> (top[l] - exponents[l]).min(31);
        let addend = if c[l] >> 31 != 0 { -(aligned as i32) } else { aligned as i32 };
        results[l] = round(f64::from(products[l]) + f64::from(addend), top[l] - Wide::KEPT as i32);
    }
    Some(results)
}

/// The `.f32` of `sum * 2^exponent`, towards zero; what is too large becomes an infinity. The sum is exact.
#[inline(always)]
fn round(sum: f64, exponent: i32) -> u32 {
    const DROPPED: u32 = f64::MANTISSA_DIGITS - 1 - F32::MANTISSA_BITS;
    let bits = sum.to_bits();
    let field = (bits >> (f64::MANTISSA_DIGITS - 1) & 0x7ff) as i32;
    let above = exponent + field - (f64::MAX_EXP - 1);
    let leading = above.max(1 - F32::BIAS);
    let significand = (bits >> DROPPED) as u32 & (F32::MIN_NORMAL as u32 - 1) | F32::MIN_NORMAL as u32;
    let subnormal = (leading - above).min(31);
    let whole = ((leading + F32::BIAS - 1) as u32) * F32::MIN_NORMAL as u32;
    // The exponent of the largest sum is far below that at which this would not fit.
    let magnitude = (whole + (significand >> subnormal)).min(F32::INFINITY as u32);
    let sign = if magnitude != 0 { (bits >> 63) as u32 * F32::SIGN as u32 } else { 0 };
    if field == 0 { 0 } else { magnitude | sign }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rounding::Mode;
    use crate::tensor::{BitOperation, dot};

    /// Random bits of an element: any, or of one of a few exponents, so that sums cancel.
    fn element(operand: Operand, random: &mut impl FnMut() -> u32, any: bool) -> u32 {
        let bits = random() & 0xffff;
        let (mantissa, near) = if operand == Operand::F16 { (10, 15) } else { (7, 127) };
        let exponent = near - 2 + random() % 4;
        let sign_and_mantissa = bits & (0x8000 | ((1 << mantissa) - 1));
        if any { bits } else { sign_and_mantissa | exponent << mantissa }
    }

    fn config(operand: Operand) -> Config {
        Config {
            a: operand,
            b: operand,
            c: Accumulator::F32,
            d: Accumulator::F32,
            unit: Unit::Mma,
            satfinite: false,
            rounding: Mode::NearestEven,
            bits: BitOperation::Xor,
        }
    }

    /// Numbers that look random.
    fn numbers() -> impl FnMut() -> u32 {
        let mut state = 1_u64;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 32) as u32
        }
    }

    #[test]
    fn each_row_is_a_dot_product() {
        let mut random = numbers();
        let mut compared = 0;
        for round in 0..8000 {
            let operand = if round & 1 == 0 { Operand::F16 } else { Operand::Bf16 };
            let k = if round & 2 == 0 { 16 } else { 8 };
            let any = round & 4 == 0;
            let config = config(operand);
            assert!(sums_are(&config, k));
            // Words of two elements, of which one counts.
            let shift = if round & 8 == 0 { 0 } else { 16 };
            let mut word = || {
                let mut bits = element(operand, &mut random, any);
                // Most rounds have nothing but finite numbers.
                if round % 16 != 0 && operand.decode(bits.into()).exponent() >= INFINITE {
                    bits &= 0x83ff;
                }
                bits << shift | (random() & 0xffff) << (16 - shift)
            };
            let a: Vec<[u32; ROWS]> = (0..k).map(|_| [0; ROWS].map(|_: u32| word())).collect();
            let b = [0; 16].map(|_: u32| word());
            let c = [0; ROWS].map(|_: u32| match round & 16 {
                0 => random() & 0x807f_ffff | (120 + random() % 12) << 23,
                _ if random() & 7 == 0 => 0,
                _ => random() & 0xbfff_ffff,
            });
            let rows: Vec<_> = a.iter().map(|words| Factors::decode(operand, words, shift)).collect();
            let column = Factors::decode(operand, &b, shift);
            let column: Vec<_> = (0..k).map(|i| column.get(i)).collect();
            let Some(sums) = sums(&rows, &column, &c) else { continue };
            for row in 0..ROWS {
                let decode = |word: u32| operand.decode(u64::from(word >> shift));
                let a: Vec<_> = a.iter().map(|words| decode(words[row])).collect();
                let b: Vec<_> = b[..k].iter().map(|&word| decode(word)).collect();
                assert_eq!(u64::from(sums[row]), dot(&config, &a, &b, c[row].into()), "round {round}");
                compared += 1;
            }
        }
        assert!(compared > 100_000, "only {compared} sums have been compared");
    }

    #[test]
    fn what_is_not_finite_is_left_to_others() {
        let words = |bits| [bits; ROWS];
        let factors = |bits| Factors::decode(Operand::F16, &words(bits), 0);
        let sums = |a: &[_], b: &[_], c| sums(a, b, &words(c));
        let one = factors(0x3c00);
        for bits in [0x7c00, 0xfc00, 0x7e00] {
            let other = factors(bits);
            assert!(sums(&[one, one], &[one.get(0), other.get(0)], 0).is_none());
            assert!(sums(&[one, other], &[one.get(0); 2], 0).is_none());
        }
        assert!(sums(&[one], &[one.get(0)], 0x7f80_0000).is_none());
        assert_eq!(sums(&[one], &[one.get(0)], 0x3f80_0000), Some(words(0x4000_0000)));
    }
}
