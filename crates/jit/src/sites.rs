//! What compiled code leaves to the host: an action for each place in the code that calls it.

use crate::lanes::LaneFunction;
use crate::warp::Across;
use machine::compiled::Atomic;
use machine::memory::SpaceKind;

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
    /// Operands; the result.
    Lanes { operands: usize, function: LaneFunction },
    /// Three operands; the result, and a predicate.
    Across(Across),
    /// Nothing: the active lanes trap.
    Trap,
}
