//! What the fields of operations are made of, besides places.

use crate::lanes::{LANES, Operand, PredicateId};
use ir::Shape;
use ir::instruction::SetIntBool;
use std::fmt::{Debug, Formatter};
use std::marker::PhantomData;

/// 64 bits that need no more than the alignment of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, packed(4))]
pub(crate) struct Immediate(pub(crate) u64);

/// An address operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// A scalar, if all lanes access one address; else a plane of 64 bits, or of 32 (shared, local and parameter addresses).
    pub(crate) base: Operand,
    pub(crate) offset: Immediate,
}

impl Address {
    /// The address so many bytes behind a base.
    pub(crate) fn new(base: impl Into<Operand>, offset: u64) -> Self {
        Self { base: base.into(), offset: Immediate(offset) }
    }
}

/// What the program tells of the addresses of a warp's lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// Nothing.
    Any,
    /// Lane after lane, without a gap. Only the first and the last lane are compared, since 32-bit arithmetic that wraps
    /// between them is all that can still break it.
    Contiguous,
    /// The same in each row of [`ROW`] lanes.
    RowsContiguous,
    /// Each row of [`ROW`] lanes, or the warp, has one address.
    RowsUniform,
}

impl Pattern {
    /// What the shape of an address, in so many lanes, tells of accesses of `bytes` each.
    pub(crate) fn of((shape, lanes): (Shape, u32), bytes: u32) -> Self {
        match shape {
            Shape::Affine { stride } if stride == i64::from(bytes) => match lanes as usize {
                LANES.. => Self::Contiguous,
                ROW.. => Self::RowsContiguous,
                _ => Self::Any,
            },
            Shape::Affine { stride: 0 } if lanes as usize >= ROW => Self::RowsUniform,
            Shape::Invariant | Shape::Affine { .. } | Shape::Varying => Self::Any,
        }
    }
}

/// How far apart the lanes of each row access memory, if the shape of an address, in so many lanes, tells.
pub(crate) fn step_of((shape, lanes): (Shape, u32)) -> Option<i64> {
    match shape {
        Shape::Affine { stride } if lanes as usize >= ROW => Some(stride),
        Shape::Affine { .. } | Shape::Invariant | Shape::Varying => None,
    }
}

/// Lanes of a row: in blocks of 16 threads by so many a warp has two, and tiles are often that wide.
pub(crate) const ROW: usize = 16;

/// How a comparison's result is combined with a predicate before it is stored: `setp.lt.and`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combine {
    And,
    Or,
    Xor,
}

impl From<SetIntBool> for Combine {
    fn from(by: SetIntBool) -> Self {
        match by {
            SetIntBool::And => Self::And,
            SetIntBool::Or => Self::Or,
            SetIntBool::Xor => Self::Xor,
        }
    }
}

/// Where an operation finds a carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CarryIn {
    Constant(bool),
    Predicate(PredicateId),
}

/// The place of an operation in its image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target(pub(crate) u32);

/// The straight run of operations that ends here: how many instructions it has, for the accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run(pub(crate) u32);

/// Planes, or targets, that stand in a list of the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct List {
    pub(crate) start: u32,
    pub(crate) count: u32,
}

/// What an operation needs to know besides its fields: an entry of one of the image's tables.
pub(crate) struct Site<T>(pub(crate) u32, PhantomData<fn() -> T>);

impl<T> Site<T> {
    /// The entry with a number.
    pub(crate) fn new(index: usize) -> Self {
        Self(index as u32, PhantomData)
    }
}

impl<T> Clone for Site<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Site<T> {}

impl<T> PartialEq for Site<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T> Eq for Site<T> {}

impl<T> Debug for Site<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// What `istypep` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    Texture,
    Sampler,
    Surface,
}
