//! Devices and their properties.

use crate::context;
use crate::error::{Error, Result};
use crate::ffi::api;
use crate::ffi::pointers::{get, put};
use crate::sys::*;
use driver_api::cu;
use std::ffi::{c_int, c_uint};

/// Banks have one size; others are wishes that are heard and not followed.
pub(crate) fn bank_size(config: cudaSharedMemConfig) -> Result<()> {
    match config {
        cudaSharedMemBankSizeDefault | cudaSharedMemBankSizeFourByte | cudaSharedMemBankSizeEightByte => {
            Ok(())
        }
        _ => Err(Error::INVALID_VALUE),
    }
}

/// An attribute of a device.
pub(crate) fn attribute(device: c_int, which: cudaDeviceAttr) -> Result<c_int> {
    let mut value = 0;
    // SAFETY: a place for a number; attributes have the same numbers in both APIs.
    unsafe { cu::cuDeviceGetAttribute(&raw mut value, which, device)? };
    Ok(value)
}

/// Fills in what the structures of both versions have.
macro_rules! fill {
    (
        $device:expr, $out:expr;
        numbers { $($field:ident = $attribute:ident,)* }
        rows { $($row:ident = [$($of:ident),*],)* }
    ) => {
        $($out.$field = attribute($device, $attribute)?.try_into().unwrap_or_default();)*
        $($out.$row = [$(attribute($device, $of)?),*];)*
    };
}

