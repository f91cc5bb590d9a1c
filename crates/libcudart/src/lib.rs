//! `libcudart`: the CUDA runtime, as a program of the driver API.
//!
//! The runtime adds four things to the driver, and they are the modules here: code that registers itself when a program
//! starts ([`registry`]), a context that is there without being asked for ([`context`]), launches in C's syntax
//! (`api::execution`), and errors that are remembered ([`error`]). All else is the driver's under other names.
//!
//! It calls `libcuda.so.1`, through the crate `driver-api`, as NVIDIA's does. Thus a process has one driver: streams, events,
//! kernels, graphs and the current context are the same in both APIs, which CUDA promises to programs that use both.
//!
//! | place | what it alone knows |
//! | --- | --- |
//! | `ffi` | what every function does around its work; functions that are a driver's, or another one's twin |
//! | `error` | numbers, names, descriptions; each host thread's last error |
//! | `context` | each host thread's device and the context that it means |
//! | `image` | what a wrapper of device code holds, and how the driver gets it |
//! | `registry` | fat binaries, kernels and variables that a program registers |
//! | `api` | the functions, a file a chapter of the runtime's manual |
//! | `forwards.txt` | functions that are one of the driver's |
//! | `exports-13.txt`, `exports-12.txt` | all symbols |
//!
//! Cargo makes a static library, which is `libcudart_static.a`, and a shared one whose symbols have no version. The
//! libraries `libcudart.so.13` and `libcudart.so.12` are linked from the former by `cargo xtask libraries`: what differs
//! between them are functions called `cudart12_…`, which stand in the latter for those without these letters.

// Constants have the names that C gives them.
#[allow(non_upper_case_globals)]
mod api;
mod context;
mod error;
mod ffi;
mod image;
mod registry;

use cuda_headers::cuda_runtime_api as sys;
use cuda_headers::cuda_runtime_api_12 as sys12;

/// The functions that are made by the build script.
mod exports {
    #![allow(unused_imports, clippy::wildcard_imports)]
    use crate::api::{
        array::*, device::*, event::*, execution::*, general::*, graph::*, older::*, transfer::*,
    };
    use crate::sys::*;
    use std::ffi::*;
    include!(concat!(env!("OUT_DIR"), "/exports.rs"));
}
