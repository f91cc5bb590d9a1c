//! What forces operations that are performed later than they are issued.

use super::copy::Ranks;
use crate::operation::Address;
use ptx::isa::Group;

/// What forces an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Completes {
    /// A wait for its group.
    Group(Group),
    /// Nothing that a program does: it is done some time, and when its CTA has exited.
    Nothing,
    /// The end of a phase of an mbarrier object.
    Phase {
        /// Its address, and what that becomes a generic one by.
        object: (Address, u64),
        /// The CTAs that have an object each at that place.
        ranks: Option<Ranks>,
        /// The group whose operations it arrives for, if it does not tell bytes.
        arrival: Option<Group>,
    },
}
