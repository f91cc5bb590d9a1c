//! A GPU with its memory, its modules and launches, as safe values over `driver`.
//!
//! A device pointer is a number; what the driver is asked to do with a wrong one is an error, not undefined behaviour of
//! this process. After a fault of a kernel the driver refuses everything
//! for as long as the process lives; not even a reset of the context helps.

use crate::driver::{Error, check};
use driver_api::cu;
use driver_api::sys::*;
use machine::memory::{Buffers, MemoryError};
use std::ffi::{CStr, CString, c_int, c_uint, c_void};
use std::ptr::{null_mut, without_provenance_mut};

/// The first device of this machine, with its primary context current in the thread that opened it.
#[derive(Debug)]
pub struct Gpu {
    name: String,
    capability: (u32, u32),
    version: u32,
    // The driver's contexts belong to threads; a value that holds one stays where it was made.
    _thread: std::marker::PhantomData<*mut ()>,
}

/// The device that is used.
const DEVICE: c_int = 0;

/// Bytes of what the driver's assembler may say.
const LOG: usize = 1 << 16;

impl Gpu {
    /// Opens the driver and its first device.
    ///
    /// # Errors
    /// If this machine has no driver, or it has no device.
    pub fn open() -> Result<Self, Error> {
        let mut count = 0;
        let mut version = 0;
        let mut name = [0; 256];
        let mut capability = [0; 2];
        // SAFETY: every pointer is to a variable of the type that the entry point writes; the name's length is told.
        unsafe {
            match cu::cuInit(0) {
                // A driver on a machine without a GPU.
                Err(driver_api::Error(CUDA_ERROR_NO_DEVICE)) => return Err(Error::NoDevice),
                answer => check("cuInit", answer)?,
            }
            check("cuDeviceGetCount", cu::cuDeviceGetCount(&mut count))?;
            if count == 0 {
                return Err(Error::NoDevice);
            }
            check("cuDriverGetVersion", cu::cuDriverGetVersion(&mut version))?;
            let length = name.len() as c_int;
            check("cuDeviceGetName", cu::cuDeviceGetName(name.as_mut_ptr(), length, DEVICE))?;
            let which =
                [CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR];
            for (value, which) in capability.iter_mut().zip(which) {
                check("cuDeviceGetAttribute", cu::cuDeviceGetAttribute(value, which, DEVICE))?;
            }
        }
        let bytes = name.map(|c| c as u8);
        let name =
            CStr::from_bytes_until_nul(&bytes).map_or(String::new(), |n| n.to_string_lossy().into_owned());
        let capability = (capability[0] as u32, capability[1] as u32);
        let gpu = Self { name, capability, version: version as u32, _thread: std::marker::PhantomData };
        gpu.enter()?;
        Ok(gpu)
    }

    /// Retains the primary context and makes it current.
    fn enter(&self) -> Result<(), Error> {
        let mut context = null_mut();
        // SAFETY: the driver writes one handle, which is then current in this thread.
        unsafe {
            check("cuDevicePrimaryCtxRetain", cu::cuDevicePrimaryCtxRetain(&mut context, DEVICE))?;
            check("cuCtxSetCurrent", cu::cuCtxSetCurrent(context))
        }
    }

    /// The device's name, such as `NVIDIA H200`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its compute capability, major and minor.
    pub fn capability(&self) -> (u32, u32) {
        self.capability
    }

    /// The CUDA version that the driver has, major and minor.
    pub fn driver_version(&self) -> (u32, u32) {
        (self.version / 1000, self.version % 1000 / 10)
    }

