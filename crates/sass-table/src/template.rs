//! What the template of a form is made of.
//!
//! A table that was read and a flat one have the same templates and differ in what stands in them for a string, a set and
//! the inside of a memory operand: the thing itself, or its number in an array of fewer bits. So these are parameters; the
//! defaults are the flat table's.

use crate::bits::Bits;
use crate::float::Float;

/// A field and the set that it prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Listed<S = u16> {
    /// The number of the set.
    pub set: S,
    /// The field.
    pub bits: Bits,
}

/// The inside of a memory operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Memory<S = u16> {
    /// The register.
    pub register: Option<Listed<S>>,
    /// What stands behind it.
    pub suffix: Option<Listed<S>>,
    /// The uniform register.
    pub uniform: Option<Listed<S>>,
    /// The offset.
    pub offset: Option<Bits>,
    /// The offset counts units of two to this power.
    pub shift: u8,
    /// The offset has a sign.
    pub signed: bool,
    /// RZ is printed.
    pub keep: bool,
    /// The offset is printed unsigned where RZ is left out.
    pub wrap: bool,
    /// Where nothing is left, the register is printed.
    pub none: bool,
}

/// What stands at one place of a form's text: a string `T`, a set numbered by `S`, a number, or the inside of a memory
/// operand `M`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Piece<T = u16, S = u16, M = u16> {
    /// The same in all words.
    Text(T),
    /// What a set says.
    Set(Listed<S>),
    /// A hexadecimal number.
    Hex {
        /// The field.
        bits: Bits,
        /// It counts units of two to this power.
        shift: u8,
        /// It has a sign.
        signed: bool,
    },
    /// The target of a branch: an offset from the next instruction.
    Relative {
        /// The field.
        bits: Bits,
        /// It counts units of two to this power.
        shift: u8,
    },
    /// A floating-point number.
    Float {
        /// The field.
        bits: Bits,
        /// Its format.
        format: Float,
    },
    /// The inside of a memory operand.
    Memory(M),
}

impl<S: Copy> Memory<S> {
    /// The fields that print sets.
    pub fn listed(&self) -> impl Iterator<Item = Listed<S>> {
        [self.register, self.suffix, self.uniform].into_iter().flatten()
    }

    /// What it always prints, if it has no terms.
    pub fn constant(&self) -> Option<&'static str> {
        let terms = self.listed().next().is_some() || self.offset.is_some();
        (!terms).then_some(if self.none { "RZ" } else { "0x0" })
    }

    /// The registers that are left out where they have no suffix.
    pub fn left_out(&self) -> &'static [&'static str] {
        if self.keep { &[] } else { &["RZ", "URZ"] }
    }

    /// The same with sets numbered otherwise.
    pub(crate) fn renumbered<N, E>(
        &self,
        mut listed: impl FnMut(Listed<S>) -> Result<Listed<N>, E>,
    ) -> Result<Memory<N>, E> {
        let &Self { register, suffix, uniform, offset, shift, signed, keep, wrap, none } = self;
        let mut renumbered = |field: Option<Listed<S>>| field.map(&mut listed).transpose();
        let (register, suffix, uniform) = (renumbered(register)?, renumbered(suffix)?, renumbered(uniform)?);
        Ok(Memory { register, suffix, uniform, offset, shift, signed, keep, wrap, none })
    }
}

impl Piece {
    /// The bits of the word that the piece shows.
    pub fn mask(&self, memories: &[Memory]) -> u128 {
        match self {
            Piece::Text(_) => 0,
            Piece::Set(Listed { bits, .. })
            | Piece::Hex { bits, .. }
            | Piece::Relative { bits, .. }
            | Piece::Float { bits, .. } => bits.mask(),
            Piece::Memory(number) => {
                let memory = &memories[usize::from(*number)];
                let bits = memory.listed().map(|it| it.bits).chain(memory.offset);
                bits.fold(0, |mask, bits| mask | bits.mask())
            }
        }
    }
}
