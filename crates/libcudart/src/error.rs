//! Errors: `cudaError_t`, and the last one of each host thread.
//!
//! What the driver knows too has the driver's number. A context that has failed fails every later call, so errors are
//! sticky without anything being done about it here.

use crate::sys;
use std::cell::Cell;
use std::ffi::CStr;
use std::fmt;

include!(concat!(env!("OUT_DIR"), "/errors.rs"));

/// A `cudaError_t` other than success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Error(pub(crate) u32);

/// What functions return.
pub(crate) type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) const INVALID_VALUE: Self = Self(sys::cudaErrorInvalidValue);
    pub(crate) const INVALID_CONFIGURATION: Self = Self(sys::cudaErrorInvalidConfiguration);
    pub(crate) const INVALID_PITCH: Self = Self(sys::cudaErrorInvalidPitchValue);
    pub(crate) const INVALID_SYMBOL: Self = Self(sys::cudaErrorInvalidSymbol);
    pub(crate) const INVALID_DIRECTION: Self = Self(sys::cudaErrorInvalidMemcpyDirection);
    pub(crate) const INVALID_FUNCTION: Self = Self(sys::cudaErrorInvalidDeviceFunction);
    pub(crate) const MISSING_CONFIGURATION: Self = Self(sys::cudaErrorMissingConfiguration);
    pub(crate) const INVALID_DEVICE: Self = Self(sys::cudaErrorInvalidDevice);
    pub(crate) const NO_KERNEL_IMAGE: Self = Self(sys::cudaErrorNoKernelImageForDevice);
    pub(crate) const UNINITIALIZED: Self = Self(sys::cudaErrorDeviceUninitialized);
    pub(crate) const NOT_FOUND: Self = Self(sys::cudaErrorSymbolNotFound);
    pub(crate) const NOT_SUPPORTED: Self = Self(sys::cudaErrorNotSupported);
    pub(crate) const UNKNOWN: Self = Self(sys::cudaErrorUnknown);

    /// Its number, once it is remembered as this thread's last error.
    pub(crate) fn recorded(self) -> u32 {
        LAST.set(self.0);
        self.0
    }
}

impl From<driver_api::Error> for Error {
    fn from(error: driver_api::Error) -> Self {
        Self(error.0)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&name(self.0).to_string_lossy())
    }
}

thread_local! {
    static LAST: Cell<u32> = const { Cell::new(0) };
}

/// This thread's last error, which `forget` makes success.
pub(crate) fn last(forget: bool) -> u32 {
    if forget { LAST.replace(0) } else { LAST.get() }
}

/// An error's name.
pub(crate) fn name(number: u32) -> &'static CStr {
    let known = NAMES.iter().find(|(known, _)| *known == number);
    known.map_or(c"unrecognized error code", |(_, name)| name)
}

/// What an error means: the driver's words if it knows it, ours for those of the runtime alone, or else its name.
pub(crate) fn description(number: u32) -> &'static CStr {
    if let Some((_, words)) = OURS.iter().find(|(known, _)| *known == number) {
        return words;
    }
    let mut words = std::ptr::null();
    // SAFETY: the pointer is a place for a pointer; what the driver puts there is a constant of its own.
    let known = unsafe { driver_api::cu::cuGetErrorString(number, &raw mut words) };
    if known.is_err() || words.is_null() {
        return name(number);
    }
    // SAFETY: the driver's strings end and stay.
    unsafe { CStr::from_ptr(words) }
}

/// What errors mean that the driver does not have.
static OURS: &[(u32, &CStr)] = &[
    (sys::cudaSuccess, c"no error"),
    (sys::cudaErrorInvalidConfiguration, c"invalid configuration argument"),
    (sys::cudaErrorInvalidPitchValue, c"invalid pitch argument"),
    (sys::cudaErrorInvalidSymbol, c"invalid device symbol"),
    (sys::cudaErrorInvalidHostPointer, c"invalid host pointer"),
    (sys::cudaErrorInvalidDevicePointer, c"invalid device pointer"),
    (sys::cudaErrorInvalidTexture, c"invalid texture reference"),
    (sys::cudaErrorInvalidTextureBinding, c"texture is not bound to a pointer"),
    (sys::cudaErrorInvalidChannelDescriptor, c"invalid channel descriptor"),
    (sys::cudaErrorInvalidMemcpyDirection, c"invalid copy direction for memcpy"),
    (sys::cudaErrorInvalidFilterSetting, c"linear filtering not supported for non-float type"),
    (sys::cudaErrorInvalidNormSetting, c"read as normalized float not supported for 32-bit non float type"),
    (sys::cudaErrorInsufficientDriver, c"CUDA driver version is insufficient for CUDA runtime version"),
    (sys::cudaErrorInvalidSurface, c"invalid surface reference"),
    (sys::cudaErrorDuplicateVariableName, c"duplicate global variable looked up by string name"),
    (sys::cudaErrorDevicesUnavailable, c"all CUDA-capable devices are busy or unavailable"),
    (sys::cudaErrorMissingConfiguration, c"__global__ function call is not configured"),
    (sys::cudaErrorInvalidDeviceFunction, c"invalid device function"),
    (sys::cudaErrorStartupFailure, c"startup failure in cuda runtime"),
];