    /// Loads a module: PTX text, which the driver then assembles, or a cubin.
    ///
    /// # Errors
    /// What the driver's assembler says.
    pub fn load(&self, image: &[u8]) -> Result<Module<'_>, Error> {
        // PTX text must end with a zero byte; to a cubin, which tells its length, it does no harm.
        let mut image = image.to_vec();
        image.push(0);
        let mut log = vec![0_u8; LOG];
        let mut options = [CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values = [log.as_mut_ptr().cast::<c_void>(), std::ptr::without_provenance_mut(log.len())];
        let mut handle = null_mut();
        // SAFETY: the image ends with a zero; each option has its value; the log is as long as the driver is told.
        let status = unsafe {
            cu::cuModuleLoadDataEx(
                &mut handle,
                image.as_ptr().cast(),
                options.len() as c_uint,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        match check("cuModuleLoadDataEx", status) {
            Ok(()) => Ok(Module { _gpu: std::marker::PhantomData, handle }),
            Err(Error::Call { name, .. }) => {
                let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
                Err(Error::Load { name, log: String::from_utf8_lossy(&log[..end]).trim_end().to_owned() })
            }
            Err(other) => Err(other),
        }
    }

    /// Sets every byte of a range.
    ///
    /// # Errors
    /// If the range is not allocated.
    pub fn fill(&self, address: u64, byte: u8, bytes: usize) -> Result<(), Error> {
        // SAFETY: the driver checks the range.
        check("cuMemsetD8", unsafe { cu::cuMemsetD8_v2(address, byte, bytes) })
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // SAFETY: balances the retain of `enter`; an error at the end has nobody to be told to.
        let _ = unsafe { cu::cuDevicePrimaryCtxRelease_v2(DEVICE) };
    }
}

fn refused(error: Error) -> MemoryError {
    MemoryError::Driver(error.to_string())
}

impl Buffers for Gpu {
    fn allocate(&self, bytes: u64) -> Result<u64, MemoryError> {
        let mut address = 0;
        // The driver refuses to allocate nothing, which the machine does not.
        // SAFETY: the driver writes one pointer.
        let status = unsafe { cu::cuMemAlloc_v2(&mut address, bytes.max(1) as usize) };
        check("cuMemAlloc", status).map_err(refused)?;
        Ok(address)
    }

    fn free(&self, address: u64) -> Result<(), MemoryError> {
        // SAFETY: the driver checks the address.
        check("cuMemFree", unsafe { cu::cuMemFree_v2(address) }).map_err(refused)
    }

    fn write(&self, address: u64, from: &[u8]) -> Result<(), MemoryError> {
        if from.is_empty() {
            return Ok(());
        }
        // SAFETY: the driver reads this many bytes of the slice and checks the device's range.
        let status = unsafe { cu::cuMemcpyHtoD_v2(address, from.as_ptr().cast(), from.len()) };
        check("cuMemcpyHtoD", status).map_err(refused)
    }

    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), MemoryError> {
        if into.is_empty() {
            return Ok(());
        }
        // SAFETY: the driver writes this many bytes of the slice and checks the device's range.
        let status = unsafe { cu::cuMemcpyDtoH_v2(into.as_mut_ptr().cast(), address, into.len()) };
        check("cuMemcpyDtoH", status).map_err(refused)
    }
}

/// A loaded module.
#[derive(Debug)]
pub struct Module<'a> {
    // It is its GPU's, and goes before it.
    _gpu: std::marker::PhantomData<&'a Gpu>,
    handle: CUmodule,
}

/// How a kernel is launched.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// The kernel's name.
    pub kernel: &'a str,
    /// CTAs in each dimension.
    pub grid: [u32; 3],
    /// Threads of a CTA in each dimension.
    pub block: [u32; 3],
    /// CTAs of a cluster, if the launch says so and not the kernel.
    pub cluster: Option<[u32; 3]>,
    /// Whether all CTAs must be resident at once.
    pub cooperative: bool,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// The parameter buffer, laid out as the kernel declares it.
    pub params: &'a [u8],
}

/// Dynamic shared memory that a kernel may have without asking.
const ORDINARY_SHARED: u32 = 48 << 10;

/// CTAs of a cluster that every device of the architecture can have.
const PORTABLE_CLUSTER: u32 = 8;

impl Module<'_> {
    /// The address and size of a global or constant variable.
    ///
    /// # Errors
    /// If it has none of that name.
    pub fn variable(&self, name: &str) -> Result<(u64, u64), Error> {
        let symbol = symbol(name)?;
        let (mut address, mut bytes) = (0, 0);
        // SAFETY: the driver writes a pointer and a size; the name ends with a zero.
        let status =
            unsafe { cu::cuModuleGetGlobal_v2(&mut address, &mut bytes, self.handle, symbol.as_ptr()) };
        check("cuModuleGetGlobal", status)?;
        Ok((address, bytes as u64))
    }

    fn function(&self, kernel: &str) -> Result<CUfunction, Error> {
        let symbol = symbol(kernel)?;
        let mut function = null_mut();
        // SAFETY: the driver writes one handle; the name ends with a zero.
        let status = unsafe { cu::cuModuleGetFunction(&mut function, self.handle, symbol.as_ptr()) };
        check("cuModuleGetFunction", status)?;
        Ok(function)
    }

    /// Where a parameter of a kernel lies in its parameter buffer. Parameters that are aligned by more than 16 bytes are
    /// aligned in the constant bank, in which the buffer does not begin at a multiple of 64.
    ///
    /// # Errors
    /// If there is no such kernel or parameter.
    pub fn parameter_offset(&self, kernel: &str, index: usize) -> Result<usize, Error> {
        let function = self.function(kernel)?;
        let (mut offset, mut bytes) = (0, 0);
        // SAFETY: the function is the one just looked up; the driver writes two sizes.
        let status = unsafe { cu::cuFuncGetParamInfo(function, index, &mut offset, &mut bytes) };
        check("cuFuncGetParamInfo", status)?;
        Ok(offset)
    }

    /// Runs a kernel to its end.
    ///
    /// # Errors
    /// If there is no such kernel, if the launch is refused, or if the kernel faults ([`Error::is_fault`]).
    pub fn launch(&self, launch: &Launch<'_>) -> Result<(), Error> {
        self.submit(launch)?;
        // SAFETY: waits for what runs in this thread's context.
        check("cuCtxSynchronize", unsafe { cu::cuCtxSynchronize() })
    }

    /// Runs a kernel so many times in a row, and says how many nanoseconds passed on the device between the first one's beginning and
    /// the last one's end.
    ///
    /// # Errors
    /// As [`Module::launch`].
    pub fn time(&self, launch: &Launch<'_>, times: u32) -> Result<f64, Error> {
        let (begin, end) = (Event::new()?, Event::new()?);
        begin.record()?;
        for _ in 0..times {
            self.submit(launch)?;
        }
        end.record()?;
        end.since(&begin)
    }

    fn submit(&self, launch: &Launch<'_>) -> Result<(), Error> {
        let function = self.function(launch.kernel)?;
        let mut attributes = Vec::new();
        if launch.cooperative {
            attributes.push(attribute(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, [1, 0, 0]));
        }
        let mut settings = Vec::new();
        if let Some(cluster) = launch.cluster {
            attributes.push(attribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, cluster));
            if cluster.iter().product::<u32>() > PORTABLE_CLUSTER {
                settings.push((CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
            }
        }
        if launch.dynamic_shared > ORDINARY_SHARED {
            settings.push((CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, launch.dynamic_shared as c_int));
        }
        for (which, value) in settings {
            // SAFETY: the function is the one just looked up.
            check("cuFuncSetAttribute", unsafe { cu::cuFuncSetAttribute(function, which, value) })?;
        }
        let config = CUlaunchConfig {
            gridDimX: launch.grid[0],
            gridDimY: launch.grid[1],
            gridDimZ: launch.grid[2],
            blockDimX: launch.block[0],
            blockDimY: launch.block[1],
            blockDimZ: launch.block[2],
            sharedMemBytes: launch.dynamic_shared,
            hStream: null_mut(),
            attrs: attributes.as_mut_ptr(),
            numAttrs: attributes.len() as c_uint,
        };
        let mut bytes = launch.params.len();
        let mut extra = [
            without_provenance_mut(CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT as usize),
            launch.params.as_ptr().cast_mut().cast::<c_void>(),
            without_provenance_mut(CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT as usize),
            (&raw mut bytes).cast::<c_void>(),
            without_provenance_mut(CU_LAUNCH_PARAM_END_AS_INT as usize),
        ];
        // SAFETY: the configuration and the attributes live until the call returns; the list of extras is ended as the
        // driver expects, and the parameter buffer, which it only reads, is as long as it is told.
        let status = unsafe { cu::cuLaunchKernelEx(&config, function, null_mut(), extra.as_mut_ptr()) };
        check("cuLaunchKernelEx", status)
    }
}

