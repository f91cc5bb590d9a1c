//! `libcuda.so.1`: the C ABI of the CUDA driver, over [`driver`].
//!
//! Only conversion happens here: numbers and pointers of C become values of the driver's, and its errors `CUresult`s.
//!
//! | module | what it alone knows |
//! | --- | --- |
//! | `sys` | the types of `cuda.h`, made by the build script |
//! | `border` | what every function does around its work: panics, tracing |
//! | `state` | the process's driver, and which handle means what |
//! | `pointers` | reading and writing through the program's pointers |
//! | `symbols` | all symbols: those that are not implemented, and looking them up by name and version |
//! | `api` | the functions, a file a chapter of the driver's manual |
//!
//! A handle is a number that stands in a table, never an address of ours: one that is stale or made up is an error,
//! not a crash. Enumerations come as integers and are compared with constants. A function that is not implemented is
//! exported all the same, returns `CUDA_ERROR_NOT_SUPPORTED` and names itself on standard error, once.
//!
//! The environment:
//!
//! | variable | meaning |
//! | --- | --- |
//! | `WARPLOOM_DEVICES` | the devices: `h200:4`, or `h100,l40s:2` |
//! | `CUDA_VISIBLE_DEVICES` | which of them the program sees, in which order: `1,0` |
//! | `WARPLOOM_MEMORY` | the most global memory that each device may have: `512M`, `2G` |
//! | `WARPLOOM_BOUNDS` | `granules`: memory ends for kernels where a GPU notices, not at its last byte (`exact`) |
//! | `WARPLOOM_LOG` | what is logged, and where to; see [`border::journal`] |
//! | `WARPLOOM_TRACE` | `api` logs every call with its arguments and its result |
//! | `WARPLOOM_STUB` | `1` executes no kernel, to find out which tests of a program need that |

mod api;
mod border;
mod pointers;
mod state;
mod symbols;

/// The types of `cuda.h`.
#[allow(
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    dead_code,
    unused_imports,
    missing_docs,
    unreachable_pub,
    clippy::all
)]
mod sys {
    include!(concat!(env!("OUT_DIR"), "/sys.rs"));
}
