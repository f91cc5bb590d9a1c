//! Sums of products of 16-bit and `.tf32` floats in `.f32`.
//!
//! The adder (`tensor/sum.rs`) aligns each product to the largest exponent and cuts it towards zero. So does a conversion of
//! the product to an integer, once it is scaled so that the last bit which is kept counts 1: two multiplications of `.f32`,
//! both exact, for a product has 22 bits. The integers are below 2^27, and 16 of them below 2^31. What a multiplication
//! or a sum of 32 bits could not hold, and what is not finite, is left to [`dot`](crate::tensor::dot).

use super::{Arithmetic, Config, LANES, LINES, Operand, QUAD, Vectors};
use crate::format::{Bf16, F16, F32, Format, Tf32};
use crate::tensor::sum::{ALIGNED, Wide, Width};

/// The most terms of a dot product, C left out.
pub(super) const TERMS: usize = 16;

/// The exponents among which the largest must be, so that all of a sum is a normal `.f32`, and each product one that is
/// exact, or below what is kept.
const LEAST: i32 = -100;
const GREATEST: i32 = 126;

/// The exponent of a zero, which with that of any finite factor is less than [`NOTHING`].
const NONE: i32 = -1024;
const NOTHING: i32 = -512;

/// The exponent of what is not finite: with that of any factor above [`GREATEST`].
const INFINITE: i32 = 4096;

/// The bits of `2^exponent`, which is normal.
const fn power(exponent: i32) -> u32 {
    ((exponent + F32::BIAS) as u32) << F32::MANTISSA_BITS
}

/// An integer as what [`Vectors::splat`] takes.
const fn bits(x: i32) -> u32 {
    x as u32
}

/// The same for both half words.
const fn both(x: i32) -> u32 {
    bits(x) & 0xffff | bits(x) << 16
}

/// Floats that are added up in `.f32`.
#[derive(Debug)]
pub struct Floats;

/// One element of each of 32 words, or two.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Factors {
    /// As `.f32`: the lower ones, and the upper ones if there are any.
    values: [[u32; LANES]; 2],
    /// In half words. That of a subnormal is the format's least, those of a zero and of what is not finite are [`NONE`] and
    /// [`INFINITE`].
    exponents: [u32; LANES],
}

impl Arithmetic for Floats {
    type Factors = Factors;

    const ZERO: Factors = Factors { values: [[0; LANES]; 2], exponents: [both(NONE); LANES] };

    #[inline(always)]
    fn decode<V: Vectors>(v: V, operand: Operand, words: V::W, factors: &mut Factors) {
        let Factors { values: [low, high], exponents } = factors;
        match operand {
            Operand::Tf32 => {
                v.store(v.and(words, v.splat(!0 << WIDER_TF32)), low);
                let magnitude = v.and(words, v.splat(bits(i32::MAX)));
                let field = v.shr::<{ F32::MANTISSA_BITS }>(magnitude);
                // All its bits are more than a half word's; those of the mantissa and the field are zero where it is.
                let any = v.or(v.shr::<WIDER_TF32>(magnitude), field);
                let exponent = exponents_of::<Tf32, V>(v, any, field);
                // There is no upper one.
                v.store(v.or(v.and(exponent, v.splat(0xffff)), v.splat(bits(NONE) << 16)), exponents);
            }
            Operand::Bf16 => {
                v.store(v.shl::<16>(words), low);
                v.store(v.and(words, v.splat(0xffff_0000)), high);
                let magnitude = v.and(words, v.splat(both(0x7fff)));
                let field = v.shr_halves::<{ Bf16::MANTISSA_BITS }>(magnitude);
                v.store(exponents_of::<Bf16, V>(v, magnitude, field), exponents);
            }
            _ => {
                v.store(of_half(v, v.shl::<16>(words)), low);
                v.store(of_half(v, words), high);
                let magnitude = v.and(words, v.splat(both(0x7fff)));
                let field = v.shr_halves::<{ F16::MANTISSA_BITS }>(magnitude);
                v.store(exponents_of::<F16, V>(v, magnitude, field), exponents);
            }
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
            let sums = match config.a {
                Operand::Tf32 => of_parity::<V, 1>(v, rows, columns, *part, parity),
                _ => of_parity::<V, 2>(v, rows, columns, *part, parity),
            };
            let Some(sums) = sums else { return false };
            *part = sums;
        }
        v.registers(parts, d);
        true
    }
}

