//! What compiled code leaves to the host: an action for each place in the code that calls it.

use machine::compiled::Atomic;
use machine::memory::SpaceKind;
use ptx::module::RegId;

/// A place that calls the host.
pub(crate) struct Site {
    /// The instruction of the kernel's body.
    pub(crate) instruction: u32,
    pub(crate) action: Action,
}

/// What the host does for a row. Its arguments are lists of lanes: operands, then results.
pub(crate) enum Action {
    /// Addresses; the elements.
    Load { space: SpaceKind, bytes: u32, elements: usize },
    /// Addresses and the elements.
    Store { space: SpaceKind, bytes: u32, elements: usize },
    /// Addresses and two operands; what was there.
    Update { space: SpaceKind, bytes: u32, atomic: Atomic },
    /// The registers that the instruction reads; those that it writes. One of 128 bits has two lists.
    Interpret {
        reads: Vec<(RegId, bool)>,
        writes: Vec<(RegId, bool)>,
        /// Whether the active lanes are all that the warp has.
        is_whole: bool,
    },
    /// Nothing: the active lanes trap.
    Trap,
}

/// Lists that registers take.
pub(crate) fn lists(registers: &[(RegId, bool)]) -> usize {
    registers.iter().map(|&(_, wide)| 1 + usize::from(wide)).sum()
}
