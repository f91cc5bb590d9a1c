//! What the CUDA driver does, as safe Rust on top of `machine`.
//!
//! ```text
//! Driver ── Device ── Context ─┬─ Module ── Function ──┐
//!                              ├─ allocations          ├── launch, copy, fill ──▶ Stream ──▶ machine
//!                              └─ streams, events  ────┘
//! ```
//!
//! From below: each file uses only files of rows before its own, or of its own row.
//!
//! | module | what it alone knows |
//! | --- | --- |
//! | [`error`], [`id`], `lock`, `sync` | `CUresult`; identities and handles; locks |
//! | `extensions` | what files further up keep with an object of a file below |
//! | `thread` | what each host thread has of its own, until its very end |
//! | [`debug`] | what a debugger is asked; turns at memory while it works |
//! | [`check`], `replay`, `host_writes`, `warnings` | what the sanitizer is told; launches under other schedules; what the program writes while kernels run; what a GPU would not have noticed |
//! | [`priority`], [`limits`] | which kernels begin first; what they may take |
//! | [`host`], [`settings`] | the program's memory; what a program wants otherwise |
//! | [`managed`], [`allocation`] | what is said about managed memory; allocations |
//! | `process`, [`device`] | what all devices use; the devices of a process |
//! | [`health`], [`operation`] | whether a context has failed; what streams run, whatever it is |
//! | [`stream`] | order: streams, their worker threads, default streams |
//! | [`context`], [`current`] | contexts; which one is current |
//! | `signal`, [`event`] | events of several processes; points in a stream, and their times |
//! | [`copy`], [`fill`], [`values`], [`host_call`] | work: copies, fills, values in memory as signals between streams, functions of the program's |
//! | [`image`], [`link`], [`module`], [`library`] | code as a program hands it over; one image from several; loaded code, functions; code that does not belong to a context |
//! | [`array`], [`texture`], [`reference`](mod@reference) | arrays and their mip levels; textures and surfaces; those that are bound to variables of a module |
//! | [`occupancy`], `device_runtime`, [`launch`] | how many blocks fit; what kernels ask that launch kernels; work: launches |
//! | [`graph`] | work and its order, described once and launched often |
//! | [`capture`] | streams whose work becomes a graph |
//! | `staged`, [`submit`] | launches that are put together call by call; what a program gives to streams |
//! | `imports`, [`pool`], [`ipc`] | memory of other processes; memory that streams allocate and free in their order; what several processes use |
//! | [`memory`], [`advice`], [`virtual_memory`], [`peer`] | what allocates and frees; advice about managed memory; addresses, memory and access, each by itself; devices that use one another's memory |
//! | [`synchronize`], [`lifetime`] | waiting for work; how contexts end, primary contexts |
//!
//! **Work** that is submitted to a stream is an [`Operation`](operation::Operation), which streams know nothing else of. A worker thread for each stream runs
//! its operations in order; what one stream must wait for in another is a [`Marker`](stream::Marker), a place in that
//! stream's order. Markers only ever name work that was submitted before, so waiting cannot end in a circle.
//!
//! **Addresses** are unified: a device pointer is an address of this process that lies in some device's memory, all
//! others are the program's. Those are reached only through [`HostMemory`](host::HostMemory), which a C library implements.
//!
//! This crate exits nothing, prints nothing and reads no paths; faults of kernels go to the [`settings::Report`] that
//! the driver was made with. What else may be worth knowing goes to the crate `log`: modules at level `info`, launches at
//! level `debug`.

pub mod advice;
pub mod allocation;
pub mod array;
pub mod capture;
pub mod check;
pub mod context;
pub mod copy;
pub mod current;
pub mod debug;
pub mod device;
mod device_runtime;
pub mod error;
pub mod event;
mod extensions;
pub mod fill;
mod finish;
pub mod graph;
pub mod health;
pub mod host;
pub mod host_call;
mod host_writes;
pub mod id;
pub mod image;
mod imports;
pub mod ipc;
pub mod launch;
pub mod library;
pub mod lifetime;
pub mod limits;
pub mod link;
mod lock;
pub mod managed;
pub mod memory;
pub mod module;
pub mod occupancy;
pub mod operation;
pub mod peer;
pub mod pool;
pub mod priority;
mod process;
pub mod reference;
mod replay;
pub mod settings;
mod signal;
mod staged;
pub mod stream;
pub mod submit;
mod sync;
pub mod synchronize;
pub mod texture;
mod thread;
pub mod values;
pub mod virtual_memory;
mod warnings;

pub use context::Context;
pub use device::{Device, Driver};
pub use error::{Error, Result};
pub use id::Id;

pub(crate) use lock::lock;
