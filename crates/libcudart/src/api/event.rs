//! Streams and events, where they are not the driver's own functions.

use crate::border::api;
use crate::context::ensure;
use crate::sys::*;
use client::cu;

api! {
    fn cudaStreamCreate(out: *mut cudaStream_t) {
        ensure()?;
        Ok(cu::cuStreamCreate(out.cast(), 0)?)
    }

    fn cudaEventCreate(out: *mut cudaEvent_t) {
        ensure()?;
        Ok(cu::cuEventCreate(out.cast(), 0)?)
    }
}
