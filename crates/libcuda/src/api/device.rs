//! Devices and their attributes; primary contexts.

use crate::api::virtual_memory::POSIX_FILE;
use crate::ffi::api;
use crate::pointers::{put, put_if, put_text, text};
use crate::state::{self, CONTEXTS, device, driver};
use crate::sys::*;
use driver::{Error, Result};
use machine::Profile;
use std::ffi::{c_char, c_int, c_uint};

/// An attribute of a device as kernels may ask for it; `None` if there is none of this number.
pub(crate) fn attribute_for_kernels(profile: &Profile, ordinal: usize, number: u32) -> Option<c_int> {
    attribute(profile, ordinal, number as CUdevice_attribute).ok()
}

/// An attribute of a device. Those that are not named are properties that the virtual GPU does not have.
fn attribute(profile: &Profile, ordinal: usize, attribute: CUdevice_attribute) -> Result<c_int> {
    let number = |value: u32| c_int::try_from(value).unwrap_or(c_int::MAX);
    Ok(match attribute {
        CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK => number(Profile::MAX_THREADS),
        CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X => number(Profile::MAX_BLOCK[0]),
        CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y => number(Profile::MAX_BLOCK[1]),
        CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z => number(Profile::MAX_BLOCK[2]),
        CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X => number(Profile::MAX_GRID[0]),
        CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y => number(Profile::MAX_GRID[1]),
        CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z => number(Profile::MAX_GRID[2]),
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK => number(Profile::SHARED_PER_CTA),
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN => number(profile.shared_per_cta_optin),
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR => number(profile.shared_per_multiprocessor),
        CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK => number(profile.reserved_shared()),
        CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY => 64 << 10,
        CU_DEVICE_ATTRIBUTE_WARP_SIZE => 32,
        CU_DEVICE_ATTRIBUTE_MAX_PITCH => c_int::MAX,
        CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK
        | CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR => number(profile.registers),
        CU_DEVICE_ATTRIBUTE_CLOCK_RATE => number(profile.clock_khz),
        CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE => number(profile.memory_clock_khz),
        CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH => number(profile.memory_bus_bits),
        CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE => number(profile.l2),
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT => number(profile.multiprocessors),
        CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR => number(profile.threads_per_multiprocessor),
        CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR => number(profile.ctas_per_multiprocessor),
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR => (profile.sm / 10).into(),
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR => (profile.sm % 10).into(),
        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH => 131_072,
        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT | CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT => 65_536,
        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT => 65_000,
        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH => 2_097_120,
        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH => crate::api::array::MOST_LINEAR,
        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH => 16_384,
        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE => 8192,
        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH => 32_768,
        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS => 2048,
        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS => 2046,
        CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT | CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT => 512,
        CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT => 32,
        CU_DEVICE_ATTRIBUTE_PCI_BUS_ID => c_int::try_from(ordinal).unwrap_or(0) + 1,
        CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH => profile.has_clusters().into(),
        CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED => {
            (profile.sm >= crate::api::tensor_map::SINCE).into()
        }
        CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO => {
            if matches!(profile.sm, 70 | 80 | 90 | 100) { 2 } else { 64 }
        }
        CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT => 3,
        CU_DEVICE_ATTRIBUTE_ECC_ENABLED => has_ecc(profile).into(),
        CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE if profile.sm >= 80 => number(profile.l2 / 8 * 5),
        CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE if profile.sm >= 80 => 128 << 20,
        CU_DEVICE_ATTRIBUTE_CAN_TEX2D_GATHER
        | CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED
        | CU_DEVICE_ATTRIBUTE_GPU_OVERLAP
        | CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS
        | CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY
        | CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING
        | CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY
        | CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS
        | CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED
        | CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED
        | CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED
        | CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED
        | CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM
        | CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS
        | CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR
        | CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED
        | CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED
        | CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED
        | CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED
        | CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED
        | CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED
        | CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH
        | CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED => 1,
        CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES => POSIX_FILE as c_int,
        // The host is taken to have one node.
        CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID => 0,
        CU_DEVICE_ATTRIBUTE_NUMA_ID => -1,
        other if (1..CU_DEVICE_ATTRIBUTE_MAX).contains(&other) => 0,
        _ => return Err(Error::InvalidValue),
    })
}

/// Where a device is on the bus: domain, bus, device, function.
fn bus_id(ordinal: usize) -> String {
    format!("0000:{:02X}:00.0", ordinal + 1)
}

/// Whether the memory corrects errors: that of data-centre devices does.
fn has_ecc(profile: &Profile) -> bool {
    !profile.device_name.contains("GeForce")
}

/// That a context can have these flags.
fn primary_flags(flags: c_uint) -> Result<()> {
    if flags & !CU_CTX_FLAGS_MASK == 0 { Ok(()) } else { Err(Error::InvalidValue) }
}

