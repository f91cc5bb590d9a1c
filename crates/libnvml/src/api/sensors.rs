//! What changes while a device works: utilisation, temperature, power, clocks. [`crate::board`] says whose values these are.

use crate::board::{
    GPU_MOST, IDLE_CLOCK, MARGIN, MEMORY_MOST, MOST_VIDEO_CLOCK, SHUTDOWN, SLOWDOWN, TEMPERATURE, VIDEO_CLOCK,
};
use crate::ffi::pointers::{Out, get, put};
use crate::ffi::{Error, Result, api};
use crate::state::{Device, device};
use crate::sys::*;
use driver_api::sys as driver;
use std::ffi::{c_int, c_uint, c_ulonglong};

/// How long a video unit's work is averaged over, in microseconds.
const SAMPLING: c_uint = 100_000;
/// All reasons for which a clock can be low, as an H200 has them.
const REASONS: c_ulonglong = 0x1ff;

/// Writes that a video unit has nothing to do.
fn idle(handle: nvmlDevice_t, utilization: Out<c_uint>, period: Out<c_uint>) -> Result<()> {
    device(handle)?;
    put(utilization, 0)?;
    put(period, SAMPLING)
}

/// The highest clock, in MHz.
fn most(device: Device, kind: nvmlClockType_t) -> Result<c_uint> {
    let which = match kind {
        NVML_CLOCK_GRAPHICS | NVML_CLOCK_SM => driver::CU_DEVICE_ATTRIBUTE_CLOCK_RATE,
        NVML_CLOCK_MEM => driver::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE,
        NVML_CLOCK_VIDEO => return Ok(MOST_VIDEO_CLOCK),
        _ => return Err(Error::INVALID_ARGUMENT),
    };
    // The driver counts kHz.
    Ok(device.attribute(which)? / 1000)
}

/// The clock of a device without work. Memory keeps its own.
fn current(device: Device, kind: nvmlClockType_t) -> Result<c_uint> {
    let idle = match kind {
        NVML_CLOCK_MEM => u32::MAX,
        NVML_CLOCK_VIDEO => VIDEO_CLOCK,
        _ => IDLE_CLOCK,
    };
    Ok(most(device, kind)?.min(idle))
}

/// The clock that programs can choose, which is not the video units'.
fn chosen(device: Device, kind: nvmlClockType_t) -> Result<c_uint> {
    match kind {
        NVML_CLOCK_VIDEO => Err(Error::NOT_SUPPORTED),
        _ => most(device, kind),
    }
}

fn threshold(kind: nvmlTemperatureThresholds_t) -> Result<c_uint> {
    match kind {
        NVML_TEMPERATURE_THRESHOLD_SHUTDOWN => Ok(SHUTDOWN),
        NVML_TEMPERATURE_THRESHOLD_SLOWDOWN => Ok(SLOWDOWN),
        NVML_TEMPERATURE_THRESHOLD_MEM_MAX => Ok(MEMORY_MOST),
        NVML_TEMPERATURE_THRESHOLD_GPU_MAX => Ok(GPU_MOST),
        kind if kind < NVML_TEMPERATURE_THRESHOLD_COUNT => Err(Error::NOT_SUPPORTED),
        _ => Err(Error::INVALID_ARGUMENT),
    }
}

