//! The function.

use crate::launch::{self, Shape};
use driver_api::{Error, cu, sys};
use pointers::{element, text};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::null;

mod pointers {
    ffi::pointers! { driver_api::Error, driver_api::Error::INVALID_VALUE }
}

ffi::define! { call;
    fn ptx_run(
        source: *const c_char,
        count: c_int,
        #[elements(count)] arguments: *const *mut c_void,
        block_x: c_int,
        block_y: c_int,
        block_z: c_int,
        grid_x: c_int,
        grid_y: c_int,
        grid_z: c_int,
        shared: c_int,
    ) {
        let number = |value: c_int| u32::try_from(value).map_err(|_| Error::INVALID_VALUE);
        let shape = Shape {
            block: [number(block_x)?, number(block_y)?, number(block_z)?],
            grid: [number(grid_x)?, number(grid_y)?, number(grid_z)?],
            shared: number(shared)?,
        };
        let argument = |index| Ok(element(arguments, index)?.expose_provenance() as u64);
        let arguments: Vec<u64> = (0..number(count)? as usize).map(argument).collect::<Result<_, Error>>()?;
        launch::run(CString::new(text(source)?).map_err(|_| Error::INVALID_VALUE)?, &arguments, &shape)
    }
}

/// Runs the function's work. gpuocelot's returns nothing, so what went wrong is said; callers who look find the driver's number.
fn call(name: &str, arguments: &ffi::Arguments<'_>, work: impl FnOnce() -> Result<(), Error>) -> u32 {
    let shown = |error: &Error| format!("CUresult {}", error.0);
    let inside = Error(sys::CUDA_ERROR_UNKNOWN);
    let result = ffi::call(name, arguments, work, inside, "CUDA_SUCCESS", shown);
    result.err().map_or(0, |error| {
        log::error!("{name}: {}", name_of(error));
        error.0
    })
}

/// The name of an error.
fn name_of(error: Error) -> String {
    let mut name = null();
    // SAFETY: a place of ours; what the driver puts there is a text that stays.
    let known = unsafe { cu::cuGetErrorName(error.0, &raw mut name).map(|()| CStr::from_ptr(name)) };
    known.map_or_else(|_| format!("error {}", error.0), |name| name.to_string_lossy().into_owned())
}
