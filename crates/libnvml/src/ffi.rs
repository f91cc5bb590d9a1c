//! What every function does around its work.

use crate::sys;
use std::ffi::CStr;
use std::fmt;

/// A `nvmlReturn_t` other than success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Error(pub(crate) sys::nvmlReturn_t);

/// What functions return.
pub(crate) type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) const UNINITIALIZED: Self = Self(sys::NVML_ERROR_UNINITIALIZED);
    pub(crate) const INVALID_ARGUMENT: Self = Self(sys::NVML_ERROR_INVALID_ARGUMENT);
    pub(crate) const NOT_SUPPORTED: Self = Self(sys::NVML_ERROR_NOT_SUPPORTED);
    pub(crate) const NOT_FOUND: Self = Self(sys::NVML_ERROR_NOT_FOUND);
    pub(crate) const INSUFFICIENT_SIZE: Self = Self(sys::NVML_ERROR_INSUFFICIENT_SIZE);
    pub(crate) const DRIVER_NOT_LOADED: Self = Self(sys::NVML_ERROR_DRIVER_NOT_LOADED);
    pub(crate) const VERSION: Self = Self(sys::NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    pub(crate) const UNKNOWN: Self = Self(sys::NVML_ERROR_UNKNOWN);

    /// What it means.
    pub(crate) fn description(self) -> &'static CStr {
        let known = DESCRIPTIONS.iter().find(|(number, _)| *number == self.0);
        known.map_or(c"Unknown Error", |(_, words)| words)
    }
}

/// The driver's errors: those that say why there is none, and others, which nobody expects.
impl From<driver_api::Error> for Error {
    fn from(error: driver_api::Error) -> Self {
        match error {
            driver_api::Error::NO_DRIVER => Self::DRIVER_NOT_LOADED,
            driver_api::Error::INVALID_VALUE => Self::INVALID_ARGUMENT,
            _ => Self::UNKNOWN,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.description().to_string_lossy())
    }
}

/// What `nvmlErrorString` says.
static DESCRIPTIONS: &[(sys::nvmlReturn_t, &CStr)] = &[
    (sys::NVML_SUCCESS, c"Success"),
    (sys::NVML_ERROR_UNINITIALIZED, c"Uninitialized"),
    (sys::NVML_ERROR_INVALID_ARGUMENT, c"Invalid Argument"),
    (sys::NVML_ERROR_NOT_SUPPORTED, c"Not Supported"),
    (sys::NVML_ERROR_NO_PERMISSION, c"Insufficient Permissions"),
    (sys::NVML_ERROR_ALREADY_INITIALIZED, c"Already Initialized"),
    (sys::NVML_ERROR_NOT_FOUND, c"Not Found"),
    (sys::NVML_ERROR_INSUFFICIENT_SIZE, c"Insufficient Size"),
    (sys::NVML_ERROR_INSUFFICIENT_POWER, c"Insufficient External Power"),
    (sys::NVML_ERROR_DRIVER_NOT_LOADED, c"Driver Not Loaded"),
    (sys::NVML_ERROR_TIMEOUT, c"Timeout"),
    (sys::NVML_ERROR_IRQ_ISSUE, c"Interrupt Request Issue"),
    (sys::NVML_ERROR_LIBRARY_NOT_FOUND, c"NVML Shared Library Not Found"),
    (sys::NVML_ERROR_FUNCTION_NOT_FOUND, c"Function Not Found"),
    (sys::NVML_ERROR_CORRUPTED_INFOROM, c"Corrupted infoROM"),
    (sys::NVML_ERROR_GPU_IS_LOST, c"GPU is lost"),
    (sys::NVML_ERROR_RESET_REQUIRED, c"GPU requires restart"),
    (sys::NVML_ERROR_OPERATING_SYSTEM, c"The operating system has blocked the request."),
    (sys::NVML_ERROR_LIB_RM_VERSION_MISMATCH, c"Driver/library version mismatch"),
    (sys::NVML_ERROR_IN_USE, c"In use by another client"),
    (sys::NVML_ERROR_MEMORY, c"Insufficient Memory"),
    (sys::NVML_ERROR_NO_DATA, c"No data"),
    (sys::NVML_ERROR_INSUFFICIENT_RESOURCES, c"Insufficient Resources"),
    (sys::NVML_ERROR_ARGUMENT_VERSION_MISMATCH, c"Argument version mismatch"),
    (sys::NVML_ERROR_DEPRECATED, c"Deprecated"),
    (sys::NVML_ERROR_NOT_READY, c"Not Ready"),
    (sys::NVML_ERROR_GPU_NOT_FOUND, c"GPU not found"),
    (sys::NVML_ERROR_INVALID_STATE, c"Invalid State"),
];

/// Reading and writing through the program's pointers.
pub(crate) mod pointers {
    ffi::pointers! { crate::ffi::Error, crate::ffi::Error::INVALID_ARGUMENT }
}

/// Runs a function's work.
pub(crate) fn call(name: &str, arguments: &ffi::Arguments<'_>, work: impl FnOnce() -> Result<()>) -> u32 {
    let result = ffi::call(name, arguments, work, Error::UNKNOWN, "Success", |error| error.to_string());
    result.err().map_or(sys::NVML_SUCCESS, |error| error.0)
}

/// Functions whose types are compared with those of `nvml.h`; their bodies return `Result<()>`.
macro_rules! api {
    ($(fn $name:ident($($args:tt)*) $body:block)*) => {
        ffi::define! { $crate::ffi::call; $(fn $name($($args)*) $body)* }
        $(const _: $crate::sys::functions::$name = $name;)*
    };
}
pub(crate) use api;

/// A function about something that a virtual GPU does not have. That is an answer which tools expect, so nothing is said.
macro_rules! unsupported {
    ($name:ident) => {
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub(crate) extern "C" fn $name() -> u32 {
            match $crate::state::initialised() {
                Ok(()) => $crate::ffi::Error::NOT_SUPPORTED.0,
                Err(error) => error.0,
            }
        }
    };
}
pub(crate) use unsupported;
