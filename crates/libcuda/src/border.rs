//! What every function does around its work.

use crate::journal;
use driver::{Error, Result};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Shows arguments.
pub(crate) struct Arguments<F>(pub(crate) F);

impl<F: Fn(&mut fmt::Formatter<'_>) -> fmt::Result> fmt::Display for Arguments<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.0)(f)
    }
}

/// Runs a function's work: no panic passes, and a trace shows the call.
pub(crate) fn call(name: &str, arguments: &dyn fmt::Display, work: impl FnOnce() -> Result<()>) -> u32 {
    let logged = journal::calls_are_logged();
    let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        log::error!("{name} failed inside; please report it");
        Err(Error::Unknown)
    });
    if logged {
        let answer = result.err().map_or("CUDA_SUCCESS", Error::name);
        log::trace!(target: journal::API, "{name}({arguments}) = {answer}");
    }
    result.err().map_or(0, |error| error as u32)
}

/// Functions of the API; their bodies return `Result<()>`.
macro_rules! define {
    ($(fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => {$(
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub(crate) unsafe extern "C" fn $name($($arg: $ty),*) -> u32 {
            let arguments = $crate::border::Arguments(|f: &mut std::fmt::Formatter<'_>| {
                let _ = &f;
                let mut _between = "";
                $(
                    write!(f, concat!("{}", stringify!($arg), "={:?}"), _between, $arg)?;
                    _between = ", ";
                )*
                Ok(())
            });
            $crate::border::call(stringify!($name), &arguments, || {
                // SAFETY: whoever calls a function of CUDA's promises what its manual asks of the pointers. They are
                // compared with null before they are used; everything else is a number that is looked up.
                #[allow(unused_unsafe)]
                unsafe { $body }
            })
        }
    )*};
}
pub(crate) use define;

/// Functions of the API whose types are compared with those of `cuda.h`.
macro_rules! api {
    ($(fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => {
        $crate::border::define! { $(fn $name($($arg: $ty),*) $body)* }
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

/// A function that is not implemented. It takes no arguments: in C's calling convention those it gets do no harm.
macro_rules! unsupported {
    ($name:ident) => {
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub(crate) extern "C" fn $name() -> u32 {
            static SAID: std::sync::Once = std::sync::Once::new();
            let _ = $crate::journal::calls_are_logged();
            SAID.call_once(|| log::warn!(concat!(stringify!($name), " is not supported")));
            driver::Error::NotSupported as u32
        }
    };
}
pub(crate) use unsupported;
