//! What compiled code leaves to the host: an action for each place in the code that calls it.
//!
//! Operands and results are **lists**, which lie behind one another ([`machine::compiled::list_bytes`]).

use machine::compiled::Atomic;
use machine::memory::SpaceKind;
use ptx::module::RegId;

/// A place that calls the host.
pub(crate) struct Site {
    /// The instruction of the kernel's body.
    pub(crate) instruction: u32,
    pub(crate) action: Action,
}

/// What the host does for a row. Its arguments are lists: operands, then results.
#[derive(Clone)]
pub(crate) enum Action {
    /// The addresses, if they are listed; the elements.
    Load(Access),
    /// The same.
    Store(Access),
    /// The addresses, if they are listed, and two operands; what was there.
    Update { access: Access, atomic: Atomic },
    /// The registers that the instruction reads; those that it writes.
    Interpret {
        reads: Vec<(RegId, u32)>,
        writes: Vec<(RegId, u32)>,
        /// Whether the active lanes are all that the warp has.
        is_whole: bool,
    },
    /// Nothing: the active lanes trap.
    Trap,
}

/// An access of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) space: SpaceKind,
    /// Bytes of an element, and how many there are for each lane.
    pub(crate) bytes: u32,
    pub(crate) elements: usize,
    /// How the addresses follow from lane 0's; `None` if they are listed.
    pub(crate) steps: Option<Steps>,
    /// The window that is to be moved to where the access is.
    pub(crate) window: Option<u32>,
}

/// Addresses `stride` apart, and so much more in the lanes behind the one that comes with the call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    pub(crate) stride: i64,
    pub(crate) more: i64,
}

/// Bytes from the beginning of a list to that of the next.
pub(crate) fn list_bytes(bits: u32, width: u32) -> usize {
    machine::compiled::list_bytes(bits, width as usize)
}