/// A point of the default stream's time.
struct Event(CUevent);

impl Event {
    fn new() -> Result<Self, Error> {
        let mut handle = null_mut();
        // SAFETY: the driver writes one handle.
        check("cuEventCreate", unsafe { cu::cuEventCreate(&mut handle, CU_EVENT_DEFAULT) })?;
        Ok(Self(handle))
    }

    fn record(&self) -> Result<(), Error> {
        // SAFETY: the event is alive; null is the default stream.
        check("cuEventRecord", unsafe { cu::cuEventRecord(self.0, null_mut()) })
    }

    /// Waits until it has happened; nanoseconds between another one and it.
    fn since(&self, other: &Self) -> Result<f64, Error> {
        let mut milliseconds = 0.0_f32;
        // SAFETY: both events are alive and recorded; the driver writes one number.
        unsafe {
            check("cuEventSynchronize", cu::cuEventSynchronize(self.0))?;
            check("cuEventElapsedTime", cu::cuEventElapsedTime_v2(&mut milliseconds, other.0, self.0))?;
        }
        Ok(f64::from(milliseconds) * 1e6)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: it was created, and nobody uses it any more.
        let _ = unsafe { cu::cuEventDestroy_v2(self.0) };
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: it was loaded and nothing of it runs; after a fault the driver refuses, which does no harm.
        let _ = unsafe { cu::cuModuleUnload(self.handle) };
    }
}

/// An attribute of a launch, whose value is numbers.
fn attribute(id: CUlaunchAttributeID, [x, y, z]: [u32; 3]) -> CUlaunchAttribute {
    // The numbers of all members begin where the value does.
    let mut value = CUlaunchAttributeValue { pad: [0; 64] };
    value.clusterDim = CUlaunchAttributeValue_union__bindgen_ty_1 { x, y, z };
    CUlaunchAttribute { id, pad: [0; 4], value }
}

fn symbol(name: &str) -> Result<CString, Error> {
    CString::new(name).map_err(|_| Error::Argument(format!("`{name:?}` is no name: it has a zero byte")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a machine without a driver the error says so; with one, memory works.
    #[test]
    fn a_missing_driver_is_told_by_name() {
        match Gpu::open() {
            Ok(gpu) => {
                let address = gpu.allocate(16).unwrap();
                gpu.write(address, &[7; 16]).unwrap();
                let mut back = [0; 16];
                gpu.read(address, &mut back).unwrap();
                assert_eq!(back, [7; 16]);
            }
            Err(error @ Error::NoDriver { .. }) => {
                assert_eq!(error.to_string(), "no NVIDIA driver on this machine: libcuda.so.1 not found");
            }
            Err(error) => assert!(matches!(error, Error::NoDevice | Error::TooOld { .. }), "{error}"),
        }
    }
}
