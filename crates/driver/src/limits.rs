//! Limits of a context: what its kernels may take.

use crate::lock;
use std::sync::Mutex;

/// What can be limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Bytes of stack of a thread, where the call graph does not tell how many it needs.
    Stack,
    /// Bytes of `printf`'s buffer, which here never overflows.
    Printf,
    /// Bytes that a kernel's threads may take by `malloc`.
    Heap,
    /// Levels of kernels that wait for kernels which they have launched; none can wait here.
    SyncDepth,
    /// Launches by kernels that may be waiting at a time.
    PendingLaunches,
    /// Bytes that the L2 cache, which is not modelled, reads at a time.
    L2Granularity,
    /// Bytes of it that may be kept.
    PersistingL2,
}

/// The limits of a context. What was never set is as the machine has it.
#[derive(Debug, Default)]
pub(crate) struct Limits(Mutex<[Option<u64>; 7]>);

impl Limit {
    /// What CUDA's devices have before anybody sets it.
    fn default(self) -> u64 {
        match self {
            Self::Stack => 1 << 10,
            Self::Printf | Self::Heap => 8 << 20,
            Self::SyncDepth => 2,
            Self::PendingLaunches => 2048,
            Self::L2Granularity => 64,
            Self::PersistingL2 => 0,
        }
    }
}

impl Limits {
    /// A limit, as the program has set it, or the usual one.
    pub(crate) fn get(&self, limit: Limit) -> u64 {
        lock(&self.0)[limit as usize].unwrap_or(limit.default())
    }

    /// For launches from now on.
    pub(crate) fn set(&self, limit: Limit, value: u64) {
        lock(&self.0)[limit as usize] = Some(value);
    }

    pub(crate) fn stack(&self) -> Option<u32> {
        lock(&self.0)[Limit::Stack as usize].and_then(|bytes| u32::try_from(bytes).ok())
    }

    pub(crate) fn heap(&self) -> Option<u64> {
        lock(&self.0)[Limit::Heap as usize]
    }
}