api! {
    fn nvmlDeviceGetUtilizationRates(handle: nvmlDevice_t, out: *mut nvmlUtilization_t) {
        device(handle)?;
        put(out, nvmlUtilization_t { gpu: 0, memory: 0 })
    }

    fn nvmlDeviceGetEncoderUtilization(handle: nvmlDevice_t, utilization: *mut c_uint, period: *mut c_uint) {
        idle(handle, utilization, period)
    }

    fn nvmlDeviceGetDecoderUtilization(handle: nvmlDevice_t, utilization: *mut c_uint, period: *mut c_uint) {
        idle(handle, utilization, period)
    }

    fn nvmlDeviceGetJpgUtilization(handle: nvmlDevice_t, utilization: *mut c_uint, period: *mut c_uint) {
        idle(handle, utilization, period)
    }

    fn nvmlDeviceGetOfaUtilization(handle: nvmlDevice_t, utilization: *mut c_uint, period: *mut c_uint) {
        idle(handle, utilization, period)
    }

    fn nvmlDeviceGetProcessUtilization(
        handle: nvmlDevice_t,
        _samples: *mut nvmlProcessUtilizationSample_t,
        _count: *mut c_uint,
        _since: c_ulonglong,
    ) {
        device(handle)?;
        // What an H200 says as long as no process has done anything.
        Err(Error::NOT_FOUND)
    }

    fn nvmlDeviceGetTemperature(handle: nvmlDevice_t, sensor: nvmlTemperatureSensors_t, out: *mut c_uint) {
        device(handle)?;
        if sensor != NVML_TEMPERATURE_GPU {
            return Err(Error::INVALID_ARGUMENT);
        }
        put(out, TEMPERATURE)
    }

    fn nvmlDeviceGetTemperatureV(handle: nvmlDevice_t, out: *mut nvmlTemperature_t) {
        device(handle)?;
        let asked = get(out)?;
        if asked.version != crate::api::device::version::<nvmlTemperature_t>(1) {
            return Err(Error::VERSION);
        }
        if asked.sensorType != NVML_TEMPERATURE_GPU {
            return Err(Error::INVALID_ARGUMENT);
        }
        put(out, nvmlTemperature_t { temperature: TEMPERATURE as c_int, ..asked })
    }

    fn nvmlDeviceGetTemperatureThreshold(
        handle: nvmlDevice_t,
        kind: nvmlTemperatureThresholds_t,
        out: *mut c_uint,
    ) {
        device(handle)?;
        put(out, threshold(kind)?)
    }

    fn nvmlDeviceGetMarginTemperature(handle: nvmlDevice_t, out: *mut nvmlMarginTemperature_t) {
        device(handle)?;
        let asked = get(out)?;
        if asked.version != crate::api::device::version::<nvmlMarginTemperature_t>(1) {
            return Err(Error::VERSION);
        }
        put(out, nvmlMarginTemperature_t { marginTemperature: MARGIN as c_int, ..asked })
    }

    fn nvmlDeviceGetNumFans(handle: nvmlDevice_t, out: *mut c_uint) {
        put(out, device(handle)?.board()?.fans)
    }

    fn nvmlDeviceGetFanSpeed(handle: nvmlDevice_t, out: *mut c_uint) {
        match device(handle)?.board()?.fans {
            0 => Err(Error::NOT_SUPPORTED),
            // They stand still without work.
            _ => put(out, 0),
        }
    }

    fn nvmlDeviceGetFanSpeed_v2(handle: nvmlDevice_t, fan: c_uint, out: *mut c_uint) {
        if fan >= device(handle)?.board()?.fans {
            return Err(Error::INVALID_ARGUMENT);
        }
        put(out, 0)
    }

    fn nvmlDeviceGetPowerManagementMode(handle: nvmlDevice_t, out: *mut nvmlEnableState_t) {
        device(handle)?.board()?;
        put(out, NVML_FEATURE_ENABLED)
    }

    fn nvmlDeviceGetPowerUsage(handle: nvmlDevice_t, out: *mut c_uint) {
        put(out, device(handle)?.board()?.draws())
    }

    fn nvmlDeviceGetPowerManagementLimit(handle: nvmlDevice_t, out: *mut c_uint) {
        put(out, device(handle)?.board()?.limit())
    }

    fn nvmlDeviceGetPowerManagementDefaultLimit(handle: nvmlDevice_t, out: *mut c_uint) {
        put(out, device(handle)?.board()?.limit())
    }

    fn nvmlDeviceGetEnforcedPowerLimit(handle: nvmlDevice_t, out: *mut c_uint) {
        put(out, device(handle)?.board()?.limit())
    }

    fn nvmlDeviceGetPowerManagementLimitConstraints(
        handle: nvmlDevice_t,
        least: *mut c_uint,
        most: *mut c_uint,
    ) {
        let board = device(handle)?.board()?;
        put(least, board.least_limit())?;
        put(most, board.limit())
    }

    fn nvmlDeviceGetPerformanceState(handle: nvmlDevice_t, out: *mut nvmlPstates_t) {
        device(handle)?;
        put(out, NVML_PSTATE_0)
    }

    fn nvmlDeviceGetPowerState(handle: nvmlDevice_t, out: *mut nvmlPstates_t) {
        device(handle)?;
        put(out, NVML_PSTATE_0)
    }

    fn nvmlDeviceGetMaxClockInfo(handle: nvmlDevice_t, kind: nvmlClockType_t, out: *mut c_uint) {
        put(out, most(device(handle)?, kind)?)
    }

    fn nvmlDeviceGetClockInfo(handle: nvmlDevice_t, kind: nvmlClockType_t, out: *mut c_uint) {
        put(out, current(device(handle)?, kind)?)
    }

    fn nvmlDeviceGetApplicationsClock(handle: nvmlDevice_t, kind: nvmlClockType_t, out: *mut c_uint) {
        put(out, chosen(device(handle)?, kind)?)
    }

    fn nvmlDeviceGetDefaultApplicationsClock(handle: nvmlDevice_t, kind: nvmlClockType_t, out: *mut c_uint) {
        put(out, chosen(device(handle)?, kind)?)
    }

    fn nvmlDeviceGetMaxCustomerBoostClock(handle: nvmlDevice_t, kind: nvmlClockType_t, out: *mut c_uint) {
        let device = device(handle)?;
        if kind == NVML_CLOCK_MEM {
            return Err(Error::NOT_SUPPORTED);
        }
        put(out, chosen(device, kind)?)
    }

    fn nvmlDeviceGetCurrentClocksThrottleReasons(handle: nvmlDevice_t, out: *mut c_ulonglong) {
        device(handle)?;
        put(out, c_ulonglong::from(nvmlClocksEventReasonGpuIdle))
    }

    fn nvmlDeviceGetCurrentClocksEventReasons(handle: nvmlDevice_t, out: *mut c_ulonglong) {
        device(handle)?;
        put(out, c_ulonglong::from(nvmlClocksEventReasonGpuIdle))
    }

    fn nvmlDeviceGetSupportedClocksThrottleReasons(handle: nvmlDevice_t, out: *mut c_ulonglong) {
        device(handle)?;
        put(out, REASONS)
    }

    fn nvmlDeviceGetSupportedClocksEventReasons(handle: nvmlDevice_t, out: *mut c_ulonglong) {
        device(handle)?;
        put(out, REASONS)
    }
}
