//! Copies and reductions of whole blocks of memory, and accesses of multicast memory.

use crate::lanes::PlaneId;
use crate::memory::SpaceKind;
use crate::operation::{Address, List};
use crate::tensormap::{Field, MAX_RANK, Mode};
use ir::instruction::AtomOp;

/// `cp.async`, but for its source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AsyncCopy {
    pub(crate) target: Address,
    /// Bytes that are written.
    pub(crate) size: u32,
    /// Bytes that are read, of 32 bits; the rest is zeros. `None` for all.
    pub(crate) read: Option<PlaneId>,
    /// Whether lanes write one after the other (`.ca`), and not as a store does (`.cg`), as on an H200.
    pub(crate) in_turn: bool,
}

/// CTAs of a cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ranks {
    /// Their ranks, a mask of 16 bits.
    pub(crate) mask: PlaneId,
    /// Whether in the pair of each the CTA has the mbarrier object whose rank is even or odd as that of the object named
    /// (`.cta_group::2`).
    pub(crate) by_pairs: bool,
}

/// A memory that a copy ends in. Shared memory is that of the cluster, of which a CTA's own is a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Global,
    Shared,
}

/// A bulk copy instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bulk {
    pub(crate) from: (End, Address),
    /// `None` for a prefetch.
    pub(crate) to: Option<(End, Address)>,
    /// Of 32 bits.
    pub(crate) size: PlaneId,
    /// The mbarrier object that is told.
    pub(crate) barrier: Option<Address>,
    /// The CTAs that get the data.
    pub(crate) ranks: Option<Ranks>,
    /// Which bytes of every 16 are copied, a mask of 16 bits.
    pub(crate) byte_mask: Option<PlaneId>,
    /// Whether it goes to all members of a multicast object.
    pub(crate) multicast: bool,
    /// What happens to what is there, if it is not overwritten.
    pub(crate) reduction: Option<Reduction>,
}

/// `clusterlaunchcontrol.try_cancel`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cancellation {
    /// Where the answer goes.
    pub(crate) answer: Address,
    /// The mbarrier object that is told.
    pub(crate) barrier: Address,
    /// Whether every CTA of the cluster gets it.
    pub(crate) to_all: bool,
}

/// What a tensor copy does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Load,
    Store,
    /// With an `.op`.
    Reduce(AtomOp),
    Prefetch,
}

/// A tensor copy instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TensorCopy {
    pub(crate) action: Action,
    /// The generic address of the map, of 64 bits.
    pub(crate) map: PlaneId,
    /// Of 32 bits, as many as the rank and the mode say.
    pub(crate) coordinates: [Option<PlaneId>; MAX_RANK],
    pub(crate) rank: usize,
    pub(crate) mode: Mode,
    /// Of 16 bits.
    pub(crate) offsets: [Option<PlaneId>; MAX_RANK - 2],
    /// The tile in shared memory; `None` for a prefetch.
    pub(crate) tile: Option<Address>,
    /// The mbarrier object that is told.
    pub(crate) barrier: Option<Address>,
    /// The CTAs that get the data.
    pub(crate) ranks: Option<Ranks>,
}

/// A `tensormap.replace`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Replacement {
    pub(crate) address: Address,
    pub(crate) space: SpaceKind,
    pub(crate) field: Field,
    pub(crate) value: PlaneId,
}

/// An element's new value from its old one and another.
#[derive(Clone, Copy)]
pub(crate) struct Reduction {
    /// Bytes of an element.
    pub(crate) bytes: usize,
    /// The function, on bits.
    pub(crate) function: fn(u64, u64) -> u64,
}

impl std::fmt::Debug for Reduction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Reduction of {} bytes", self.bytes)
    }
}

/// How elements of several members become one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sum {
    /// They do not: a store.
    None,
    /// One after the other.
    Each(Reduction),
    /// `.f16`, added in `.f32`.
    HalfInF32,
    /// `.bf16`, added in `.f32`.
    Bf16InF32,
    /// `.e4m3`, in its own type or added in `.f16`.
    E4m3(Narrow),
    /// `.e5m2`.
    E5m2(Narrow),
}

/// What is done with elements of 8 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Narrow {
    /// Every sum is rounded.
    Add,
    /// The sum of all is rounded, those before in `.f16`.
    AddInF16,
    Min,
    Max,
}

/// A multimem instruction, but for its address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Multimem {
    /// The planes of the vector; those of a load may be missing.
    pub(crate) planes: List,
    /// Bytes of what one plane holds.
    pub(crate) bytes: u32,
    pub(crate) sum: Sum,
}
