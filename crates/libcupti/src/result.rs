//! Results of functions: `CUptiResult`.

use std::ffi::CStr;
use std::fmt;

/// A result other than success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Error(u32);

/// What is said of a result.
pub(crate) struct Words {
    number: u32,
    /// The name of its constant.
    pub(crate) name: &'static CStr,
    /// What it means.
    pub(crate) message: &'static CStr,
}

impl Error {
    pub(crate) const INVALID_PARAMETER: Self = Self(1);
    const UNKNOWN: Self = Self(999);

    /// The words for any result.
    pub(crate) fn known(number: u32) -> Result<&'static Words, Self> {
        WORDS.iter().find(|words| words.number == number).ok_or(Self::INVALID_PARAMETER)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Self::known(self.0) {
            Ok(words) => f.write_str(&words.name.to_string_lossy()),
            Err(_) => write!(f, "{}", self.0),
        }
    }
}

/// Runs a function's work.
pub(crate) fn call(
    name: &str,
    arguments: &ffi::Arguments<'_>,
    work: impl FnOnce() -> Result<(), Error>,
) -> u32 {
    let result = ffi::call(name, arguments, work, Error::UNKNOWN, "CUPTI_SUCCESS", Error::to_string);
    result.err().map_or(0, |error| error.0)
}

/// Functions of `cupti_version.h` and `cupti_result.h`; their bodies return a result without a value.
macro_rules! define {
    ($($functions:tt)*) => { ffi::define! { $crate::result::call; $($functions)* } };
}
pub(crate) use define;

macro_rules! words {
    ($($number:literal $name:literal $message:literal)*) => {
        &[$(Words { number: $number, name: $name, message: $message }),*]
    };
}

/// The results of `cupti_result.h`.
static WORDS: &[Words] = words! {
    0 c"CUPTI_SUCCESS" c"no error"
    1 c"CUPTI_ERROR_INVALID_PARAMETER" c"a parameter is invalid"
    2 c"CUPTI_ERROR_INVALID_DEVICE" c"the device is invalid"
    3 c"CUPTI_ERROR_INVALID_CONTEXT" c"the context is invalid"
    4 c"CUPTI_ERROR_INVALID_EVENT_DOMAIN_ID" c"the event domain is invalid"
    5 c"CUPTI_ERROR_INVALID_EVENT_ID" c"the event is invalid"
    6 c"CUPTI_ERROR_INVALID_EVENT_NAME" c"there is no event of this name"
    7 c"CUPTI_ERROR_INVALID_OPERATION" c"the operation is invalid here"
    8 c"CUPTI_ERROR_OUT_OF_MEMORY" c"out of memory"
    9 c"CUPTI_ERROR_HARDWARE" c"the hardware failed"
    10 c"CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT" c"the buffer is too small"
    11 c"CUPTI_ERROR_API_NOT_IMPLEMENTED" c"the function is not implemented"
    12 c"CUPTI_ERROR_MAX_LIMIT_REACHED" c"the limit is reached"
    13 c"CUPTI_ERROR_NOT_READY" c"not ready yet"
    14 c"CUPTI_ERROR_NOT_COMPATIBLE" c"not compatible with what is done already"
    15 c"CUPTI_ERROR_NOT_INITIALIZED" c"not initialised"
    16 c"CUPTI_ERROR_INVALID_METRIC_ID" c"the metric is invalid"
    17 c"CUPTI_ERROR_INVALID_METRIC_NAME" c"there is no metric of this name"
    18 c"CUPTI_ERROR_QUEUE_EMPTY" c"the queue is empty"
    19 c"CUPTI_ERROR_INVALID_HANDLE" c"the handle is invalid"
    20 c"CUPTI_ERROR_INVALID_STREAM" c"the stream is invalid"
    21 c"CUPTI_ERROR_INVALID_KIND" c"the kind is invalid"
    22 c"CUPTI_ERROR_INVALID_EVENT_VALUE" c"the event has an invalid value"
    23 c"CUPTI_ERROR_DISABLED" c"disabled"
    24 c"CUPTI_ERROR_INVALID_MODULE" c"the module is invalid"
    25 c"CUPTI_ERROR_INVALID_METRIC_VALUE" c"the metric has an invalid value"
    26 c"CUPTI_ERROR_HARDWARE_BUSY" c"the hardware is busy"
    27 c"CUPTI_ERROR_NOT_SUPPORTED" c"not supported"
    28 c"CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED" c"profiling of unified memory is not supported"
    29 c"CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_DEVICE" c"profiling of unified memory is not supported on this device"
    30 c"CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_NON_P2P_DEVICES" c"profiling of unified memory needs peer access between the devices"
    31 c"CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_WITH_MPS" c"profiling of unified memory is not supported with the Multi-Process Service"
    32 c"CUPTI_ERROR_CDP_TRACING_NOT_SUPPORTED" c"dynamic parallelism is not traced"
    33 c"CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED" c"virtualised devices are not supported"
    34 c"CUPTI_ERROR_CUDA_COMPILER_NOT_COMPATIBLE" c"the CUDA compiler is not compatible"
    35 c"CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" c"not permitted"
    36 c"CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED" c"an older profiling interface is in use"
    37 c"CUPTI_ERROR_OPENACC_UNDEFINED_ROUTINE" c"an OpenACC routine is missing"
    38 c"CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED" c"the older profiling interface does not support this device"
    39 c"CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" c"there is a subscriber already"
    40 c"CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES" c"not permitted on this virtualised device"
    41 c"CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED" c"not supported with confidential computing"
    42 c"CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED" c"not supported on mining processors"
    43 c"CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED" c"not supported on parts of a device"
    44 c"CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED" c"not supported with linked devices"
    45 c"CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED" c"not supported on Windows' subsystem for Linux"
    999 c"CUPTI_ERROR_UNKNOWN" c"unknown error"
};
