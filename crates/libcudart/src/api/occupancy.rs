//! How many blocks and clusters fit.

use crate::api::execution::{function, launch_configuration};
use crate::ffi::api;
use crate::sys::*;
use driver_api::cu;
use std::ffi::{c_int, c_uint, c_void};

api! {
    fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(out: *mut c_int, symbol: *const c_void, size: c_int, shared: usize) {
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuOccupancyMaxActiveBlocksPerMultiprocessor(out.raw(), function(symbol.raw())?, size, shared) }?)
    }

    fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        out: *mut c_int,
        symbol: *const c_void,
        size: c_int,
        shared: usize,
        flags: c_uint,
    ) {
        let function = function(symbol.raw())?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(out.raw(), function, size, shared, flags) }?)
    }

    fn cudaOccupancyAvailableDynamicSMemPerBlock(out: *mut usize, symbol: *const c_void, blocks: c_int, size: c_int) {
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuOccupancyAvailableDynamicSMemPerBlock(out.raw(), function(symbol.raw())?, blocks, size) }?)
    }

    fn cudaOccupancyMaxPotentialClusterSize(out: *mut c_int, symbol: *const c_void, config: *const cudaLaunchConfig_t) {
        let config = launch_configuration(config)?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuOccupancyMaxPotentialClusterSize(out.raw(), function(symbol.raw())?, &raw const config) }?)
    }

    fn cudaOccupancyMaxActiveClusters(out: *mut c_int, symbol: *const c_void, config: *const cudaLaunchConfig_t) {
        let config = launch_configuration(config)?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuOccupancyMaxActiveClusters(out.raw(), function(symbol.raw())?, &raw const config) }?)
    }
}
