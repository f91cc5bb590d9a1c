//! Instructions of the 5th-generation tensor core.

use crate::lanes::{Condition, PlaneId};
use crate::matrix::packing::Packing;
use crate::memory::SpaceKind;
use crate::operation::{Address, List};
use crate::tensor_core::instruction::Form;
use ir::instruction::Tcgen05LdShape;

/// `tcgen05.alloc` and `tcgen05.dealloc`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allocation {
    /// Where the address of what is allocated goes, or the address of what is freed, of 32 bits.
    pub(crate) place: Either,
    /// Of 32 bits.
    pub(crate) columns: PlaneId,
    /// CTAs that do it together.
    pub(crate) ctas: u32,
}

/// What an [`Allocation`] names.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Either {
    /// Where in memory an address is stored.
    Allocate {
        to: Address,
        space: SpaceKind,
    },
    Free {
        address: PlaneId,
    },
}

/// `tcgen05.ld` and `tcgen05.st`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub(crate) shape: Tcgen05LdShape,
    /// The registers; some of a load may be missing.
    pub(crate) planes: List,
    pub(crate) address: Address,
    /// What the second half of the warp is moved by.
    pub(crate) half: u32,
    /// Whether a register is two halves of columns.
    pub(crate) packed: bool,
}

/// `tcgen05.cp`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy {
    pub(crate) address: Address,
    /// Of 64 bits.
    pub(crate) descriptor: PlaneId,
    pub(crate) ctas: u32,
    /// Rows that are read, and 16-byte chunks of each.
    pub(crate) rows: u32,
    pub(crate) chunks: u32,
    pub(crate) spread: Spread,
    pub(crate) packing: Packing,
}

/// Where the rows of a [`Copy`] go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spread {
    /// To as many lanes, one after the other.
    Lanes,
    /// Four rows, one to each quarter of the lanes.
    Quarters,
    /// 32 rows, to each quarter all (`.warpx4`).
    All,
    /// 64 rows, the first half of them to the quarters 0 and 2 (`.warpx2::02_13`).
    Alternating,
    /// The same to the quarters 0 and 1 (`.warpx2::01_23`).
    Neighbouring,
}

/// `tcgen05.mma`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Product {
    pub(crate) form: Form,
    pub(crate) d: Address,
    pub(crate) a: FactorA,
    /// Descriptors of B, of 64 bits, and of the product, of 32.
    pub(crate) b: PlaneId,
    pub(crate) instruction: PlaneId,
    pub(crate) metadata: Option<Address>,
    /// The scale factors of A and B.
    pub(crate) scales: Option<[Address; 2]>,
    /// What says whether D counts.
    pub(crate) accumulates: Condition,
    /// D counts times 2 to the power of minus this.
    pub(crate) input_scale: u32,
    /// Whether each row is multiplied as the row behind it in tensor memory is (`.ashift`).
    pub(crate) shifts_a: bool,
    /// A mask of lanes of D that are not written: four words a CTA, or none.
    pub(crate) disabled: List,
    /// The descriptor of columns that are zeros, of 64 bits.
    pub(crate) zeros: Option<PlaneId>,
}

/// Where A is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FactorA {
    /// A descriptor of 64 bits.
    Shared(PlaneId),
    TensorMemory(Address),
}

/// `tcgen05.commit`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Commit {
    pub(crate) barrier: Address,
    /// Of 16 bits.
    pub(crate) ranks: Option<PlaneId>,
}
