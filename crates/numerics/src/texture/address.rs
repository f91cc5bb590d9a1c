//! From a coordinate to texels along one axis: address modes, fixed-point positions, filter weights.
//!
//! A normalized coordinate is cut to a multiple of 2^-21 (of 2^-22 and 2^-23 on long axes) before it is multiplied by the size; the
//! product is exact. A position for linear filtering is then rounded to 1/256 of a texel, halves up. Wrapping and
//! mirroring move texels, not coordinates, so that a weight is never mirrored.

/// What stands beyond the edge of a texture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AddressMode {
    /// The texture again.
    Wrap,
    /// The texel at the edge.
    #[default]
    Clamp,
    /// The texture mirrored.
    Mirror,
    /// The border colour.
    Border,
}

/// An axis of a texture as a sampler sees it. Its functions take what [`super::coordinate`] makes of a coordinate.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// Texels; not zero.
    pub size: u32,
    /// What stands beyond.
    pub mode: AddressMode,
    /// Whether coordinates count textures (0 to 1) or texels.
    pub normalized: bool,
}

/// The two texels that linear filtering blends; `None` is the border.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The texels, in the direction of the coordinate.
    pub texels: [Option<u32>; 2],
    /// The weight of the second, of 256.
    pub weight: u32,
}

impl Axis {
    /// Wrapping and mirroring are for normalized coordinates; others are clamped instead.
    fn effective_mode(&self) -> AddressMode {
        match self.mode {
            AddressMode::Wrap | AddressMode::Mirror if !self.normalized => AddressMode::Clamp,
            mode => mode,
        }
    }

    /// The texel at an index that may lie outside.
    fn texel(&self, index: i64) -> Option<u32> {
        let size = i64::from(self.size);
        let inside = match self.effective_mode() {
            AddressMode::Wrap => index.rem_euclid(size),
            AddressMode::Clamp => index.clamp(0, size - 1),
            AddressMode::Mirror => {
                let index = index.rem_euclid(2 * size);
                index.min(2 * size - 1 - index)
            }
            AddressMode::Border if (0..size).contains(&index) => index,
            AddressMode::Border => return None,
        };
        Some(inside as u32)
    }

    /// A normalized coordinate in fixed point, and its fraction bits. Whole turns are gone where they do not matter.
    fn fixed(&self, x: f64) -> (i64, u32) {
        let bits = match self.size {
            ..=8192 => 21,
            8193..=65536 => 22,
            _ => 23,
        };
        let fixed = (x * (1u64 << bits) as f64).floor() as i64;
        let turned = match self.mode {
            AddressMode::Wrap => fixed & ((1 << bits) - 1),
            AddressMode::Mirror => fixed & ((2 << bits) - 1),
            // Nothing that is so far out comes back; the product with the size must fit.
            AddressMode::Clamp | AddressMode::Border => fixed.clamp(-(1 << 36), 1 << 36),
        };
        (turned, bits)
    }

    /// The texel that contains a coordinate, moved by `shift` in units of 1/256 texel.
    pub fn nearest(&self, x: f64, shift: i32) -> Option<u32> {
        let index = match self.normalized {
            true => {
                let (fixed, bits) = self.fixed(x);
                (fixed * i64::from(self.size) + (i64::from(shift) << (bits - 8))) >> bits
            }
            // Whole texels apart: a coordinate just below one must not be rounded up to it.
            false => (x + f64::from(shift & 255) / 256.0).floor() as i64 + i64::from(shift >> 8),
        };
        self.texel(index)
    }

    /// The position of a coordinate in units of 1/256 texel, counted from the first texel's centre.
    pub fn position(&self, x: f64) -> i64 {
        let from_edge = match self.normalized {
            true => {
                let (fixed, bits) = self.fixed(x);
                ((i128::from(fixed) * i128::from(self.size) * 256 + (1 << (bits - 1))) >> bits) as i64
            }
            false => (x * 256.0 + 0.5).floor() as i64,
        };
        from_edge - 128
    }

    /// The texels on both sides of a coordinate, moved by `shift` in units of 1/256 texel, and how they are weighted.
    pub fn linear(&self, x: f64, shift: i32) -> Pair {
        let position = self.position(x) + i64::from(shift);
        let first = position >> 8;
        // At a clamped edge there is nothing to blend, which matters to how weights are rounded.
        let inside = (0..i64::from(self.size - 1) * 256).contains(&position);
        let weight = match self.effective_mode() {
            AddressMode::Clamp if !inside => 0,
            _ => (position & 255) as u32,
        };
        Pair { texels: [self.texel(first), self.texel(first + 1)], weight }
    }
}

/// The texel of an integer coordinate of a level that the instruction names: what lies beyond an edge is the edge.
pub fn fetch_clamped(index: i32, offset: i32, size: u32) -> u32 {
    (i64::from(index) + i64::from(offset)).clamp(0, i64::from(size) - 1) as u32
}

/// The texel of an integer coordinate: without a sampler there is nothing beyond the edges.
pub fn fetch(index: i32, offset: i32, size: u32) -> Option<u32> {
    let index = i64::from(index) + i64::from(offset);
    (0..i64::from(size)).contains(&index).then_some(index as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(size: u32, mode: AddressMode, normalized: bool) -> Axis {
        Axis { size, mode, normalized }
    }

    #[test]
    fn nearest_texels_as_the_manual_defines_them() {
        let texel = |mode, x: f32| axis(4, mode, true).nearest(f64::from(x), 0);
        for (mode, expected) in [
            (AddressMode::Wrap, [Some(3), Some(0), Some(3), Some(1)]),
            (AddressMode::Clamp, [Some(0), Some(0), Some(3), Some(3)]),
            (AddressMode::Mirror, [Some(0), Some(0), Some(3), Some(2)]),
            (AddressMode::Border, [None, Some(0), Some(3), None]),
        ] {
            assert_eq!([-0.1, 0.2, 0.9, 1.3].map(|x| texel(mode, x)), expected, "{mode:?}");
        }
        assert_eq!(axis(4, AddressMode::Wrap, false).nearest(5.0, 0), Some(3));
        assert_eq!(axis(4, AddressMode::Clamp, false).nearest(-1e-30, 3 * 256), Some(2));
    }

    #[test]
    fn no_coordinate_overflows() {
        for bits in [0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0x7f7f_ffff, 0xff7f_ffff, 1, 0x8000_0001] {
            for mode in [AddressMode::Wrap, AddressMode::Clamp, AddressMode::Mirror, AddressMode::Border] {
                for normalized in [false, true] {
                    for size in [1, 3, 131_072] {
                        let axis = axis(size, mode, normalized);
                        let x = super::super::coordinate(bits);
                        let texels = [axis.nearest(x, 7 * 256), axis.linear(x, -8 * 256).texels[0]];
                        assert!(texels.into_iter().flatten().all(|i| i < size));
                    }
                }
            }
        }
    }

    #[test]
    fn weights_have_eight_bits() {
        let pair = axis(8, AddressMode::Clamp, false).linear(2.75, 0);
        assert_eq!(pair, Pair { texels: [Some(2), Some(3)], weight: 64 });
    }
}
