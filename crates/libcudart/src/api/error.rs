//! Errors.

use crate::error::{description, last, name};
use crate::sys::cudaError_t;
use std::ffi::c_char;

#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub(crate) extern "C" fn cudaGetLastError() -> cudaError_t {
    last(true)
}

#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub(crate) extern "C" fn cudaPeekAtLastError() -> cudaError_t {
    last(false)
}

#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub(crate) extern "C" fn cudaGetErrorName(error: cudaError_t) -> *const c_char {
    name(error).as_ptr()
}

#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub(crate) extern "C" fn cudaGetErrorString(error: cudaError_t) -> *const c_char {
    description(error).as_ptr()
}
