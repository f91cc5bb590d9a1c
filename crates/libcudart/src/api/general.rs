//! Versions, entry points of the driver, the profiler.

use crate::error::{Error, Result};
use crate::ffi::pointers::{In, Out, put, put_if};
use crate::ffi::{api, define};
use crate::sys::*;
use driver_api::{Error as DriverError, cu};
use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};

/// The version of CUDA 13.0's runtime.
const VERSION: c_int = CUDART_VERSION as c_int;

/// Looks a function of the driver's up.
pub(crate) fn entry_point(
    symbol: In<c_char>,
    out: Out<*mut c_void>,
    version: c_int,
    flags: c_ulonglong,
    status: Out<cudaDriverEntryPointQueryResult>,
) -> Result<()> {
    if symbol.is_null() || out.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    driver_api::initialise()?;
    let per_thread = flags == u64::from(cudaEnableDefault) && driver_api::per_thread();
    let flags = if per_thread { cudaEnablePerThreadDefaultStream.into() } else { flags };
    let mut answer = driver_api::sys::CU_GET_PROC_ADDRESS_SUCCESS;
    // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
    unsafe { cu::cuGetProcAddress_v2(symbol.raw(), out.raw(), version, flags, &raw mut answer)? };
    // The answers have the same numbers in both APIs.
    put_if(status, answer);
    // Who asks for an answer gets it there.
    let found = answer == driver_api::sys::CU_GET_PROC_ADDRESS_SUCCESS;
    if found || !status.is_null() { Ok(()) } else { Err(Error::NOT_FOUND) }
}

api! {
    fn cudaDriverGetVersion(version: *mut c_int) {
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        match unsafe { cu::cuDriverGetVersion(version.raw()) } {
            // No driver has version 0.
            Err(DriverError::NO_DRIVER) => put(version, 0),
            result => Ok(result?),
        }
    }

    fn cudaRuntimeGetVersion(version: *mut c_int) {
        put(version, VERSION)
    }

    fn cudaGetDriverEntryPoint(
        symbol: *const c_char,
        out: *mut *mut c_void,
        flags: c_ulonglong,
        status: *mut cudaDriverEntryPointQueryResult,
    ) {
        entry_point(symbol, out, VERSION, flags, status)
    }

    fn cudaGetDriverEntryPointByVersion(
        symbol: *const c_char,
        out: *mut *mut c_void,
        version: c_uint,
        flags: c_ulonglong,
        status: *mut cudaDriverEntryPointQueryResult,
    ) {
        entry_point(symbol, out, version.try_into().map_err(|_| Error::INVALID_VALUE)?, flags, status)
    }

    // There are no tables: NVIDIA's libraries find out by them whether a runtime is NVIDIA's.
    fn cudaGetExportTable(table: *mut *const c_void, _id: *const cudaUUID_t) {
        put(table, std::ptr::null())?;
        Err(Error::NOT_SUPPORTED)
    }

    fn cudaProfilerStop() {
        Ok(())
    }
}

// Nobody profiles, so there is nothing to start.
define! {
    fn cudaProfilerStart() {
        Ok(())
    }
}
