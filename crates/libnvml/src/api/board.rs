//! What a board is: modes, error-correcting memory, its link to the host. [`crate::board`] says whose values these are.

use crate::board::PCIE_WIDTH;
use crate::ffi::pointers::{Out, get, put};
use crate::ffi::{Error, Result, api};
use crate::state::{Device, device};
use crate::sys::*;
use std::ffi::{c_int, c_uint, c_ulonglong};

const ENABLED: nvmlEnableState_t = NVML_FEATURE_ENABLED;
const DISABLED: nvmlEnableState_t = NVML_FEATURE_DISABLED;
/// Where bits of a bus address stand in a board's number.
const BUS: u32 = 8;

/// A device whose memory corrects errors.
fn correcting(handle: nvmlDevice_t) -> Result<Device> {
    let device = device(handle)?;
    if device.corrects_errors()? { Ok(device) } else { Err(Error::NOT_SUPPORTED) }
}

/// A device that could be divided: those with that are for servers, from compute capability 8.0 on.
fn divisible(handle: nvmlDevice_t) -> Result<Device> {
    let device = device(handle)?;
    match device.capability()? {
        (8..=10, 0) => Ok(device),
        _ => Err(Error::NOT_SUPPORTED),
    }
}

fn pcie_generation(handle: nvmlDevice_t, out: Out<c_uint>) -> Result<()> {
    put(out, device(handle)?.board()?.pcie)
}

fn pcie_width(handle: nvmlDevice_t, out: Out<c_uint>) -> Result<()> {
    device(handle)?.board()?;
    put(out, PCIE_WIDTH)
}

api! {
    fn nvmlDeviceGetBoardId(handle: nvmlDevice_t, out: *mut c_uint) {
        let place = device(handle)?.place()?;
        put(out, place.bus << BUS | place.device)
    }

    fn nvmlDeviceGetPersistenceMode(handle: nvmlDevice_t, out: *mut nvmlEnableState_t) {
        device(handle)?;
        put(out, ENABLED)
    }

    fn nvmlDeviceGetAccountingMode(handle: nvmlDevice_t, out: *mut nvmlEnableState_t) {
        device(handle)?;
        put(out, DISABLED)
    }

    fn nvmlDeviceGetVirtualizationMode(handle: nvmlDevice_t, out: *mut nvmlGpuVirtualizationMode_t) {
        device(handle)?;
        put(out, NVML_GPU_VIRTUALIZATION_MODE_NONE)
    }

    fn nvmlDeviceGetMigMode(handle: nvmlDevice_t, current: *mut c_uint, pending: *mut c_uint) {
        divisible(handle)?;
        put(current, NVML_DEVICE_MIG_DISABLE)?;
        put(pending, NVML_DEVICE_MIG_DISABLE)
    }

    fn nvmlDeviceIsMigDeviceHandle(handle: nvmlDevice_t, out: *mut c_uint) {
        device(handle)?;
        put(out, 0)
    }

    fn nvmlDeviceGetMaxMigDeviceCount(handle: nvmlDevice_t, out: *mut c_uint) {
        device(handle)?;
        put(out, 0)
    }

    fn nvmlDeviceGetMigDeviceHandleByIndex(handle: nvmlDevice_t, _index: c_uint, _out: *mut nvmlDevice_t) {
        device(handle)?;
        Err(Error::NOT_FOUND)
    }

    fn nvmlDeviceGetEccMode(handle: nvmlDevice_t, current: *mut nvmlEnableState_t, pending: *mut nvmlEnableState_t) {
        correcting(handle)?;
        put(current, ENABLED)?;
        put(pending, ENABLED)
    }

    fn nvmlDeviceGetDefaultEccMode(handle: nvmlDevice_t, out: *mut nvmlEnableState_t) {
        correcting(handle)?;
        put(out, ENABLED)
    }

    fn nvmlDeviceGetTotalEccErrors(
        handle: nvmlDevice_t,
        kind: nvmlMemoryErrorType_t,
        counter: nvmlEccCounterType_t,
        out: *mut c_ulonglong,
    ) {
        correcting(handle)?;
        if kind >= NVML_MEMORY_ERROR_TYPE_COUNT
            || counter >= NVML_ECC_COUNTER_TYPE_COUNT
        {
            return Err(Error::INVALID_ARGUMENT);
        }
        put(out, 0)
    }

    fn nvmlDeviceGetRemappedRows(
        handle: nvmlDevice_t,
        corrected: *mut c_uint,
        uncorrected: *mut c_uint,
        pending: *mut c_uint,
        failed: *mut c_uint,
    ) {
        divisible(handle)?;
        for out in [corrected, uncorrected, pending, failed] {
            put(out, 0)?;
        }
        Ok(())
    }

    fn nvmlDeviceGetBAR1MemoryInfo(handle: nvmlDevice_t, out: *mut nvmlBAR1Memory_t) {
        // An H200's is as large as its memory, rounded up; nothing is mapped there.
        let total = device(handle)?.memory()?.total.next_power_of_two();
        put(out, nvmlBAR1Memory_t { bar1Total: total, bar1Free: total, bar1Used: 0 })
    }

    fn nvmlDeviceGetMaxPcieLinkGeneration(handle: nvmlDevice_t, out: *mut c_uint) {
        pcie_generation(handle, out)
    }

    fn nvmlDeviceGetGpuMaxPcieLinkGeneration(handle: nvmlDevice_t, out: *mut c_uint) {
        pcie_generation(handle, out)
    }

    fn nvmlDeviceGetCurrPcieLinkGeneration(handle: nvmlDevice_t, out: *mut c_uint) {
        pcie_generation(handle, out)
    }

    fn nvmlDeviceGetMaxPcieLinkWidth(handle: nvmlDevice_t, out: *mut c_uint) {
        pcie_width(handle, out)
    }

    fn nvmlDeviceGetCurrPcieLinkWidth(handle: nvmlDevice_t, out: *mut c_uint) {
        pcie_width(handle, out)
    }

    fn nvmlDeviceGetPcieThroughput(handle: nvmlDevice_t, counter: nvmlPcieUtilCounter_t, out: *mut c_uint) {
        device(handle)?;
        if counter >= NVML_PCIE_UTIL_COUNT {
            return Err(Error::INVALID_ARGUMENT);
        }
        put(out, 0)
    }

    fn nvmlDeviceGetPcieReplayCounter(handle: nvmlDevice_t, out: *mut c_uint) {
        device(handle)?;
        put(out, 0)
    }

    fn nvmlDeviceGetFieldValues(handle: nvmlDevice_t, count: c_int, #[elements(count)] values: *mut nvmlFieldValue_t) {
        device(handle)?;
        if count <= 0 {
            return Err(Error::INVALID_ARGUMENT);
        }
        // The call succeeds, and each field says for itself that it is not there.
        (0..values.count()).try_for_each(|index| {
            let field = get(values.at(index))?;
            put(values.at(index), nvmlFieldValue_t { nvmlReturn: Error::NOT_SUPPORTED.0, ..field })
        })
    }
}
