//! What forces operations that are performed later than they are issued.

use crate::lanes::PlaneId;
use crate::operation::Address;
use ptx::isa::Group;

/// What forces an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Completes {
    /// A wait for its group.
    Group(Group),
    /// The end of a phase of an mbarrier object.
    Phase {
        /// Its address, and what that becomes a generic one by.
        object: (Address, u64),
        /// The ranks of the CTAs that have an object each at that place, a mask of 16 bits.
        ranks: Option<PlaneId>,
        /// Whether it arrives at the object, and does not tell bytes.
        arrival: bool,
    },
}
