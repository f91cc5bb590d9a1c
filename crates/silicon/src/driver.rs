//! The driver's C interface. All raw calls of this crate are here and in `gpu`.

use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// The driver's library, as its own installer names it.
const LIBRARY: &str = "libcuda.so.1";

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
        // CUDA_ERROR_ILLEGAL_ADDRESS; from CUDA_ERROR_ASSERT to CUDA_ERROR_LAUNCH_FAILED.
        matches!(self, Self::Call { code: 700 | 710..=719, .. })
    }
}

pub(crate) type Status = c_int;
pub(crate) type DevicePtr = u64;
/// `CUcontext`, `CUmodule`, `CUfunction`: pointers that only the driver follows.
pub(crate) type Handle = *mut c_void;

/// `CUlaunchAttribute`: a number, four bytes unused, a union of 64 bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Attribute {
    pub(crate) id: c_uint,
    unused: c_uint,
    value: [u32; 16],
}

impl Attribute {
    pub(crate) fn cooperative() -> Self {
        Self::new(2, [1, 0, 0])
    }

    pub(crate) fn cluster(extents: [u32; 3]) -> Self {
        Self::new(4, extents)
    }

    fn new(id: c_uint, values: [u32; 3]) -> Self {
        let mut value = [0; 16];
        value[..3].copy_from_slice(&values);
        Self { id, unused: 0, value }
    }
}

/// `CUlaunchConfig`.
#[repr(C)]
pub(crate) struct Config {
    pub(crate) grid: [c_uint; 3],
    pub(crate) block: [c_uint; 3],
    pub(crate) dynamic_shared: c_uint,
    pub(crate) stream: Handle,
    pub(crate) attributes: *mut Attribute,
    pub(crate) attribute_count: c_uint,
}

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[repr(C)]
pub(crate) struct ArrayShape {
    pub(crate) extents: [usize; 3],
    pub(crate) format: c_uint,
    pub(crate) channels: c_uint,
    pub(crate) flags: c_uint,
}

/// One side of a `CUDA_MEMCPY3D`.
#[repr(C)]
pub(crate) struct CopySide {
    pub(crate) origin: [usize; 3],
    pub(crate) level: usize,
    /// `CUmemorytype`.
    pub(crate) kind: c_uint,
    pub(crate) host: *mut c_void,
    pub(crate) device: DevicePtr,
    pub(crate) array: Handle,
    pub(crate) reserved: *mut c_void,
    pub(crate) pitch: usize,
    pub(crate) height: usize,
}

/// `CUDA_MEMCPY3D`.
#[repr(C)]
pub(crate) struct Copy3D {
    pub(crate) from: CopySide,
    pub(crate) to: CopySide,
    pub(crate) extents: [usize; 3],
}

/// `CUDA_RESOURCE_DESC`: the first word of its union is the array's handle.
#[repr(C)]
pub(crate) struct ResourceDescriptor {
    pub(crate) kind: c_uint,
    pub(crate) array: Handle,
    pub(crate) rest: [u64; 15],
    pub(crate) flags: c_uint,
}

/// `CUDA_TEXTURE_DESC`.
#[repr(C)]
pub(crate) struct TextureDescriptor {
    pub(crate) address: [c_uint; 3],
    pub(crate) filter: c_uint,
    pub(crate) flags: c_uint,
    pub(crate) anisotropy: c_uint,
    pub(crate) mip_filter: c_uint,
    pub(crate) mip_bias: f32,
    pub(crate) mip_least: f32,
    pub(crate) mip_greatest: f32,
    pub(crate) border: [f32; 4],
    pub(crate) reserved: [c_uint; 12],
}

/// Device attributes, `CUdevice_attribute`.
pub(crate) const CAPABILITY_MAJOR: c_int = 75;
pub(crate) const CAPABILITY_MINOR: c_int = 76;
/// Function attributes, `CUfunction_attribute`.
pub(crate) const MAX_DYNAMIC_SHARED: c_int = 8;
pub(crate) const NON_PORTABLE_CLUSTER_SIZE: c_int = 14;
/// Options of the driver's assembler, `CUjit_option`.
pub(crate) const ERROR_LOG: c_int = 5;
pub(crate) const ERROR_LOG_BYTES: c_int = 6;
/// What stands in the `extra` of a launch, `CU_LAUNCH_PARAM_...`.
pub(crate) const PARAM_END: *mut c_void = std::ptr::null_mut();
pub(crate) const PARAM_BUFFER: *mut c_void = std::ptr::without_provenance_mut(1);
pub(crate) const PARAM_BYTES: *mut c_void = std::ptr::without_provenance_mut(2);

