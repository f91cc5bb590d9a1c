//! Results of functions: `nvJitLinkResult`.

use std::fmt;

/// A result other than success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Error(u32);

impl Error {
    pub(crate) const UNRECOGNIZED_OPTION: Self = Self(1);
    pub(crate) const MISSING_ARCH: Self = Self(2);
    pub(crate) const INVALID_INPUT: Self = Self(3);
    pub(crate) const PTX_COMPILE: Self = Self(4);
    pub(crate) const NVVM_COMPILE: Self = Self(5);
    pub(crate) const INTERNAL: Self = Self(6);
    pub(crate) const NULL_INPUT: Self = Self(10);
    pub(crate) const UNRECOGNIZED_ARCH: Self = Self(16);
    pub(crate) const LTO_NOT_ENABLED: Self = Self(18);
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nvJitLinkResult {}", self.0)
    }
}

/// Runs a function's work.
pub(crate) fn call(
    name: &str,
    arguments: &ffi::Arguments<'_>,
    work: impl FnOnce() -> Result<(), Error>,
) -> u32 {
    let result = ffi::call(name, arguments, work, Error::INTERNAL, "NVJITLINK_SUCCESS", Error::to_string);
    result.err().map_or(0, |error| error.0)
}

/// Functions of `nvJitLink.h`; their bodies return a result without a value.
macro_rules! define {
    ($($functions:tt)*) => { ffi::define! { $crate::result::call; $($functions)* } };
}
pub(crate) use define;
