//! Matrix instructions.

use crate::lanes::{Condition, Operand, PlaneId};
use crate::matrix::fragment::Fragment;
use crate::matrix::layout::Layout;
use crate::matrix::sparsity::Sparsity;
use crate::memory::SpaceKind;
use numerics::tensor::Config;

/// A matrix multiplication of a warp. Elements of `.b1` are words of 32 of them.
#[derive(Debug)]
pub(crate) struct Product {
    pub(crate) config: Config,
    /// Rows of A that a warp has.
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
    pub(crate) a: Factor,
    pub(crate) b: Factor,
    pub(crate) c: Fragment,
    pub(crate) d: Fragment,
    pub(crate) sparsity: Option<Sparsity>,
    /// What says whether C counts.
    pub(crate) scale_d: Option<Condition>,
}

/// A or B.
#[derive(Debug)]
pub(crate) struct Factor {
    pub(crate) place: Place,
    /// Whether every element is negated.
    pub(crate) negated: bool,
}

/// Where a factor is.
#[derive(Debug)]
pub(crate) enum Place {
    Registers(Fragment),
    /// In shared memory, as a descriptor of 64 bits says.
    Shared {
        descriptor: PlaneId,
        transposed: bool,
    },
}

/// A matrix that `wmma.load` or `wmma.store` moves, with its registers. Elements of less than 8 bits count as words of 32 bits.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) layout: Layout,
    /// Planes of 32 bits, or of 64 for `.f64`.
    pub(crate) planes: Vec<PlaneId>,
    /// Bits of an element.
    pub(crate) bits: u32,
    /// Whether elements of a line lie side by side in memory; else those of different lines do.
    pub(crate) lines_contiguous: bool,
    /// The leading dimension in memory, in elements, of 32 bits.
    pub(crate) stride: Operand,
    /// How many elements of the instruction's type make one here.
    pub(crate) packed: u64,
    pub(crate) space: SpaceKind,
}
