//! Operands: which registers an instruction names, how many, and whether it reads or writes them.

use crate::bits::Bits;

/// The kinds of things that operands name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// R0 to R254.
    Register,
    /// UR0 and so on.
    Uniform,
    /// P0 to P6.
    Predicate,
    /// UP0 to UP6.
    UniformPredicate,
    /// All predicates of a mask.
    Predicates,
    /// All uniform predicates of a mask.
    UniformPredicates,
    /// B0 to B15, the barriers of convergence.
    Convergence,
    /// SB0 to SB5.
    Scoreboard,
    /// A barrier of the CTA, by its number.
    Barrier,
    /// A constant, by its bank.
    Constant,
}

impl Class {
    /// Whether its members are predicates, whose codes have the sign of [`NEGATED`].
    pub fn is_predicate(self) -> bool {
        matches!(self, Class::Predicate | Class::UniformPredicate)
    }
}

/// What an instruction does with what an operand names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Access {
    /// It reads it.
    Read,
    /// It writes it.
    Write,
    /// It reads it and then writes it.
    ReadWrite,
}

/// What a field says, code by code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lookup {
    /// The field; without bits if it is always the same.
    pub bits: Bits,
    /// Where its values begin in [`crate::table::Vocabulary::numbers`].
    pub first: u32,
}

impl Lookup {
    /// What it says of a word.
    pub fn of(&self, numbers: &[u8], word: u128) -> u8 {
        numbers[self.first as usize + self.bits.get_or_zero(word) as usize]
    }
}

/// The number of an operand that is not there, or that is RZ or URZ.
pub const ABSENT: u8 = 0xff;
/// The number of PT and UPT.
pub const TRUE: u8 = 7;
/// Added to a predicate's number where it stands negated.
pub const NEGATED: u8 = 0x80;

/// An operand of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operand {
    /// Its name: the number of a string.
    pub name: u16,
    /// Which place between the commas of the template it has, counted with those that are left out; `None` is the guard.
    pub place: Option<u8>,
    /// It stands in brackets: part of an address or a descriptor.
    pub bracketed: bool,
    /// What it names.
    pub class: Class,
    /// What happens to it.
    pub access: Access,
    /// The number of the first of its registers.
    pub number: Lookup,
    /// How many they are, of 32 bits each; 0 for a constant of fewer bits.
    pub width: Lookup,
    /// The hardware takes it only at a multiple of its width.
    pub aligned: bool,
    /// 1 where its reuse flag is set.
    pub reuse: Option<Lookup>,
}
