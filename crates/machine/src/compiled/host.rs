//! What a CTA asks of the host thread that runs it.

/// What stands behind a CTA that runs: the host thread, and so the grid.
pub(crate) trait Host {
    /// Accounts for warp instructions; whether the CTA may go on.
    fn spend(&self, instructions: u64) -> bool;

    /// Warp instructions after which it wants to be asked again.
    fn allowance(&self) -> u64;

    /// A CTA has ended: the index in the grid of the one that is to run behind it, if the host thread has claimed one and
    /// the grid goes on.
    fn next(&self) -> Option<u64>;
}
