//! Structured sparsity: which elements of B meet the stored half of A (PTX ISA, "Sparse matrix storage").
//!
//! A row of A is stored in granules: of each four, two, whose places are two numbers of 2 bits in the metadata. A
//! granule is one element, two elements of 4 bits, or half an element of `.tf32`, which makes that 1 of 2 elements. A
//! row's numbers lie in pieces of 16 bits in the 4 lanes of its group that the selector chooses among: low halves of
//! registers for rows 0 to 7 of a tile, high halves for rows 8 to 15.

use crate::lanes::Files;

/// What a granule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Granule {
    HalfElement,
    Element,
    TwoElements,
}

/// The sparsity of a product.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sparsity {
    pub(crate) granule: Granule,
    /// The plane of the metadata.
    pub(crate) plane: u32,
    /// The sparsity selector.
    pub(crate) selector: u32,
}

impl Sparsity {
    /// Fills `chosen` with the place along k of each stored element of a row of the warp's 16.
    pub(crate) fn places(&self, files: &Files, warp: usize, row: usize, chosen: &mut [u16]) {
        let bits_of_element = match self.granule {
            Granule::HalfElement => 4,
            Granule::Element => 2,
            Granule::TwoElements => 1,
        };
        let pieces = chosen.len() * bits_of_element / 16;
        let plane = &files.w[self.plane as usize + warp].0;
        let first = row % 8 * 4 + (self.selector as usize * pieces) % 4;
        let mut numbers = 0u64;
        for piece in 0..pieces {
            let word = plane[first + piece] >> (row / 8 * 16);
            numbers |= u64::from(word & 0xffff) << (16 * piece);
        }
        for (j, place) in chosen.iter_mut().enumerate() {
            let number = |granule: usize| (numbers >> (2 * granule) & 3) as usize;
            *place = match self.granule {
                Granule::HalfElement => 2 * j + number(2 * j) / 2,
                Granule::Element => j / 2 * 4 + number(j),
                Granule::TwoElements => j / 4 * 8 + 2 * number(j / 2) + j % 2,
            } as u16;
        }
    }
}
