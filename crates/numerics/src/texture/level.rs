//! Levels of detail: which mip levels a lookup reads.
//!
//! A level of detail is a fixed-point number with 8 fraction bits. A given one and the bias are cut towards zero before
//! they are added; the sum is clamped. Gradients become a level of detail by short sums and a table of logarithms.

use super::coordinate;
use crate::float::add_f32;
use crate::rounding::Rn;

/// How levels are chosen and filtered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelFilter {
    /// Whether two levels are blended.
    pub linear: bool,
    /// Added to every level of detail.
    pub bias: i32,
    /// The least, in units of 1/256 level; it wins over the greatest.
    pub least: i32,
    /// The greatest.
    pub greatest: i32,
}

/// The levels that a lookup reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    /// The finer one.
    pub first: u32,
    /// The weight of the next one, of 256.
    pub weight: u32,
}

/// A level of detail in units of 1/256.
pub fn fixed(lod: u32) -> i32 {
    (coordinate(lod) * 256.0).clamp(-1e6, 1e6) as i32
}

/// A sampler's bias in units of 1/256: at most 15 levels.
pub fn bias(bias: u32) -> i32 {
    fixed(bias).clamp(-15 * 256, 15 * 256)
}

impl LevelFilter {
    /// The levels for a level of detail in units of 1/256, of a texture that has `count`.
    pub fn levels(&self, lod: i32, count: u32) -> Levels {
        let lod = (lod + self.bias).min(self.greatest).max(self.least);
        let last = count.saturating_sub(1) as i32 * 256;
        let lod = lod.clamp(0, last) as u32;
        match self.linear {
            true => Levels { first: lod >> 8, weight: lod & 255 },
            false => Levels { first: (lod + 128) >> 8, weight: 0 },
        }
    }
}

/// The level of detail of a lookup without one: below every texture.
pub const BASE: i32 = -32 * 256;

/// Logarithms to the base of 2 of 1 + i/256, in units of 1/256: the unit's table, as measured.
static LOGARITHM: [u8; 256] = [
    0, 2, 4, 5, 6, 8, 9, 11, 12, 13, 15, 16, 18, 19, 20, 22, 23, 24, 26, 27, 28, 30, 31, 32, 34, 35, 36, 38,
    39, 40, 42, 43, 44, 45, 47, 48, 49, 50, 52, 53, 54, 55, 57, 58, 59, 60, 62, 63, 64, 65, 66, 68, 69, 70,
    71, 72, 74, 75, 76, 77, 78, 79, 81, 82, 83, 84, 85, 86, 88, 89, 90, 91, 92, 93, 94, 95, 97, 98, 99, 100,
    101, 102, 103, 104, 105, 106, 107, 109, 110, 111, 112, 113, 114, 115, 116, 117, 118, 119, 120, 121, 122,
    123, 124, 125, 126, 127, 128, 129, 130, 131, 132, 133, 135, 136, 137, 137, 138, 139, 140, 141, 142, 143,
    144, 145, 146, 147, 148, 149, 150, 151, 152, 153, 154, 155, 156, 157, 158, 159, 160, 161, 162, 162, 163,
    164, 165, 166, 167, 168, 169, 170, 171, 172, 173, 173, 174, 175, 176, 177, 178, 179, 180, 181, 181, 182,
    183, 184, 185, 186, 187, 188, 188, 189, 190, 191, 192, 193, 194, 195, 195, 196, 197, 198, 199, 200, 200,
    201, 202, 203, 204, 205, 205, 206, 207, 208, 209, 210, 210, 211, 212, 213, 214, 214, 215, 216, 217, 218,
    218, 219, 220, 221, 222, 222, 223, 224, 225, 226, 226, 227, 228, 229, 229, 230, 231, 232, 233, 233, 234,
    235, 236, 236, 237, 238, 239, 239, 240, 241, 242, 242, 243, 244, 245, 245, 246, 247, 248, 248, 249, 250,
    251, 251, 252, 253, 253, 254, 255, 255,
];

/// Significant bits of the unit's intermediate results on gradients.
const SIGNIFICANT: i32 = 10;

/// How much the greatest, the middle and the least component of a side of the footprint add to its length.
const SIDE: [f64; 3] = [1.0, 11.0 / 32.0, 1.0 / 4.0];
/// The same of a diagonal, of which 11/16 count.
const DIAGONAL: [f64; 3] = [11.0 / 16.0, 121.0 / 512.0, 11.0 / 64.0];

