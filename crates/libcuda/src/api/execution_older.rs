//! Launches that are put together call by call, from before CUDA 4.0.

use crate::ffi::api;
use crate::pointers::bytes;
use crate::state::{function, stream};
use crate::sys::*;
use driver::{Error, Result};
use std::ffi::{c_int, c_uint, c_void};

/// A number of C's that cannot be less than `least`.
fn number(value: c_int, least: u32) -> Result<u32> {
    u32::try_from(value).ok().filter(|&value| value >= least).ok_or(Error::InvalidValue)
}

fn parameter(f: CUfunction, offset: c_int, bytes: &[u8]) -> Result<()> {
    function(f, None)?.stage_parameter(number(offset, 0)? as usize, bytes)
}

fn launch(f: CUfunction, width: c_int, height: c_int, on: CUstream) -> Result<()> {
    let function = function(f, None)?;
    let grid = [number(width, 1)?, number(height, 1)?];
    let (context, stream) = stream(on)?;
    context.launch_staged(&function, grid, &stream)
}

api! {
    #[order(initialised, handle(f), context)]
    fn cuFuncSetBlockShape(f: CUfunction, x: c_int, y: c_int, z: c_int) {
        function(f, None)?.stage_block([number(x, 1)?, number(y, 1)?, number(z, 1)?])
    }

    #[order(initialised, handle(f), context)]
    fn cuFuncSetSharedSize(f: CUfunction, bytes: c_uint) {
        function(f, None)?.stage_shared(bytes);
        Ok(())
    }

    #[order(initialised, handle(f), context)]
    fn cuParamSetSize(f: CUfunction, bytes: c_uint) {
        function(f, None)?.stage_size(bytes as usize)
    }

    #[order(initialised, handle(f), context)]
    fn cuParamSeti(f: CUfunction, offset: c_int, value: c_uint) {
        parameter(f, offset, &value.to_ne_bytes())
    }

    #[order(initialised, handle(f), context)]
    fn cuParamSetf(f: CUfunction, offset: c_int, value: f32) {
        parameter(f, offset, &value.to_ne_bytes())
    }

    #[order(initialised, handle(f), given(value), context)]
    fn cuParamSetv(f: CUfunction, offset: c_int, #[elements(size)] value: *mut c_void, size: c_uint) {
        parameter(f, offset, bytes(value.input())?)
    }

    #[order(initialised, handle(f), context, no_capture)]
    fn cuLaunch(f: CUfunction) {
        launch(f, 1, 1, std::ptr::null_mut())
    }

    #[order(initialised, handle(f), context, no_capture)]
    fn cuLaunchGrid(f: CUfunction, width: c_int, height: c_int) {
        launch(f, width, height, std::ptr::null_mut())
    }

    #[order(initialised, handle(f), context, no_capture)]
    fn cuLaunchGridAsync(f: CUfunction, width: c_int, height: c_int, on: CUstream) {
        launch(f, width, height, on)
    }
}
