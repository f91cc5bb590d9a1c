//! `libcupti.so.13` and `libcupti.so.12`: CUPTI, NVIDIA's profiling interface, of a GPU that has no profiler.
//!
//! Frameworks ask for CUPTI's version before they use a GPU at all, and NVIDIA's library fails without NVIDIA's driver. So versions
//! and the words for errors are here; everything that would measure says `CUPTI_ERROR_NOT_SUPPORTED`, and names itself once.
//! The library knows nothing of the driver. Its symbols are those of NVIDIA's libraries, with their versions.

mod api;
mod result;

/// `CUPTI_ERROR_NOT_SUPPORTED`.
const NOT_SUPPORTED: u32 = 27;

/// The functions that are not supported.
mod exports {
    include!(concat!(env!("OUT_DIR"), "/exports.rs"));
}
