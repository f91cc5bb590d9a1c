//! What the code that nvcc writes calls, besides launches.

use crate::ffi::define;
use crate::registry::{self, Kind};
use std::ffi::{c_char, c_int, c_void};

/// A fat binary's handle is a number; the program sees a pointer, which it only hands back.
type Handle = *mut *mut c_void;

/// Remembers the error of a function that returns nothing.
fn note(result: crate::error::Result<()>) {
    if let Err(error) = result {
        error.recorded();
    }
}

#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub(crate) extern "C" fn __cudaRegisterFatBinary(wrapper: *mut c_void) -> Handle {
    std::ptr::without_provenance_mut(registry::add(wrapper))
}

#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub(crate) extern "C" fn __cudaRegisterFatBinaryEnd(_handle: Handle) {}

#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub(crate) extern "C" fn __cudaUnregisterFatBinary(handle: Handle) {
    registry::remove(handle.addr());
}

/// Whether the fat binary could be made ready: the program asks until it could.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub(crate) extern "C" fn __cudaInitModule(handle: Handle) -> c_char {
    let result = registry::initialise(handle.addr());
    let ready = result.is_ok();
    note(result);
    ready.into()
}

#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub(crate) unsafe extern "C" fn __cudaRegisterVar(
    handle: Handle,
    shadow: *mut c_char,
    _address: *mut c_char,
    name: *const c_char,
    _external: c_int,
    _size: usize,
    _constant: c_int,
    _global: c_int,
) {
    // SAFETY: nvcc passes strings that end.
    note(unsafe { registry::name(handle.addr(), Kind::Variable, shadow.cast(), name) });
}

#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub(crate) unsafe extern "C" fn __cudaRegisterManagedVar(
    handle: Handle,
    pointer: *mut *mut c_void,
    _address: *mut c_char,
    name: *const c_char,
    _external: c_int,
    _size: usize,
    _constant: c_int,
    _global: c_int,
) {
    // SAFETY: nvcc passes strings that end, and the address of a pointer of the program's.
    note(unsafe {
        registry::name(handle.addr(), Kind::Variable, pointer.cast(), name)
            .and_then(|()| registry::manage(handle.addr(), pointer, name))
    });
}

#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub(crate) unsafe extern "C" fn __cudaRegisterFunction(
    handle: Handle,
    function: *const c_char,
    _device_function: *mut c_char,
    name: *const c_char,
    _thread_limit: c_int,
    _thread: *mut c_void,
    _block: *mut c_void,
    _block_dim: *mut c_void,
    _grid_dim: *mut c_void,
    _warp_size: *mut c_int,
) {
    // SAFETY: nvcc passes strings that end.
    note(unsafe { registry::name(handle.addr(), Kind::Kernel, function.cast(), name) });
}

define! {
    // The handle that compiled launches use is the function's own address: it is looked up when it is launched.
    fn __cudaGetKernel(out: *mut crate::sys::cudaKernel_t, function: *const c_void) {
        crate::ffi::pointers::put(out, function.raw().cast_mut().cast())
    }
}
