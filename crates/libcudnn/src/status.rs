//! Results of functions: `cudnnStatus_t`.

use std::ffi::CStr;
use std::fmt;

/// A status other than success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Error(u32);

impl Error {
    pub(crate) const BAD_PARAM: Self = Self(2000);
    pub(crate) const NULL_POINTER: Self = Self(2002);
    const INTERNAL: Self = Self(4000);
}

/// The names of those that functions of ours return.
static NAMES: &[(u32, &CStr)] = &[
    (0, c"CUDNN_STATUS_SUCCESS"),
    (2000, c"CUDNN_STATUS_BAD_PARAM"),
    (2002, c"CUDNN_STATUS_BAD_PARAM_NULL_POINTER"),
    (crate::NOT_SUPPORTED, c"CUDNN_STATUS_NOT_SUPPORTED"),
    (4000, c"CUDNN_STATUS_INTERNAL_ERROR"),
];

/// What `cudnnGetErrorString` says.
pub(crate) fn name(status: u32) -> &'static CStr {
    let known = NAMES.iter().find(|(number, _)| *number == status);
    known.map_or(c"CUDNN_UNKNOWN_STATUS", |(_, name)| name)
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&name(self.0).to_string_lossy())
    }
}

/// Runs a function's work.
pub(crate) fn call(
    name: &str,
    arguments: &ffi::Arguments<'_>,
    work: impl FnOnce() -> Result<(), Error>,
) -> u32 {
    let result = ffi::call(name, arguments, work, Error::INTERNAL, "CUDNN_STATUS_SUCCESS", Error::to_string);
    result.err().map_or(0, |error| error.0)
}

/// Functions of `cudnn_graph.h`; their bodies return a result without a value.
macro_rules! define {
    ($($functions:tt)*) => { ffi::define! { $crate::status::call; $($functions)* } };
}
pub(crate) use define;
