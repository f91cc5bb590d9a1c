//! What every function does around its work.

use crate::error::{Error, Result};

/// Reading and writing through the program's pointers.
pub(crate) mod pointers {
    use crate::error::{Error, Result};
    use border::pointers::{In, Out};

    /// Writes a result.
    ///
    /// # Safety
    /// The pointer is null or may be written.
    pub(crate) unsafe fn put<T>(pointer: *mut T, value: T) -> Result<()> {
        // SAFETY: by contract.
        if unsafe { Out::new(pointer) }.write(value) { Ok(()) } else { Err(Error::INVALID_VALUE) }
    }

    /// Writes a result that the program may not want.
    ///
    /// # Safety
    /// As [`put`].
    pub(crate) unsafe fn put_if<T>(pointer: *mut T, value: T) {
        // SAFETY: by contract.
        unsafe { Out::new(pointer) }.write(value);
    }

    /// Reads a value.
    ///
    /// # Safety
    /// The pointer is null or may be read.
    pub(crate) unsafe fn get<T: Copy>(pointer: *const T) -> Result<T> {
        // SAFETY: by contract.
        unsafe { In::new(pointer) }.read().ok_or(Error::INVALID_VALUE)
    }
}

/// Runs a function's work and remembers its error.
pub(crate) fn call(name: &str, arguments: &border::Arguments<'_>, work: impl FnOnce() -> Result<()>) -> u32 {
    match border::call(name, arguments, work, Error::UNKNOWN, "cudaSuccess", |error| error.to_string()) {
        Ok(()) => 0,
        Err(error) => error.recorded(),
    }
}

/// Functions that no header declares; their bodies return `Result<()>`. Most of what a body does is to call the driver with the
/// pointers that it was given, so that they stay pointers and the body is unsafe as a whole.
macro_rules! define {
    ($(fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => {
        border::define! { $crate::border::call; $(fn $name($($arg: $ty),*) {
            // SAFETY: whoever calls a function of CUDA's promises what its manual asks of the pointers, as the driver does of those
            // that it is called with. Everything else is a number that is looked up.
            #[allow(unused_unsafe)]
            unsafe { $body }
        })* }
    };
}
pub(crate) use define;

/// Functions of the API whose types are compared with those of `cuda_runtime_api.h`.
macro_rules! api {
    ($(fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => {
        $crate::border::define! { $(fn $name($($arg: $ty),*) $body)* }
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
    ($name:ident, $target:ident, $contextual:literal, ($($arg:ident: $ty:ty),* $(,)?)) => {
        $crate::border::api! {
            fn $name($($arg: $ty),*) {
                if $contextual { $crate::context::ensure()? } else { client::initialise()? };
                Ok(client::cu::$target($($crate::border::same($arg)),*)?)
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
            if $per_thread { client::with_default_stream(true, work) } else { work() }
        }
    };
}
pub(crate) use twin;
