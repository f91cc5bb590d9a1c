//! What every function of a C library does around its work.
//!
//! No panic passes, a trace shows the call ([`journal`]) and what it wrote ([`outputs`]), and the program's pointers are compared with null
//! before they are used. The libraries `libcuda`, `libcudart` and `libnvml` are made of [`define!`], [`unsupported!`]
//! and the functions that [`pointers!`] gives them.

pub mod journal;
pub mod outputs;

#[doc(hidden)]
pub use log;

use outputs::{Notes, Written};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Writes the arguments of a call, each with what the call wrote behind it.
pub type Arguments<'a> = dyn Fn(&Written) -> String + 'a;

/// An argument for a trace.
pub fn argument(name: &str, value: &dyn fmt::Debug, written: &Written) -> String {
    let value = format!("{value:?}");
    match written.behind(&value) {
        Some(behind) => format!("{name}={value} -> {behind}"),
        None => format!("{name}={value}"),
    }
}

/// Runs a function's work; `inside` is the error that stands for a panic, `success` and `shown` what is traced.
pub fn call<E>(
    name: &str,
    arguments: &Arguments<'_>,
    work: impl FnOnce() -> Result<(), E>,
    inside: E,
    success: &str,
    shown: impl Fn(&E) -> String,
) -> Result<(), E> {
    let notes = journal::calls_are_logged().then(Notes::begin);
    let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        log::error!("{name} failed inside; please report it");
        Err(inside)
    });
    if let Some(notes) = notes {
        let answer = result.as_ref().err().map_or_else(|| success.to_owned(), shown);
        let arguments = arguments(&notes.end());
        log::trace!(target: journal::API, "{name}({arguments}) = {answer}");
    }
    result
}

/// Functions of an API; their bodies return a result without a value. `$call` is the crate's own form of [`call`], which
/// returns the number that the function returns.
#[macro_export]
macro_rules! define {
    ($call:path; $(fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => {$(
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub(crate) unsafe extern "C" fn $name($($arg: $ty),*) -> u32 {
            let arguments = |_written: &$crate::outputs::Written| {
                let shown: &[String] = &[$($crate::argument(stringify!($arg), &$arg, _written)),*];
                shown.join(", ")
            };
            $call(stringify!($name), &arguments, || {
                // SAFETY: whoever calls a function of CUDA's promises what its manual asks of the pointers. They are
                // compared with null before they are used; everything else is a number that is looked up.
                #[allow(unused_unsafe)]
                unsafe { $body }
            })
        }
    )*};
}

/// A function that is not implemented: it returns `$number` and says so, once. It takes no arguments: in C's calling
/// convention those it gets do no harm.
#[macro_export]
macro_rules! unsupported {
    ($name:ident, $number:expr) => {
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub(crate) extern "C" fn $name() -> u32 {
            static SAID: std::sync::Once = std::sync::Once::new();
            let _ = $crate::journal::calls_are_logged();
            SAID.call_once(|| $crate::log::warn!(concat!(stringify!($name), " is not supported")));
            $number
        }
    };
}

/// Functions that read and write through the program's pointers; `$invalid` is the error that a null pointer is.
#[macro_export]
macro_rules! pointers {
    ($error:ty, $invalid:expr) => {
        /// Writes a result.
        ///
        /// # Safety
        /// The pointer is null or may be written.
        #[allow(dead_code)]
        pub(crate) unsafe fn put<T>(pointer: *mut T, value: T) -> Result<(), $error> {
            if pointer.is_null() {
                return Err($invalid);
            }
            // SAFETY: by contract, and what C gets is plain data. C programs may pass a pointer that is not aligned.
            unsafe {
                $crate::outputs::note(pointer, &value);
                pointer.write_unaligned(value);
            }
            Ok(())
        }

        /// Writes a result that the program may not want.
        ///
        /// # Safety
        /// The pointer is null or may be written.
        #[allow(dead_code)]
        pub(crate) unsafe fn put_if<T>(pointer: *mut T, value: T) {
            // SAFETY: by contract; null is an answer, not a mistake.
            let _ = unsafe { put(pointer, value) };
        }

        /// Reads a value.
        ///
        /// # Safety
        /// The pointer is null or may be read.
        #[allow(dead_code)]
        pub(crate) unsafe fn get<T: Copy>(pointer: *const T) -> Result<T, $error> {
            if pointer.is_null() {
                return Err($invalid);
            }
            // SAFETY: by contract.
            Ok(unsafe { pointer.read_unaligned() })
        }

        /// The bytes behind a pointer.
        ///
        /// # Safety
        /// The pointer is null or `bytes` bytes may be read until the borrow ends.
        #[allow(dead_code)]
        pub(crate) unsafe fn bytes<'a>(
            pointer: *const std::ffi::c_void,
            bytes: usize,
        ) -> Result<&'a [u8], $error> {
            match pointer.is_null() {
                _ if bytes == 0 => Ok(&[]),
                true => Err($invalid),
                // SAFETY: by contract.
                false => Ok(unsafe { std::slice::from_raw_parts(pointer.cast(), bytes) }),
            }
        }

        /// A name.
        ///
        /// # Safety
        /// The pointer is null or points to a string that ends.
        #[allow(dead_code)]
        pub(crate) unsafe fn text<'a>(pointer: *const std::ffi::c_char) -> Result<&'a str, $error> {
            if pointer.is_null() {
                return Err($invalid);
            }
            // SAFETY: by contract.
            unsafe { std::ffi::CStr::from_ptr(pointer) }.to_str().map_err(|_| $invalid)
        }

        /// Writes text into a buffer of `size` bytes, cut to fit, with a zero at its end.
        ///
        /// # Safety
        /// The pointer is null or `size` bytes may be written.
        #[allow(dead_code)]
        pub(crate) unsafe fn put_text(
            buffer: *mut std::ffi::c_char,
            size: usize,
            text: &str,
        ) -> Result<(), $error> {
            if buffer.is_null() || size == 0 {
                return Err($invalid);
            }
            let shown = text.len().min(size - 1);
            // SAFETY: by contract; the text is shorter than the buffer.
            unsafe {
                buffer.copy_from_nonoverlapping(text.as_ptr().cast(), shown);
                buffer.add(shown).write(0);
            }
            $crate::outputs::note_text(
                buffer.addr(),
                format!("{:?}", String::from_utf8_lossy(&text.as_bytes()[..shown])),
            );
            Ok(())
        }
    };
}
