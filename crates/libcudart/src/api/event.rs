//! Streams and events, where they are not the driver's own functions.

use crate::context::ensure;
use crate::ffi::api;
use crate::sys::*;
use driver_api::cu;

api! {
    fn cudaStreamCreate(out: *mut cudaStream_t) {
        ensure()?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuStreamCreate(out.raw().cast(), 0) }?)
    }

    fn cudaEventCreate(out: *mut cudaEvent_t) {
        ensure()?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuEventCreate(out.raw().cast(), 0) }?)
    }
}
