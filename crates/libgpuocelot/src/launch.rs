//! Modules that are loaded, and the launch of their kernel.

use crate::mock;
use crate::reach::{among, mapped};
use driver_api::{Error, Result, cu, sys};
use std::collections::HashMap;
use std::ffi::{CString, c_int, c_void};
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

/// Modules that are kept, since the text comes with every launch. When there would be more, all are unloaded.
const KEPT: usize = 4096;

/// Bytes of shared memory that a kernel may have without asking for more.
const SHARED: u32 = 48 << 10;

/// The shape of a launch: threads of a block, blocks of the grid, bytes of dynamic shared memory.
pub(crate) struct Shape {
    pub(crate) block: [u32; 3],
    pub(crate) grid: [u32; 3],
    pub(crate) shared: u32,
}

/// The first device's primary context, and the modules in it by their text.
struct Device {
    context: sys::CUcontext,
    modules: HashMap<CString, Loaded>,
}

/// The driver's handles of a module and of its kernel.
struct Loaded {
    module: sys::CUmodule,
    kernel: sys::CUfunction,
}

// SAFETY: handles are the driver's, which takes them from any thread; nothing is read through them.
unsafe impl Send for Device {}

static DEVICE: Mutex<Option<Device>> = Mutex::new(None);

/// Runs the kernel of a text on memory of the program, and waits for it.
pub(crate) fn run(source: CString, arguments: &[u64], shape: &Shape) -> Result<()> {
    // One launch at a time: two could not register the same memory.
    let mut opened = DEVICE.lock().unwrap_or_else(PoisonError::into_inner);
    let device = match &mut *opened {
        Some(device) => device,
        none => none.insert(Device::open()?),
    };
    // SAFETY: the context is retained; what is pushed is popped.
    unsafe {
        cu::cuCtxPushCurrent_v2(device.context)?;
        let result = device.kernel(source).and_then(|kernel| launch(kernel, arguments, shape));
        cu::cuCtxPopCurrent_v2(&raw mut device.context)?;
        if result.is_err() {
            // After a fault a context takes no more work, and the next kernel shall run.
            *opened = None;
            cu::cuDevicePrimaryCtxReset_v2(0)?;
        }
        result
    }
}

impl Device {
    fn open() -> Result<Self> {
        driver_api::initialise()?;
        let mut context = null_mut();
        // SAFETY: a place of ours.
        unsafe { cu::cuDevicePrimaryCtxRetain(&raw mut context, 0) }?;
        Ok(Self { context, modules: HashMap::new() })
    }

    /// The kernel of a text: its first, as there is only one in what compilers of single kernels write.
    fn kernel(&mut self, source: CString) -> Result<sys::CUfunction> {
        if let Some(known) = self.modules.get(&source) {
            return Ok(known.kernel);
        }
        // SAFETY: places of ours, with room for one; a text that ends.
        unsafe {
            if self.modules.len() == KEPT {
                for (_, old) in self.modules.drain() {
                    cu::cuModuleUnload(old.module)?;
                }
            }
            let (mut module, mut kernel, mut count) = (null_mut(), null_mut(), 0);
            cu::cuModuleLoadData(&raw mut module, source.as_ptr().cast())?;
            cu::cuModuleGetFunctionCount(&raw mut count, module)?;
            if count == 0 {
                log::error!("ptx_run: the text has no kernel");
                cu::cuModuleUnload(module)?;
                return Err(Error(sys::CUDA_ERROR_NOT_FOUND));
            }
            cu::cuModuleEnumerateFunctions(&raw mut kernel, 1, module)?;
            self.modules.insert(source, Loaded { module, kernel });
            Ok(kernel)
        }
    }
}

/// Launches a kernel with the memory that its arguments point to.
fn launch(kernel: sys::CUfunction, arguments: &[u64], shape: &Shape) -> Result<()> {
    check(kernel, arguments.len())?;
    let reached = match mock::buffers() {
        Some(buffers) => among(buffers, arguments),
        None => {
            let maps = std::fs::read_to_string("/proc/self/maps");
            mapped(&maps.map_err(|_| Error(sys::CUDA_ERROR_OPERATING_SYSTEM))?, arguments)
        }
    };
    let mut registered = Vec::new();
    let result = reached.into_iter().try_for_each(|range| {
        let start = std::ptr::with_exposed_provenance_mut::<c_void>(range.start as usize);
        // SAFETY: the driver itself looks whether the memory is there.
        unsafe { cu::cuMemHostRegister_v2(start, (range.end - range.start) as usize, 0) }?;
        registered.push(start);
        Ok(())
    });
    let result = result.and_then(|()| launch_registered(kernel, arguments, shape));
    for start in registered {
        // SAFETY: it was registered just now.
        let _ = unsafe { cu::cuMemHostUnregister(start) };
    }
    result
}

/// Whether a kernel has as many parameters as there are arguments, none larger than an argument.
fn check(kernel: sys::CUfunction, arguments: usize) -> Result<()> {
    let (mut offset, mut size) = (0, 0);
    let mut parameters = 0;
    // SAFETY: places of ours.
    while unsafe { cu::cuFuncGetParamInfo(kernel, parameters, &raw mut offset, &raw mut size) }.is_ok() {
        parameters += 1;
        if size > size_of::<u64>() {
            log::error!("ptx_run: parameter {parameters} has {size} bytes; an argument has 8");
            return Err(Error::INVALID_VALUE);
        }
    }
    if parameters != arguments {
        log::error!("ptx_run: the kernel has {parameters} parameters, and there are {arguments} arguments");
        return Err(Error::INVALID_VALUE);
    }
    Ok(())
}

/// Launches a kernel and waits for it.
fn launch_registered(kernel: sys::CUfunction, arguments: &[u64], shape: &Shape) -> Result<()> {
    let mut places: Vec<*mut c_void> =
        arguments.iter().map(|argument| (&raw const *argument).cast_mut().cast()).collect();
    let (&Shape { block: [bx, by, bz], grid: [gx, gy, gz], shared }, stream) = (shape, null_mut());
    // SAFETY: each place has the eight bytes of an argument, and no parameter is larger.
    unsafe {
        if shared > SHARED {
            let bytes = c_int::try_from(shared).map_err(|_| Error::INVALID_VALUE)?;
            cu::cuFuncSetAttribute(kernel, sys::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes)?;
        }
        cu::cuLaunchKernel(kernel, gx, gy, gz, bx, by, bz, shared, stream, places.as_mut_ptr(), null_mut())?;
        cu::cuStreamSynchronize(stream)
    }
}
