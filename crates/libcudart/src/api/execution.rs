//! Launches, and what functions are.

use crate::api::device::attribute;
use crate::border::pointers::{get, put};
use crate::border::{api, define};
use crate::context::{self, ensure};
use crate::error::{Error, Result};
use crate::registry::kernel;
use crate::sys::*;
use client::sys::{self, CUfunction, CUlaunchConfig};
use client::{Error as DriverError, cu};
use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::mem::ManuallyDrop;
use std::ptr::null_mut;

/// What stands between the angle brackets of a launch.
#[derive(Clone, Copy, Debug)]
struct Call {
    grid: dim3,
    block: dim3,
    shared: usize,
    stream: cudaStream_t,
}

thread_local! {
    /// Launches that were begun: an argument of one may launch another. Static destructors may launch, too, when a
    /// thread's values that need destruction are gone.
    static CALLS: ManuallyDrop<RefCell<Vec<Call>>> = const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// The driver's function that an address stands for, in the current context.
pub(crate) fn function(symbol: *const c_void) -> Result<CUfunction> {
    ensure()?;
    let kernel = kernel(symbol)?;
    let mut function = null_mut();
    // SAFETY: a place for a handle.
    unsafe { cu::cuKernelGetFunction(&raw mut function, kernel)? };
    Ok(function)
}

/// A configuration as the driver has it, without a stream's rules.
///
/// # Safety
/// As [`get`].
pub(crate) unsafe fn launch_configuration(config: *const cudaLaunchConfig_t) -> Result<CUlaunchConfig> {
    // SAFETY: by contract.
    let config = unsafe { get(config)? };
    let shared = config.dynamicSmemBytes.try_into().map_err(|_| Error::INVALID_VALUE)?;
    Ok(CUlaunchConfig {
        gridDimX: config.gridDim.x,
        gridDimY: config.gridDim.y,
        gridDimZ: config.gridDim.z,
        blockDimX: config.blockDim.x,
        blockDimY: config.blockDim.y,
        blockDimZ: config.blockDim.z,
        sharedMemBytes: shared,
        hStream: config.stream.cast(),
        // The attributes have the same numbers and values in both APIs.
        attrs: config.attrs.cast(),
        numAttrs: config.numAttrs,
    })
}

/// What the driver calls an invalid value may be the launch's configuration, for which the runtime has an error.
fn refused(error: DriverError, grid: dim3, block: dim3) -> Error {
    let limit = |which| {
        let value = context::device().and_then(|device| attribute(device, which));
        value.map_or(u32::MAX, c_int::unsigned_abs)
    };
    let extents = [
        (grid.x, cudaDevAttrMaxGridDimX),
        (grid.y, cudaDevAttrMaxGridDimY),
        (grid.z, cudaDevAttrMaxGridDimZ),
        (block.x, cudaDevAttrMaxBlockDimX),
        (block.y, cudaDevAttrMaxBlockDimY),
        (block.z, cudaDevAttrMaxBlockDimZ),
        (block.x.saturating_mul(block.y).saturating_mul(block.z), cudaDevAttrMaxThreadsPerBlock),
    ];
    let legal = extents.iter().all(|&(extent, most)| (1..=limit(most)).contains(&extent));
    if error == DriverError::INVALID_VALUE && !legal { Error::INVALID_CONFIGURATION } else { error.into() }
}

/// # Safety
/// The array has an element for each parameter, which points to the parameter.
unsafe fn launch(
    symbol: *const c_void,
    call: Call,
    arguments: *mut *mut c_void,
    cooperative: bool,
) -> Result<()> {
    ensure()?;
    let f: CUfunction = kernel(symbol)?.cast();
    let Call { grid, block, shared, stream } = call;
    let shared = shared.try_into().map_err(|_| Error::INVALID_VALUE)?;
    let (b, g, on) = (block, grid, stream.cast());
    // SAFETY: by contract. A kernel may stand where a function is asked for.
    let launched = unsafe {
        if cooperative {
            cu::cuLaunchCooperativeKernel(f, g.x, g.y, g.z, b.x, b.y, b.z, shared, on, arguments)
        } else {
            cu::cuLaunchKernel(f, g.x, g.y, g.z, b.x, b.y, b.z, shared, on, arguments, null_mut())
        }
    };
    launched.map_err(|error| refused(error, grid, block))
}

/// An attribute of a function.
fn function_attribute(function: CUfunction, which: sys::CUfunction_attribute) -> Result<c_int> {
    let mut value = 0;
    // SAFETY: a place for a number.
    unsafe { cu::cuFuncGetAttribute(&raw mut value, which, function)? };
    Ok(value)
}

define! {
    fn __cudaPushCallConfiguration(grid: dim3, block: dim3, shared: usize, stream: *mut c_void) {
        CALLS.with(|calls| calls.borrow_mut().push(Call { grid, block, shared, stream: stream.cast() }));
        Ok(())
    }

    fn __cudaPopCallConfiguration(grid: *mut dim3, block: *mut dim3, shared: *mut usize, stream: *mut c_void) {
        let call = CALLS.with(|calls| calls.borrow_mut().pop()).ok_or(Error::MISSING_CONFIGURATION)?;
        put(grid, call.grid)?;
        put(block, call.block)?;
        put(shared, call.shared)?;
        put(stream.cast::<cudaStream_t>(), call.stream)
    }

    fn __cudaLaunchKernel(
        kernel: cudaKernel_t,
        grid: dim3,
        block: dim3,
        arguments: *mut *mut c_void,
        shared: usize,
        stream: cudaStream_t,
    ) {
        launch(kernel.cast(), Call { grid, block, shared, stream }, arguments, false)
    }

    fn __cudaLaunchKernel_ptsz(
        kernel: cudaKernel_t,
        grid: dim3,
        block: dim3,
        arguments: *mut *mut c_void,
        shared: usize,
        stream: cudaStream_t,
    ) {
        client::with_default_stream(true, || {
            launch(kernel.cast(), Call { grid, block, shared, stream }, arguments, false)
        })
    }
}

api! {
    fn cudaLaunchKernel(
        symbol: *const c_void,
        grid: dim3,
        block: dim3,
        arguments: *mut *mut c_void,
        shared: usize,
        stream: cudaStream_t,
    ) {
        launch(symbol, Call { grid, block, shared, stream }, arguments, false)
    }

    fn cudaLaunchCooperativeKernel(
        symbol: *const c_void,
        grid: dim3,
        block: dim3,
        arguments: *mut *mut c_void,
        shared: usize,
        stream: cudaStream_t,
    ) {
        launch(symbol, Call { grid, block, shared, stream }, arguments, true)
    }

    fn cudaLaunchKernelExC(config: *const cudaLaunchConfig_t, symbol: *const c_void, arguments: *mut *mut c_void) {
        ensure()?;
        let wanted = launch_configuration(config)?;
        let f: CUfunction = kernel(symbol)?.cast();
        cu::cuLaunchKernelEx(&raw const wanted, f, arguments, null_mut())
            .map_err(|error| refused(error, (*config).gridDim, (*config).blockDim))
    }

    fn cudaFuncGetAttributes(out: *mut cudaFuncAttributes, symbol: *const c_void) {
        let function = function(symbol)?;
        let number = |which| function_attribute(function, which);
        let bytes = |which| Ok::<_, Error>(function_attribute(function, which)?.unsigned_abs() as usize);
        put(
            out,
            cudaFuncAttributes {
                sharedSizeBytes: bytes(sys::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
                constSizeBytes: bytes(sys::CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES)?,
                localSizeBytes: bytes(sys::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
                maxThreadsPerBlock: number(sys::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
                numRegs: number(sys::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
                ptxVersion: number(sys::CU_FUNC_ATTRIBUTE_PTX_VERSION)?,
                binaryVersion: number(sys::CU_FUNC_ATTRIBUTE_BINARY_VERSION)?,
                cacheModeCA: number(sys::CU_FUNC_ATTRIBUTE_CACHE_MODE_CA)?,
                maxDynamicSharedSizeBytes: number(sys::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)?,
                preferredShmemCarveout: number(sys::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)?,
                clusterDimMustBeSet: number(sys::CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET)?,
                requiredClusterWidth: number(sys::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH)?,
                requiredClusterHeight: number(sys::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT)?,
                requiredClusterDepth: number(sys::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH)?,
                clusterSchedulingPolicyPreference: number(
                    sys::CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
                )?,
                nonPortableClusterSizeAllowed: number(
                    sys::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
                )?,
                reserved: [0; 16],
            },
        )
    }

    // The attributes that can be set have the same numbers in both APIs.
    fn cudaFuncSetAttribute(symbol: *const c_void, which: cudaFuncAttribute, value: c_int) {
        Ok(cu::cuFuncSetAttribute(function(symbol)?, which, value)?)
    }

    fn cudaFuncSetCacheConfig(symbol: *const c_void, config: cudaFuncCache) {
        Ok(cu::cuFuncSetCacheConfig(function(symbol)?, config)?)
    }

    fn cudaFuncSetSharedMemConfig(symbol: *const c_void, _config: cudaSharedMemConfig) {
        function(symbol).map(drop)
    }

    fn cudaFuncGetName(out: *mut *const c_char, symbol: *const c_void) {
        ensure()?;
        Ok(cu::cuKernelGetName(out, kernel(symbol)?)?)
    }

    fn cudaFuncGetParamInfo(symbol: *const c_void, index: usize, offset: *mut usize, size: *mut usize) {
        Ok(cu::cuFuncGetParamInfo(function(symbol)?, index, offset, size)?)
    }

    fn cudaGetFuncBySymbol(out: *mut cudaFunction_t, symbol: *const c_void) {
        put(out, function(symbol)?.cast())
    }

    fn cudaGetKernel(out: *mut cudaKernel_t, symbol: *const c_void) {
        ensure()?;
        put(out, kernel(symbol)?.cast())
    }

    fn cudaKernelSetAttributeForDevice(kernel: cudaKernel_t, which: cudaFuncAttribute, value: c_int, device: c_int) {
        ensure()?;
        Ok(cu::cuKernelSetAttribute(which, value, kernel.cast(), device)?)
    }

    fn cudaLibraryGetGlobal(out: *mut *mut c_void, bytes: *mut usize, library: cudaLibrary_t, name: *const c_char) {
        ensure()?;
        Ok(cu::cuLibraryGetGlobal(out.cast(), bytes, library.cast(), name)?)
    }

    fn cudaLibraryGetManaged(out: *mut *mut c_void, bytes: *mut usize, library: cudaLibrary_t, name: *const c_char) {
        ensure()?;
        Ok(cu::cuLibraryGetManaged(out.cast(), bytes, library.cast(), name)?)
    }

    fn cudaGraphConditionalHandleCreate(
        out: *mut cudaGraphConditionalHandle,
        graph: cudaGraph_t,
        default: c_uint,
        flags: c_uint,
    ) {
        ensure()?;
        let mut context = null_mut();
        cu::cuCtxGetCurrent(&raw mut context)?;
        Ok(cu::cuGraphConditionalHandleCreate(out, graph.cast(), context, default, flags)?)
    }
}
