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
