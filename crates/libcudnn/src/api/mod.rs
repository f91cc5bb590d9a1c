//! Handles with their streams, versions, words for errors.

use crate::status::{self, Error, define};
use pointers::{Room, put, put_text};
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void};
use std::ptr::without_provenance_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

mod pointers {
    ffi::pointers! { crate::status::Error, crate::status::Error::NULL_POINTER }
}

/// The version of the interface whose symbols are here: 9.28.0. Programs refuse an older one than they were compiled with.
const VERSION: [c_int; 3] = [9, 28, 0];

/// What `cudnnHandle_t` and `cudaStream_t` are to C.
type Pointer = *mut c_void;

/// The streams of all handles. A handle is a number, never an address of ours.
struct Handles {
    streams: BTreeMap<usize, usize>,
    last: usize,
}

fn handles() -> MutexGuard<'static, Handles> {
    static HANDLES: Mutex<Handles> = Mutex::new(Handles { streams: BTreeMap::new(), last: 0 });
    HANDLES.lock().unwrap_or_else(PoisonError::into_inner)
}

#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub(crate) extern "C" fn cudnnGetVersion() -> usize {
    let [major, minor, patch] = VERSION.map(|part| part as usize);
    10_000 * major + 100 * minor + patch
}

#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub(crate) extern "C" fn cudnnGetCudartVersion() -> usize {
    13_000
}

#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub(crate) extern "C" fn cudnnGetErrorString(status: u32) -> *const c_char {
    status::name(status).as_ptr()
}

/// # Safety
/// The buffer is null or has so many bytes.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub(crate) unsafe extern "C" fn cudnnGetLastErrorString(message: *mut c_char, size: usize) {
    // SAFETY: by contract.
    let message = unsafe { Room::new(message, size) };
    // Nobody is told of a buffer that is not there.
    let _ = put_text(message, "Warploom's cuDNN has no operations");
}

define! {
    fn cudnnGetProperty(which: u32, value: *mut c_int) {
        put(value, *VERSION.get(which as usize).ok_or(Error::BAD_PARAM)?)
    }

    fn cudnnCreate(handle: *mut Pointer) {
        let mut all = handles();
        all.last += 1;
        let number = all.last;
        put(handle, without_provenance_mut(number))?;
        all.streams.insert(number, 0);
        Ok(())
    }

    fn cudnnDestroy(handle: Pointer) {
        handles().streams.remove(&handle.addr()).map(drop).ok_or(Error::BAD_PARAM)
    }

    fn cudnnSetStream(handle: Pointer, stream: Pointer) {
        let mut all = handles();
        *all.streams.get_mut(&handle.addr()).ok_or(Error::BAD_PARAM)? = stream.addr();
        Ok(())
    }

    fn cudnnGetStream(handle: Pointer, stream: *mut Pointer) {
        let known = handles().streams.get(&handle.addr()).copied();
        put(stream, without_provenance_mut(known.ok_or(Error::BAD_PARAM)?))
    }
}
