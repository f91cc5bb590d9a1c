//! `warploom devices`: the device profiles.

use crate::failure::{EXIT_CODES, Exit, Failure};
use crate::terminal::{self, table, thousands};
use machine::Profile;
use machine::profile::PROFILES;
use serde_json::{Value, json};

const EXAMPLES: &str = "\
Examples:
  warploom devices
  warploom devices h200
  warploom devices --json | jq -r '.[].name'";

/// List the devices that the machine can be, with their limits.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Arguments {
    /// Show everything about one device
    #[arg(value_parser = profile)]
    name: Option<&'static Profile>,
    /// Print JSON: an array of devices, or one
    #[arg(long)]
    json: bool,
}

/// The profile that an option names.
pub(crate) fn profile(name: &str) -> Result<&'static Profile, String> {
    let names = PROFILES.iter().map(|p| p.name).collect::<Vec<_>>().join(", ");
    Profile::by_name(name).ok_or_else(|| format!("there is no such device; there are {names}"))
}

pub(crate) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    match (arguments.name, arguments.json) {
        (Some(profile), true) => terminal::json(&value(profile))?,
        (None, true) => terminal::json(&PROFILES.iter().map(value).collect())?,
        (Some(profile), false) => terminal::result(&one(profile))?,
        (None, false) => terminal::result(&all())?,
    }
    Ok(Exit::Ok)
}

const GIB: u64 = 1 << 30;

fn all() -> String {
    let header = [
        "name",
        "device",
        "sm",
        "SMs",
        "memory",
        "shared/CTA",
        "shared/SM",
        "threads/SM",
        "CTAs/SM",
        "clock",
    ];
    let rows = PROFILES.iter().map(|p| {
        vec![
            p.name.to_owned(),
            p.device_name.to_owned(),
            p.sm.to_string(),
            p.multiprocessors.to_string(),
            format!("{} GiB", p.memory / GIB),
            format!("{} KiB", p.shared_per_cta_optin >> 10),
            format!("{} KiB", p.shared_per_multiprocessor >> 10),
            p.threads_per_multiprocessor.to_string(),
            p.ctas_per_multiprocessor.to_string(),
            format!("{} MHz", p.clock_khz / 1000),
        ]
    });
    table(&header, rows.collect(), false)
}

fn one(p: &Profile) -> String {
    let kib = |bytes: u32| format!("{} KiB", bytes >> 10);
    let extents = |[x, y, z]: [u32; 3]| format!("{x} x {y} x {z}");
    let specific = if p.arch_specific { format!(", and sm_{}a", p.sm) } else { String::new() };
    let rows = [
        ("name", p.name.to_owned()),
        ("device", p.device_name.to_owned()),
        ("compute capability", format!("{}.{}", p.sm / 10, p.sm % 10)),
        ("targets", format!("up to sm_{}{specific}", p.sm)),
        ("multiprocessors", p.multiprocessors.to_string()),
        ("memory", format!("{} GiB", p.memory / GIB)),
        ("L2 cache", kib(p.l2)),
        ("shared memory of a CTA", kib(Profile::SHARED_PER_CTA)),
        ("  opted in", kib(p.shared_per_cta_optin)),
        ("  of a multiprocessor", kib(p.shared_per_multiprocessor)),
        ("registers of a multiprocessor", thousands(p.registers.into())),
        ("threads of a CTA", thousands(Profile::MAX_THREADS.into())),
        ("threads of a multiprocessor", thousands(p.threads_per_multiprocessor.into())),
        ("CTAs of a multiprocessor", p.ctas_per_multiprocessor.to_string()),
        ("block extents", extents(Profile::MAX_BLOCK)),
        ("grid extents", extents(Profile::MAX_GRID)),
        ("kernel parameters", format!("{} bytes", thousands(Profile::MAX_PARAMETERS.into()))),
        ("clock", format!("{} MHz", p.clock_khz / 1000)),
        ("memory clock", format!("{} MHz", p.memory_clock_khz / 1000)),
        ("memory bus", format!("{} bits", p.memory_bus_bits)),
    ];
    rows.map(|(name, value)| format!("{name:<31}{value}\n")).concat()
}

fn value(p: &Profile) -> Value {
    json!({
        "name": p.name,
        "device_name": p.device_name,
        "sm": p.sm,
        "arch_specific": p.arch_specific,
        "multiprocessors": p.multiprocessors,
        "memory": p.memory,
        "registers": p.registers,
        "threads_per_multiprocessor": p.threads_per_multiprocessor,
        "ctas_per_multiprocessor": p.ctas_per_multiprocessor,
        "shared_per_multiprocessor": p.shared_per_multiprocessor,
        "shared_per_cta": Profile::SHARED_PER_CTA,
        "shared_per_cta_optin": p.shared_per_cta_optin,
        "max_threads": Profile::MAX_THREADS,
        "max_block": Profile::MAX_BLOCK,
        "max_grid": Profile::MAX_GRID,
        "max_parameter_bytes": Profile::MAX_PARAMETERS,
        "clock_khz": p.clock_khz,
        "memory_clock_khz": p.memory_clock_khz,
        "memory_bus_bits": p.memory_bus_bits,
        "l2": p.l2,
    })
}
