//! Versions, and words for results.

use crate::result::{Error, define};
use pointers::put;
use std::ffi::c_char;

mod pointers {
    ffi::pointers! { crate::result::Error, crate::result::Error::INVALID_PARAMETER }
}

/// `CUPTI_API_VERSION` of CUDA 13.0, whose driver interface ours is: the toolkit's version since then.
const VERSION: u32 = 130_000;
/// That of CUDA 12.9, as our runtime of CUDA 12 is.
const VERSION_12: u32 = 27;

define! {
    fn cuptiGetVersion(version: *mut u32) {
        put(version, VERSION)
    }

    fn cupti12_cuptiGetVersion(version: *mut u32) {
        put(version, VERSION_12)
    }

    fn cuptiGetResultString(result: u32, text: *mut *const c_char) {
        put(text, Error::known(result)?.name.as_ptr())
    }

    fn cuptiGetErrorMessage(result: u32, text: *mut *const c_char) {
        put(text, Error::known(result)?.message.as_ptr())
    }
}
