//! The profiler: there is none, and nothing is lost by saying when it should look.

use crate::ffi::api;
use crate::state::current;
use crate::sys::*;
use std::ffi::c_char;

api! {
    fn cuProfilerStart() {
        current().map(drop)
    }

    fn cuProfilerStop() {
        current().map(drop)
    }

    fn cuProfilerInitialize(_configuration: *const c_char, _output: *const c_char, _mode: CUoutput_mode) {
        // As the manual says of devices that it does not know.
        Err(driver::Error::NotSupported)
    }
}
