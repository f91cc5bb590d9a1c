//! Initialisation, versions, errors.

use crate::ffi::pointers::{Room, put, put_text};
use crate::ffi::{Error, Result, api};
use crate::state::{initialise, initialised, shut_down};
use crate::sys::*;
use driver_api::cu;
use std::ffi::{c_char, c_int, c_uint};

/// The version of NVIDIA's driver that came with CUDA 13.0, whose API the virtual one has.
const DRIVER: &str = "580.0";
/// That of the library: the API's version, then the driver's.
const LIBRARY: &str = "13.580.0";

/// Writes text that must fit.
pub(crate) fn put_whole(buffer: Room<c_char>, text: &str) -> Result<()> {
    if buffer.is_null() {
        return Err(Error::INVALID_ARGUMENT);
    }
    if text.len() >= buffer.count() {
        return Err(Error::INSUFFICIENT_SIZE);
    }
    put_text(buffer, text)
}

fn driver_version() -> Result<c_int> {
    let mut version = 0;
    // SAFETY: a place for a number.
    unsafe { cu::cuDriverGetVersion(&raw mut version)? };
    Ok(version)
}

#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub(crate) extern "C" fn nvmlErrorString(result: nvmlReturn_t) -> *const c_char {
    Error(result).description().as_ptr()
}

api! {
    fn nvmlInit() {
        initialise()
    }

    fn nvmlInit_v2() {
        initialise()
    }

    fn nvmlInitWithFlags(_flags: c_uint) {
        initialise()
    }

    fn nvmlShutdown() {
        shut_down()
    }

    fn nvmlSystemGetDriverVersion(#[elements(length)] version: *mut c_char, length: c_uint) {
        initialised()?;
        put_whole(version, DRIVER)
    }

    fn nvmlSystemGetNVMLVersion(#[elements(length)] version: *mut c_char, length: c_uint) {
        put_whole(version, LIBRARY)
    }

    fn nvmlSystemGetCudaDriverVersion(version: *mut c_int) {
        put(version, driver_version()?)
    }

    fn nvmlSystemGetCudaDriverVersion_v2(version: *mut c_int) {
        put(version, driver_version()?)
    }

    fn nvmlSystemGetProcessName(pid: c_uint, #[elements(length)] name: *mut c_char, length: c_uint) {
        initialised()?;
        // This process is the only one that is known to use a device.
        if pid != std::process::id() {
            return Err(Error::NOT_FOUND);
        }
        let path = std::env::current_exe().map_err(|_| Error::NOT_FOUND)?;
        put_whole(name, &path.to_string_lossy())
    }

    fn nvmlUnitGetCount(count: *mut c_uint) {
        initialised()?;
        put(count, 0)
    }
}
