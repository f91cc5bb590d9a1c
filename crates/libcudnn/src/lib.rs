//! `libcudnn.so.9`: cuDNN, NVIDIA's library of neural networks, for a GPU that does not execute its kernels.
//!
//! NVIDIA's library is SASS, and has NVIDIA's CUDA runtime inside, so that it gives no handle here. XLA compiles nothing, not even a
//! sum, without one. So handles, their streams, versions and the words for errors are here; what would compute says
//! `CUDNN_STATUS_NOT_SUPPORTED`, and names itself once. The library knows nothing of the driver. Its symbols are those of
//! NVIDIA's, with their version.

mod api;
mod status;

/// `CUDNN_STATUS_NOT_SUPPORTED`.
const NOT_SUPPORTED: u32 = 3000;

/// The functions that are not supported.
mod exports {
    include!(concat!(env!("OUT_DIR"), "/exports.rs"));
}
