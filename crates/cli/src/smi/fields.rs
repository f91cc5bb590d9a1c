//! Fields of devices and processes: their names, units, and the question to NVML.

use crate::failure::Failure;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::ProcessInfo;
use nvml_wrapper::{Device, Nvml};

/// A field.
pub(super) struct Field {
    /// Its names, the one that headers have first.
    pub(super) names: &'static [&'static str],
    unit: &'static str,
    pub(super) about: &'static str,
    ask: for<'a> fn(&Subject<'a>) -> Result<String, NvmlError>,
}

/// What is asked about.
pub(super) struct Subject<'a> {
    pub(super) nvml: &'a Nvml,
    pub(super) device: &'a Device<'a>,
    /// A process on the device.
    pub(super) process: Option<&'a ProcessInfo>,
}

impl<'a> Subject<'a> {
    fn process(&self) -> Result<&'a ProcessInfo, NvmlError> {
        self.process.ok_or(NvmlError::NotSupported)
    }
}

/// A row of a table of fields.
macro_rules! field {
    ($names:expr, $unit:literal, $about:literal, $ask:expr) => {
        Field { names: &$names, unit: $unit, about: $about, ask: $ask }
    };
}

pub(super) const MIB: u64 = 1 << 20;

fn on(enabled: bool) -> String {
    if enabled { "Enabled" } else { "Disabled" }.to_owned()
}

fn watts(milliwatts: u32) -> String {
    format!("{:.2}", f64::from(milliwatts) / 1000.0)
}

pub(super) fn memory(process: &ProcessInfo) -> Result<String, NvmlError> {
    match process.used_gpu_memory {
        UsedGpuMemory::Used(bytes) => Ok((bytes / MIB).to_string()),
        UsedGpuMemory::Unavailable => Err(NvmlError::NotSupported),
    }
}

/// What `--query-gpu` can be asked.
pub(super) const GPU: &[Field] = &[
    field!(["timestamp"], "", "When it was asked, in the host's time", |_| Ok(timestamp())),
    field!(["driver_version"], "", "The driver's version", |of| of.nvml.sys_driver_version()),
    field!(["count"], "", "How many devices there are", |of| Ok(of.nvml.device_count()?.to_string())),
    field!(["name", "gpu_name"], "", "The product's name", |of| of.device.name()),
    field!(["serial", "gpu_serial"], "", "The board's serial number", |of| of.device.serial()),
    field!(["uuid", "gpu_uuid"], "", "The device's identifier, the same at all times", |of| of.device.uuid()),
    field!(["index"], "", "The device's number, from 0", |of| Ok(of.device.index()?.to_string())),
    field!(["pci.bus_id", "gpu_bus_id"], "", "Its PCI address", |of| Ok(of.device.pci_info()?.bus_id)),
    field!(["compute_cap"], "", "Its compute capability", |of| {
        let capability = of.device.cuda_compute_capability()?;
        Ok(format!("{}.{}", capability.major, capability.minor))
    }),
    field!(["persistence_mode"], "", "Whether the driver stays loaded", |of| of
        .device
        .is_in_persistent_mode()
        .map(on)),
    field!(["compute_mode"], "", "How many processes may use it", |of| Ok(format!(
        "{:?}",
        of.device.compute_mode()?
    ))),
    field!(["pstate"], "", "Its performance state, P0 for the highest", |of| {
        Ok(format!("P{}", of.device.performance_state()?.as_c()))
    }),
    field!(["vbios_version"], "", "The version of its firmware", |of| of.device.vbios_version()),
    field!(["fan.speed"], "%", "How fast its fan turns", |of| Ok(of.device.fan_speed(0)?.to_string())),
    field!(
        ["memory.total"],
        "MiB",
        "Its memory",
        |of| Ok((of.device.memory_info()?.total / MIB).to_string())
    ),
    field!(["memory.reserved"], "MiB", "What the driver keeps of it", |of| {
        Ok((of.device.memory_info()?.reserved / MIB).to_string())
    }),
    field!(["memory.used"], "MiB", "What processes have allocated of it", |of| {
        Ok((of.device.memory_info()?.used / MIB).to_string())
    }),
    field!(["memory.free"], "MiB", "What is left of it", |of| Ok(
        (of.device.memory_info()?.free / MIB).to_string()
    )),
    field!(["utilization.gpu"], "%", "For how much of the last second kernels ran", |of| {
        Ok(of.device.utilization_rates()?.gpu.to_string())
    }),
    field!(["utilization.memory"], "%", "For how much of it memory was accessed", |of| {
        Ok(of.device.utilization_rates()?.memory.to_string())
    }),
    field!(["ecc.mode.current"], "", "Whether its memory corrects errors", |of| {
        Ok(on(of.device.is_ecc_enabled()?.currently_enabled))
    }),
    field!(["mig.mode.current"], "", "Whether it is divided into instances", |of| {
        Ok(on(of.device.mig_mode()?.current != 0))
    }),
    field!(["temperature.gpu"], "", "Degrees Celsius", |of| {
        Ok(of.device.temperature(TemperatureSensor::Gpu)?.to_string())
    }),
    field!(["power.draw"], "W", "What it takes", |of| of.device.power_usage().map(watts)),
    field!(["power.limit"], "W", "What it may take", |of| of.device.power_management_limit().map(watts)),
    field!(["enforced.power.limit"], "W", "The least of its limits", |of| of
        .device
        .enforced_power_limit()
        .map(watts)),
    field!(["clocks.sm", "clocks.current.sm"], "MHz", "The clock of its multiprocessors", |of| {
        Ok(of.device.clock_info(Clock::SM)?.to_string())
    }),
    field!(["clocks.mem", "clocks.current.memory"], "MHz", "The clock of its memory", |of| {
        Ok(of.device.clock_info(Clock::Memory)?.to_string())
    }),
    field!(["clocks.gr", "clocks.current.graphics"], "MHz", "The clock of graphics", |of| {
        Ok(of.device.clock_info(Clock::Graphics)?.to_string())
    }),
    field!(["clocks.max.sm"], "MHz", "The highest clock of its multiprocessors", |of| {
        Ok(of.device.max_clock_info(Clock::SM)?.to_string())
    }),
    field!(["clocks.max.mem", "clocks.max.memory"], "MHz", "The highest clock of its memory", |of| {
        Ok(of.device.max_clock_info(Clock::Memory)?.to_string())
    }),
    field!(["pcie.link.gen.current"], "", "The generation of its PCI Express link", |of| {
        Ok(of.device.current_pcie_link_gen()?.to_string())
    }),
    field!(["pcie.link.gen.max"], "", "The highest that it can have", |of| Ok(of
        .device
        .max_pcie_link_gen()?
        .to_string())),
    field!(["pcie.link.width.current"], "", "The lanes of that link", |of| {
        Ok(of.device.current_pcie_link_width()?.to_string())
    }),
    field!(["pcie.link.width.max"], "", "The most that it can have", |of| {
        Ok(of.device.max_pcie_link_width()?.to_string())
    }),
];

