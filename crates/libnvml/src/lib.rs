//! `libnvidia-ml.so.1`: what management tools and libraries ask of a GPU before they use it.
//!
//! Devices are those of the driver, which is asked through `driver-api`; so what is told of memory is about this process.
//! What only a board has (temperature, power, clocks that change, error counters) is told as of a board that has nothing to
//! do. All functions of `nvml.h` exist; those without an answer say `NOT_SUPPORTED`, which the manual allows everywhere.
//!
//! | place | what it alone knows |
//! | --- | --- |
//! | `ffi` | what every function does around its work |
//! | `state` | whether the library is initialised; devices and their handles |
//! | `board` | what a board would have |
//! | `api` | the functions |

// Constants have the names that C gives them.
#[allow(non_upper_case_globals)]
mod api;
mod board;
mod ffi;
mod state;

use cuda_headers::nvml as sys;

/// The functions that are not supported.
mod exports {
    include!(concat!(env!("OUT_DIR"), "/exports.rs"));
}
