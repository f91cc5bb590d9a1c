//! What is known of matrices in registers and in memory (PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions",
//! "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions").
//!
//! | file | what it knows |
//! | --- | --- |
//! | `types` | the types of elements, and the space they take |
//! | `layout` | which element each register of each lane holds |
//! | `packing` | elements of less than a byte in memory |
//! | `fragment` | reading and writing matrices in registers |
//! | `sparsity` | what the metadata of sparse factors chooses |
//! | `scales` | the scale factors of blocks, in registers |
//! | `moved` | the matrices that `wmma.load` and `wmma.store` move |
//! | `workspace` | the matrices of a product that is computed |
//! | `descriptor` | matrices of `wgmma` in shared memory |
//!
//! What one element of D is, `numerics::tensor` knows; what instructions do with matrices, `ops::matrix`.

pub(crate) mod descriptor;
pub(crate) mod fragment;
pub(crate) mod layout;
pub(crate) mod moved;
pub(crate) mod packing;
pub(crate) mod scales;
pub(crate) mod sparsity;
pub(crate) mod types;
pub(crate) mod workspace;

/// Warps of a warpgroup.
pub(crate) const WARPGROUP: usize = 4;