/// What `--query-compute-apps` can be asked.
pub(super) const APPS: &[Field] = &[
    field!(["timestamp"], "", "When it was asked, in the host's time", |_| Ok(timestamp())),
    field!(["gpu_name"], "", "The name of the device that the process uses", |of| of.device.name()),
    field!(["gpu_bus_id"], "", "That device's PCI address", |of| Ok(of.device.pci_info()?.bus_id)),
    field!(["gpu_uuid"], "", "That device's identifier", |of| of.device.uuid()),
    field!(["pid"], "", "The process's number", |of| Ok(of.process()?.pid.to_string())),
    field!(["process_name", "name"], "", "Its program", |of| of
        .nvml
        .sys_process_name(of.process()?.pid, 256)),
    field!(["used_gpu_memory", "used_memory"], "MiB", "What it has allocated there", |of| memory(
        of.process()?
    )),
];

/// Fields that were asked for.
pub(super) struct Of<'f>(Vec<(&'f str, &'f Field)>);

impl<'f> Of<'f> {
    /// The fields of these names.
    pub(super) fn named(known: &'f [Field], names: &'f [String]) -> Result<Self, Failure> {
        let one = |name: &'f String| {
            let name = name.trim();
            let found = known.iter().find(|field| field.names.contains(&name));
            let missing = || {
                let all: Vec<&str> = known.iter().flat_map(|field| field.names).copied().collect();
                Failure::usage(format!("field \"{name}\" is not a valid field to query"))
                    .hint(format!("there are {}", all.join(", ")))
            };
            found.map(|field| (name, field)).ok_or_else(missing)
        };
        names.iter().map(one).collect::<Result<_, _>>().map(Self)
    }

    /// What they are for one device or process; what NVML does not say is `[N/A]`.
    pub(super) fn row(&self, of: &Subject<'_>, units: bool) -> String {
        let cell = |(_, field): &(&str, &Field)| match (field.ask)(of) {
            Ok(value) if units && !field.unit.is_empty() => format!("{value} {}", field.unit),
            Ok(value) => value,
            Err(_) => "[N/A]".to_owned(),
        };
        self.0.iter().map(cell).collect::<Vec<_>>().join(", ")
    }

    /// Rows below a header. That has the names as they were given; units in brackets, also where values have none.
    pub(super) fn table(&self, header: bool, rows: impl Iterator<Item = String>) -> String {
        let title = |(name, field): &(&str, &Field)| match field.unit {
            "" => (*name).to_owned(),
            unit => format!("{name} [{unit}]"),
        };
        let titles = header.then(|| self.0.iter().map(title).collect::<Vec<_>>().join(", "));
        titles.into_iter().chain(rows).map(|line| line + "\n").collect()
    }
}

/// `2026/01/31 23:59:59.000`.
pub(super) fn timestamp() -> String {
    chrono::Local::now().format("%Y/%m/%d %H:%M:%S%.3f").to_string()
}
