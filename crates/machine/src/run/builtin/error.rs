//! What the device runtime tells device code of what it refused, numbered and worded as `cudaError_t`.

use crate::device_runtime::Refusal;

/// Why a call of the device runtime failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Error {
    InvalidValue = 1,
    MemoryAllocation = 2,
    InvalidConfiguration = 9,
    InvalidMemcpyDirection = 21,
    LaunchPendingCountExceeded = 69,
    InvalidDevice = 101,
    UnsupportedLimit = 215,
    LaunchOutOfResources = 701,
    NotSupported = 801,
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Configuration => Self::InvalidConfiguration,
            Refusal::Pending => Self::LaunchPendingCountExceeded,
            Refusal::Resources => Self::LaunchOutOfResources,
            Refusal::Handle | Refusal::Fatal => Self::InvalidValue,
        }
    }
}

/// Name and description of an error, with a zero at the end of each. All that the device runtime knows are here.
pub(super) fn texts(error: u32) -> [&'static str; 2] {
    match error {
        0 => ["cudaSuccess\0", "no error\0"],
        1 => ["cudaErrorInvalidValue\0", "invalid argument\0"],
        2 => ["cudaErrorMemoryAllocation\0", "out of memory\0"],
        9 => ["cudaErrorInvalidConfiguration\0", "invalid configuration argument\0"],
        21 => ["cudaErrorInvalidMemcpyDirection\0", "invalid copy direction for memcpy\0"],
        69 => [
            "cudaErrorLaunchPendingCountExceeded\0",
            "launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount\0",
        ],
        101 => ["cudaErrorInvalidDevice\0", "invalid device ordinal\0"],
        215 => ["cudaErrorUnsupportedLimit\0", "limit is not supported on this architecture\0"],
        701 => ["cudaErrorLaunchOutOfResources\0", "too many resources requested for launch\0"],
        801 => ["cudaErrorNotSupported\0", "operation not supported\0"],
        _ => ["unrecognized error code\0"; 2],
    }
}
