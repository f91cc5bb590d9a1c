//! Structured sparsity: which elements of B meet the stored half of A (PTX ISA, "Sparse matrix storage").
//!
//! A row of A is stored in granules: of each four, two, whose places are two numbers of 2 bits in the metadata. A
//! granule is one element, two elements of 4 bits, or half an element of `.tf32`, which makes that 1 of 2 elements.
//!
//! Of the 4 lanes of a group, those that the selector chooses have the numbers of two rows, 8 apart. For elements of 16
//! and 32 bits a lane has 16 bits for each of them, the lower row in the low half, and the next lane the 16 bits after
//! these. Else a lane has 32 bits for one row, and its neighbour for the other.

use crate::lanes::{Files, PlaneId};
use numerics::tensor::Operand;

/// What a granule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Granule {
    HalfElement,
    Element,
    TwoElements,
}

impl Granule {
    /// Fills `chosen` with the place along k of each stored element, as the numbers say.
    pub(crate) fn places(self, numbers: u64, chosen: &mut [u16]) {
        for (j, place) in chosen.iter_mut().enumerate() {
            let number = |granule: usize| (numbers >> (2 * granule) & 3) as usize;
            *place = match self {
                Self::HalfElement => 2 * j + number(2 * j) / 2,
                Self::Element => j / 2 * 4 + number(j),
                Self::TwoElements => j / 4 * 8 + 2 * number(j / 2) + j % 2,
            } as u16;
        }
    }
}

/// The sparsity of a product.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sparsity {
    pub(crate) granule: Granule,
    /// Whether a lane has 16 bits for each of two rows, not 32 for one.
    pub(crate) by_halves: bool,
    /// The plane of the metadata.
    pub(crate) plane: PlaneId,
    /// The sparsity selector.
    pub(crate) selector: u32,
}

impl Sparsity {
    /// Of a factor of a type.
    pub(crate) fn new(ty: Operand, plane: PlaneId, selector: u32) -> Self {
        let granule = match ty {
            Operand::Tf32 => Granule::HalfElement,
            Operand::S4 | Operand::U4 | Operand::PackedE2m1 => Granule::TwoElements,
            _ => Granule::Element,
        };
        Self { granule, by_halves: ty.bits() >= 16, plane, selector }
    }

    /// Bits of metadata for a stored element.
    fn bits_of_element(&self) -> usize {
        match self.granule {
            Granule::HalfElement => 4,
            Granule::Element => 2,
            Granule::TwoElements => 1,
        }
    }

    /// Fills `chosen` with the place along k of each stored element of a row of the warp's 16.
    pub(crate) fn places(&self, files: &Files, warp: usize, row: usize, chosen: &mut [u16]) {
        let plane = &files.w[self.plane.index() + warp].0;
        let (group, upper) = (row % 8 * 4, row / 8);
        let mut numbers = 0u64;
        if self.by_halves {
            let pieces = chosen.len() * self.bits_of_element() / 16;
            for piece in 0..pieces {
                let word = plane[group + self.selector as usize * pieces % 4 + piece] >> (16 * upper);
                numbers |= u64::from(word & 0xffff) << (16 * piece);
            }
        } else {
            let words = chosen.len() * self.bits_of_element() / 32;
            for word in 0..words {
                let lane = group + self.selector as usize * 2 * words % 4 + 2 * word + upper;
                numbers |= u64::from(plane[lane]) << (32 * word);
            }
        }
        self.granule.places(numbers, chosen);
    }
}
