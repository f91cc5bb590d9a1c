//! What every function does around its work.

use driver::{Error, Result};

/// Runs a function's work.
pub(crate) fn call(name: &str, arguments: &ffi::Arguments<'_>, work: impl FnOnce() -> Result<()>) -> u32 {
    let result =
        ffi::call(name, arguments, work, Error::Unknown, "CUDA_SUCCESS", |error| error.name().to_owned());
    result.err().map_or(0, |error| error as u32)
}

/// Functions of the API, whose types are compared with those of `cuda.h`; their bodies return `Result<()>`.
/// `#[order(...)]` above one says what it looks at first ([`crate::order`]).
macro_rules! api {
    ($(
        $(#[order($($step:ident $(($of:ident $(, $count:ident)?))?),*)])?
        fn $name:ident($($args:tt)*) $body:block
    )*) => {
        ffi::define! { $crate::ffi::call; $(fn $name($($args)*) {
            $($($crate::order::$step($(&$of $(, $count)?)?)?;)*)?
            $body
        })* }
        $(const _: $crate::sys::functions::$name = $name;)*
    };
}
pub(crate) use api;

/// A function that does what another does, with the per-thread default stream in place of the legacy one if so said.
macro_rules! twin {
    ($name:ident, $original:ident, $per_thread:literal, ($($arg:ident: $ty:ty),* $(,)?)) => {
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub(crate) unsafe extern "C" fn $name($($arg: $ty),*) -> u32 {
            // SAFETY: the caller's promises are those of the other function.
            $crate::state::with_default_stream($per_thread, || unsafe { $crate::api::$original($($arg),*) })
        }
    };
}
pub(crate) use twin;

/// A function that is not implemented.
macro_rules! unsupported {
    ($name:ident) => {
        ffi::unsupported! { $name, crate::order::initialised().err().unwrap_or(driver::Error::NotSupported) as u32 }
    };
}
pub(crate) use unsupported;
