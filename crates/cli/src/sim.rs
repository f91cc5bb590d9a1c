//! `warploom sim`: what a kernel costs, cycle by cycle, by a model of the GPU.
//!
//! The kernel is executed while it is modelled; arguments, buffers and what is done with them are those of `run`.

use crate::failure::{EXIT_CODES, Exit, Failure};
use crate::run::request::{Extents, choose_of};
use crate::run::{binding, cubin, outcome, sass};
use crate::terminal::{self, thousands};
use crate::{diagnostics, input};
use machine::Profile;
use machine::output::Output;
use machine::{Device as Memory, DeviceOptions};
use sass_machine::{BYTES, Launch, Loaded, Program};
use serde_json::json;
use sim::{Device, Failure as Unsimulated, Report, Stall, simulate};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  warploom sim saxpy.ptx --grid 1024 --block 256 'range:f32[262144]' 'zeros:f32[262144]' 262144
  warploom sim k.cubin --grid 8 --block 256 --set l2.latency=400 --set MUFU.interval=4 ...
  warploom sim k.ptx --grid 132 --block 128 --json --timeline k.json ... | jq .metrics";

/// Say what a kernel costs on a GPU, cycle by cycle, and why: by a model of its multiprocessors.
///
/// The kernel is machine code of sm_90 in a cubin of `warploom asm` or `warploom ptxas`, or PTX, which is compiled first. What it computes is as in `run`. docs/sim.md says what is modelled and where the numbers come from.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Arguments {
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
    /// Print one JSON object: every metric, and each instruction with why warps waited
    #[arg(long)]
    json: bool,
}

pub(crate) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    let name = arguments.file.display().to_string();
    let device = device(arguments)?;
    let bytes = match cubin(&arguments.file)? {
        Some(bytes) => bytes,
        None => compile(&arguments.file, arguments.kernel.as_deref())?,
    };
    let program = sass::read(&name, &bytes, arguments.own_code)?;
    let kernels: Vec<_> = program.kernels().collect();
    if kernels.is_empty() {
        return Err(Failure::usage(format!("{name} has no kernel")));
    }
    let kernel = kernels[choose_of(&kernels, arguments.kernel.as_deref(), &name)?];
    let memory = Memory::new(
        Profile::default(),
        DeviceOptions { output: Output::default(), ..DeviceOptions::default() },
    )
    .map_err(|error| Failure::usage(format!("cannot make the device's memory: {error}")))?;
    let loaded = Loaded::new(&program, memory.memory())
        .map_err(|why| Failure::new(Exit::Unsupported, format!("{name}: {why}")))?;
    sass::executable(&loaded, kernel)?;
    let bound =
        binding::bind(kernel, &sass::layout(&program, kernel), &arguments.arguments, memory.memory())?;
    binding::upload(&bound.buffers, memory.memory(), true)?;
    let launch = Launch {
        kernel,
        grid: arguments.grid.0,
        block: arguments.block.0,
        dynamic_shared: arguments.shared,
        params: &bound.params,
        budget: arguments.max_instructions,
        timed: false,
    };
    let text = |address| program.instruction(kernel, address).unwrap_or_default();
    let report = simulate(&loaded, &launch, &device).map_err(|why| match why {
        Unsimulated::Unmodelled(why) => Failure::new(Exit::Unsupported, format!("not modelled: {why}")),
        Unsimulated::Fault(fault) => Failure::new(sass::exit_of(&fault.kind), sass::fault_text(&fault, text)),
        Unsimulated::Budget => Failure::new(Exit::Fault, why.to_string()),
    })?;
    if let Some(path) = &arguments.timeline {
        let trace = sim::timeline(&report).to_string();
        std::fs::write(path, trace)
            .map_err(|error| Failure::usage(format!("cannot write {}: {error}", path.display())))?;
    }
    let mut outputs = arguments.json.then(Vec::new);
    let exit = outcome::deliver(&bound.buffers, memory.memory(), outputs.as_mut())?;
    match outputs {
        Some(outputs) => {
            let mut value = report.json(&device, text);
            value["outputs"] = outputs.into();
            value["exit"] = json!(exit as u8);
            terminal::json(&value)?;
        }
        None => terminal::result(&page(&report, &device, &program))?,
    }
    Ok(exit)
}

