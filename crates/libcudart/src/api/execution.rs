//! Launches, and what functions are.

use crate::api::device::attribute;
use crate::context::{self, ensure, some};
use crate::error::{Error, Result};
use crate::ffi::pointers::{In, get, put};
use crate::ffi::{api, define};
use crate::registry::kernel;
use crate::sys::*;
use driver_api::sys::{self, CUfunction, CUlaunchConfig};
use driver_api::{Error as DriverError, cu};
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
pub(crate) fn launch_configuration(config: In<cudaLaunchConfig_t>) -> Result<CUlaunchConfig> {
    let config = get(config)?;
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
        CALLS.with(|calls| calls.borrow_mut().push(Call { grid, block, shared, stream: stream.raw().cast() }));
        Ok(())
    }

    fn __cudaPopCallConfiguration(grid: *mut dim3, block: *mut dim3, shared: *mut usize, stream: *mut c_void) {
        let call = CALLS.with(|calls| calls.borrow_mut().pop()).ok_or(Error::MISSING_CONFIGURATION)?;
        put(grid, call.grid)?;
        put(block, call.block)?;
        put(shared, call.shared)?;
        // SAFETY: a compiled program has room for a stream there.
        put(unsafe { stream.cast::<cudaStream_t>() }, call.stream)
    }

    fn __cudaLaunchKernel(
        kernel: cudaKernel_t,
        grid: dim3,
        block: dim3,
        arguments: *mut *mut c_void,
        shared: usize,
        stream: cudaStream_t,
    ) {
        // SAFETY: the program gives as many arguments as its kernel has.
        unsafe { launch(kernel.cast(), Call { grid, block, shared, stream }, arguments.raw(), false) }
    }

    fn __cudaLaunchKernel_ptsz(
        kernel: cudaKernel_t,
        grid: dim3,
        block: dim3,
        arguments: *mut *mut c_void,
        shared: usize,
        stream: cudaStream_t,
    ) {
        driver_api::with_default_stream(true, || {
            // SAFETY: the program gives as many arguments as its kernel has.
            unsafe { launch(kernel.cast(), Call { grid, block, shared, stream }, arguments.raw(), false) }
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
        // SAFETY: the program gives as many arguments as its kernel has.
        unsafe { launch(symbol.raw(), Call { grid, block, shared, stream }, arguments.raw(), false) }
    }

    fn cudaLaunchCooperativeKernel(
        symbol: *const c_void,
        grid: dim3,
        block: dim3,
        arguments: *mut *mut c_void,
        shared: usize,
        stream: cudaStream_t,
    ) {
        // SAFETY: the program gives as many arguments as its kernel has.
        unsafe { launch(symbol.raw(), Call { grid, block, shared, stream }, arguments.raw(), true) }
    }

    fn cudaLaunchKernelExC(config: *const cudaLaunchConfig_t, symbol: *const c_void, arguments: *mut *mut c_void) {
        ensure()?;
        let wanted = launch_configuration(config)?;
        let f: CUfunction = kernel(symbol.raw())?.cast();
        let cudaLaunchConfig_t { gridDim, blockDim, .. } = get(config)?;
        // SAFETY: the program gives as many arguments as its kernel has, and attributes as it says.
        let launched = unsafe { cu::cuLaunchKernelEx(&raw const wanted, f, arguments.raw(), null_mut()) };
        launched.map_err(|error| refused(error, gridDim, blockDim))
    }

    fn cudaFuncGetAttributes(out: *mut cudaFuncAttributes, symbol: *const c_void) {
        let function = function(symbol.raw())?;
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
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuFuncSetAttribute(function(symbol.raw())?, which, value) }?)
    }

    fn cudaFuncSetCacheConfig(symbol: *const c_void, config: cudaFuncCache) {
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuFuncSetCacheConfig(function(symbol.raw())?, config) }?)
    }

    fn cudaFuncSetSharedMemConfig(symbol: *const c_void, config: cudaSharedMemConfig) {
        function(symbol.raw())?;
        super::device::bank_size(config)
    }

    fn cudaFuncGetName(out: *mut *const c_char, symbol: *const c_void) {
        ensure()?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuKernelGetName(out.raw(), kernel(symbol.raw())?) }?)
    }

    fn cudaFuncGetParamInfo(symbol: *const c_void, index: usize, offset: *mut usize, size: *mut usize) {
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuFuncGetParamInfo(function(symbol.raw())?, index, offset.raw(), size.raw()) }?)
    }

    fn cudaGetFuncBySymbol(out: *mut cudaFunction_t, symbol: *const c_void) {
        put(out, function(symbol.raw())?.cast())
    }

    fn cudaGetKernel(out: *mut cudaKernel_t, symbol: *const c_void) {
        if out.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        ensure()?;
        put(out, kernel(symbol.raw())?.cast())
    }

    fn cudaKernelSetAttributeForDevice(kernel: cudaKernel_t, which: cudaFuncAttribute, value: c_int, device: c_int) {
        some()?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuKernelSetAttribute(which, value, kernel.cast(), device) }?)
    }

    fn cudaLibraryGetGlobal(out: *mut *mut c_void, bytes: *mut usize, library: cudaLibrary_t, name: *const c_char) {
        ensure()?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuLibraryGetGlobal(out.raw().cast(), bytes.raw(), library.cast(), name.raw()) }?)
    }

    fn cudaLibraryGetManaged(out: *mut *mut c_void, bytes: *mut usize, library: cudaLibrary_t, name: *const c_char) {
        some()?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuLibraryGetManaged(out.raw().cast(), bytes.raw(), library.cast(), name.raw()) }?)
    }

    fn cudaGraphConditionalHandleCreate(
        out: *mut cudaGraphConditionalHandle,
        graph: cudaGraph_t,
        default: c_uint,
        flags: c_uint,
    ) {
        driver_api::initialise()?;
        let mut context = null_mut();
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        unsafe { cu::cuCtxGetCurrent(&raw mut context) }?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuGraphConditionalHandleCreate(out.raw(), graph.cast(), context, default, flags) }?)
    }
}
