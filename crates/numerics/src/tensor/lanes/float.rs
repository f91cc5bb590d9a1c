//! Sums of products of 16-bit and `.tf32` floats in `.f32`.
//!
//! The adder (`tensor/sum.rs`) aligns each product to the largest exponent and cuts it towards zero. So does a conversion of
//! the product to an integer, once it is scaled so that the last bit which is kept counts 1: two multiplications of `.f32`,
//! both exact, for a product has 22 bits. The integers are below 2^27, and 16 of them below 2^31. What a multiplication
//! or a sum of 32 bits could not hold, and what is not finite, is left to [`dot`](crate::tensor::dot).

use super::{Arithmetic, COLUMNS, Config, LANES, Operand, QUAD, Vectors, eight};
use crate::format::{Bf16, F16, F32, Format, Tf32};
use crate::tensor::sum::{ALIGNED, Wide, Width};

/// The most terms of a dot product, C left out.
pub(super) const TERMS: usize = 16;

/// The exponents among which the largest must be, so that all of a sum is a normal `.f32`, and each product one that is
/// exact, or below what is kept.
const LEAST: i32 = -100;
const GREATEST: i32 = 126;

/// The exponent of a zero, which with that of any finite factor is less than [`NOTHING`].
const NONE: i16 = -1024;
const NOTHING: i32 = -512;

/// The exponent of what is not finite: with that of any factor above [`GREATEST`].
const INFINITE: i16 = 4096;

/// The bits of `2^exponent`, which is normal.
const fn power(exponent: i32) -> u32 {
    ((exponent + F32::BIAS) as u32) << F32::MANTISSA_BITS
}

/// An integer as what [`Vectors::splat`] takes.
const fn bits(x: i32) -> u32 {
    x as u32
}

/// Floats that are added up in `.f32`.
#[derive(Debug)]
pub struct Floats;

/// An element a lane.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Factors {
    /// As `.f32`.
    values: [u32; LANES],
    /// That of a subnormal is the format's least, those of a zero and of what is not finite are [`NONE`] and [`INFINITE`].
    exponents: [i16; LANES],
}

/// An element a column.
#[derive(Clone, Copy, Debug)]
pub struct Columns {
    values: [u32; COLUMNS],
    exponents: [i16; COLUMNS],
}

impl Columns {
    #[inline(always)]
    fn of(factors: &Factors, unit: usize) -> Self {
        Self { values: eight(&factors.values, unit), exponents: eight(&factors.exponents, unit) }
    }
}

impl Arithmetic for Floats {
    type Factors = Factors;
    type Columns = Columns;

    const ZERO: Factors = Factors { values: [0; LANES], exponents: [NONE; LANES] };

    #[inline(always)]
    fn parts(operand: Operand) -> usize {
        if operand == Operand::Tf32 { 1 } else { 2 }
    }

    #[inline(always)]
    fn decode<V: Vectors>(v: V, operand: Operand, words: V::W, part: usize) -> Factors {
        let words = v.shift_right(words, 16 * part as u32);
        match operand {
            // In the upper bits of a register.
            Operand::Tf32 => {
                decode::<Tf32, V>(v, v.shift_right(words, F32::MANTISSA_BITS - Tf32::MANTISSA_BITS))
            }
            Operand::Bf16 => decode::<Bf16, V>(v, words),
            _ => decode::<F16, V>(v, words),
        }
    }

    #[inline(always)]
    fn quad<V: Vectors, const U: usize>(v: V, factors: &Factors) -> Factors {
        let mut chosen = Self::ZERO;
        v.store(v.quad::<U>(v.load(&factors.values)), &mut chosen.values);
        v.store_halves(v.quad_halves::<U>(v.load_halves(&factors.exponents)), &mut chosen.exponents);
        chosen
    }

    #[inline(always)]
    fn columns(factors: &Factors) -> [Columns; QUAD] {
        [Columns::of(factors, 0), Columns::of(factors, 1), Columns::of(factors, 2), Columns::of(factors, 3)]
    }