api! {
    fn cuDeviceGet(out: *mut CUdevice, ordinal: c_int) {
        device(ordinal)?;
        put(out, ordinal)
    }

    fn cuDeviceGetCount(count: *mut c_int) {
        put(count, driver()?.devices().len() as c_int)
    }

    fn cuDeviceGetName(#[elements(len)] name: *mut c_char, len: c_int, dev: CUdevice) {
        if len < 0 {
            return Err(Error::InvalidValue);
        }
        put_text(name, device(dev)?.profile().device_name)
    }

    fn cuDeviceGetUuid_v2(uuid: *mut CUuuid, dev: CUdevice) {
        put(uuid, CUuuid { bytes: device(dev)?.uuid().map(|byte| byte as c_char) })
    }

    fn cuDeviceTotalMem_v2(bytes: *mut usize, dev: CUdevice) {
        put(bytes, device(dev)?.machine()?.memory().limit() as usize)
    }

    fn cuDeviceGetAttribute(value: *mut c_int, attrib: CUdevice_attribute, dev: CUdevice) {
        let device = device(dev)?;
        put(value, attribute(device.profile(), device.ordinal(), attrib)?)
    }

    fn cuDeviceComputeCapability(major: *mut c_int, minor: *mut c_int, dev: CUdevice) {
        let sm: c_int = device(dev)?.profile().sm.into();
        put(major, sm / 10)?;
        put(minor, sm % 10)
    }

    fn cuDeviceGetPCIBusId(#[elements(len)] buffer: *mut c_char, len: c_int, dev: CUdevice) {
        if len < 0 {
            return Err(Error::InvalidValue);
        }
        put_text(buffer, &bus_id(device(dev)?.ordinal()))
    }

    #[order(initialised, given(out), given(id))]
    fn cuDeviceGetByPCIBusId(out: *mut CUdevice, id: *const c_char) {
        let wanted = text(id)?;
        // The domain may be left out, and the function.
        let is = |id: &str| {
            let short = id.strip_prefix("0000:").unwrap_or(id);
            [id, short, short.trim_end_matches(".0")].iter().any(|form| form.eq_ignore_ascii_case(wanted))
        };
        let found = driver()?.devices().iter().position(|device| is(&bus_id(device.ordinal())));
        put(out, found.ok_or(Error::InvalidDevice)? as CUdevice)
    }


    fn cuDevicePrimaryCtxRetain(out: *mut CUcontext, dev: CUdevice) {
        let context = device(dev)?.retain_primary()?;
        put(out, CONTEXTS.insert(context.id(), context))
    }

    fn cuDevicePrimaryCtxRelease_v2(dev: CUdevice) {
        if let Some(gone) = device(dev)?.release_primary()? {
            state::forget(&gone);
        }
        Ok(())
    }

    fn cuDevicePrimaryCtxReset_v2(dev: CUdevice) {
        if let Some(gone) = device(dev)?.reset_primary() {
            state::forget(&gone);
        }
        Ok(())
    }

    #[order(initialised, given(flags), given(active))]
    fn cuDevicePrimaryCtxGetState(dev: CUdevice, flags: *mut c_uint, active: *mut c_int) {
        let (value, exists) = device(dev)?.primary_state();
        put_if(flags, value);
        put(active, exists.into())
    }

    // Before CUDA 11, for contexts to come alone.
    fn cuDevicePrimaryCtxSetFlags(dev: CUdevice, flags: c_uint) {
        primary_flags(flags)?;
        let device = device(dev)?;
        if device.primary_state().1 {
            return Err(Error::PrimaryContextActive);
        }
        device.set_primary_flags(flags);
        Ok(())
    }

    fn cuDevicePrimaryCtxSetFlags_v2(dev: CUdevice, flags: c_uint) {
        primary_flags(flags)?;
        device(dev)?.set_primary_flags(flags);
        Ok(())
    }

    fn cuDeviceGetExecAffinitySupport(supported: *mut c_int, _kind: CUexecAffinityType, dev: CUdevice) {
        device(dev)?;
        put(supported, 0)
    }

    fn cuDeviceGetProperties(properties: *mut CUdevprop, dev: CUdevice) {
        let found = device(dev)?;
        let get = |which| attribute(found.profile(), found.ordinal(), which);
        put(properties, CUdevprop {
            maxThreadsPerBlock: get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            maxThreadsDim: Profile::MAX_BLOCK.map(|extent| extent as c_int),
            maxGridSize: Profile::MAX_GRID.map(|extent| extent as c_int),
            sharedMemPerBlock: get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?,
            totalConstantMemory: get(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY)?,
            SIMDWidth: get(CU_DEVICE_ATTRIBUTE_WARP_SIZE)?,
            memPitch: get(CU_DEVICE_ATTRIBUTE_MAX_PITCH)?,
            regsPerBlock: get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK)?,
            clockRate: get(CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?,
            textureAlign: get(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT)?,
        })
    }
}
