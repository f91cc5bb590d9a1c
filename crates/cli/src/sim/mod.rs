//! `warploom sim`: what a kernel costs, cycle by cycle, by a model of the GPU.
//!
//! The kernel is executed while it is modelled; arguments, buffers and what is done with them are those of `run`.
//!
//! | file | what it knows |
//! | --- | --- |
//! | `launch` | a launch in the model |
//! | `page` | its report, and a device's numbers, as text |
//! | `lines` | which lines of PTX and of sources the code is of, and what they cost |
//! | `plots`, `html` | its pictures; one page with both, and with code and cycles |
//! | `compare` | its report beside Nsight Compute's |
//! | `tune` | how it is compiled best |
//! | `sweep` | many launches: kernels, sizes, devices and their parameters |

mod compare;
mod html;
mod launch;
mod lines;
mod page;
mod plots;
mod sweep;
mod tune;

use crate::failure::{EXIT_CODES, Exit, Failure};
use crate::run::outcome;
use crate::run::request::Extents;
use crate::terminal;
use launch::{Code, Modelled, Shape};
use ptxas::Tuning;
use serde_json::json;
use sim::{Device, Idea, Report};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use tune::Tuned;

const EXAMPLES: &str = "\
Examples:
  warploom sim saxpy.ptx --grid 1024 --block 256 'range:f32[262144]' 'zeros:f32[262144]' 262144
  warploom sim k.cubin --grid 8 --block 256 --set l2.latency=400 --set MUFU.interval=4 ...
  warploom sim k.ptx --grid 132 --block 128 --json --timeline k.json ... | jq .metrics
  warploom sim k.ptx --grid 132 --block 128 --tune --out k.cubin ...
  warploom sim device a100
  warploom sim sweep plan.toml --shard 1/8 -o 1.parquet
  warploom sim merge *.parquet -o all.parquet";

/// Say what a kernel costs on a GPU, cycle by cycle, and why: by a model of its multiprocessors.
///
/// The kernel is machine code of sm_90 in a cubin of `warploom asm` or `warploom ptxas`, or PTX, which is compiled first. What it computes is as in `run`. docs/sim.md says what is modelled and where the numbers come from.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Arguments {
    #[command(subcommand)]
    other: Option<Other>,
    #[command(flatten)]
    launch: Option<Launched>,
}

/// What else there is.
#[derive(Debug, clap::Subcommand)]
enum Other {
    Sweep(sweep::Arguments),
    Merge(sweep::Merge),
    Device(Described),
}

/// Print a device's numbers, with where each comes from and how far it may be off
#[derive(Debug, clap::Args)]
struct Described {
    /// One that comes along, or a file that describes one
    #[arg(value_name = "NAME|FILE", default_value = "h100")]
    device: String,
}