    #[inline(always)]
    fn sums<V: Vectors>(
        v: V,
        _: &Config,
        rows: &[Factors],
        columns: &[Columns],
        c: [&[u32; LANES]; 2],
    ) -> Option<[V::W; 2]> {
        let mut most = [v.splat_halves(2 * NONE); 2];
        for (a, b) in rows.iter().zip(columns) {
            let a = v.load_halves(&a.exponents);
            for p in 0..2 {
                let b = v.repeat_halves(&b.exponents, p * QUAD);
                most[p] = v.max_halves(most[p], v.add_halves(a, b));
            }
        }
        let mut refused = v.splat(0);
        let (mut top, mut scale) = ([v.splat(0); 2], [v.splat(0); 2]);
        for p in 0..2 {
            let magnitude = v.shr::<1>(v.shl::<1>(v.load(c[p])));
            let field = v.max(v.shr::<{ F32::MANTISSA_BITS }>(magnitude), v.splat(1));
            let of_c = v.sub(field, v.splat(bits(F32::BIAS)));
            let of_c = v.select_zero(magnitude, v.splat(bits(2 * NONE as i32)), of_c);
            let most = v.max(v.widen(most[p]), of_c);
            // Where there are but zeros, any power will do.
            let too_small = v.and_not(v.sub(most, v.splat(bits(LEAST))), v.sub(most, v.splat(bits(NOTHING))));
            refused = v.or(refused, v.or(too_small, v.sub(v.splat(bits(GREATEST)), most)));
            let field = v.add(v.max(most, v.splat(bits(LEAST))), v.splat(bits(F32::BIAS)));
            top[p] = v.shl::<{ F32::MANTISSA_BITS }>(field);
            scale[p] = v.sub(v.splat(power(ALIGNED as i32) + power(0)), top[p]);
        }
        if v.any_negative(refused) {
            return None;
        }
        let mut products = [v.splat(0); 2];
        for (a, b) in rows.iter().zip(columns) {
            let a = v.load(&a.values);
            for p in 0..2 {
                let product = v.multiply(a, v.repeat(&b.values, p * QUAD));
                products[p] = v.add(products[p], v.cut(v.multiply(product, scale[p])));
            }
        }
        let mut results = [v.splat(0); 2];
        for p in 0..2 {
            let addend = v.cut(v.multiply(v.load(c[p]), scale[p]));
            let sum = v.add(products[p], addend);
            let overflow = v.and(v.xor(sum, products[p]), v.xor(sum, addend));
            let magnitude = v.abs(sum);
            // Without the first of the bits that do not fit, what is left of them is rounded down.
            let kept = v.and_not(magnitude, v.shr::<{ F32::MANTISSA_BITS + 1 }>(magnitude));
            // The one magnitude that has no sign to spare.
            refused = v.or(refused, v.or(overflow, kept));
            let unit = v.sub(top[p], v.splat(Wide::KEPT << F32::MANTISSA_BITS));
            let sign = v.and(sum, v.splat(F32::SIGN as u32));
            results[p] = v.or(v.multiply(v.float(kept), unit), sign);
        }
        (!v.any_negative(refused)).then_some(results)
    }
}

#[inline(always)]
fn decode<F: Format, V: Vectors>(v: V, words: V::W) -> Factors {
    let wider = F32::MANTISSA_BITS - F::MANTISSA_BITS;
    let bias = F32::BIAS - F::BIAS;
    let sign = v.and(words, v.splat(F::SIGN as u32));
    let magnitude = v.and(words, v.splat(F::SIGN as u32 - 1));
    let sign = v.shift_left(sign, 31 - F::SIGN.trailing_zeros());
    let wide = v.shift_left(magnitude, wider);
    // Exact, for subnormals of F as well: their products with so great a power are normal.
    let value = if bias == 0 { wide } else { v.multiply(wide, v.splat(power(bias))) };
    let field = v.shr::<{ F32::MANTISSA_BITS }>(value);
    let finite = v.max(v.sub(field, v.splat(bits(F32::BIAS))), v.splat(bits(1 - F::BIAS)));
    // Negative from infinity on.
    let above = v.and(v.sub(v.splat(F::INFINITY as u32 - 1), magnitude), v.splat(1 << 31));
    let exponent = v.select_zero(above, finite, v.splat(bits(INFINITE as i32)));
    let exponent = v.select_zero(magnitude, v.splat(bits(NONE as i32)), exponent);
    let mut factors = Floats::ZERO;
    v.store(v.or(value, sign), &mut factors.values);
    v.store_halves(v.narrow(exponent), &mut factors.exponents);
    factors
}
