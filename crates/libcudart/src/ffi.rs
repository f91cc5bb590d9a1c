//! What every function does around its work.

use crate::error::{Error, Result};

/// Reading and writing through the program's pointers.
pub(crate) mod pointers {
    ffi::pointers! { crate::error::Error, crate::error::Error::INVALID_VALUE }
}

/// Runs a function's work and remembers its error.
pub(crate) fn call(name: &str, arguments: &ffi::Arguments<'_>, work: impl FnOnce() -> Result<()>) -> u32 {
    match ffi::call(name, arguments, work, Error::UNKNOWN, "cudaSuccess", |error| error.to_string()) {
        Ok(()) => 0,
        Err(error) => error.recorded(),
    }
}

/// Functions that no header declares; their bodies return `Result<()>`.
macro_rules! define {
    ($($functions:tt)*) => { ffi::define! { $crate::ffi::call; $($functions)* } };
}
pub(crate) use define;

/// Functions of the API whose types are compared with those of `cuda_runtime_api.h`.
macro_rules! api {
    ($(fn $name:ident($($args:tt)*) $body:block)*) => {
        $crate::ffi::define! { $(fn $name($($args)*) $body)* }
        $(const _: $crate::sys::functions::$name = $name;)*
    };
}
pub(crate) use api;

/// A value of the one API as the other's type for the same thing.
///
/// # Safety
/// Both are plain data of C's, and every value of the one is a value of the other.
pub(crate) unsafe fn same<A: Copy, B: Copy>(value: A) -> B {
    const { assert!(size_of::<A>() == size_of::<B>(), "types of different sizes") };
    // SAFETY: they have the same size; the rest by contract.
    unsafe { std::mem::transmute_copy(&value) }
}

/// A function that is one of the driver's.
macro_rules! forward {
    ($name:ident, $target:ident, $context:path, ($($arg:ident: $ty:ty),* $(,)?)) => {
        $crate::ffi::api! {
            fn $name($($arg: $ty),*) {
                $context()?;
                // SAFETY: the other function's manual asks the same of the same pointers, and its types are of the same size.
                unsafe { Ok(driver_api::cu::$target($($crate::ffi::same($arg)),*)?) }
            }
        }
    };
}
pub(crate) use forward;

/// A function that does what another does, with the per-thread default stream in place of the legacy one if so said.
macro_rules! twin {
    ($name:ident, $original:path, $per_thread:literal, ($($arg:ident: $ty:ty),* $(,)?)) => {
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub(crate) unsafe extern "C" fn $name($($arg: $ty),*) -> u32 {
            // SAFETY: the caller's promises are those of the other function.
            let work = || unsafe { $original($($arg),*) };
            if $per_thread { driver_api::with_default_stream(true, work) } else { work() }
        }
    };
}
pub(crate) use twin;
