//! What a product works on: matrices that are put together element by element.

use numerics::tensor::Element;

/// The matrices of a product. They are kept from one to the next, so that only the first of a size allocates.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
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
}
