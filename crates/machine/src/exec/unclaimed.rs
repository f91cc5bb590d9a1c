//! The clusters of a grid that nobody has taken up: host threads take them, and threads of the grid do so in their place
//! (`clusterlaunchcontrol`).

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// See the module.
#[derive(Debug)]
pub(crate) struct Unclaimed {
    next: AtomicU64,
    total: u64,
    /// Of those taken up, the clusters that are not launched any more.
    cancelled: AtomicU64,
}

impl Unclaimed {
    /// Of so many clusters, those from the first one on that is to run.
    pub(crate) fn new(first: u64, total: u64) -> Self {
        Self { next: AtomicU64::new(first), total, cancelled: AtomicU64::new(0) }
    }

    /// All clusters of the grid.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// How many are left.
    pub(crate) fn left(&self) -> u64 {
        self.total.saturating_sub(self.next.load(Relaxed))
    }

    /// Takes up to so many.
    pub(crate) fn claim(&self, clusters: u64) -> Range<u64> {
        let first = self.next.fetch_add(clusters, Relaxed);
        first.min(self.total)..(first + clusters).min(self.total)
    }

    /// Takes one that shall not be launched.
    pub(crate) fn cancel(&self) -> Option<u64> {
        // Who asks again and again takes nothing from a counter that others add to.
        let cluster = if self.left() > 0 { self.claim(1).next() } else { None };
        self.cancelled.fetch_add(cluster.is_some().into(), Relaxed);
        cluster
    }

    /// Clusters that are not launched.
    pub(crate) fn cancelled(&self) -> u64 {
        self.cancelled.load(Relaxed)
    }
}