/// Declares the entry points once: a field for each, and its look-up under the exported name.
macro_rules! entry_points {
    ($($field:ident = $name:literal ($($argument:ty),*);)*) => {
        /// The loaded library with its entry points.
        pub(crate) struct Driver {
            $(pub(crate) $field: unsafe extern "C" fn($($argument),*) -> Status,)*
            // Last: the functions above are valid as long as it is loaded.
            _library: Library,
        }

        impl Driver {
            /// Opens the driver and looks its entry points up.
            pub(crate) fn load() -> Result<Self, Error> {
                // SAFETY: opening the driver runs its initialisers, which it is made for.
                let library = unsafe { Library::new(LIBRARY) };
                let library = library.map_err(|error| Error::NoDriver { loader: error.to_string() })?;
                Ok(Self {
                    $($field: {
                        // SAFETY: the signature is that of the CUDA driver API's manual for this exported name.
                        let found = unsafe { library.get(concat!($name, "\0").as_bytes()) };
                        *found.map_err(|_| Error::TooOld { entry: $name })?
                    },)*
                    _library: library,
                })
            }
        }
    };
}

entry_points! {
    init = "cuInit" (c_uint);
    driver_version = "cuDriverGetVersion" (*mut c_int);
    device_count = "cuDeviceGetCount" (*mut c_int);
    device_name = "cuDeviceGetName" (*mut c_char, c_int, c_int);
    device_attribute = "cuDeviceGetAttribute" (*mut c_int, c_int, c_int);
    context_retain = "cuDevicePrimaryCtxRetain" (*mut Handle, c_int);
    context_release = "cuDevicePrimaryCtxRelease_v2" (c_int);
    context_set = "cuCtxSetCurrent" (Handle);
    synchronize = "cuCtxSynchronize" ();
    allocate = "cuMemAlloc_v2" (*mut DevicePtr, usize);
    free = "cuMemFree_v2" (DevicePtr);
    fill = "cuMemsetD8_v2" (DevicePtr, u8, usize);
    upload = "cuMemcpyHtoD_v2" (DevicePtr, *const c_void, usize);
    download = "cuMemcpyDtoH_v2" (*mut c_void, DevicePtr, usize);
    module_load = "cuModuleLoadDataEx" (*mut Handle, *const c_void, c_uint, *mut c_int, *mut *mut c_void);
    module_unload = "cuModuleUnload" (Handle);
    module_function = "cuModuleGetFunction" (*mut Handle, Handle, *const c_char);
    module_global = "cuModuleGetGlobal_v2" (*mut DevicePtr, *mut usize, Handle, *const c_char);
    function_set = "cuFuncSetAttribute" (Handle, c_int, c_int);
    parameter_info = "cuFuncGetParamInfo" (Handle, usize, *mut usize, *mut usize);
    launch = "cuLaunchKernelEx" (*const Config, Handle, *mut *mut c_void, *mut *mut c_void);
    array_create = "cuArray3DCreate_v2" (*mut Handle, *const ArrayShape);
    mipmaps_create = "cuMipmappedArrayCreate" (*mut Handle, *const ArrayShape, c_uint);
    mipmaps_level = "cuMipmappedArrayGetLevel" (*mut Handle, Handle, c_uint);
    copy_3d = "cuMemcpy3D_v2" (*const Copy3D);
    texture_create = "cuTexObjectCreate" (*mut u64, *const ResourceDescriptor, *const TextureDescriptor, *const c_void);
    surface_create = "cuSurfObjectCreate" (*mut u64, *const ResourceDescriptor);
    error_name = "cuGetErrorName" (Status, *mut *const c_char);
    error_text = "cuGetErrorString" (Status, *mut *const c_char);
}

impl Driver {
    /// Turns a status into a result.
    pub(crate) fn check(&self, call: &'static str, status: Status) -> Result<(), Error> {
        match status {
            0 => Ok(()),
            code => Err(Error::Call {
                call,
                code: code as u32,
                name: self.describe(self.error_name, code),
                text: self.describe(self.error_text, code),
            }),
        }
    }

    fn describe(
        &self,
        which: unsafe extern "C" fn(Status, *mut *const c_char) -> Status,
        code: Status,
    ) -> String {
        let mut text = std::ptr::null();
        // SAFETY: the driver writes a pointer to a constant, or leaves null.
        let status = unsafe { which(code, &mut text) };
        if status != 0 || text.is_null() {
            return "unknown error".to_owned();
        }
        // SAFETY: it is a zero-terminated string that lives as long as the library.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver").finish_non_exhaustive()
    }
}