/// The properties of a device, in the structure of one of the versions: they have most fields in common.
macro_rules! properties {
    ($name:ident, $($ty:ident)::+, { $($field:ident = $attribute:ident,)* }) => {
        /// The properties of a device.
        pub(crate) fn $name(device: c_int) -> Result<$($ty)::+> {
            context::device_exists(device)?;
            // SAFETY: the structure is of numbers alone.
            let mut out: $($ty)::+ = unsafe { std::mem::zeroed() };
            // SAFETY: places for text, an identity and a number, with their sizes.
            unsafe {
                cu::cuDeviceGetName(out.name.as_mut_ptr(), out.name.len() as c_int, device)?;
                cu::cuDeviceGetUuid_v2((&raw mut out.uuid).cast(), device)?;
                cu::cuDeviceTotalMem_v2(&raw mut out.totalGlobalMem, device)?;
            }
            fill! {
                device, out;
                numbers {
                    sharedMemPerBlock = cudaDevAttrMaxSharedMemoryPerBlock,
                    regsPerBlock = cudaDevAttrMaxRegistersPerBlock,
                    warpSize = cudaDevAttrWarpSize,
                    memPitch = cudaDevAttrMaxPitch,
                    maxThreadsPerBlock = cudaDevAttrMaxThreadsPerBlock,
                    totalConstMem = cudaDevAttrTotalConstantMemory,
                    major = cudaDevAttrComputeCapabilityMajor,
                    minor = cudaDevAttrComputeCapabilityMinor,
                    textureAlignment = cudaDevAttrTextureAlignment,
                    texturePitchAlignment = cudaDevAttrTexturePitchAlignment,
                    multiProcessorCount = cudaDevAttrMultiProcessorCount,
                    integrated = cudaDevAttrIntegrated,
                    canMapHostMemory = cudaDevAttrCanMapHostMemory,
                    maxTexture1D = cudaDevAttrMaxTexture1DWidth,
                    maxTexture1DMipmap = cudaDevAttrMaxTexture1DMipmappedWidth,
                    maxTextureCubemap = cudaDevAttrMaxTextureCubemapWidth,
                    maxSurface1D = cudaDevAttrMaxSurface1DWidth,
                    maxSurfaceCubemap = cudaDevAttrMaxSurfaceCubemapWidth,
                    surfaceAlignment = cudaDevAttrSurfaceAlignment,
                    concurrentKernels = cudaDevAttrConcurrentKernels,
                    ECCEnabled = cudaDevAttrEccEnabled,
                    pciBusID = cudaDevAttrPciBusId,
                    pciDeviceID = cudaDevAttrPciDeviceId,
                    pciDomainID = cudaDevAttrPciDomainId,
                    tccDriver = cudaDevAttrTccDriver,
                    asyncEngineCount = cudaDevAttrAsyncEngineCount,
                    unifiedAddressing = cudaDevAttrUnifiedAddressing,
                    memoryBusWidth = cudaDevAttrGlobalMemoryBusWidth,
                    l2CacheSize = cudaDevAttrL2CacheSize,
                    persistingL2CacheMaxSize = cudaDevAttrMaxPersistingL2CacheSize,
                    maxThreadsPerMultiProcessor = cudaDevAttrMaxThreadsPerMultiProcessor,
                    streamPrioritiesSupported = cudaDevAttrStreamPrioritiesSupported,
                    globalL1CacheSupported = cudaDevAttrGlobalL1CacheSupported,
                    localL1CacheSupported = cudaDevAttrLocalL1CacheSupported,
                    sharedMemPerMultiprocessor = cudaDevAttrMaxSharedMemoryPerMultiprocessor,
                    regsPerMultiprocessor = cudaDevAttrMaxRegistersPerMultiprocessor,
                    managedMemory = cudaDevAttrManagedMemory,
                    isMultiGpuBoard = cudaDevAttrIsMultiGpuBoard,
                    multiGpuBoardGroupID = cudaDevAttrMultiGpuBoardGroupID,
                    hostNativeAtomicSupported = cudaDevAttrHostNativeAtomicSupported,
                    pageableMemoryAccess = cudaDevAttrPageableMemoryAccess,
                    concurrentManagedAccess = cudaDevAttrConcurrentManagedAccess,
                    computePreemptionSupported = cudaDevAttrComputePreemptionSupported,
                    canUseHostPointerForRegisteredMem = cudaDevAttrCanUseHostPointerForRegisteredMem,
                    cooperativeLaunch = cudaDevAttrCooperativeLaunch,
                    sharedMemPerBlockOptin = cudaDevAttrMaxSharedMemoryPerBlockOptin,
                    pageableMemoryAccessUsesHostPageTables = cudaDevAttrPageableMemoryAccessUsesHostPageTables,
                    directManagedMemAccessFromHost = cudaDevAttrDirectManagedMemAccessFromHost,
                    maxBlocksPerMultiProcessor = cudaDevAttrMaxBlocksPerMultiprocessor,
                    accessPolicyMaxWindowSize = cudaDevAttrMaxAccessPolicyWindowSize,
                    reservedSharedMemPerBlock = cudaDevAttrReservedSharedMemoryPerBlock,
                    hostRegisterSupported = cudaDevAttrHostRegisterSupported,
                    sparseCudaArraySupported = cudaDevAttrSparseCudaArraySupported,
                    hostRegisterReadOnlySupported = cudaDevAttrHostRegisterReadOnlySupported,
                    timelineSemaphoreInteropSupported = cudaDevAttrTimelineSemaphoreInteropSupported,
                    memoryPoolsSupported = cudaDevAttrMemoryPoolsSupported,
                    gpuDirectRDMASupported = cudaDevAttrGPUDirectRDMASupported,
                    gpuDirectRDMAFlushWritesOptions = cudaDevAttrGPUDirectRDMAFlushWritesOptions,
                    gpuDirectRDMAWritesOrdering = cudaDevAttrGPUDirectRDMAWritesOrdering,
                    memoryPoolSupportedHandleTypes = cudaDevAttrMemoryPoolSupportedHandleTypes,
                    deferredMappingCudaArraySupported = cudaDevAttrDeferredMappingCudaArraySupported,
                    ipcEventSupported = cudaDevAttrIpcEventSupport,
                    clusterLaunch = cudaDevAttrClusterLaunch,
                    $($field = $attribute,)*
                }
                rows {
                    maxThreadsDim = [cudaDevAttrMaxBlockDimX, cudaDevAttrMaxBlockDimY, cudaDevAttrMaxBlockDimZ],
                    maxGridSize = [cudaDevAttrMaxGridDimX, cudaDevAttrMaxGridDimY, cudaDevAttrMaxGridDimZ],
                    maxTexture2D = [cudaDevAttrMaxTexture2DWidth, cudaDevAttrMaxTexture2DHeight],
                    maxTexture2DMipmap = [cudaDevAttrMaxTexture2DMipmappedWidth, cudaDevAttrMaxTexture2DMipmappedHeight],
                    maxTexture2DLinear = [
                        cudaDevAttrMaxTexture2DLinearWidth,
                        cudaDevAttrMaxTexture2DLinearHeight,
                        cudaDevAttrMaxTexture2DLinearPitch
                    ],
                    maxTexture2DGather = [cudaDevAttrMaxTexture2DGatherWidth, cudaDevAttrMaxTexture2DGatherHeight],
                    maxTexture3D = [
                        cudaDevAttrMaxTexture3DWidth,
                        cudaDevAttrMaxTexture3DHeight,
                        cudaDevAttrMaxTexture3DDepth
                    ],
                    maxTexture3DAlt = [
                        cudaDevAttrMaxTexture3DWidthAlt,
                        cudaDevAttrMaxTexture3DHeightAlt,
                        cudaDevAttrMaxTexture3DDepthAlt
                    ],
                    maxTexture1DLayered = [
                        cudaDevAttrMaxTexture1DLayeredWidth,
                        cudaDevAttrMaxTexture1DLayeredLayers
                    ],
                    maxTexture2DLayered = [
                        cudaDevAttrMaxTexture2DLayeredWidth,
                        cudaDevAttrMaxTexture2DLayeredHeight,
                        cudaDevAttrMaxTexture2DLayeredLayers
                    ],
                    maxTextureCubemapLayered = [
                        cudaDevAttrMaxTextureCubemapLayeredWidth,
                        cudaDevAttrMaxTextureCubemapLayeredLayers
                    ],
                    maxSurface2D = [cudaDevAttrMaxSurface2DWidth, cudaDevAttrMaxSurface2DHeight],
                    maxSurface3D = [
                        cudaDevAttrMaxSurface3DWidth,
                        cudaDevAttrMaxSurface3DHeight,
                        cudaDevAttrMaxSurface3DDepth
                    ],
                    maxSurface1DLayered = [
                        cudaDevAttrMaxSurface1DLayeredWidth,
                        cudaDevAttrMaxSurface1DLayeredLayers
                    ],
                    maxSurface2DLayered = [
                        cudaDevAttrMaxSurface2DLayeredWidth,
                        cudaDevAttrMaxSurface2DLayeredHeight,
                        cudaDevAttrMaxSurface2DLayeredLayers
                    ],
                    maxSurfaceCubemapLayered = [
                        cudaDevAttrMaxSurfaceCubemapLayeredWidth,
                        cudaDevAttrMaxSurfaceCubemapLayeredLayers
                    ],
                }
            }
            Ok(out)
        }
    };
}

