//! Levels of detail: which mip levels a lookup reads.
//!
//! A level of detail is a fixed-point number with 8 fraction bits. A given one and the bias are cut towards zero before
//! they are added; the sum is clamped. What gradients say of it is [`super::footprint`].

use super::coordinate;

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
    /// How the fraction of a level of detail becomes a weight.
    pub ramp: Ramp,
}

/// The weight of the coarser of two levels: the fraction of the level of detail, or with anisotropy a steeper ramp, so that
/// fewer lookups read two levels (`CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION` forbids that).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ramp {
    /// In eighths.
    slope: i32,
    /// The value at 0, in eighths.
    start: i32,
}

impl Ramp {
    /// The fraction as it is.
    pub const EXACT: Self = Self { slope: 8, start: 0 };

    /// That of a sampler whose greatest ratio of anisotropy is `most`.
    pub fn steeper(most: u32) -> Self {
        match most {
            0..=1 => Self::EXACT,
            2..=3 => Self { slope: 12, start: -504 },
            4..=7 => Self { slope: 14, start: -756 },
            _ => Self { slope: 16, start: -1024 },
        }
    }

    /// The weight, of 256, for a fraction of 256.
    fn weight(self, fraction: u32) -> u32 {
        ((self.slope * fraction as i32 + self.start) >> 3).clamp(0, 256) as u32
    }
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
            true => match self.ramp.weight(lod & 255) {
                256 => Levels { first: (lod >> 8) + 1, weight: 0 },
                weight => Levels { first: lod >> 8, weight },
            },
            false => Levels { first: (lod + 128) >> 8, weight: 0 },
        }
    }
}

/// The level of detail of a lookup without one: below every texture.
pub const BASE: i32 = -32 * 256;
