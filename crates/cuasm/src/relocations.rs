//! Relocation types that have a spelling of their own, and the usual order of a table of relocations.

/// `R_CUDA_64`: an address of 64 bits.
pub(crate) const ADDRESS: u32 = 2;

/// Types whose place is an operand of an instruction: the type, the function, and the operand's lowest bit. All have 32
/// bits.
const OPERANDS: [(u32, &str, u32); 3] = [(0x38, "32@lo", 32), (0x39, "32@hi", 32), (0x37, "32@abs", 32)];

/// A field of an instruction word that a relocation fills in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) start: u32,
}

impl Field {
    /// The field's bits in a word.
    pub(crate) fn mask(self) -> u128 {
        u128::from(u32::MAX) << self.start
    }
}

/// How a relocation of an operand is written, and where the operand is.
pub(crate) fn operand(kind: u32) -> Option<(&'static str, Field)> {
    OPERANDS.iter().find(|row| row.0 == kind).map(|row| (row.1, Field { start: row.2 }))
}

/// The relocation type that a function of an operand stands for, and where the operand is.
pub(crate) fn of_function(name: &str) -> Option<(u32, Field)> {
    OPERANDS.iter().find(|row| row.1 == name).map(|row| (row.0, Field { start: row.2 }))
}

/// The order of a table of relocations if nothing is said: those at higher places first. At each position stands the number
/// of a place in the order of the text.
pub(crate) fn descending(places: impl Iterator<Item = u64>) -> Vec<usize> {
    let places: Vec<u64> = places.collect();
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(places[index]));
    order
}
