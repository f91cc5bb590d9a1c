//! Operands of instructions (PTX ISA, "Instruction Operands").

use super::{ExprId, Name, OperandId, OperandList, Spanned};
use std::fmt;

/// An operand and where it stands.
pub type Operand = Spanned<OperandKind>;

/// The shapes an operand is written in. What a name means (register, variable, label, function) is for resolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandKind {
    /// `_`.
    Sink,
    /// A register, special register, variable, parameter, label, function, prototype ...
    Name(Name),
    /// `%tid.x`, `v.g`, `a.b0`, `a.h1`.
    Selected {
        /// What is selected from.
        name: Name,
        /// What is selected.
        selector: Selector,
    },
    /// `!p`.
    Not(Name),
    /// `-a` or `-a.h1`, of the video instructions: the operand is a [`Self::Name`] or a [`Self::Selected`].
    Negated(OperandId),
    /// `d|p`: two operands.
    Pair(OperandList),
    /// A constant expression, most often a lone literal.
    Constant(ExprId),
    /// `name+offset` as a value. `name-8` is the offset `-8`.
    Offset {
        /// A variable.
        name: Name,
        /// Added to its address.
        offset: ExprId,
    },
    /// `name[index]`: an array element, as an address.
    Indexed {
        /// The array.
        name: Name,
        /// A [`Self::Constant`], [`Self::Name`] or [`Self::Offset`].
        index: OperandId,
    },
    /// `[name]`, `[name+offset]`, `[offset]`; at least one of the two is present.
    Address {
        /// A register or a variable.
        base: Option<Name>,
        /// Added to it.
        offset: Option<ExprId>,
    },
    /// `[texture, sampler, {x, y}]`, `[tensor_map, {x, y}]`: any other bracket.
    Bracket(OperandList),
    /// `{a, b, c, d}`.
    Vector(OperandList),
    /// `(a, b)`: results or arguments of a call.
    List(OperandList),
}

/// The part after the dot of a register. `.x` and `.r` (and so on) mean the same and are told apart only to be printed
/// as they were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Selector {
    X,
    Y,
    Z,
    W,
    R,
    G,
    B,
    A,
    /// `.b0`, `.b210`, `.b7654`: bytes, of the video instructions.
    Bytes(Digits),
    /// `.h0`, `.h10`: half words, of the video instructions.
    Halves(Digits),
}

impl Selector {
    /// The selector that is written so, without the dot.
    pub fn from_text(text: &str) -> Option<Self> {
        Some(match text.as_bytes() {
            b"x" => Self::X,
            b"y" => Self::Y,
            b"z" => Self::Z,
            b"w" => Self::W,
            b"r" => Self::R,
            b"g" => Self::G,
            b"b" => Self::B,
            b"a" => Self::A,
            [b'b', digits @ ..] => Self::Bytes(lanes(digits, 4, 8)?),
            [b'h', digits @ ..] => Self::Halves(lanes(digits, 2, 4)?),
            _ => return None,
        })
    }
}

/// One to `most` digits, each below `limit`.
fn lanes(text: &[u8], most: usize, limit: u8) -> Option<Digits> {
    if text.is_empty() || text.len() > most {
        return None;
    }
    let mut digits = [0; 4];
    for (digit, byte) in digits.iter_mut().zip(text) {
        *digit = byte.checked_sub(b'0').filter(|d| *d < limit)?;
    }
    Some(Digits { digits, count: text.len() as u8 })
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (letter, digits) = match self {
            Self::X => return f.write_str("x"),
            Self::Y => return f.write_str("y"),
            Self::Z => return f.write_str("z"),
            Self::W => return f.write_str("w"),
            Self::R => return f.write_str("r"),
            Self::G => return f.write_str("g"),
            Self::B => return f.write_str("b"),
            Self::A => return f.write_str("a"),
            Self::Bytes(digits) => ("b", digits),
            Self::Halves(digits) => ("h", digits),
        };
        f.write_str(letter)?;
        digits.as_slice().iter().try_for_each(|digit| write!(f, "{digit}"))
    }
}

/// One to four digits of a video selector, in the order written: most significant first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digits {
    pub(crate) digits: [u8; 4],
    pub(crate) count: u8,
}

impl Digits {
    /// The digits, each 0 to 7.
    pub fn as_slice(&self) -> &[u8] {
        &self.digits[..usize::from(self.count)]
    }
}
