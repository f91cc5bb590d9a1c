//! Allocations: what the driver knows of memory, whoever made it.

use crate::id::Id;
use crate::managed::Pages;
use std::sync::Arc;

/// What memory was allocated as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKind {
    /// For the device.
    Device,
    /// Page-locked, for the program and all devices.
    Host,
    /// Managed, for the program and all devices.
    Managed,
    /// The program's own, page-locked afterwards.
    Registered,
}

/// An allocation.
#[derive(Clone, Debug)]
pub struct Allocation {
    /// What as.
    pub kind: MemoryKind,
    /// First byte.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
    /// The flags it was made with.
    pub flags: u32,
    /// What tells it from all others.
    pub id: Id,
    /// The context that made it; what comes from another process's pool has none.
    pub context: Option<Id>,
    /// The ordinal of that context's device, or the pool's.
    pub device: usize,
    /// Whether copies from and to it are to be over when their calls return, which they are in any case.
    pub synchronous: bool,
    /// Of managed memory.
    pub(crate) pages: Option<Arc<Pages>>,
}

impl Allocation {
    /// One of no context.
    pub(crate) fn new(kind: MemoryKind, address: u64, bytes: u64, device: usize) -> Self {
        let pages = (kind == MemoryKind::Managed).then(Pages::new);
        // As on an H200, where that can be asked for.
        let synchronous = kind != MemoryKind::Host;
        Self { kind, address, bytes, flags: 0, id: Id::next(), context: None, device, synchronous, pages }
    }

    /// Whether the memory is the driver's.
    pub(crate) fn owned(&self) -> bool {
        self.kind != MemoryKind::Registered
    }
}