/// The device, with what the command line changes.
fn device(arguments: &Arguments) -> Result<Device, Failure> {
    let wrong = |error: sim::DeviceError| Failure::usage(format!("{}: {error}", arguments.device));
    let known = Device::names().any(|name| name.eq_ignore_ascii_case(&arguments.device));
    let mut device = if known {
        Device::named(&arguments.device).map_err(wrong)?
    } else {
        let text = std::fs::read_to_string(&arguments.device).map_err(|error| {
            let names: Vec<_> = Device::names().collect();
            Failure::usage(format!("cannot read {}: {error}", arguments.device))
                .hint(format!("devices that come along: {}", names.join(", ")))
        })?;
        Device::read(&text).map_err(wrong)?
    };
    for change in &arguments.set {
        device.set(change).map_err(|error| Failure::usage(error.to_string()))?;
    }
    Ok(device)
}

/// PTX as a cubin.
fn compile(file: &Path, kernel: Option<&str>) -> Result<Vec<u8>, Failure> {
    let (source, module) = input::module(file)?;
    let wanted = |name: &str| kernel.is_none_or(|kernel| kernel == name);
    let compiled = ptxas::compile_entries(&module, ptxas::Level::Overlapped, wanted).map_err(|errors| {
        let texts = errors.iter().map(|error| diagnostics::render(&source, error, diagnostics::Format::Text));
        terminal::note(texts.collect::<String>().trim_end());
        Failure::new(Exit::Unsupported, format!("{} is not compiled to machine code", source.name()))
    })?;
    Ok(compiled.cubin)
}

/// The report as text: figures, why warps waited, and the instructions with most of that.
fn page(report: &Report, device: &Device, program: &Program) -> String {
    let mut page = format!(
        "{}, grid {}, block {} on {}: {} cycles, {:.2} us\n\n",
        report.kernel,
        Extents(report.grid),
        Extents(report.block),
        device.name,
        thousands(report.cycles),
        report.nanoseconds(device) / 1000.0,
    );
    let occupancy = &report.occupancy;
    let _ = writeln!(
        page,
        "An SM has room for {} CTAs, {} warps of {}: {} leave no room for more.\n",
        occupancy.ctas,
        occupancy.ctas * occupancy.warps,
        device.parameters.warps,
        occupancy.limit(),
    );
    let rows = report.metrics(device).into_iter().map(|metric| {
        let value = match metric.value.fract() == 0.0 {
            true => thousands(metric.value as u64),
            false => format!("{:.3}", metric.value),
        };
        vec![metric.name, value]
    });
    page += &terminal::table(&["metric", "value"], rows.collect(), true);
    let all = report.stalls().all().max(1);
    let mut lines: Vec<_> = report.lines.iter().enumerate().filter(|(_, line)| line.warps > 0).collect();
    lines.sort_by_key(|(at, line)| (std::cmp::Reverse(line.stalls.all()), *at));
    lines.truncate(SHOWN);
    lines.sort_by_key(|(at, _)| *at);
    let rows = lines.into_iter().map(|(at, line)| {
        let (reason, cycles) = Report::reason(line);
        let address = at as u64 * BYTES;
        let waited = line.stalls.all() - line.stalls.of(Stall::Selected);
        vec![
            format!("{:.1} %", 100.0 * line.stalls.all() as f64 / all as f64),
            thousands(line.warps),
            format!("{:.1}", waited as f64 / line.warps as f64),
            if cycles == 0 { String::new() } else { reason.to_owned() },
            format!("{address:#06x}  {}", program.instruction(&report.kernel, address).unwrap_or_default()),
        ]
    });
    page.push('\n');
    page += &terminal::table(
        &["of all", "warps", "cycles waited", "most for", "instruction"],
        rows.collect(),
        false,
    );
    page
}

/// Instructions that are shown.
const SHOWN: usize = 24;
