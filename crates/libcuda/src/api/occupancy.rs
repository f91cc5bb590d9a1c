//! How many blocks fit.

use crate::api::execution::configuration;
use crate::ffi::api;
use crate::pointers::{Out, put};
use crate::state::{current, function};
use crate::sys::*;
use driver::launch::Configuration;
use driver::{Error, Result};
use std::ffi::{c_int, c_uint};

fn blocks(out: Out<c_int>, f: CUfunction, size: c_int, shared: usize) -> Result<()> {
    let context = current()?;
    let function = function(f, Some(&context))?;
    let size = u32::try_from(size).ok().filter(|&size| size > 0).ok_or(Error::InvalidValue)?;
    let shared = u32::try_from(shared).unwrap_or(u32::MAX);
    put(out, context.resident_blocks(&function, size, shared) as c_int)
}

fn best_size(
    grid: Out<c_int>,
    block: Out<c_int>,
    f: CUfunction,
    per_block: CUoccupancyB2DSize,
    shared: usize,
    limit: c_int,
) -> Result<()> {
    let context = current()?;
    let function = function(f, Some(&context))?;
    let limit = u32::try_from(limit).map_err(|_| Error::InvalidValue)?;
    let need = |size: u32| {
        let bytes = match per_block {
            // SAFETY: the program's function, called as it asked.
            Some(ask) => unsafe { ask(size as c_int) },
            None => shared,
        };
        u32::try_from(bytes).unwrap_or(u32::MAX)
    };
    let (blocks, size) = context.potential_block_size(&function, &need, limit);
    put(grid, blocks as c_int)?;
    put(block, size as c_int)
}

api! {
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(out: *mut c_int, f: CUfunction, size: c_int, shared: usize) {
        blocks(out, f, size, shared)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        out: *mut c_int,
        f: CUfunction,
        size: c_int,
        shared: usize,
        flags: c_uint,
    ) {
        if flags & !CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE != 0 {
            return Err(Error::InvalidValue);
        }
        blocks(out, f, size, shared)
    }

    fn cuOccupancyMaxPotentialBlockSize(
        grid: *mut c_int,
        block: *mut c_int,
        f: CUfunction,
        per_block: CUoccupancyB2DSize,
        shared: usize,
        limit: c_int,
    ) {
        best_size(grid, block, f, per_block, shared, limit)
    }

    fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        grid: *mut c_int,
        block: *mut c_int,
        f: CUfunction,
        per_block: CUoccupancyB2DSize,
        shared: usize,
        limit: c_int,
        flags: c_uint,
    ) {
        if flags & !CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE != 0 {
            return Err(Error::InvalidValue);
        }
        best_size(grid, block, f, per_block, shared, limit)
    }

    #[order(given(f), initialised, given(out), given(config), context)]
    fn cuOccupancyMaxActiveClusters(out: *mut c_int, f: CUfunction, config: *const CUlaunchConfig) {
        let context = current()?;
        // SAFETY: the configuration is the program's, with as many attributes as it says.
        let configuration = unsafe { configuration(config)? };
        let function = function(f, Some(&context))?;
        put(out, context.resident_clusters(&function, &configuration)? as c_int)
    }

    #[order(given(f), initialised, given(out), given(config), context)]
    fn cuOccupancyMaxPotentialClusterSize(out: *mut c_int, f: CUfunction, config: *const CUlaunchConfig) {
        let context = current()?;
        // SAFETY: the configuration is the program's, with as many attributes as it says.
        let stated = unsafe { configuration(config)? };
        let function = function(f, Some(&context))?;
        let size = |size: u32| Configuration { cluster: Some([size, 1, 1]), ..stated };
        let fits = |n: &u32| context.resident_clusters(&function, &size(*n)).is_ok_and(|clusters| clusters > 0);
        let largest = (1..=driver::Context::largest_cluster(&function)).rev().find(fits);
        put(out, largest.ok_or(Error::InvalidClusterSize)? as c_int)
    }

    fn cuOccupancyAvailableDynamicSMemPerBlock(out: *mut usize, f: CUfunction, blocks: c_int, _size: c_int) {
        let context = current()?;
        let function = function(f, Some(&context))?;
        let blocks = u32::try_from(blocks).map_err(|_| Error::InvalidValue)?;
        put(out, context.available_shared(&function, blocks) as usize)
    }
}
