//! Gradients: the footprint of a lookup in texels, and the level of detail that it asks for.
//!
//! The unit computes with few bits, by short sums and a table of logarithms.

use super::coordinate;
use super::level::BASE;
use crate::float::add_f32;
use crate::rounding::Rn;

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
pub(super) fn exponent(x: f64) -> i32 {
    (x.to_bits() >> 52 & 0x7ff) as i32 - 1023
}

pub(super) fn power(e: i32) -> f64 {
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

/// A product. Factors have [`SIGNIFICANT`] bits; of each partial product three bits more are kept, and their sum is rounded up,
/// before it is cut again.
fn product(a: f64, b: f64) -> f64 {
    let (one, other) = (cut(a.abs()), cut(b.abs()));
    if one == 0.0 || other == 0.0 {
        return 0.0;
    }
    let unit = |x: f64| exponent(x) + 1 - SIGNIFICANT;
    let bits = |x: f64| (x / power(unit(x))) as u64;
    let partial = |place: i32| match bits(other) >> (SIGNIFICANT - 1 - place) & 1 {
        0 => 0,
        _ => (bits(one) << 3) >> place,
    };
    let sum: u64 = (0..SIGNIFICANT).map(partial).sum();
    cut(sum.div_ceil(8) as f64 * power(unit(one) + exponent(other))) * a.signum() * b.signum()
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

/// A footprint in texels.
struct Measured {
    sides: [[f64; 3]; 2],
    /// The longest of its sides and diagonals, of which 11/16 count.
    longest: [f64; 3],
    length: f64,
}

/// What anisotropic filtering makes of a footprint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elongated {
    /// The level of detail of its width.
    pub level: i32,
    /// The logarithm of its length divided by its width, which is a texel at least, in units of 1/256.
    pub ratio: i32,
    /// Its longest side or diagonal.
    pub axis: [f64; 2],
}

impl Footprint {
    fn measured(&self, extents: [u32; 3], dimensions: usize) -> Measured {
        let sides = self.sides.map(|side| {
            let texels =
                |axis| if axis < dimensions { product(side[axis], f64::from(extents[axis])) } else { 0.0 };
            [0, 1, 2].map(texels)
        });
        let [x, y] = sides;
        let mut found = Measured { sides, longest: x, length: length(x.map(f64::abs), SIDE) };
        let mut longer = |vector: [f64; 3], length: f64| {
            if length > found.length {
                (found.longest, found.length) = (vector, length);
            }
        };
        longer(y, length(y.map(f64::abs), SIDE));
        for sign in [1.0, -1.0].into_iter().filter(|_| self.diagonals) {
            let diagonal = [0, 1, 2].map(|axis| magnitude_of_sum(x[axis], sign * y[axis]));
            let counted =
                [0, 1, 2].map(|axis| share(diagonal[axis], DIAGONAL[0]).copysign(x[axis] + sign * y[axis]));
            longer(counted, length(diagonal, DIAGONAL));
        }
        found
    }

    /// Its level of detail: the logarithm of the longest of both sides and of 11/16 of both diagonals.
    pub fn level(&self, extents: [u32; 3], dimensions: usize) -> i32 {
        logarithm(self.measured(extents, dimensions).length)
    }

    /// What it is to a sampler that goes up to a ratio, a logarithm in units of 1/256. Its width is its area divided by its
    /// length.
    pub fn elongated(&self, extents: [u32; 3], dimensions: usize, greatest: i32) -> Elongated {
        let Measured { sides: [x, y], longest, length } = self.measured(extents, dimensions);
        let area = magnitude_of_sum(product(x[0], y[1]), -product(x[1], y[0]));
        let long = logarithm(length);
        let level = (logarithm(area) - long).min(long).max(long - greatest);
        Elongated { level, ratio: (long - level.max(0)).max(0), axis: [longest[0], longest[1]] }
    }
}

/// The logarithm of a positive number in units of 1/256.
fn logarithm(x: f64) -> i32 {
    if x <= 0.0 {
        return BASE;
    }
    exponent(x) * 256 + i32::from(LOGARITHM[(x.to_bits() >> 44 & 0xff) as usize])
}
