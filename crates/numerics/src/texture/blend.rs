//! Linear filtering: the weights of the texels around a position, and their sum.
//!
//! Weights have 8 bits and add up to 256. The four of a quad are split twice: first along s, then along t, and each
//! split rounds one half and gives the rest to the other. Where two slices are blended (along r, or two mip levels),
//! the slices share the 256 before.
//!
//! Texels are blended in a format of their own: fractions as integers of 16 bits, `.f16` and `.f32` as aligned fixed
//! point numbers. One rounding ends it.

use super::format::{Meaning, fraction, narrow, sign_extend};
use crate::convert::half_to_f32;
use crate::format::F16;

/// A texel in the format that it is blended in, and its weight.
pub type Term = (u32, u32);

/// The four texels of a slice: (s0, t0), (s1, t0), (s0, t1), (s1, t1).
pub type Quad = [Term; 4];

/// A product of two weights of 256, rounded, halves up.
fn product(a: u32, b: u32) -> u32 {
    (a * b + 128) >> 8
}

/// How two slices share what both have, by the weight of the second.
pub fn split(both: u32, second: u32) -> [u32; 2] {
    let second = product(second, both);
    [both - second, second]
}

/// The weights of a quad whose slice has `slice` of 256, in the order of [`Quad`]; `s` and `t` are the weights of the
/// second column and row.
pub fn weights(slice: u32, s: u32, t: u32) -> [u32; 4] {
    let right = product(s, slice);
    let left = slice - right;
    let right_down = product(right, t);
    let left_up = product(left, 256 - t);
    [left_up, right - right_down, left - left_up, right_down]
}

/// A texel's channel in the format that it is blended in.
pub fn term(meaning: Meaning, raw: u32) -> u32 {
    match meaning {
        Meaning::Unorm8 => raw * 257,
        Meaning::Snorm8 => (sign_extend(raw, 8) << 8) as u32,
        Meaning::Snorm16 => sign_extend(raw, 16) as u32,
        Meaning::Srgb8 => narrow(meaning.value(raw)).into(),
        Meaning::Unsigned | Meaning::Signed(_) | Meaning::Unorm16 | Meaning::Half | Meaning::Float => raw,
    }
}

/// A border colour's channel in the format that it is blended in.
pub fn border_term(meaning: Meaning, colour: u32) -> u32 {
    let clamped = |low: f64, whole: f64| {
        let x = f64::from(f32::from_bits(colour));
        let x = if x.is_nan() { 0.0 } else { x.clamp(low, 1.0) };
        (x * whole).round_ties_even() as i32 as u32
    };
    match meaning {
        Meaning::Unorm8 | Meaning::Unorm16 => clamped(0.0, 65535.0),
        Meaning::Snorm8 => clamped(-1.0, 32512.0),
        Meaning::Snorm16 => clamped(-1.0, 32767.0),
        Meaning::Half | Meaning::Srgb8 => narrow(colour).into(),
        Meaning::Unsigned | Meaning::Signed(_) | Meaning::Float => colour,
    }
}

/// The blend of the texels of all slices, as an `f32`.
pub fn blend(meaning: Meaning, slices: &[Quad]) -> u32 {
    match meaning {
        Meaning::Unorm8 | Meaning::Unorm16 => fraction(integer_sum(slices), 65535),
        Meaning::Snorm16 => fraction(integer_sum(slices).max(-32767), 32767),
        Meaning::Snorm8 => {
            // 127 * 256 becomes 32767: repeated bits fill the low end.
            let sum = integer_sum(slices);
            fraction((sum + (((sum >> 4) + (sum >> 12) + 4) >> 3)).max(-32767), 32767)
        }
        Meaning::Half | Meaning::Srgb8 => half_blend(slices),
        Meaning::Float => float_blend(slices),
        Meaning::Unsigned | Meaning::Signed(_) => slices[0][0].0,
    }
}

/// Signed terms; halves up.
fn integer_sum(slices: &[Quad]) -> i32 {
    let sum: i64 = slices.iter().flatten().map(|&(v, w)| i64::from(v as i32) * i64::from(w)).sum();
    ((sum + 128) >> 8) as i32
}