/// A number's exponent: `x` is in `2^e..2^(e+1)`.
fn exponent(x: f64) -> i32 {
    (x.to_bits() >> 52 & 0x7ff) as i32 - 1023
}

fn power(e: i32) -> f64 {
    f64::from_bits(((e.clamp(-1022, 1023) + 1023) as u64) << 52)
}

/// A positive number cut to multiples of 2^`e`.
fn cut_at(x: f64, e: i32) -> f64 {
    (x / power(e)).floor() * power(e)
}

/// A positive number cut to [`SIGNIFICANT`] bits.
pub(super) fn cut(x: f64) -> f64 {
    if x > 0.0 { cut_at(x, exponent(x) + 1 - SIGNIFICANT) } else { 0.0 }
}

/// The coordinate of a thread that is one step along a gradient.
pub fn step(coordinate: u32, gradient: u32) -> u32 {
    add_f32::<Rn, false, false>(coordinate, gradient)
}

/// How far a coordinate is from another, both as the unit reads them.
pub fn difference(from: u32, to: u32) -> f64 {
    coordinate(to) - coordinate(from)
}

/// A component of a gradient in texels. Factors have [`SIGNIFICANT`] bits; of each partial product three bits more are kept, and
/// their sum is rounded up, before it is cut again.
fn in_texels(gradient: f64, extent: u32) -> f64 {
    let (change, size) = (cut(gradient.abs()), cut(f64::from(extent)));
    if change == 0.0 {
        return 0.0;
    }
    let unit = |x: f64| exponent(x) + 1 - SIGNIFICANT;
    let bits = |x: f64| (x / power(unit(x))) as u64;
    let partial = |place: i32| match bits(size) >> (SIGNIFICANT - 1 - place) & 1 {
        0 => 0,
        _ => (bits(change) << 3) >> place,
    };
    let sum: u64 = (0..SIGNIFICANT).map(partial).sum();
    cut(sum.div_ceil(8) as f64 * power(unit(change) + exponent(size))).copysign(gradient)
}

/// A component's share of a length: half of the last place is added to the product before it is cut.
fn share(x: f64, of: f64) -> f64 {
    if x > 0.0 { cut(x * of + power(exponent(x) + exponent(of) - SIGNIFICANT)) } else { 0.0 }
}

/// The length of a vector without signs by the unit's rule of thumb: a share of each component, the greatest first.
fn length(vector: [f64; 3], shares: [f64; 3]) -> f64 {
    let mut sorted = vector;
    sorted.sort_by(|a, b| b.total_cmp(a));
    sorted.iter().zip(shares).map(|(&x, of)| share(x, of)).sum()
}

/// The magnitude of a sum: both numbers are cut relative to the greater one, and so is what comes out.
fn magnitude_of_sum(a: f64, b: f64) -> f64 {
    let greater = a.abs().max(b.abs());
    if greater == 0.0 {
        return 0.0;
    }
    let e = exponent(greater) - SIGNIFICANT;
    let part = |x: f64| cut_at(x.abs(), e).copysign(x);
    cut((part(a) + part(b)).abs())
}

/// The footprint of a lookup: two gradients, each per normalized coordinate.
#[derive(Clone, Copy, Debug)]
pub struct Footprint {
    /// Its sides.
    pub sides: [[f64; 3]; 2],
    /// Whether its diagonals count too.
    pub diagonals: bool,
}

impl Footprint {
    /// Its level of detail: the logarithm of the longest of both sides and of 11/16 of both diagonals.
    pub fn level(&self, extents: [u32; 3], dimensions: usize) -> i32 {
        let [x, y] = self.sides.map(|side| {
            let texels = |axis| if axis < dimensions { in_texels(side[axis], extents[axis]) } else { 0.0 };
            [0, 1, 2].map(texels)
        });
        let mut longest = length(x.map(f64::abs), SIDE).max(length(y.map(f64::abs), SIDE));
        for sign in [1.0, -1.0].into_iter().filter(|_| self.diagonals) {
            let diagonal = [0, 1, 2].map(|axis| magnitude_of_sum(x[axis], sign * y[axis]));
            longest = longest.max(length(diagonal, DIAGONAL));
        }
        logarithm(longest)
    }
}

/// The logarithm of a positive number in units of 1/256.
fn logarithm(x: f64) -> i32 {
    if x <= 0.0 {
        return BASE;
    }
    exponent(x) * 256 + i32::from(LOGARITHM[(x.to_bits() >> 44 & 0xff) as usize])
}
