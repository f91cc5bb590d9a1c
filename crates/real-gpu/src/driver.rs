//! What the driver answers: its errors, with their names and texts.

use driver_api::{LIBRARY, cu, sys};
use std::ffi::{CStr, c_char};

/// Why a GPU could not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No driver.
    #[error("no NVIDIA driver on this machine: {LIBRARY} not found")]
    NoDriver {
        /// What the loader said.
        loader: String,
    },
    /// A driver that lacks an entry point: it is older than CUDA 12.
    #[error("the NVIDIA driver of this machine is too old: {LIBRARY} has no {entry}")]
    TooOld {
        /// The entry point.
        entry: &'static str,
    },
    /// A driver without a device.
    #[error("the NVIDIA driver of this machine has no device")]
    NoDevice,
    /// A call that failed.
    #[error("{call}: {name} ({code}): {text}")]
    Call {
        /// The entry point.
        call: &'static str,
        /// The CUDA error's number.
        code: u32,
        /// Its name, such as `CUDA_ERROR_ILLEGAL_ADDRESS`.
        name: String,
        /// What the driver says about it.
        text: String,
    },
    /// A module that the driver does not load.
    #[error("the driver does not load the module: {name}\n{log}")]
    Load {
        /// The CUDA error's name.
        name: String,
        /// What the driver's assembler wrote.
        log: String,
    },
    /// Something that cannot be passed to the driver at all.
    #[error("{0}")]
    Argument(String),
}

impl Error {
    /// Whether the kernel itself was at fault, so that the context is lost: an illegal address, a trap, a misaligned
    /// access.
    pub fn is_fault(&self) -> bool {
        let Self::Call { code, .. } = self else { return false };
        matches!(
            *code,
            sys::CUDA_ERROR_ILLEGAL_ADDRESS | sys::CUDA_ERROR_ASSERT..=sys::CUDA_ERROR_LAUNCH_FAILED
        )
    }
}

/// The answer of a call as a result of this crate.
pub(crate) fn check(call: &'static str, answer: driver_api::Result<()>) -> Result<(), Error> {
    match answer {
        Ok(()) => Ok(()),
        Err(driver_api::Error::NO_DRIVER) => {
            Err(Error::NoDriver { loader: driver_api::missing().unwrap_or_default().to_owned() })
        }
        Err(driver_api::Error::NEWER_DRIVER) => Err(Error::TooOld { entry: call }),
        Err(driver_api::Error(code)) => Err(Error::Call {
            call,
            code,
            name: describe(cu::cuGetErrorName, code),
            text: describe(cu::cuGetErrorString, code),
        }),
    }
}

fn describe(
    which: unsafe fn(sys::CUresult, *mut *const c_char) -> driver_api::Result<()>,
    code: u32,
) -> String {
    let mut text = std::ptr::null();
    // SAFETY: the driver writes a pointer to a constant, or leaves null.
    let answer = unsafe { which(code, &mut text) };
    if answer.is_err() || text.is_null() {
        return "unknown error".to_owned();
    }
    // SAFETY: it is a zero-terminated string that lives as long as the library.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
