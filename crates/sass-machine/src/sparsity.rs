//! Structured sparsity: which elements of B meet the stored half of a row of A (PTX ISA, "Sparse matrix storage").
//!
//! Of each four granules two are stored, whose places are two numbers of 2 bits in the metadata. A granule is an element, or half of one of TF32,
//! so that there one of two elements is stored. Of the four lanes of a row those that the selector chooses have its numbers: 16 bits for each of
//! two rows, the lower in the low half, or 32 bits for one where elements are bytes, whose neighbour has the other row.

use crate::operand::Operand;
use crate::registers::LANES;
use numerics::tensor::{self, Element};

/// Where the metadata are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sparsity {
    pub(crate) register: u8,
    pub(crate) selector: usize,
}

impl Sparsity {
    /// What stands last among the operands of a sparse product: the register, and which lanes have the numbers, the first ones where nothing says so.
    /// Gives back the others.
    pub(crate) fn last_of(operands: &[Operand]) -> Option<(&[Operand], Self)> {
        match operands {
            [others @ .., Operand::Register { number, .. }, Operand::Immediate(selector)] => {
                Some((others, Self { register: *number, selector: usize::try_from(*selector).ok()? }))
            }
            [others @ .., Operand::Register { number, .. }] => {
                Some((others, Self { register: *number, selector: 0 }))
            }
            _ => None,
        }
    }

    /// The places along k of so many stored elements of a row of the warp's sixteen.
    pub(crate) fn places(
        self,
        plane: &[u32; LANES],
        ty: tensor::Operand,
        row: usize,
        stored: usize,
    ) -> Vec<usize> {
        let (group, upper) = (row % 8 * 4, row / 8);
        let bits = if ty == tensor::Operand::Tf32 { 4 } else { 2 };
        let mut numbers = 0_u64;
        if ty.bits() >= 16 {
            let pieces = stored * bits / 16;
            for piece in 0..pieces {
                let word = plane[(group + self.selector * pieces % 4 + piece) % LANES] >> (16 * upper);
                numbers |= u64::from(word & 0xffff) << (16 * piece);
            }
        } else {
            let words = stored * bits / 32;
            for word in 0..words {
                let lane = group + self.selector * 2 * words % 4 + 2 * word + upper;
                numbers |= u64::from(plane[lane % LANES]) << (32 * word);
            }
        }
        let number = |granule: usize| (numbers >> (2 * granule) & 3) as usize;
        let place = |element: usize| match ty {
            tensor::Operand::Tf32 => 2 * element + number(2 * element) / 2,
            _ => element / 2 * 4 + number(element),
        };
        (0..stored).map(place).collect()
    }
}

/// The elements of a column that a row meets: all, or those at its places.
pub(crate) fn met<'a>(
    column: &'a [Element],
    places: Option<&[usize]>,
    room: &'a mut Vec<Element>,
) -> &'a [Element] {
    let Some(places) = places else { return column };
    room.clear();
    room.extend(places.iter().filter_map(|&place| column.get(place)));
    room
}