/// Bits of a word of `.tf32` that do not count.
const WIDER_TF32: u32 = F32::MANTISSA_BITS - Tf32::MANTISSA_BITS;

const F32_EXPONENT_BITS: u32 = 31 - F32::MANTISSA_BITS;
const F16_EXPONENT_BITS: u32 = 15 - F16::MANTISSA_BITS;

/// The `.f32` of the `.f16` in upper half words: exact, for subnormals as well, whose products with so great a power are normal.
#[inline(always)]
fn of_half<V: Vectors>(v: V, upper: V::W) -> V::W {
    let shifted = v.sar::<{ F32_EXPONENT_BITS - F16_EXPONENT_BITS }>(upper);
    let value = v.and(shifted, v.splat(1 << 31 | 0x7fff << (F32::MANTISSA_BITS - F16::MANTISSA_BITS)));
    v.multiply(value, v.splat(power(F32::BIAS - F16::BIAS)))
}

/// The exponents of half words, from what is zero where they are and their fields of exponents.
#[inline(always)]
fn exponents_of<F: Format, V: Vectors>(v: V, any: V::W, field: V::W) -> V::W {
    let finite = v.add_halves(v.max_halves(field, v.splat(both(1))), v.splat(both(-F::BIAS)));
    let below_infinity = v.xor(field, v.splat(both((F::INFINITY >> F::MANTISSA_BITS) as i32)));
    let exponent = v.select_zero_halves(below_infinity, v.splat(both(INFINITE)), finite);
    v.select_zero_halves(any, v.splat(both(NONE)), exponent)
}

/// Negative where an exponent is not among [`LEAST`] to [`GREATEST`].
#[inline(always)]
fn outside<V: Vectors>(v: V, exponent: V::W) -> V::W {
    v.or(v.sub(exponent, v.splat(bits(LEAST))), v.sub(v.splat(bits(GREATEST)), exponent))
}

/// The sums of the rows of a parity, of words with so many elements.
#[inline(always)]
fn of_parity<V: Vectors, const ELEMENTS: usize>(
    v: V,
    rows: &[Factors],
    columns: &[Factors],
    c: V::W,
    parity: usize,
) -> Option<V::W> {
    let mut most = v.splat(both(2 * NONE));
    for (a, b) in rows.iter().zip(columns) {
        for u in 0..QUAD {
            let (a, b) =
                (v.rows(&a.exponents, LINES * u + QUAD * parity), v.columns(&b.exponents, LINES * u));
            most = v.max_halves(most, v.add_halves(a, b));
        }
    }
    let of_products = v.max(v.lower(most), v.sar::<16>(most));
    let magnitude = v.shl::<1>(c);
    // A zero has none, and a subnormal a greater one: all of these are less than [`LEAST`].
    let of_c = v.sub(v.shr::<{ F32::MANTISSA_BITS + 1 }>(magnitude), v.splat(bits(F32::BIAS)));
    let mut most = v.max(of_products, of_c);
    if v.any_negative(outside(v, most)) {
        // Where there are but zeros, any power will do.
        let of_zero = v.splat(bits(2 * NONE));
        let nothing =
            v.sub(v.max(of_products, v.select_zero(magnitude, of_zero, of_c)), v.splat(bits(NOTHING)));
        let nothing = v.sar::<31>(nothing);
        most = v.or(v.and_not(most, nothing), v.and(v.splat(bits(LEAST)), nothing));
        if v.any_negative(outside(v, most)) {
            return None;
        }
    }
    let top = v.shl::<{ F32::MANTISSA_BITS }>(most);
    let scale = v.sub(v.splat(power(ALIGNED as i32)), top);
    let mut products = v.splat(0);
    for (a, b) in rows.iter().zip(columns) {
        for (a, b) in a.values.iter().zip(&b.values).take(ELEMENTS) {
            for u in 0..QUAD {
                let product = v.multiply(v.rows(a, LINES * u + QUAD * parity), v.columns(b, LINES * u));
                products = v.add(products, v.cut(v.multiply(product, scale)));
            }
        }
    }
    let addend = v.cut(v.multiply(c, scale));
    let sum = v.add(products, addend);
    if v.any_negative(v.and(v.xor(sum, products), v.xor(sum, addend))) {
        return None;
    }
    let unit = v.add(top, v.splat(power(-(Wide::KEPT as i32))));
    Some(v.multiply(v.float(sum), unit))
}