/// A launch.
#[derive(Debug, clap::Args)]
struct Launched {
    /// A cubin or a PTX file
    file: PathBuf,
    /// A value for each kernel parameter, as in `run`
    #[arg(value_name = "ARG", allow_negative_numbers = true)]
    arguments: Vec<String>,
    /// The kernel; may be left out if the file has only one
    #[arg(short, long, value_name = "NAME")]
    kernel: Option<String>,
    /// CTAs of the grid: X[,Y[,Z]]
    #[arg(short, long, value_name = "X[,Y[,Z]]", default_value = "1")]
    grid: Extents,
    /// Threads of a CTA: X[,Y[,Z]]
    #[arg(short, long, value_name = "X[,Y[,Z]]")]
    block: Extents,
    /// CTAs of a cluster, along x
    #[arg(long, value_name = "CTAS", default_value_t = 1)]
    cluster: u32,
    /// Bytes of dynamic shared memory
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    shared: u32,
    /// Stop after this many warp instructions
    #[arg(long, value_name = "N", default_value_t = u64::MAX)]
    max_instructions: u64,
    /// Run a cubin that another assembler than ours has made: the code in it is mine to run
    #[arg(long)]
    own_code: bool,
    /// The device that is modelled: one that comes along, or a file that describes one
    #[arg(long, value_name = "NAME|FILE", default_value = "h100")]
    device: String,
    /// Change a number of it: `l2.latency=400`, `MUFU.interval=4`
    #[arg(long, value_name = "NAME=NUMBER")]
    set: Vec<String>,
    /// Write when each CTA was on which SM, for Perfetto or chrome://tracing
    #[arg(long, value_name = "FILE")]
    timeline: Option<PathBuf>,
    /// Write the roofline that the launch stands under, as SVG
    #[arg(long, value_name = "FILE")]
    roofline: Option<PathBuf>,
    /// Write how many warps an SM has room for, by registers and shared memory, as SVG
    #[arg(long, value_name = "FILE")]
    occupancy: Option<PathBuf>,
    /// Write one page with pictures, and source, PTX and machine code side by side with their cycles
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Show the metrics beside what Nsight Compute said of the same launch, with `--csv`
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// Say what would help most: run the launch again with each change of the device that its waiting suggests
    #[arg(long)]
    advise: bool,
    /// Compile PTX with these numbers in place of what the compiler guesses: `rounds=8,warps=1`; docs/ptxas.md says what they are
    #[arg(long, value_name = "NAME=NUMBER,...", default_value_t)]
    tuning: Tuning,
    /// Find the numbers of `--tuning` with which the launch takes fewest cycles, and go on with that code
    #[arg(long, conflicts_with = "tuning")]
    tune: bool,
    /// With --tune: take code that writes other bytes, too, as where threads add floats in the order in which they come
    #[arg(long, requires = "tune")]
    any_order: bool,
    /// With --tune: measure all code that was tried on this machine's GPU
    #[arg(long, requires = "tune")]
    confirm: bool,
    /// With --tune: write the best code, a cubin
    #[arg(short, long, value_name = "FILE", requires = "tune")]
    out: Option<PathBuf>,
    /// Execute so many CTAs of each place of the device alone, and extrapolate: for grids whose CTAs do alike
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(3..))]
    sample: Option<u64>,
    /// Print one JSON object: every metric, and each instruction and line with why warps waited
    #[arg(long)]
    json: bool,
}

pub(crate) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    match (&arguments.other, &arguments.launch) {
        (Some(Other::Sweep(arguments)), _) => sweep::execute(arguments),
        (Some(Other::Merge(arguments)), _) => sweep::merge(arguments),
        (Some(Other::Device(described)), _) => {
            terminal::result(&page::parameters(&launch::device(&described.device)?))?;
            Ok(Exit::Ok)
        }
        (None, Some(launched)) => one(launched),
        (None, None) => Err(Failure::usage("there is no file")),
    }
}

/// One launch.
fn one(arguments: &Launched) -> Result<Exit, Failure> {
    let device = changed(launch::device(&arguments.device)?, &arguments.set)?;
    let shape = Shape {
        grid: arguments.grid.0,
        block: arguments.block.0,
        cluster: arguments.cluster,
        shared: arguments.shared,
        budget: arguments.max_instructions,
        waves: arguments.sample,
        threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
    };
    let wanted = arguments.kernel.as_deref();
    let tuned = match arguments.tune {
        true => Some(tune(arguments, shape, &device)?),
        false => None,
    };
    let code = match &tuned {
        Some(tuned) => Code::new(&arguments.file, tuned.cubin(), arguments.own_code)?,
        None => Code::read(&arguments.file, wanted, arguments.own_code, arguments.tuning)?,
    };
    let kernel = code.kernel(wanted)?;
    let Modelled { report, bound, memory } =
        code.model(kernel, shape, &arguments.arguments, &device).map_err(|stopped| stopped.failure)?;
    if report.sampled.is_some() && bound.buffers.iter().any(|buffer| !buffer.tasks.is_empty()) {
        return Err(Failure::usage(
            "with --sample not all CTAs are executed, so that buffers are not what they would be",
        ));
    }
    files(arguments, &report, &device, &code)?;
    let profile = arguments.compare.as_ref().map(|path| compare::find(path, &report)).transpose()?;
    let ideas = match arguments.advise {
        true => Some(advice(arguments, &report, (&code, shape), &device)?),
        false => None,
    };
    let mut outputs = arguments.json.then(Vec::new);
    let exit = outcome::deliver(&bound.buffers, memory.memory(), outputs.as_mut())?;
    match outputs {
        Some(outputs) => {
            let text = |address| code.program.instruction(kernel, address).unwrap_or_default();
            let mut value = report.json(&device, text);
            code.lines.write(&report, &mut value);
            value["outputs"] = outputs.into();
            if let Some(profile) = &profile {
                value["compare"] = compare::json(&report, &device, profile);
            }
            if let Some(ideas) = &ideas {
                let all = ideas.iter().map(|(idea, cycles)| {
                    json!({ "change": idea.what, "set": idea.set, "instead": idea.instead, "cycles": cycles })
                });
                value["advice"] = all.collect::<Vec<_>>().into();
            }
            if let Some(tuned) = &tuned {
                value["tuning"] = tuned.json();
            }
            value["exit"] = json!(exit as u8);
            terminal::json(&value)?;
        }
        None => {
            let mut page = page::page(&report, &device, &code.program) + &code.lines.tables(&report);
            if let Some(profile) = &profile {
                page = page + "\n" + &compare::table(&report, &device, profile);
            }
            if let Some(ideas) = &ideas {
                page = page + "\n" + &page::advice(&report, ideas);
            }
            if let Some(tuned) = &tuned {
                page = tuned.page() + "\n" + &page;
            }
            terminal::result(&page)?;
        }
    }
    Ok(exit)
}

