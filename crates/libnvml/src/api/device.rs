//! Devices.

use crate::api::system::put_whole;
use crate::ffi::pointers::{In, Out, get, put};
use crate::ffi::{Error, Result, api};
use crate::state::{Device, PciAddress, device, devices, find};
use crate::sys::*;
use driver_api::sys as driver;
use std::ffi::{c_char, c_int, c_uint};

/// Structures begin with their size and, above it, their version.
pub(crate) const fn version<T>(number: u32) -> c_uint {
    size_of::<T>() as u32 | number << 24
}

/// What stands for "no part of a device", since the device is not divided.
const WHOLE: c_uint = c_uint::MAX;
/// The vendor, in the lower half of a device's identity on the bus.
const VENDOR: c_uint = 0x10de;
/// Bus addresses are written with a domain of eight digits, and in older forms with four.
const OLDER: usize = 4;
const DIGITS: usize = 8;

fn bus_id(place: PciAddress, digits: usize) -> String {
    let PciAddress { domain, bus, device } = place;
    format!("{domain:0digits$X}:{bus:02X}:{device:02X}.0")
}

/// Copies text into a field, cut to fit, with a zero at its end.
fn fill(field: &mut [c_char], text: &str) {
    let room = field.len().saturating_sub(1);
    field.fill(0);
    field.iter_mut().zip(text.bytes().take(room)).for_each(|(to, from)| *to = from as c_char);
}

fn pci(handle: nvmlDevice_t, out: Out<nvmlPciInfo_t>) -> Result<()> {
    let place = device(handle)?.place()?;
    // SAFETY: the structure is of numbers alone.
    let mut info: nvmlPciInfo_t = unsafe { std::mem::zeroed() };
    fill(&mut info.busId, &bus_id(place, DIGITS));
    fill(&mut info.busIdLegacy, &bus_id(place, OLDER));
    (info.domain, info.bus, info.device) = (place.domain, place.bus, place.device);
    // Which board it is has no number.
    info.pciDeviceId = VENDOR;
    put(out, info)
}

/// The older structures have only the shorter text, at the same place, and end before the other.
fn older_pci(handle: nvmlDevice_t, out: Out<nvmlPciInfo_t>) -> Result<()> {
    let place = device(handle)?.place()?;
    if out.is_null() {
        return Err(Error::INVALID_ARGUMENT);
    }
    let out = out.raw();
    // SAFETY: what those structures have too may be written.
    unsafe {
        fill(&mut (*out).busIdLegacy, &bus_id(place, OLDER));
        ((*out).domain, (*out).bus, (*out).device) = (place.domain, place.bus, place.device);
        (*out).pciDeviceId = VENDOR;
    }
    Ok(())
}

fn by_bus_id(id: In<c_char>, out: Out<nvmlDevice_t>) -> Result<()> {
    let found = Device::at(id.text().ok_or(Error::INVALID_ARGUMENT)?)?;
    put(out, found.handle())
}

fn by_index(index: c_uint, out: Out<nvmlDevice_t>) -> Result<()> {
    let found = devices()?.find(|device| device.index() == index).ok_or(Error::INVALID_ARGUMENT)?;
    put(out, found.handle())
}

fn count(out: Out<c_uint>) -> Result<()> {
    put(out, devices()?.count() as c_uint)
}

/// Writes the processes that use a device: this one, if it does.
fn processes<T>(
    handle: nvmlDevice_t,
    known: Out<c_uint>,
    list: Out<T>,
    make: impl Fn(c_uint, u64) -> T,
) -> Result<()> {
    let device = device(handle)?;
    let room = get(known)?;
    let found = c_uint::from(device.in_use()?);
    put(known, found)?;
    if found > room {
        return Err(Error::INSUFFICIENT_SIZE);
    }
    if found > 0 {
        let memory = device.memory()?;
        put(list, make(std::process::id(), memory.total - memory.free))?;
    }
    Ok(())
}

/// Writes that no process uses a device.
fn none(handle: nvmlDevice_t, known: Out<c_uint>) -> Result<()> {
    device(handle)?;
    put(known, 0)
}

/// Lanes for single-precision arithmetic of a multiprocessor, by compute capability ("Arithmetic Instructions" in the CUDA
/// programming guide).
fn cores((major, minor): (u32, u32)) -> u32 {
    match (major, minor) {
        (7, _) | (8, 0) => 64,
        _ => 128,
    }
}

