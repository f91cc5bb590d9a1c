//! What a product works on.

use crate::lanes::LANES;
use numerics::tensor::Element;
use numerics::tensor::lanes::{Arithmetic, Floats, Integers};

/// What products work on. It is kept from one to the next, so that only the first of a size allocates.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    pub(crate) elements: Elements,
    pub(crate) floats: Factors<Floats>,
    pub(crate) integers: Factors<Integers>,
    /// Registers of A, B and C of a warp that were handed over.
    pub(crate) registers: Vec<[u32; LANES]>,
    /// D of a warp, register by register.
    pub(crate) results: Vec<[u32; LANES]>,
}

/// Matrices that are put together element by element.
#[derive(Debug, Default)]
pub(crate) struct Elements {
    /// A, row by row.
    pub(crate) a: Vec<Element>,
    /// B, column by column.
    pub(crate) b: Vec<Element>,
    /// C, row by row, and then D.
    pub(crate) d: Vec<u64>,
    /// Of a sparse product: where along k the stored elements of a row are.
    pub(crate) places: Vec<u16>,
    /// Of a sparse product: the elements of B that meet them, column by column.
    pub(crate) met: Vec<Element>,
    /// Of a product with block scaling: the factors of A, row by row, and of B, column by column.
    pub(crate) scales: [Vec<Element>; 2],
}

/// The factors of products whose lanes are computed side by side.
#[derive(Debug)]
pub(crate) struct Factors<A: Arithmetic> {
    /// Of A: a register's for each word along k, of eight rows at a time.
    pub(crate) rows: Vec<A::Factors>,
    /// Of B: the same for each block of eight columns.
    pub(crate) columns: Vec<A::Factors>,
}

impl<A: Arithmetic> Default for Factors<A> {
    fn default() -> Self {
        Self { rows: Vec::new(), columns: Vec::new() }
    }
}
