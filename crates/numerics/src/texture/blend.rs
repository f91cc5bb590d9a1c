//! Linear filtering: the weights of the texels around a position, and their sum.
//!
//! Weights have 8 bits and add up to 256; those of several probes ([`super::anisotropy`]) to 512 or 1024. The four of a quad are split twice: first along s, then along t, and each
//! split rounds one half and gives the rest to the other. Where two slices are blended (along r, or two mip levels),
//! the slices share the 256 before.
//!
//! Texels are blended in a format of their own: fractions as integers of 16 bits, `.f16` and `.f32` as aligned fixed
//! point numbers. One rounding ends it.

use super::format::{Meaning, fraction, sign_extend, srgb_steps};

/// A texel in the format that it is blended in, and its weight.
pub type Term = (u32, u32);

/// The four texels of a slice: (s0, t0), (s1, t0), (s0, t1), (s1, t1).
pub type Quad = [Term; 4];

/// A product of two weights of 256, rounded, halves up.
fn product(a: u32, b: u32) -> u32 {
    (a * b + 128) >> 8
}

/// How two slices share what both have, by the weight of the second: the share of the first is rounded.
pub fn split(both: u32, second: u32) -> [u32; 2] {
    let first = product(256 - second, both);
    [first, both - first]
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
        Meaning::Unsigned
        | Meaning::Signed(_)
        | Meaning::Unorm16
        | Meaning::Srgb8
        | Meaning::Half
        | Meaning::Float => raw,
    }
}

/// The blend of the texels of all slices, whose weights add up to 2^`bits`, as an `f32`.
pub fn blend(meaning: Meaning, slices: &[Quad], bits: u32) -> u32 {
    match meaning {
        Meaning::Unorm8 | Meaning::Unorm16 => fraction(integer_sum(slices, bits), 65535),
        Meaning::Snorm16 => fraction(integer_sum(slices, bits).max(-32767), 32767),
        Meaning::Snorm8 => {
            // 127 * 256 becomes 32767: repeated bits fill the low end.
            let sum = integer_sum(slices, bits);
            fraction((sum + (((sum >> 4) + (sum >> 12) + 4) >> 3)).max(-32767), 32767)
        }
        Meaning::Half => HALF.blend(slices, bits),
        Meaning::Srgb8 => SRGB.blend(slices, bits),
        Meaning::Float => FLOAT.blend(slices, bits),
        Meaning::Unsigned | Meaning::Signed(_) => slices[0][0].0,
    }
}

/// Signed terms; halves up.
fn integer_sum(slices: &[Quad], bits: u32) -> i32 {
    let sum: i64 = slices.iter().flatten().map(|&(v, w)| i64::from(v as i32) * i64::from(w)).sum();
    ((sum + (1 << (bits - 1))) >> bits) as i32
}

/// How terms are aligned and sums rounded in a format with exponents.
#[derive(Clone, Copy)]
struct Layout {
    /// Significant bits of a result.
    significant: u32,
    /// What is added to exponents of terms and results.
    bias: i32,
    /// The sign bit of a term; 0 if terms have none.
    sign: u32,
    /// Bits of an aligned term behind its significant ones that a sum keeps.
    guard: u32,
}

const HALF: Layout = Layout { significant: 11, bias: 15, sign: 0x8000, guard: 4 };
const FLOAT: Layout = Layout { significant: 24, bias: 127, sign: 0x8000_0000, guard: 4 };
/// Linear numbers of the sRGB table, with results as of `.f16`.
const SRGB: Layout = Layout { sign: 0, guard: 0, ..HALF };

impl Layout {
    fn infinity(self) -> u32 {
        (2 * self.bias as u32 + 1) << (self.significant - 1)
    }

    /// A term's magnitude as a whole number and the power of 2 that it counts.
    fn parts(self, v: u32) -> (i64, i32) {
        if self.sign == 0 {
            let (steps, bits) = srgb_steps(v);
            return (steps.into(), -(bits as i32));
        }
        let stored = (v & (self.sign - 1)) >> (self.significant - 1);
        let leading = if stored != 0 { 1 << (self.significant - 1) } else { 0 };
        let fraction = v & ((1 << (self.significant - 1)) - 1);
        (i64::from(fraction | leading), stored.max(1) as i32 - self.bias - self.significant as i32 + 1)
    }

    /// What terms that are not finite make of a sum, as an `f32`: `None` if all are.
    fn exceptional(self, slices: &[Quad]) -> Option<u32> {
        if self.sign == 0 {
            return None;
        }
        let (mut plus, mut minus) = (false, false);
        let nan = if self.significant == HALF.significant { 0x7fff_e000 } else { 0x7fff_ffff };
        for &(v, _) in slices.iter().flatten() {
            // A texel counts even if its share was rounded to nothing.
            let magnitude = v & (self.sign - 1);
            if magnitude < self.infinity() {
                continue;
            }
            if magnitude > self.infinity() {
                return Some(nan);
            }
            *if v & self.sign != 0 { &mut minus } else { &mut plus } = true;
        }
        match (plus, minus) {
            (false, false) => None,
            (true, true) => Some(nan),
            (true, false) => Some(0x7f80_0000),
            (false, true) => Some(0xff80_0000),
        }
    }

    /// The sum of all terms in units of 2^`scale`. In each slice terms are aligned to the greatest exponent and cut;
    /// the slices' sums are aligned to one another and cut downwards.
    fn sum(self, slices: &[Quad], bits: u32) -> (i64, i32) {
        let greatest = |terms: &Quad| {
            let parts = terms.iter().filter(|&&(_, w)| w != 0).map(|&(v, _)| self.parts(v));
            parts.filter(|&(magnitude, _)| magnitude != 0).map(|(_, power)| power).max()
        };
        let Some(top) = slices.iter().filter_map(greatest).max() else { return (0, 0) };
        let mut sum = 0i64;
        for quad in slices {
            let Some(top_here) = greatest(quad) else { continue };
            let mut sum_here = 0i64;
            for &(v, w) in quad.iter().filter(|&&(_, w)| w != 0) {
                let (magnitude, power) = self.parts(v);
                let aligned = shift_right(magnitude << self.guard, top_here - power);
                sum_here += if v & self.sign != 0 { -aligned } else { aligned } * i64::from(w);
            }
            sum += shift_right(sum_here << 1, top - top_here);
        }
        (sum, top - self.guard as i32 - bits as i32 - 1)
    }

    /// `value * 2^scale` as an `f32` with the precision and range of the format, halves away from zero.
    fn round(self, value: i64, scale: i32) -> u32 {
        let magnitude = value.unsigned_abs();
        let least = 2 - self.bias - self.significant as i32 - scale;
        let drop = (64 - magnitude.leading_zeros()).saturating_sub(self.significant).max(least.max(0) as u32);
        let rounded = match drop {
            0 => magnitude,
            1..=63 => (magnitude + (1 << (drop - 1))) >> drop << drop,
            _ => 0,
        };
        let power = f64::from_bits(((scale + 1023) as u64) << 52);
        let value = if value < 0 { -(rounded as f64) } else { rounded as f64 } * power;
        (value as f32).to_bits()
    }

    fn blend(self, slices: &[Quad], bits: u32) -> u32 {
        self.exceptional(slices).unwrap_or_else(|| {
            let (sum, scale) = self.sum(slices, bits);
            self.round(sum, scale)
        })
    }
}

fn shift_right(value: i64, by: i32) -> i64 {
    value >> by.clamp(0, 63)
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
            assert_eq!(blend(Meaning::Float, &[[(raw, 256), (0, 0), (0, 0), (0, 0)]], 8), raw);
        }
    }
}
