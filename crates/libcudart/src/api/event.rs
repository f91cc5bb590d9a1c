//! Streams and events, where they are not the driver's own functions.

use crate::context::{ensure, some};
use crate::error::Error;
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

    fn cudaEventElapsedTime(out: *mut f32, from: cudaEvent_t, to: cudaEvent_t) {
        if out.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        some()?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuEventElapsedTime_v2(out.raw(), from.cast(), to.cast()) }?)
    }
}