/// Finds how the kernel is compiled best.
fn tune(arguments: &Launched, shape: Shape, device: &Device) -> Result<Tuned, Failure> {
    let subject = tune::Subject {
        file: &arguments.file,
        kernel: arguments.kernel.as_deref(),
        shape,
        arguments: &arguments.arguments,
        device,
        any_order: arguments.any_order,
    };
    let mut tuned = subject.tune()?;
    if arguments.confirm {
        subject.confirm(&mut tuned)?;
    }
    if let Some(path) = &arguments.out {
        written(path, tuned.cubin())?;
    }
    Ok(tuned)
}

fn written(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    std::fs::write(path, bytes)
        .map_err(|error| Failure::usage(format!("cannot write {}: {error}", path.display())))
}

/// Writes the files that are asked for.
fn files(arguments: &Launched, report: &Report, device: &Device, code: &Code) -> Result<(), Failure> {
    let write = |path: &Path, text: String| written(path, text.as_bytes());
    let drawn = |picture: Result<String, Box<dyn std::error::Error>>| {
        picture.map_err(|error| Failure::usage(format!("a picture is not drawn: {error}")))
    };
    if let Some(path) = &arguments.timeline {
        write(path, sim::timeline(report).to_string())?;
    }
    if let Some(path) = &arguments.roofline {
        write(path, drawn(plots::roofline(report, device))?)?;
    }
    if let Some(path) = &arguments.occupancy {
        write(path, drawn(plots::occupancy(report, device))?)?;
    }
    if let Some(path) = &arguments.html {
        write(path, drawn(html::page(report, device, &code.program, &code.lines))?)?;
    }
    Ok(())
}

/// The launch again with each change that may help; those that do, the best first, with the cycles that it then takes.
fn advice(
    arguments: &Launched,
    report: &Report,
    (code, shape): (&Code, Shape),
    device: &Device,
) -> Result<Vec<(Idea, u64)>, Failure> {
    let head = |at: usize| {
        let text =
            code.program.instruction(&report.kernel, at as u64 * sass_machine::BYTES).unwrap_or_default();
        sass::Instruction::head(&text).to_owned()
    };
    let mut found = Vec::new();
    for idea in sim::ideas(report, device, head) {
        let device = changed(device.clone(), &idea.set)?;
        let again = code.model(&report.kernel, shape, &arguments.arguments, &device);
        let cycles = again.map_err(|stopped| stopped.failure)?.report.cycles;
        if cycles < report.cycles {
            found.push((idea, cycles));
        }
    }
    found.sort_by_key(|(_, cycles)| *cycles);
    Ok(found)
}

/// A device, with what is changed of it.
fn changed(mut device: Device, changes: &[String]) -> Result<Device, Failure> {
    for change in changes {
        device.set(change).map_err(|error| Failure::usage(error.to_string()))?;
    }
    Ok(device)
}
