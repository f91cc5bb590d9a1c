//! The virtual GPU: it loads checked PTX modules and runs their kernels on an ordinary CPU.
//!
//! ```text
//! Checked<Module> --Device::load--> LoadedModule --decode--> Image --run--> memory, output, faults
//! ```
//!
//! | module | what it alone knows |
//! | --- | --- |
//! | [`profile`] | what real devices have |
//! | [`asynchrony`] | asynchronous operations that are issued and not done |
//! | [`memory`] | global memory, address windows |
//! | [`launch`] | devices, loaded modules, launch checks |
//! | [`texture`] | arrays, texture and surface objects |
//! | `matrix` | how matrices lie in registers and in memory |
//! | `decode` | from typed instructions to operations |
//! | `build` | from functions to decoded code |
//! | `operation` | operations as data |
//! | `image` | decoded code |
//! | [`lanes`] | registers as planes; host vector levels |
//! | `ops` | what operations do |
//! | `location` | where instructions stand, for people |
//! | `listing` | a kernel as text, with its operations |
//! | `spinning` | which threads spin |
//! | [`compiled`] | engines that compile kernels, and grids that they run |
//! | `common` | what the CTAs of a cluster share |
//! | `device_runtime` | what device code asks of what stands around its grid |
//! | `dependents` | grids that begin before the one before them has ended |
//! | `run` | groups of lanes, packs, CTAs, clusters, grids, and grids that launch grids |
//! | [`order`] | what comes after what of all that is launched on the device |
//! | [`system`] | what device code asks the driver, if there is one |
//! | [`schedule`] | who runs next |
//! | [`observe`] | who watches |
//! | [`inspect`] | what threads have at an instruction: frames, registers, memory |
//! | [`tensormap`] | tensor maps, and which bytes tensor copies move |
//! | [`stats`], [`trace`] | observers: exact counters, a line for every instruction |
//! | [`fault`] | what stops a kernel |
//! | [`misuse`] | what a GPU would not have noticed |
//!
//! Nothing here prints, exits or reads paths; a guest can fault, never panic or harm the host.

#[cfg(target_endian = "big")]
compile_error!("guest memory is little-endian and is accessed in place");

pub mod asynchrony;
mod build;
mod common;
pub mod compiled;
mod decode;
mod dependents;
mod device_runtime;
mod exec;
pub mod fault;
mod image;
pub mod inspect;
pub mod lanes;
pub mod launch;
mod listing;
mod location;
mod matrix;
pub mod memory;
pub mod misuse;
pub mod observe;
mod operation;
mod ops;
pub mod order;
pub mod output;
pub mod printf;
pub mod profile;
mod run;
pub mod schedule;
mod spinning;
pub mod stats;
pub mod system;
mod tensor_core;
pub mod tensormap;
pub mod texture;
mod time;
pub mod trace;

pub use asynchrony::Asynchrony;
pub use build::Unsupported;
pub use dependents::Neighbours;
pub use fault::{Fault, Trap};
pub use image::builtin::provides;
pub use launch::{
    Device, DeviceOptions, Kernel, Launch, LaunchError, LaunchOptions, LaunchReport, LoadError, LoadedModule,
    ParameterLayout, Usage, VariablePlace, Variables, parameter_layout,
};
pub use location::{Inlined, Location, SourceLocation};
pub use misuse::{Masks, Misuse};
pub use profile::Profile;
pub use schedule::SchedulerKind;
pub use system::System;
pub use time::Time;
