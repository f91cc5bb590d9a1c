//! The CUDA driver API as a program calls it: `libcuda.so.1`, opened when it is first used.
//!
//! `libcudart` and `libnvml` are programs of the driver API, and so is `real-gpu`, which is the one way to a real GPU.
//! That makes one driver of a process: the streams, events, contexts and kernels of the runtime are the driver's own, as
//! CUDA promises to programs that use both.
//!
//! The functions of [`cu`] have the names of `cuda.h`'s symbols, with their versions, and return `Result`. A function
//! that the driver does not have is an error, as a missing driver is; why that is missing goes to the crate `log`.

use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

pub use cuda_headers::cuda as sys;

/// The functions of `cuda.h`.
///
/// # Safety
/// What the manual of each function asks of its pointers.
#[allow(non_snake_case, missing_docs, clippy::missing_safety_doc, clippy::too_many_arguments)]
pub mod cu {
    #[allow(clippy::wildcard_imports)]
    use crate::sys::*;
    use std::ffi::*;
    include!(concat!(env!("OUT_DIR"), "/calls.rs"));
}

/// A `CUresult` other than success. The runtime API gives its errors the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error(
    /// The number.
    pub u32,
);

/// What the driver's functions return.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A pointer is null, or a number means nothing.
    pub const INVALID_VALUE: Self = Self(sys::CUDA_ERROR_INVALID_VALUE);
    /// There is no driver, or it is too old for CUDA's runtime: a number that only the runtime has.
    pub const NO_DRIVER: Self = Self(35);
    /// The driver lacks a function.
    pub const NEWER_DRIVER: Self = Self(36);
}

/// The driver's library, as its own installer names it.
pub const LIBRARY: &str = "libcuda.so.1";

/// The library, opened by whoever comes first, or why there is none. It stays open.
fn library() -> &'static std::result::Result<libloading::Library, String> {
    static OPENED: OnceLock<std::result::Result<libloading::Library, String>> = OnceLock::new();
    OPENED.get_or_init(|| {
        // SAFETY: a driver's library may be loaded at any time.
        let library = unsafe { libloading::Library::new(LIBRARY) };
        library
            .map_err(|error| error.to_string())
            .inspect_err(|error| log::error!("there is no CUDA driver: {error}"))
    })
}

/// Why there is no driver, if there is none.
pub fn missing() -> Option<&'static str> {
    library().as_ref().err().map(String::as_str)
}

/// Opens the driver and initialises it, once.
pub fn initialise() -> Result<()> {
    static INITIALISED: OnceLock<Result<()>> = OnceLock::new();
    // SAFETY: the function takes a number.
    *INITIALISED.get_or_init(|| unsafe { cu::cuInit(0) })
}

thread_local! {
    static PER_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// Makes calls within `work` take the null stream for this thread's default stream, if so said.
pub fn with_default_stream<T>(per_thread: bool, work: impl FnOnce() -> T) -> T {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            PER_THREAD.set(self.0);
        }
    }
    let _restore = Restore(PER_THREAD.replace(per_thread));
    work()
}

/// Whether calls take the null stream for this thread's default stream.
pub fn per_thread() -> bool {
    PER_THREAD.get()
}

/// A function of the driver's, with its twin for the per-thread default stream.
#[doc(hidden)]
#[derive(Debug)]
pub struct Entry {
    names: [Option<&'static CStr>; 2],
    addresses: [AtomicPtr<c_void>; 2],
}

impl Entry {
    #[doc(hidden)]
    pub const fn new(name: &'static CStr, twin: Option<&'static CStr>) -> Self {
        let addresses = [const { AtomicPtr::new(std::ptr::null_mut()) }; 2];
        Self { names: [Some(name), twin], addresses }
    }

    #[doc(hidden)]
    pub fn address(&self) -> Result<*mut c_void> {
        let which = usize::from(self.names[1].is_some() && PER_THREAD.get());
        let known = self.addresses[which].load(Ordering::Relaxed);
        if !known.is_null() {
            return Ok(known);
        }
        let name = self.names[which].ok_or(Error::NEWER_DRIVER)?;
        let library = library().as_ref().map_err(|_| Error::NO_DRIVER)?;
        // SAFETY: only the symbol's address is taken here; its type is the business of who calls it.
        let found = unsafe { library.get::<*mut c_void>(name.to_bytes_with_nul()) };
        let address = found.map(|symbol| *symbol).map_err(|_| Error::NEWER_DRIVER)?;
        self.addresses[which].store(address, Ordering::Relaxed);
        Ok(address)
    }
}

/// A function of [`cu`].
macro_rules! call {
    ($name:ident, $symbol:literal, $twin:expr, ($($arg:ident: $ty:ty),* $(,)?), ($($passed:ident),* $(,)?)) => {
        pub unsafe fn $name($($arg: $ty),*) -> crate::Result<()> {
            static ENTRY: crate::Entry = crate::Entry::new($symbol, $twin);
            let address = ENTRY.address()?;
            // SAFETY: the symbol has the type that `cuda.h` gives it; the caller promises what its manual asks.
            let result = unsafe {
                std::mem::transmute::<*mut std::ffi::c_void, functions::$name>(address)($($passed),*)
            };
            if result == CUDA_SUCCESS { Ok(()) } else { Err(crate::Error(result)) }
        }
    };
}
use call;