properties!(properties, cudaDeviceProp, {
    deviceNumaConfig = cudaDevAttrNumaConfig,
    deviceNumaId = cudaDevAttrNumaId,
    mpsEnabled = cudaDevAttrMpsEnabled,
    hostNumaId = cudaDevAttrHostNumaId,
    gpuPciDeviceID = cudaDevAttrGpuPciDeviceId,
    gpuPciSubsystemID = cudaDevAttrGpuPciSubsystemId,
    hostNumaMultinodeIpcSupported = cudaDevAttrHostNumaMultinodeIpcSupported,
});

properties!(properties12, crate::sys12::cudaDeviceProp, {
    clockRate = cudaDevAttrClockRate,
    deviceOverlap = cudaDevAttrGpuOverlap,
    kernelExecTimeoutEnabled = cudaDevAttrKernelExecTimeout,
    computeMode = cudaDevAttrComputeMode,
    maxTexture1DLinear = cudaDevAttrMaxTexture1DLinearWidth,
    memoryClockRate = cudaDevAttrMemoryClockRate,
    singleToDoublePrecisionPerfRatio = cudaDevAttrSingleToDoublePrecisionPerfRatio,
});

/// The first device that has what is asked for: at least its compute capability and memory; the first of all if none has.
pub(crate) fn chosen(capability: (c_int, c_int), memory: usize) -> Result<c_int> {
    for device in 0..context::count()? {
        let has = properties(device)?;
        if (has.major, has.minor) >= capability && has.totalGlobalMem >= memory {
            return Ok(device);
        }
    }
    Ok(0)
}

api! {
    fn cudaGetDeviceCount(out: *mut c_int) {
        put(out, context::count()?)
    }

    fn cudaGetDevice(out: *mut c_int) {
        put(out, context::device()?)
    }

    fn cudaSetDevice(device: c_int) {
        context::choose(device)
    }

    fn cudaInitDevice(device: c_int, _device_flags: c_uint, _flags: c_uint) {
        context::device_exists(device)?;
        context::primary(device).map(drop)
    }

    fn cudaSetValidDevices(devices: *mut c_int, count: c_int) {
        // SAFETY: there are as many as the program says.
        unsafe { context::prefer(devices.raw(), usize::try_from(count).map_err(|_| Error::INVALID_VALUE)?) }
    }

    fn cudaDeviceReset() {
        context::reset()
    }

    fn cudaGetDeviceProperties(out: *mut cudaDeviceProp, device: c_int) {
        put(out, properties(device)?)
    }

    fn cudaChooseDevice(out: *mut c_int, wanted: *const cudaDeviceProp) {
        let wanted = get(wanted)?;
        put(out, chosen((wanted.major, wanted.minor), wanted.totalGlobalMem)?)
    }

    fn cudaGetDeviceFlags(out: *mut c_uint) {
        let (mut flags, mut active) = (0, 0);
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        unsafe { cu::cuDevicePrimaryCtxGetState(context::device()?, &raw mut flags, &raw mut active) }?;
        put(out, flags | cudaDeviceMapHost)
    }

    fn cudaSetDeviceFlags(flags: c_uint) {
        // Memory of the host is always mapped, which the driver does not need to be told.
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuDevicePrimaryCtxSetFlags_v2(context::device()?, flags & !cudaDeviceMapHost) }?)
    }

    fn cudaDeviceGetSharedMemConfig(out: *mut cudaSharedMemConfig) {
        context::ensure()?;
        put(out, cudaSharedMemBankSizeFourByte)
    }

    fn cudaDeviceSetSharedMemConfig(config: cudaSharedMemConfig) {
        context::ensure()?;
        bank_size(config)
    }

    fn cudaDeviceEnablePeerAccess(peer: c_int, flags: c_uint) {
        context::ensure()?;
        context::device_exists(peer)?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuCtxEnablePeerAccess(context::primary(peer)?, flags) }?)
    }

    fn cudaDeviceDisablePeerAccess(peer: c_int) {
        context::ensure()?;
        context::device_exists(peer)?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuCtxDisablePeerAccess(context::primary(peer)?) }?)
    }
}
