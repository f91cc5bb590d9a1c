//! Surfaces: where a coordinate leads, and what happens beyond the edges.

use super::object::Surface;
use ir::instruction::Clamp;
use numerics::texture::format::{Element, store};

/// What an access beyond the edges does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// `.trap`: it stops the kernel.
    Trap,
    /// `.clamp`: it goes to the nearest place.
    Clamp,
    /// `.zero`: it reads zero and writes nothing.
    Zero,
}

impl From<Clamp> for Beyond {
    fn from(clamp: Clamp) -> Self {
        match clamp {
            Clamp::Trap => Self::Trap,
            Clamp::Clamp => Self::Clamp,
            Clamp::Zero => Self::Zero,
        }
    }
}

/// The coordinates of an access.
#[derive(Clone, Copy, Debug)]
pub struct Coordinates {
    /// Along each dimension; the first counts bytes, or accesses if `formatted`.
    pub along: [i32; 3],
    /// How many of them there are.
    pub dimensions: usize,
    /// The layer of a layered surface.
    pub layer: Option<u32>,
    /// Whether the first coordinate counts accesses.
    pub formatted: bool,
}

/// Where an access goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// To this address.
    Address(u64),
    /// Nowhere.
    Nowhere,
    /// Beyond an edge, which stops the kernel.
    Outside,
}

impl Surface {
    /// The address of an access of `bytes`; not zero.
    pub fn target(&self, at: &Coordinates, bytes: u32, beyond: Beyond) -> Target {
        let bytes = i64::from(bytes);
        let plane = &self.plane;
        let row = i64::from(plane.extents[0]) * i64::from(self.format.texel_bytes());
        let mut offset = 0u64;
        for axis in 0..at.dimensions {
            let coordinate = i64::from(at.along[axis]);
            let (position, last, unit) = match axis {
                // The row holds whole accesses.
                0 => (coordinate * if at.formatted { bytes } else { 1 }, row / bytes * bytes - bytes, 1),
                1 => (coordinate, i64::from(plane.extents[1]) - 1, plane.row_pitch),
                _ => (coordinate, i64::from(plane.extents[2]) - 1, plane.slice_pitch),
            };
            let inside = match beyond {
                _ if (0..=last).contains(&position) => position,
                Beyond::Trap => return Target::Outside,
                Beyond::Zero => return Target::Nowhere,
                Beyond::Clamp if last < 0 => return Target::Nowhere,
                Beyond::Clamp => position.clamp(0, last),
            };
            offset += inside as u64 * unit;
        }
        if let Some(layer) = at.layer {
            // The unit has 16 bits for it.
            let (layer, layers) = (layer & 0xffff, plane.extents[2]);
            let inside = match beyond {
                _ if layer < layers => layer,
                Beyond::Trap => return Target::Outside,
                Beyond::Zero => return Target::Nowhere,
                Beyond::Clamp => layers - 1,
            };
            offset += u64::from(inside) * plane.slice_pitch;
        }
        Target::Address(plane.address + offset)
    }

    /// The bytes that a formatted store of these words writes; components that are not given are zero.
    pub fn encode(&self, words: [u32; 4]) -> ([u8; 16], usize) {
        let element = self.format.element;
        let size = element.bytes() as usize;
        let mut bytes = [0; 16];
        for (chunk, word) in bytes.chunks_exact_mut(size).zip(words).take(self.format.channels as usize) {
            chunk.copy_from_slice(&store(element, self.format.normalized, word).to_le_bytes()[..size]);
        }
        (bytes, size * self.format.channels as usize)
    }

    /// Whether `sured.p` compares its texels as signed integers.
    pub fn is_signed(&self) -> bool {
        matches!(self.format.element, Element::S8 | Element::S16 | Element::S32)
    }
}
