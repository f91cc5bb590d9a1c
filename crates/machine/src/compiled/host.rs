//! What a CTA asks of the host thread that runs it.

/// What stands behind a CTA that runs: the host thread, and so the grid.
pub(crate) trait Host {
    /// Accounts for warp instructions; whether the CTA may go on.
    fn spend(&self, instructions: u64) -> bool;

    /// Warp instructions after which it wants to be asked again.
    fn allowance(&self) -> u64;
}
