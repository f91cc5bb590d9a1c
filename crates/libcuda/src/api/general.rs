//! Initialisation, version, errors, entry points.

use crate::caller;
use crate::ffi::api;
use crate::pointers::{In, Out, get, put, put_if, text};
use crate::state;
use crate::symbols::{Found, SYMBOLS};
use crate::sys;
use driver::{Error, Result};
use std::collections::{BTreeSet, HashMap};
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex, PoisonError};

/// The version of the API, as `cuDriverGetVersion` tells it.
const VERSION: c_int = 13000;

/// Names and descriptions as C has them, by number.
static ERRORS: LazyLock<HashMap<u32, [CString; 2]>> = LazyLock::new(|| {
    let c = |text: &str| CString::new(text).unwrap_or_default();
    let known = Error::ALL.iter().map(|&error| (error as u32, [c(error.name()), c(error.description())]));
    known.chain([(0, [c("CUDA_SUCCESS"), c("no error")])]).collect()
});

/// The first bytes of the table by which NVIDIA's runtime tests whether a driver is NVIDIA's. The test is not answered: it tells
/// who has that runtime.
const SELF_TEST: [u8; 4] = [0xd4, 0x08, 0x20, 0x55];

/// Says once of each library that NVIDIA's runtime is linked into it, and what to do.
fn name_static_runtime() {
    static NAMED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let library = caller::object().unwrap_or_else(|| "a library".into());
    if NAMED.lock().unwrap_or_else(PoisonError::into_inner).insert(library.clone()) {
        log::warn!(
            "{} has NVIDIA's CUDA runtime linked into it, which refuses every driver but NVIDIA's: link it with the shared \
             runtime (`nvcc -cudart shared`) or with our libcudart_static.a",
            library.display()
        );
    }
}

fn error_text(error: u32, which: usize) -> Option<&'static CStr> {
    ERRORS.get(&error).map(|texts| texts[which].as_c_str())
}

fn put_error_text(error: u32, which: usize, out: Out<*const c_char>) -> Result<()> {
    let found = error_text(error, which);
    put(out, found.map_or(std::ptr::null(), CStr::as_ptr))?;
    found.map(drop).ok_or(Error::InvalidValue)
}

/// Which default stream a function shall take null for.
const KNOWN_FLAGS: u64 =
    (sys::CU_GET_PROC_ADDRESS_LEGACY_STREAM | sys::CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) as u64;

fn look_up(
    symbol: In<c_char>,
    out: Out<*mut c_void>,
    version: c_int,
    flags: u64,
    status: Out<sys::CUdriverProcAddressQueryResult>,
) -> Result<Found> {
    let name = text(symbol)?;
    if version > VERSION || flags & !KNOWN_FLAGS != 0 {
        return Err(Error::InvalidValue);
    }
    let per_thread = flags & u64::from(sys::CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
    let found = SYMBOLS.find(name, version, per_thread);
    let (address, answer) = match found {
        Found::Address(address) => (address, sys::CU_GET_PROC_ADDRESS_SUCCESS),
        Found::Later => (std::ptr::null(), sys::CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT),
        Found::Unknown => (std::ptr::null(), sys::CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND),
    };
    put(out, address.cast_mut().cast())?;
    put_if(status, answer);
    Ok(found)
}

api! {
    fn cuInit(flags: c_uint) {
        if flags != 0 {
            return Err(Error::InvalidValue);
        }
        state::initialise()
    }

    fn cuDriverGetVersion(version: *mut c_int) {
        put(version, VERSION)
    }

    fn cuGetErrorName(error: sys::CUresult, out: *mut *const c_char) {
        put_error_text(error, 0, out)
    }

    fn cuGetErrorString(error: sys::CUresult, out: *mut *const c_char) {
        put_error_text(error, 1, out)
    }

    fn cuGetProcAddress_v2(
        symbol: *const c_char,
        out: *mut *mut c_void,
        version: c_int,
        flags: sys::cuuint64_t,
        status: *mut sys::CUdriverProcAddressQueryResult,
    ) {
        // What is missing is told by the null pointer and the status.
        look_up(symbol, out, version, flags, status).map(drop)
    }

    fn cuGetExportTable(table: *mut *const c_void, id: *const sys::CUuuid) {
        put(table, std::ptr::null())?;
        if get(id).is_ok_and(|id| id.bytes.map(|byte| byte as u8).starts_with(&SELF_TEST)) {
            name_static_runtime();
        }
        Err(Error::NotFound)
    }
}

// The form without a status is in no header of today; libraries still ask for it by name.
api! {
    fn cuGetProcAddress(symbol: *const c_char, out: *mut *mut c_void, version: c_int, flags: sys::cuuint64_t) {
        match look_up(symbol, out, version, flags, Out::none())? {
            Found::Address(_) => Ok(()),
            Found::Later | Found::Unknown => Err(Error::NotFound),
        }
    }
}