fn architecture((major, minor): (u32, u32)) -> nvmlDeviceArchitecture_t {
    match (major, minor) {
        (7, 0..5) => NVML_DEVICE_ARCH_VOLTA,
        (7, _) => NVML_DEVICE_ARCH_TURING,
        (8, 9) => NVML_DEVICE_ARCH_ADA,
        (8, _) => NVML_DEVICE_ARCH_AMPERE,
        (9, _) => NVML_DEVICE_ARCH_HOPPER,
        (10..=12, _) => NVML_DEVICE_ARCH_BLACKWELL,
        _ => NVML_DEVICE_ARCH_UNKNOWN,
    }
}

api! {
    fn nvmlDeviceGetCount(out: *mut c_uint) {
        count(out)
    }

    fn nvmlDeviceGetCount_v2(out: *mut c_uint) {
        count(out)
    }

    fn nvmlDeviceGetHandleByIndex(index: c_uint, out: *mut nvmlDevice_t) {
        by_index(index, out)
    }

    fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, out: *mut nvmlDevice_t) {
        by_index(index, out)
    }

    fn nvmlDeviceGetHandleByUUID(uuid: *const c_char, out: *mut nvmlDevice_t) {
        let wanted = crate::ffi::pointers::text(uuid)?;
        put(out, find(|device| Ok(device.uuid()?.eq_ignore_ascii_case(wanted)))?)
    }

    fn nvmlDeviceGetHandleByPciBusId(id: *const c_char, out: *mut nvmlDevice_t) {
        by_bus_id(id, out)
    }

    fn nvmlDeviceGetHandleByPciBusId_v2(id: *const c_char, out: *mut nvmlDevice_t) {
        by_bus_id(id, out)
    }

    fn nvmlDeviceGetIndex(handle: nvmlDevice_t, out: *mut c_uint) {
        put(out, device(handle)?.index())
    }

    fn nvmlDeviceGetMinorNumber(handle: nvmlDevice_t, out: *mut c_uint) {
        put(out, device(handle)?.index())
    }

    fn nvmlDeviceGetName(handle: nvmlDevice_t, #[elements(length)] name: *mut c_char, length: c_uint) {
        put_whole(name, &device(handle)?.name()?)
    }

    fn nvmlDeviceGetUUID(handle: nvmlDevice_t, #[elements(length)] uuid: *mut c_char, length: c_uint) {
        put_whole(uuid, &device(handle)?.uuid()?)
    }

    fn nvmlDeviceGetBrand(handle: nvmlDevice_t, out: *mut nvmlBrandType_t) {
        device(handle)?;
        put(out, NVML_BRAND_NVIDIA)
    }

    fn nvmlDeviceGetArchitecture(handle: nvmlDevice_t, out: *mut nvmlDeviceArchitecture_t) {
        put(out, architecture(device(handle)?.capability()?))
    }

    fn nvmlDeviceGetCudaComputeCapability(handle: nvmlDevice_t, major: *mut c_int, minor: *mut c_int) {
        let capability = device(handle)?.capability()?;
        put(major, capability.0 as c_int)?;
        put(minor, capability.1 as c_int)
    }

    fn nvmlDeviceGetMemoryInfo(handle: nvmlDevice_t, out: *mut nvmlMemory_t) {
        let memory = device(handle)?.memory()?;
        put(out, nvmlMemory_t { total: memory.total, free: memory.free, used: memory.total - memory.free })
    }

    fn nvmlDeviceGetMemoryInfo_v2(handle: nvmlDevice_t, out: *mut nvmlMemory_v2_t) {
        let memory = device(handle)?.memory()?;
        // SAFETY: every version of the structure begins with its version.
        let asked = get(unsafe { out.cast::<c_uint>() })?;
        if asked != version::<nvmlMemory_v2_t>(2) {
            return Err(Error::VERSION);
        }
        let (total, free) = (memory.total, memory.free);
        put(out, nvmlMemory_v2_t { version: asked, total, reserved: 0, free, used: total - free })
    }

    fn nvmlDeviceGetPciInfo(handle: nvmlDevice_t, out: *mut nvmlPciInfo_t) {
        older_pci(handle, out)
    }

    fn nvmlDeviceGetPciInfo_v2(handle: nvmlDevice_t, out: *mut nvmlPciInfo_t) {
        older_pci(handle, out)
    }

    fn nvmlDeviceGetPciInfo_v3(handle: nvmlDevice_t, out: *mut nvmlPciInfo_t) {
        pci(handle, out)
    }

    fn nvmlDeviceGetComputeRunningProcesses(handle: nvmlDevice_t, known: *mut c_uint, list: *mut nvmlProcessInfo_v1_t) {
        processes(handle, known, list, |pid, used| nvmlProcessInfo_v1_t { pid, usedGpuMemory: used })
    }

    fn nvmlDeviceGetComputeRunningProcesses_v2(
        handle: nvmlDevice_t,
        known: *mut c_uint,
        list: *mut nvmlProcessInfo_v2_t,
    ) {
        processes(handle, known, list, process)
    }

    fn nvmlDeviceGetComputeRunningProcesses_v3(handle: nvmlDevice_t, known: *mut c_uint, list: *mut nvmlProcessInfo_t) {
        processes(handle, known, list, process)
    }

    fn nvmlDeviceGetGraphicsRunningProcesses(handle: nvmlDevice_t, known: *mut c_uint, _list: *mut nvmlProcessInfo_v1_t) {
        none(handle, known)
    }

    fn nvmlDeviceGetGraphicsRunningProcesses_v2(
        handle: nvmlDevice_t,
        known: *mut c_uint,
        _list: *mut nvmlProcessInfo_v2_t,
    ) {
        none(handle, known)
    }

    fn nvmlDeviceGetGraphicsRunningProcesses_v3(
        handle: nvmlDevice_t,
        known: *mut c_uint,
        _list: *mut nvmlProcessInfo_t,
    ) {
        none(handle, known)
    }

    fn nvmlDeviceGetMPSComputeRunningProcesses(
        handle: nvmlDevice_t,
        known: *mut c_uint,
        _list: *mut nvmlProcessInfo_v1_t,
    ) {
        none(handle, known)
    }

    fn nvmlDeviceGetMPSComputeRunningProcesses_v2(
        handle: nvmlDevice_t,
        known: *mut c_uint,
        _list: *mut nvmlProcessInfo_v2_t,
    ) {
        none(handle, known)
    }

    fn nvmlDeviceGetMPSComputeRunningProcesses_v3(
        handle: nvmlDevice_t,
        known: *mut c_uint,
        _list: *mut nvmlProcessInfo_t,
    ) {
        none(handle, known)
    }

    fn nvmlDeviceGetComputeMode(handle: nvmlDevice_t, out: *mut nvmlComputeMode_t) {
        // Both APIs number the modes alike.
        put(out, device(handle)?.attribute(driver::CU_DEVICE_ATTRIBUTE_COMPUTE_MODE)?)
    }

    fn nvmlDeviceGetDisplayActive(handle: nvmlDevice_t, out: *mut nvmlEnableState_t) {
        device(handle)?;
        put(out, NVML_FEATURE_DISABLED)
    }

    fn nvmlDeviceGetDisplayMode(handle: nvmlDevice_t, out: *mut nvmlEnableState_t) {
        device(handle)?;
        put(out, NVML_FEATURE_DISABLED)
    }

    fn nvmlDeviceGetMultiGpuBoard(handle: nvmlDevice_t, out: *mut c_uint) {
        put(out, device(handle)?.attribute(driver::CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD)?)
    }

    fn nvmlDeviceOnSameBoard(one: nvmlDevice_t, other: nvmlDevice_t, out: *mut c_int) {
        put(out, (device(one)? == device(other)?).into())
    }

    fn nvmlDeviceGetNumGpuCores(handle: nvmlDevice_t, out: *mut c_uint) {
        let device = device(handle)?;
        let multiprocessors = device.attribute(driver::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        put(out, multiprocessors * cores(device.capability()?))
    }

    fn nvmlDeviceGetMemoryBusWidth(handle: nvmlDevice_t, out: *mut c_uint) {
        put(out, device(handle)?.attribute(driver::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?)
    }
}

fn process(pid: c_uint, used: u64) -> nvmlProcessInfo_t {
    nvmlProcessInfo_t { pid, usedGpuMemory: used, gpuInstanceId: WHOLE, computeInstanceId: WHOLE }
}
