//! The table of devices and processes.

use super::fields::{MIB, memory, timestamp};
use crate::terminal::table;
use nvml_wrapper::enum_wrappers::device::TemperatureSensor;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml, cuda_driver_version_major, cuda_driver_version_minor};

/// Devices, and the processes on them. What NVML does not say is N/A.
pub(super) fn text(nvml: &Nvml, devices: &[Device<'_>]) -> Result<String, NvmlError> {
    let version = nvml.sys_cuda_driver_version()?;
    let mut text = format!(
        "{}\nwarploom smi {}    driver {}    CUDA {}.{}\n\n",
        timestamp(),
        env!("CARGO_PKG_VERSION"),
        nvml.sys_driver_version()?,
        cuda_driver_version_major(version),
        cuda_driver_version_minor(version)
    );
    let or = |value: Result<String, NvmlError>| value.unwrap_or_else(|_| "N/A".to_owned());
    let mut rows = Vec::new();
    let mut processes = Vec::new();
    for device in devices {
        let (index, held) = (device.index()?, device.memory_info()?);
        rows.push(vec![
            index.to_string(),
            device.name()?,
            device.pci_info()?.bus_id,
            or(device.temperature(TemperatureSensor::Gpu).map(|degrees| format!("{degrees} C"))),
            or(device.power_usage().map(|milliwatts| format!("{} W", milliwatts / 1000))),
            format!("{} / {} MiB", held.used / MIB, held.total / MIB),
            or(device.utilization_rates().map(|rates| format!("{} %", rates.gpu))),
            or(device.compute_mode().map(|mode| format!("{mode:?}"))),
        ]);
        for process in device.running_compute_processes().unwrap_or_default() {
            processes.push(vec![
                index.to_string(),
                process.pid.to_string(),
                or(nvml.sys_process_name(process.pid, 256)),
                or(memory(&process).map(|mebibytes| format!("{mebibytes} MiB"))),
            ]);
        }
    }
    let devices = ["GPU", "name", "bus", "temperature", "power", "memory", "utilization", "compute mode"];
    text += &table(&devices, rows, false);
    text += "\n";
    text += &match processes.is_empty() {
        true => "no running processes found\n".to_owned(),
        false => table(&["GPU", "process", "program", "memory"], processes, false),
    };
    Ok(text)
}
