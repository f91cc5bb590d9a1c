//! Functions that the system provides to device code, by name.

/// Functions that the system provides (CUDA's "system calls").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Builtin {
    Vprintf,
    Malloc,
    Free,
    AssertFail,
    /// Sets what conditional nodes of a graph decide by: a word at the address that the handle is.
    SetCondition,
    /// A function of the device runtime.
    Runtime(RuntimeCall),
}

/// Whether device code can call a function of this name without defining it.
pub fn provides(function: &str) -> bool {
    Builtin::from_name(function).is_some()
}

impl Builtin {
    /// The builtin called `name`.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "vprintf" => Self::Vprintf,
            "malloc" => Self::Malloc,
            "free" => Self::Free,
            "__assertfail" => Self::AssertFail,
            "cudaGraphSetConditional" => Self::SetCondition,
            _ => return RuntimeCall::from_name(name).map(Self::Runtime),
        })
    }
}

/// A function of the device runtime. Those with a `bool` are told whether each thread has a default stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RuntimeCall {
    GetParameterBuffer,
    GetParameterBufferV2,
    LaunchDevice(bool),
    LaunchDeviceV2(bool),
    StreamCreate,
    StreamDestroy,
    StreamWaitEvent(bool),
    EventCreate,
    EventRecord(bool),
    EventDestroy,
    Memcpy(bool),
    Memcpy2D(bool),
    Memcpy3D(bool),
    Memset(bool),
    Memset2D(bool),
    Memset3D(bool),
    Malloc,
    Free,
    GetLastError,
    PeekAtLastError,
    GetErrorName,
    GetErrorString,
    GetDevice,
    GetDeviceCount,
    GetAttribute,
    GetLimit,
    GetCacheConfig,
    GetSharedMemConfig,
    RuntimeGetVersion,
    FuncGetAttributes,
    Occupancy,
    GraphLaunch,
    GraphNode(NodeCall),
}

impl RuntimeCall {
    /// The function called `name`.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let name = name.strip_prefix("__cudaCDP2").or_else(|| name.strip_prefix("cuda"))?;
        let (name, own) = name.strip_suffix("_ptsz").map_or((name, false), |name| (name, true));
        let call = match name {
            "LaunchDevice" => Self::LaunchDevice(own),
            "LaunchDeviceV2" => Self::LaunchDeviceV2(own),
            "StreamWaitEvent" => Self::StreamWaitEvent(own),
            "EventRecord" | "EventRecordWithFlags" => Self::EventRecord(own),
            "MemcpyAsync" => Self::Memcpy(own),
            "Memcpy2DAsync" => Self::Memcpy2D(own),
            "Memcpy3DAsync" => Self::Memcpy3D(own),
            "MemsetAsync" => Self::Memset(own),
            "Memset2DAsync" => Self::Memset2D(own),
            "Memset3DAsync" => Self::Memset3D(own),
            _ if own => return None,
            "GetParameterBuffer" => Self::GetParameterBuffer,
            "GetParameterBufferV2" => Self::GetParameterBufferV2,
            "StreamCreateWithFlags" => Self::StreamCreate,
            "StreamDestroy" => Self::StreamDestroy,
            "EventCreateWithFlags" => Self::EventCreate,
            "EventDestroy" => Self::EventDestroy,
            "Malloc" => Self::Malloc,
            "Free" => Self::Free,
            "GetLastError" => Self::GetLastError,
            "PeekAtLastError" => Self::PeekAtLastError,
            "GetErrorName" => Self::GetErrorName,
            "GetErrorString" => Self::GetErrorString,
            "GetDevice" => Self::GetDevice,
            "GetDeviceCount" => Self::GetDeviceCount,
            "DeviceGetAttribute" => Self::GetAttribute,
            "DeviceGetLimit" => Self::GetLimit,
            "DeviceGetCacheConfig" => Self::GetCacheConfig,
            "DeviceGetSharedMemConfig" => Self::GetSharedMemConfig,
            "RuntimeGetVersion" => Self::RuntimeGetVersion,
            "FuncGetAttributes" => Self::FuncGetAttributes,
            // Without flags there is one parameter less, and flags change nothing.
            "OccupancyMaxActiveBlocksPerMultiprocessor"
            | "OccupancyMaxActiveBlocksPerMultiprocessorWithFlags" => Self::Occupancy,
            "GraphLaunch" => Self::GraphLaunch,
            _ => return NodeCall::from_name(name).map(Self::GraphNode),
        };
        Some(call)
    }
}

/// A function that changes kernel nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeCall {
    SetParam,
    SetEnabled,
    SetGridDim,
    UpdatesApply,
}

impl NodeCall {
    /// The function called `name` behind its prefix.
    fn from_name(name: &str) -> Option<Self> {
        Some(match name.strip_prefix("GraphKernelNode")? {
            "SetParam" => Self::SetParam,
            "SetEnabled" => Self::SetEnabled,
            "SetGridDim" => Self::SetGridDim,
            "UpdatesApply" => Self::UpdatesApply,
            _ => return None,
        })
    }
}