/// What terms that are not finite make of a sum: `None` if all are.
fn exceptional(slices: &[Quad], infinity: u32, sign: u32) -> Option<u32> {
    let (mut plus, mut minus) = (false, false);
    for &(v, w) in slices.iter().flatten() {
        let magnitude = v & (sign - 1);
        if w == 0 || magnitude < infinity {
            continue;
        }
        if magnitude > infinity {
            return Some(0x7fff_ffff);
        }
        *if v & sign != 0 { &mut minus } else { &mut plus } = true;
    }
    match (plus, minus) {
        (false, false) => None,
        (true, true) => Some(0x7fff_ffff),
        (true, false) => Some(0x7f80_0000),
        (false, true) => Some(0xff80_0000),
    }
}

/// `.f16` terms: an exact sum, rounded to `.f16`, halves away from zero.
fn half_blend(slices: &[Quad]) -> u32 {
    if let Some(result) = exceptional(slices, 0x7c00, 0x8000) {
        return result;
    }
    // In units of 2^-24, the least subnormal.
    let fixed = |v: u32| {
        let value = f64::from(f32::from_bits(half_to_f32::<F16, false, false>(v as u16)));
        (value * (1u32 << 24) as f64) as i64
    };
    let sum: i64 = slices.iter().flatten().map(|&(v, w)| fixed(v) * i64::from(w)).sum();
    let magnitude = sum.unsigned_abs();
    // 11 significant bits, none below 2^-24.
    let drop = (64 - magnitude.leading_zeros()).saturating_sub(11).max(8);
    let rounded = (magnitude + (1 << (drop - 1))) >> drop << drop;
    let value = rounded as f64 / (1u64 << 32) as f64;
    (if sum < 0 { -value } else { value } as f32).to_bits()
}

/// Fraction bits of a term behind the leading bit of the greatest, in one slice: 24 significant ones and 4 more.
const SLICE_BITS: i32 = 28;

/// `.f32` terms. In each slice they are aligned to the greatest exponent and cut; the slices' sums are aligned to one
/// another and cut downwards; the end is rounded, halves away from zero.
fn float_blend(slices: &[Quad]) -> u32 {
    if let Some(result) = exceptional(slices, 0x7f80_0000, 0x8000_0000) {
        return result;
    }
    let exponent = |v: u32| (v >> 23 & 0xff).max(1) as i32;
    let greatest = |terms: &Quad| {
        terms.iter().filter(|&&(v, w)| w != 0 && v << 1 != 0).map(|&(v, _)| exponent(v)).max().unwrap_or(0)
    };
    let top = slices.iter().map(greatest).max().unwrap_or(0);
    let mut sum = 0i64;
    for quad in slices {
        let top_here = greatest(quad);
        let mut sum_here = 0i64;
        for &(v, w) in quad.iter().filter(|&&(_, w)| w != 0) {
            let significand = i64::from(v & 0x7f_ffff | if v >> 23 & 0xff == 0 { 0 } else { 0x80_0000 });
            let aligned = shift_right(significand << (SLICE_BITS - 24), top_here - exponent(v));
            sum_here += if v >> 31 != 0 { -aligned } else { aligned } * i64::from(w);
        }
        sum += shift_right(sum_here << 1, top - top_here);
    }
    // The sum counts units of 2^(top - 127 - 23 - 4 - 8 - 1).
    round_to_float(sum, top - 163)
}

fn shift_right(value: i64, by: i32) -> i64 {
    value >> by.clamp(0, 63)
}

/// `value * 2^scale` as an `f32`, halves away from zero.
fn round_to_float(value: i64, scale: i32) -> u32 {
    let magnitude = value.unsigned_abs();
    let drop = (64 - magnitude.leading_zeros()).saturating_sub(24).max((-149 - scale).max(0) as u32);
    let rounded = if drop == 0 { magnitude } else { (magnitude + (1 << (drop - 1))) >> drop << drop };
    let power = |e: i32| f64::from_bits(((e + 1023) as u64) << 52);
    let value = if value < 0 { -(rounded as f64) } else { rounded as f64 } * power(scale);
    (value as f32).to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_add_up() {
        for slice in [0, 1, 100, 255, 256] {
            for s in 0..256 {
                for t in 0..256 {
                    let all = weights(slice, s, t);
                    assert_eq!(all.iter().sum::<u32>(), slice);
                    assert!(all.iter().all(|&w| w <= 256));
                }
            }
        }
    }

    #[test]
    fn one_texel_alone_stays_what_it_is() {
        for raw in [0x3f80_0000, 0xc2f7_0001, 0x0080_0000, 0x7f7f_ffff, 0] {
            assert_eq!(blend(Meaning::Float, &[[(raw, 256), (0, 0), (0, 0), (0, 0)]]), raw);
        }
    }
}
