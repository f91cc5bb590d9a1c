//! Identities of objects, and the handles that programs and kernels know them by.

use std::sync::atomic::{AtomicU64, Ordering};

/// How far identities are shifted in handles.
const HANDLE_SHIFT: u32 = 4;

/// What tells an object of the driver from all others of the process, living or gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(pub u64);

impl Id {
    /// What programs and kernels know an object by. Its lowest bits are clear: small numbers mean default streams.
    pub fn handle(self) -> u64 {
        self.0 << HANDLE_SHIFT
    }

    /// The identity with this handle, if there can be one.
    pub fn of_handle(handle: u64) -> Option<Self> {
        (handle.trailing_zeros() >= HANDLE_SHIFT).then_some(Self(handle >> HANDLE_SHIFT))
    }

    /// An identity that nothing has.
    pub fn next() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }
}
