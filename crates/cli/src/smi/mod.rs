//! `warploom smi`: what `nvidia-smi` tells, of the devices that programs see.
//!
//! It asks NVML, as `nvidia-smi` does, so that it tells what any program would be told; ours is found through the environment that
//! `warploom exec` makes. There it stands in the search path under the name `nvidia-smi`.
//!
//! | module | what it alone knows |
//! | --- | --- |
//! | [`fields`] | what `--query-gpu` can be asked, and how NVML answers |
//! | [`summary`] | the table |

mod fields;
mod summary;

use crate::exec::{self, libraries::Installation};
use crate::failure::{Exit, Failure};
use crate::terminal;
use fields::{APPS, GPU, Of, Subject};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;
use std::{env, thread};

/// The name by which programs look for it.
pub(crate) const NAME: &str = "nvidia-smi";

const HELP: &str = "\
Examples:
  warploom smi
  warploom smi -L
  warploom smi --query-gpu=index,name,memory.total --format=csv,noheader,nounits
  warploom exec -- nvidia-smi --query-compute-apps=pid,used_memory --format=csv
  warploom smi --help-query-gpu";

/// Tell what nvidia-smi tells: devices, memory, processes.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP, disable_version_flag = true)]
pub(crate) struct Arguments {
    /// List the devices, a line each
    #[arg(short = 'L', long, exclusive = true)]
    list_gpus: bool,
    /// These devices only: numbers, UUIDs or PCI addresses, with commas
    #[arg(short, long, value_name = "ID", value_delimiter = ',')]
    id: Vec<String>,
    /// Fields of devices, as CSV
    #[arg(long, value_name = "FIELDS", value_delimiter = ',', requires = "format")]
    query_gpu: Vec<String>,
    /// Fields of processes that use devices, as CSV
    #[arg(
        long,
        value_name = "FIELDS",
        value_delimiter = ',',
        requires = "format",
        conflicts_with = "query_gpu",
        visible_alias = "query-compute-applications"
    )]
    query_compute_apps: Vec<String>,
    /// How fields are written: csv, with noheader and nounits if they are wanted
    #[arg(long, value_name = "FORMAT", value_delimiter = ',')]
    format: Vec<Format>,
    /// Say it again every so many seconds, until Ctrl-C
    #[arg(short, long = "loop", value_name = "SECONDS", num_args = 0..=1, default_missing_value = "5")]
    l: Option<u64>,
    /// List the fields of --query-gpu
    #[arg(long, exclusive = true)]
    help_query_gpu: bool,
    /// List the fields of --query-compute-apps
    #[arg(long, exclusive = true)]
    help_query_compute_apps: bool,
}

/// A word of `--format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Csv,
    Noheader,
    Nounits,
}

/// Set for the process that finds our NVML.
const INSIDE: &str = "WARPLOOM_SMI";

/// Under the name of `nvidia-smi`.
pub(crate) fn run(words: Vec<OsString>) -> Result<Exit, Failure> {
    #[derive(Debug, clap::Parser)]
    #[command(name = NAME, version)]
    struct Alone {
        #[command(flatten)]
        arguments: Arguments,
    }
    let words = std::iter::once(OsString::from(NAME)).chain(words);
    let Alone { arguments } = clap::Parser::parse_from(words);
    execute(&arguments)
}

pub(crate) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    if arguments.help_query_gpu {
        return listing(GPU.iter().map(|field| (field.names, field.about)));
    }
    if arguments.help_query_compute_apps {
        return listing(APPS.iter().map(|field| (field.names, field.about)));
    }
    if env::var_os(INSIDE).is_none() {
        return again();
    }
    let nvml = Nvml::init().map_err(|error| failed("NVML cannot be used", &error))?;
    loop {
        terminal::result(&said(arguments, &nvml)?)?;
        match arguments.l {
            Some(seconds) => thread::sleep(Duration::from_secs(seconds.max(1))),
            None => return Ok(Exit::Ok),
        }
    }
}

