//! What an operation returns instead of the next program counter when the run loop must act.

/// Values from here on are events.
pub(crate) const FIRST: u32 = 0xffff_ff00;
/// A branch split the group: `Exec::taken` takes it.
pub(crate) const DIVERGE: u32 = FIRST;
/// The group reached its reconvergence point.
pub(crate) const JOIN: u32 = FIRST + 1;
/// An indexed branch or indirect call with several targets.
pub(crate) const SCATTER: u32 = FIRST + 2;
/// Arrived at a CTA barrier.
pub(crate) const BARRIER: u32 = FIRST + 3;
/// Lanes named by a member mask are elsewhere.
pub(crate) const CONVERGE: u32 = FIRST + 4;
/// A call.
pub(crate) const CALL: u32 = FIRST + 5;
/// A return.
pub(crate) const RETURN: u32 = FIRST + 6;
/// The active lanes are done.
pub(crate) const EXIT: u32 = FIRST + 7;
/// `Exec::trap` says what went wrong.
pub(crate) const FAULT: u32 = FIRST + 8;
/// The time slice is used up; `Exec::resume` is where to go on.
pub(crate) const YIELD: u32 = FIRST + 9;
/// The operation waits for what `Exec::awaited` says, and is to be executed again.
pub(crate) const WAIT: u32 = FIRST + 10;
/// As [`CONVERGE`], but the lanes may also be at another operation that returns this.
pub(crate) const MEET: u32 = FIRST + 11;
