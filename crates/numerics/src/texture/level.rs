//! Levels of detail: which mip levels a lookup reads.
//!
//! A level of detail is a fixed-point number with 8 fraction bits. A given one and the bias are cut towards zero before
//! they are added; the sum is clamped.

use super::coordinate;

/// How levels are chosen and filtered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelFilter {
    /// Whether two levels are blended.
    pub linear: bool,
    /// Added to every level of detail.
    pub bias: i32,
    /// The least, in units of 1/256 level.
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

/// A level of detail or bias in units of 1/256.
pub fn fixed(lod: u32) -> i32 {
    (coordinate(lod) * 256.0).clamp(-1e6, 1e6) as i32
}

impl LevelFilter {
    /// The levels for a level of detail in units of 1/256, of a texture that has `count`.
    pub fn levels(&self, lod: i32, count: u32) -> Levels {
        let lod = (lod + self.bias).max(self.least).min(self.greatest);
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
    0, 2, 4, 5, 6, 8, 9, 11, 12, 13, 15, 16, 18, 19, 20, 22,
    23, 24, 26, 27, 28, 30, 31, 32, 34, 35, 36, 38, 39, 40, 42, 43,
    44, 45, 47, 48, 49, 50, 52, 53, 54, 55, 57, 58, 59, 60, 62, 63,
    64, 65, 66, 68, 69, 70, 71, 72, 74, 75, 76, 77, 78, 79, 81, 82,
    83, 84, 85, 86, 88, 89, 90, 91, 92, 93, 94, 95, 97, 98, 99, 100,
    101, 102, 103, 104, 105, 106, 107, 109, 110, 111, 112, 113, 114, 115, 116, 117,
    118, 119, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129, 130, 131, 132, 133,
    135, 136, 137, 137, 138, 139, 140, 141, 142, 143, 144, 145, 146, 147, 148, 149,
    150, 151, 152, 153, 154, 155, 156, 157, 158, 159, 160, 161, 162, 162, 163, 164,
    165, 166, 167, 168, 169, 170, 171, 172, 173, 173, 174, 175, 176, 177, 178, 179,
    180, 181, 181, 182, 183, 184, 185, 186, 187, 188, 188, 189, 190, 191, 192, 193,
    194, 195, 195, 196, 197, 198, 199, 200, 200, 201, 202, 203, 204, 205, 205, 206,
    207, 208, 209, 210, 210, 211, 212, 213, 214, 214, 215, 216, 217, 218, 218, 219,
    220, 221, 222, 222, 223, 224, 225, 226, 226, 227, 228, 229, 229, 230, 231, 232,
    233, 233, 234, 235, 236, 236, 237, 238, 239, 239, 240, 241, 242, 242, 243, 244,
    245, 245, 246, 247, 248, 248, 249, 250, 251, 251, 252, 253, 253, 254, 255, 255,
];

/// The length of a gradient by the texture unit's rule of thumb.
fn length(gradient: [f64; 3]) -> f64 {
    let mut sorted = gradient.map(f64::abs);
    sorted.sort_by(|a, b| b.total_cmp(a));
    sorted[0] + (sorted[1] + sorted[2]) * 11.0 / 32.0
}

/// The level of detail of a footprint whose sides are two gradients, each per normalized coordinate.
pub fn of_gradients(gradients: [[f64; 3]; 2], extents: [u32; 3], dimensions: usize) -> i32 {
    let mut sides = [[0.0; 3]; 2];
    for (side, gradient) in sides.iter_mut().zip(gradients) {
        for axis in 0..dimensions {
            side[axis] = gradient[axis] * f64::from(extents[axis]);
        }
    }
    let [x, y] = sides;
    let sum = [x[0] + y[0], x[1] + y[1], x[2] + y[2]];
    let difference = [x[0] - y[0], x[1] - y[1], x[2] - y[2]];
    let diagonal = length(sum).max(length(difference)) * 11.0 / 16.0;
    logarithm(length(x).max(length(y)).max(diagonal))
}

/// The logarithm of a positive number in units of 1/256.
fn logarithm(x: f64) -> i32 {
    if x <= 0.0 {
        return BASE;
    }
    let bits = x.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32 - 1023;
    exponent * 256 + i32::from(LOGARITHM[(bits >> 44 & 0xff) as usize])
}
