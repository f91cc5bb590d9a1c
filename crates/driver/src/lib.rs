//! What the CUDA driver does, as safe Rust on top of `machine`.
//!
//! ```text
//! Driver ── Device ── Context ─┬─ Module ── Function ──┐
//!                              ├─ allocations          ├── launch, copy, fill ──▶ Stream ──▶ machine
//!                              └─ streams, events  ────┘
//! ```
//!
//! | module | what it alone knows |
//! | --- | --- |
//! | [`error`] | `CUresult` |
//! | [`device`] | the devices of a process, their primary contexts |
//! | [`context`] | contexts, which one is current, sticky errors |
//! | `thread` | what each host thread has of its own, until its very end |
//! | [`memory`] | allocations, what a pointer is |
//! | [`array`] | arrays and their mip levels |
//! | [`texture`] | textures and surfaces |
//! | [`reference`](mod@reference) | textures and surfaces that are bound to variables of a module |
//! | [`managed`] | advice about managed memory |
//! | [`copy`] | copies and fills in up to three dimensions |
//! | [`stream`] | order: streams, their worker threads, default streams |
//! | [`event`] | points in a stream, and their times |
//! | [`priority`] | which kernels begin first |
//! | [`values`] | values in memory as signals between streams |
//! | [`graph`] | work and its order, described once and launched often |
//! | [`capture`] | streams whose work becomes a graph |
//! | [`pool`] | memory that streams allocate and free in their order |
//! | [`virtual_memory`] | addresses, memory and access, each by itself |
//! | [`ipc`] | memory and events that several processes use |
//! | [`peer`] | devices that use one another's memory |
//! | [`limits`] | what kernels of a context may take |
//! | [`check`] | what the sanitizer is told |
//! | [`image`] | code as a program hands it over: PTX, fatbins, cubins |
//! | [`module`] | loaded code; functions and their attributes |
//! | [`link`] | one image from several |
//! | [`library`] | code that does not belong to a context |
//! | [`launch`] | launches, and how many blocks fit |
//! | `staged` | launches that are put together call by call |
//! | `device_runtime` | what kernels that launch kernels ask |
//!
//! **Work** that is submitted to a stream is an [`Operation`](stream::Operation). A worker thread for each stream runs
//! its operations in order; what one stream must wait for in another is a [`Marker`](stream::Marker), a place in that
//! stream's order. Markers only ever name work that was submitted before, so waiting cannot end in a circle.
//!
//! **Addresses** are unified: a device pointer is an address of this process that lies in some device's memory, all
//! others are the program's. Those are reached only through [`HostMemory`](copy::HostMemory), which a border implements.
//!
//! This crate exits nothing, prints nothing and reads no paths; faults of kernels go to the [`device::Report`] that
//! the driver was made with. What else may be worth knowing goes to the crate `log`: modules at level `info`, launches at
//! level `debug`.

pub mod array;
pub mod capture;
pub mod check;
pub mod context;
pub mod copy;
pub mod device;
mod device_runtime;
pub mod error;
pub mod event;
pub mod graph;
pub mod image;
pub mod ipc;
pub mod launch;
pub mod library;
pub mod limits;
pub mod link;
pub mod managed;
pub mod memory;
pub mod module;
pub mod peer;
pub mod pool;
pub mod priority;
pub mod reference;
mod staged;
pub mod stream;
mod sync;
pub mod texture;
mod thread;
pub mod values;
pub mod virtual_memory;
mod warnings;

pub use context::Context;
pub use device::{Device, Driver};
pub use error::{Error, Result};

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

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

/// Locks what stays consistent between statements, so that a panic elsewhere does not spread.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
