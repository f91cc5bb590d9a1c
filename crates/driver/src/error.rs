//! Errors: `CUresult` as one enumeration. The numbers and names are CUDA's, so that a C library need only cast.

use machine::{LaunchError, LoadError, Trap, memory::MemoryError};

macro_rules! errors {
    ($($variant:ident = $code:literal, $name:literal, $text:literal;)*) => {
        /// Why the driver refuses, or what went wrong: a `CUresult` other than success.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u32)]
        pub enum Error {
            $(#[doc = $text] $variant = $code,)*
        }

        impl Error {
            /// Every error, by number.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Its name in `cuda.h`.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What it means, in a few words.
            pub fn description(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
}

errors! {
    InvalidValue = 1, "CUDA_ERROR_INVALID_VALUE", "invalid argument";
    OutOfMemory = 2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory";
    NotInitialized = 3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error";
    Deinitialized = 4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down";
    ProfilerDisabled = 5, "CUDA_ERROR_PROFILER_DISABLED", "profiler is disabled";
    ProfilerNotInitialized = 6, "CUDA_ERROR_PROFILER_NOT_INITIALIZED", "the profiler is not initialized";
    ProfilerAlreadyStarted = 7, "CUDA_ERROR_PROFILER_ALREADY_STARTED", "the profiler is already started";
    ProfilerAlreadyStopped = 8, "CUDA_ERROR_PROFILER_ALREADY_STOPPED", "the profiler is already stopped";
    StubLibrary = 34, "CUDA_ERROR_STUB_LIBRARY", "the library is a stub";
    CallRequiresNewerDriver = 36, "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", "the device API call needs a newer driver";
    DeviceUnavailable = 46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "the device is unavailable";
    NoDevice = 100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected";
    InvalidDevice = 101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal";
    DeviceNotLicensed = 102, "CUDA_ERROR_DEVICE_NOT_LICENSED", "the device has no license";
    InvalidImage = 200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid";
    InvalidContext = 201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context";
    ContextAlreadyCurrent = 202, "CUDA_ERROR_CONTEXT_ALREADY_CURRENT", "the context is already current";
    MapFailed = 205, "CUDA_ERROR_MAP_FAILED", "mapping of buffer object failed";
    UnmapFailed = 206, "CUDA_ERROR_UNMAP_FAILED", "unmapping of buffer object failed";
    ArrayIsMapped = 207, "CUDA_ERROR_ARRAY_IS_MAPPED", "array is mapped";
    AlreadyMapped = 208, "CUDA_ERROR_ALREADY_MAPPED", "resource already mapped";
    NoBinaryForGpu = 209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device";
    AlreadyAcquired = 210, "CUDA_ERROR_ALREADY_ACQUIRED", "the resource was already acquired";
    NotMapped = 211, "CUDA_ERROR_NOT_MAPPED", "resource not mapped";
    NotMappedAsArray = 212, "CUDA_ERROR_NOT_MAPPED_AS_ARRAY", "resource not mapped as array";
    NotMappedAsPointer = 213, "CUDA_ERROR_NOT_MAPPED_AS_POINTER", "resource not mapped as pointer";
    EccUncorrectable = 214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered";
    UnsupportedLimit = 215, "CUDA_ERROR_UNSUPPORTED_LIMIT", "limit is not supported on this architecture";
    ContextAlreadyInUse = 216, "CUDA_ERROR_CONTEXT_ALREADY_IN_USE", "exclusive-thread device already in use by a different thread";
    PeerAccessUnsupported = 217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "peer access is not supported between these two devices";
    InvalidPtx = 218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed";
    InvalidGraphicsContext = 219, "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT", "invalid graphics context";
    NvlinkUncorrectable = 220, "CUDA_ERROR_NVLINK_UNCORRECTABLE", "an NVLink error occurred";
    JitCompilerNotFound = 221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "the PTX JIT compiler is not available";
    UnsupportedPtxVersion = 222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the PTX was compiled with an unsupported toolchain";
    JitCompilationDisabled = 223, "CUDA_ERROR_JIT_COMPILATION_DISABLED", "PTX JIT compilation is disabled";
    UnsupportedExecAffinity = 224, "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY", "the execution affinity is not supported";
    UnsupportedDevsideSync = 225, "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC", "the code calls cudaDeviceSynchronize, which devices no longer have";
    Contained = 226, "CUDA_ERROR_CONTAINED", "an exception happened that the device contained";
    InvalidSource = 300, "CUDA_ERROR_INVALID_SOURCE", "device kernel source is invalid";
    FileNotFound = 301, "CUDA_ERROR_FILE_NOT_FOUND", "file not found";
    SharedObjectSymbolNotFound = 302, "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", "shared object symbol not found";
    SharedObjectInitFailed = 303, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", "shared object initialization failed";
    OperatingSystem = 304, "CUDA_ERROR_OPERATING_SYSTEM", "the operating system call failed";
    InvalidHandle = 400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle";
    IllegalState = 401, "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state";
    LossyQuery = 402, "CUDA_ERROR_LOSSY_QUERY", "the object cannot be opened for what it holds";
    NotFound = 500, "CUDA_ERROR_NOT_FOUND", "named symbol not found";
    NotReady = 600, "CUDA_ERROR_NOT_READY", "device not ready";
    IllegalAddress = 700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered";
    LaunchOutOfResources = 701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch";
    LaunchTimeout = 702, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated";
    LaunchIncompatibleTexturing = 703, "CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING", "the launch uses incompatible texturing";
    PeerAccessAlreadyEnabled = 704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled";
    PeerAccessNotEnabled = 705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access has not been enabled";
    PrimaryContextActive = 708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", "the primary context is already active";
    ContextIsDestroyed = 709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed";
    Assert = 710, "CUDA_ERROR_ASSERT", "device-side assert triggered";
    TooManyPeers = 711, "CUDA_ERROR_TOO_MANY_PEERS", "peer mapping resources exhausted";
    HostMemoryAlreadyRegistered = 712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped";
    HostMemoryNotRegistered = 713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region";
    HardwareStackError = 714, "CUDA_ERROR_HARDWARE_STACK_ERROR", "hardware stack error";
    IllegalInstruction = 715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered";
    MisalignedAddress = 716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address";
    InvalidAddressSpace = 717, "CUDA_ERROR_INVALID_ADDRESS_SPACE", "operation not supported on global or shared address space";
    InvalidPc = 718, "CUDA_ERROR_INVALID_PC", "invalid program counter";
    LaunchFailed = 719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure";
    CooperativeLaunchTooLarge = 720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch";
    TensorMemoryLeak = 721, "CUDA_ERROR_TENSOR_MEMORY_LEAK", "tensor memory was not freed at the end of the kernel";
    NotPermitted = 800, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted";
    NotSupported = 801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported";
    SystemNotReady = 802, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized";
    SystemDriverMismatch = 803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "the driver does not match the version of the system";
    CompatNotSupportedOnDevice = 804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "forward compatibility was attempted on hardware that does not support it";
    MpsConnectionFailed = 805, "CUDA_ERROR_MPS_CONNECTION_FAILED", "the MPS client could not connect";
    MpsRpcFailure = 806, "CUDA_ERROR_MPS_RPC_FAILURE", "the MPS remote procedure call failed";
    MpsServerNotReady = 807, "CUDA_ERROR_MPS_SERVER_NOT_READY", "the MPS server is not ready";
    MpsMaxClientsReached = 808, "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED", "the MPS server has too many clients";
    MpsMaxConnectionsReached = 809, "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED", "the MPS server has too many connections";
    MpsClientTerminated = 810, "CUDA_ERROR_MPS_CLIENT_TERMINATED", "the MPS client was terminated";
    CdpNotSupported = 811, "CUDA_ERROR_CDP_NOT_SUPPORTED", "dynamic parallelism is not supported here";
    CdpVersionMismatch = 812, "CUDA_ERROR_CDP_VERSION_MISMATCH", "an inconsistent state of MPS and the device";
    StreamCaptureUnsupported = 900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing";
    StreamCaptureInvalidated = 901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture";
    StreamCaptureMerge = 902, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "operation would result in a merge of separate capture sequences";
    StreamCaptureUnmatched = 903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "capture was not ended in the same stream as it began";
    StreamCaptureUnjoined = 904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work";
    StreamCaptureIsolation = 905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "dependency created on uncaptured work in another stream";
    StreamCaptureImplicit = 906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "operation would make the legacy stream depend on a capturing blocking stream";
    CapturedEvent = 907, "CUDA_ERROR_CAPTURED_EVENT", "operation not permitted on an event last recorded in a capturing stream";
    StreamCaptureWrongThread = 908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "attempt to terminate a thread-local capture sequence from another thread";
    Timeout = 909, "CUDA_ERROR_TIMEOUT", "a wait operation has timed out";
    GraphExecUpdateFailure = 910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "the graph update was not performed because it included changes which violated constraints";
    ExternalDevice = 911, "CUDA_ERROR_EXTERNAL_DEVICE", "an external device failed";
    InvalidClusterSize = 912, "CUDA_ERROR_INVALID_CLUSTER_SIZE", "a cluster of this kernel cannot be launched";
    FunctionNotLoaded = 913, "CUDA_ERROR_FUNCTION_NOT_LOADED", "a function was not loaded";
    InvalidResourceType = 914, "CUDA_ERROR_INVALID_RESOURCE_TYPE", "a resource has an invalid type";
    InvalidResourceConfiguration = 915, "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION", "a resource has an invalid configuration";
    KeyRotation = 916, "CUDA_ERROR_KEY_ROTATION", "the key has been rotated";
    Unknown = 999, "CUDA_ERROR_UNKNOWN", "unknown error";
}

/// What the driver's functions return.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The error with this number.
    pub fn from_code(code: u32) -> Option<Self> {
        Self::ALL.iter().copied().find(|&error| error as u32 == code)
    }

    /// What a kernel that stopped so leaves its context with.
    pub(crate) fn of_trap(trap: &Trap) -> Self {
        match trap {
            Trap::IllegalAddress { .. } => Self::IllegalAddress,
            Trap::MisalignedAddress { .. } | Trap::MisalignedOperand { .. } => Self::MisalignedAddress,
            Trap::IllegalInstruction(_) => Self::IllegalInstruction,
            Trap::TensorMemoryLeak { .. } => Self::TensorMemoryLeak,
            Trap::InvalidObject(_) => Self::LaunchFailed,
            Trap::NotMulticast { .. } => Self::IllegalAddress,
            Trap::Assert { .. } => Self::Assert,
            Trap::InvalidCall(_) | Trap::InvalidBranch(_) => Self::InvalidPc,
            Trap::StackOverflow { .. } => Self::HardwareStackError,
            Trap::BudgetExhausted { .. } => Self::LaunchTimeout,
            Trap::Trap | Trap::Breakpoint | Trap::InvalidBarrier(_) | Trap::Cancelled => Self::LaunchFailed,
        }
    }

    pub(crate) fn of_launch(error: &LaunchError) -> Self {
        match error {
            LaunchError::InvalidConfiguration(_) => Self::InvalidValue,
            LaunchError::OutOfResources(_) => Self::LaunchOutOfResources,
            LaunchError::Unsupported(_) => Self::NotSupported,
            LaunchError::Fault(fault) => Self::of_trap(&fault.trap),
        }
    }

    pub(crate) fn of_load(error: &LoadError) -> Self {
        match error {
            LoadError::Target { .. } => Self::NoBinaryForGpu,
            LoadError::AddressSize(_) | LoadError::UndefinedSymbol(_) => Self::InvalidPtx,
            LoadError::Memory(error) => error.clone().into(),
        }
    }
}

impl From<MemoryError> for Error {
    fn from(error: MemoryError) -> Self {
        match error {
            MemoryError::OutOfMemory { .. } => Self::OutOfMemory,
            MemoryError::NotAllocated { .. } | MemoryError::NotAnAllocation { .. } => Self::InvalidValue,
            MemoryError::Host(_) | MemoryError::Driver(_) => Self::OperatingSystem,
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.name(), self.description())
    }
}

impl std::error::Error for Error {}
