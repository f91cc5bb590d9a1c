//! How many blocks and clusters fit.

use crate::api::execution::{function, launch_configuration};
use crate::border::api;
use crate::sys::*;
use client::cu;
use std::ffi::{c_int, c_uint, c_void};

api! {
    fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(out: *mut c_int, symbol: *const c_void, size: c_int, shared: usize) {
        Ok(cu::cuOccupancyMaxActiveBlocksPerMultiprocessor(out, function(symbol)?, size, shared)?)
    }

    fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        out: *mut c_int,
        symbol: *const c_void,
        size: c_int,
        shared: usize,
        flags: c_uint,
    ) {
        let function = function(symbol)?;
        Ok(cu::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(out, function, size, shared, flags)?)
    }

    fn cudaOccupancyAvailableDynamicSMemPerBlock(out: *mut usize, symbol: *const c_void, blocks: c_int, size: c_int) {
        Ok(cu::cuOccupancyAvailableDynamicSMemPerBlock(out, function(symbol)?, blocks, size)?)
    }

    fn cudaOccupancyMaxPotentialClusterSize(out: *mut c_int, symbol: *const c_void, config: *const cudaLaunchConfig_t) {
        let config = launch_configuration(config)?;
        Ok(cu::cuOccupancyMaxPotentialClusterSize(out, function(symbol)?, &raw const config)?)
    }

    fn cudaOccupancyMaxActiveClusters(out: *mut c_int, symbol: *const c_void, config: *const cudaLaunchConfig_t) {
        let config = launch_configuration(config)?;
        Ok(cu::cuOccupancyMaxActiveClusters(out, function(symbol)?, &raw const config)?)
    }
}