/// Starts this program again, in an environment in which our NVML is found.
fn again() -> Result<Exit, Failure> {
    let prepared = Installation::find()?.prepare()?;
    let program =
        env::current_exe().map_err(|error| Failure::usage(format!("where this program is: {error}")))?;
    let mut words = env::args_os();
    let name = words.next().unwrap_or_default();
    let error = Command::new(program)
        .arg0(name)
        .args(words)
        .env("LD_LIBRARY_PATH", exec::environment::library_path(&prepared))
        .env(INSIDE, "1")
        .exec();
    Err(Failure::usage(format!("this program cannot be started again: {error}")))
}

fn failed(what: &str, error: &NvmlError) -> Failure {
    Failure::usage(format!("{what}: {error}"))
}

fn listing<'a>(fields: impl Iterator<Item = (&'a [&'a str], &'a str)>) -> Result<Exit, Failure> {
    let lines: Vec<String> = fields
        .map(|(names, about)| {
            let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
            format!("{}\n{about}.\n", names.join(" or "))
        })
        .collect();
    terminal::result(&lines.join("\n")).map(|()| Exit::Ok)
}

/// What is said once.
fn said(arguments: &Arguments, nvml: &Nvml) -> Result<String, Failure> {
    let devices = devices(arguments, nvml)?;
    if arguments.list_gpus {
        let line = |device: &Device<'_>| -> Result<String, NvmlError> {
            Ok(format!("GPU {}: {} (UUID: {})\n", device.index()?, device.name()?, device.uuid()?))
        };
        let lines: Result<Vec<String>, NvmlError> = devices.iter().map(line).collect();
        return Ok(lines.map_err(|error| failed("a device", &error))?.concat());
    }
    let wants = |word| arguments.format.contains(&word);
    if !arguments.format.is_empty() && !wants(Format::Csv) {
        return Err(Failure::usage("--format has `csv` among its words"));
    }
    let (header, units) = (!wants(Format::Noheader), !wants(Format::Nounits));
    if !arguments.query_gpu.is_empty() {
        let fields = Of::named(GPU, &arguments.query_gpu)?;
        let rows = devices.iter().map(|device| fields.row(&Subject { nvml, device, process: None }, units));
        return Ok(fields.table(header, rows));
    }
    if !arguments.query_compute_apps.is_empty() {
        let fields = Of::named(APPS, &arguments.query_compute_apps)?;
        let mut rows = Vec::new();
        for device in &devices {
            let processes = device.running_compute_processes().unwrap_or_default();
            let of = |process| Subject { nvml, device, process: Some(process) };
            rows.extend(processes.iter().map(|process| fields.row(&of(process), units)));
        }
        return Ok(fields.table(header, rows.into_iter()));
    }
    if !arguments.format.is_empty() {
        return Err(Failure::usage("--format goes with --query-gpu or --query-compute-apps"));
    }
    summary::text(nvml, &devices).map_err(|error| failed("a device", &error))
}

/// The devices that are asked about.
fn devices<'n>(arguments: &Arguments, nvml: &'n Nvml) -> Result<Vec<Device<'n>>, Failure> {
    let count = nvml.device_count().map_err(|error| failed("the number of devices", &error))?;
    if arguments.id.is_empty() {
        let all: Result<Vec<_>, _> = (0..count).map(|index| nvml.device_by_index(index)).collect();
        return all.map_err(|error| failed("a device", &error));
    }
    let one = |id: &String| {
        let found = match id.parse::<u32>() {
            Ok(index) => nvml.device_by_index(index),
            Err(_) if id.starts_with("GPU-") => nvml.device_by_uuid(id.as_str()),
            Err(_) => nvml.device_by_pci_bus_id(id.as_str()),
        };
        found.map_err(|_| {
            let ids = terminal::count(count as usize, "device");
            Failure::usage(format!("no device `{id}` was found"))
                .hint(format!("there {} {ids}", if count == 1 { "is" } else { "are" }))
        })
    };
    arguments.id.iter().map(one).collect()
}
