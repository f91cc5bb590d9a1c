//! `warploom run`: a kernel on the virtual GPU, from a command line.
//!
//! | file | what it knows |
//! | --- | --- |
//! | `grammar` | what an argument can say |
//! | `element`, `fill`, `npy` | numbers as text, generated contents, NumPy's files |
//! | `request` | what a command line says of a launch |
//! | `binding` | from arguments to parameters and buffers |
//! | `launch` | options of the machine, observers, timing |
//! | `gpu` | the same on a real GPU |
//! | `sass` | the same of machine code |
//! | `outcome`, `compare` | what comes of the buffers |
//! | `replay`, `statistics` | the command that shows a fault again; tables |
//! | `check` | the sanitizer |

pub(crate) mod binding;
pub(crate) mod check;
mod compare;
pub(crate) mod element;
mod fill;
mod gpu;
mod grammar;
mod launch;
mod npy;
pub(crate) mod outcome;
pub(crate) mod progress;
mod replay;
pub(crate) mod request;
pub(crate) mod sass;
mod statistics;

use crate::failure::{EXIT_CODES, Exit, Failure};
use crate::{images, input, terminal};
use machine::output::Output;
use machine::{Asynchrony, Launch, LaunchError, Trap};
use ptx::module::Module;
use ptx::source::Source;
use reports::fault;
use request::{Placed, Request, choose};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

const HELP: &str = "\
Arguments, one for each parameter of the kernel, in order:
  42  -1  0x10  1.5  f32:1.5    a number of the parameter's type, or of the type named
  in:data.npy  in:raw.bin:f32   a buffer with a file's contents
  zeros:f32[1024]               a buffer of zeros; shapes may be f32[64x64]
  fill:f32[256]=1.5             the same number everywhere
  range:i32[1000]               0, 1, 2, ...        options :start=A :step=B
  random:f32[1024]:seed=7       repeatable          options :lo=A :hi=B
  list:i32[1,2,3]               these numbers
  same:0+256                    byte 256 of the buffer of parameter 0 (or of its name)
  null  bytes:00ff  file:s.bin  a null pointer; a structure's bytes

Actions on a buffer after the launch, each behind a comma:
  ,print  ,print:8:hex          print the first elements
  ,out:c.npy  ,out:c.bin        write a file
  ,expect:ref.npy:rel=1e-5      compare, exactly or with :abs=X :rel=X :ulp=N
  ,expect:[1,2,3]  ,expect:fill=1.5  ,expect:range:step=2  ,expect:zeros

Quote arguments with brackets for shells that expand them. A negative number may need -- before the arguments.

Examples:
  warploom run add.ptx --grid 4 --block 256 'range:f32[1024]' 'range:f32[1024]' \\
      'zeros:f32[1024],print:8,expect:range:step=2' 1024
  warploom run mm.ptx --kernel matmul --grid 8,8 --block 16,16 in:a.npy in:b.npy 'zeros:f32[128x128],out:c.npy' 128
  warploom run add.ptx --grid 4 --block 256 --stats --json ... | jq .stats.total
  warploom run racy.ptx --grid 64 --block 32 --scheduler random:1 ...
  warploom run add.cubin --grid 4 --block 256 --check hazards 'range:f32[1024]' 'zeros:f32[1024],print:8' 1024";

/// Run a kernel on the virtual GPU.
///
/// The kernel is PTX, or machine code of sm_90 in a cubin that `warploom asm` or `warploom ptxas` made. What the kernel prints and what `,print` shows goes to standard output, everything else to standard error.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct Arguments {
    #[command(flatten)]
    request: Request,
    /// What runs the kernel
    #[arg(
        long,
        value_enum,
        env = "WARPLOOM_ENGINE",
        hide_env_values = true,
        default_value_t,
        value_name = "NAME"
    )]
    engine: Engine,
    /// Host threads; 0 is one for each core [default: 0, with --trace 1]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// When asynchronous operations are done: eager, late, random:SEED or adversarial
    #[arg(long = "async", value_name = "WHEN", default_value_t, conflicts_with = "check")]
    asynchrony: Asynchrony,
    /// Launch N times, from the same buffers each time, and report the median time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..),
          conflicts_with_all = ["stats", "trace"])]
    repeat: u32,
    /// Write a line for every warp instruction, to standard error or to a file
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    trace: Option<PathBuf>,
    /// Count instructions, divergence and memory traffic, and print the tables
    #[arg(long)]
    stats: bool,
    /// Stop the kernel where a lane executes a .sync instruction whose member mask leaves it out
    #[arg(long)]
    strict: bool,
    /// Look for data races, bad accesses, reads of unwritten memory, misused barriers: race,memory,init,sync or all; for races of
    /// other orders of critical sections, and accesses without a lock in common: predict,locks; in a cubin for dependences that
    /// control codes break: hazards
    #[arg(long, value_name = "CHECKS")]
    check: Option<Wanted>,
    /// Run a cubin that another assembler than ours has made: the code in it is mine to run
    #[arg(long)]
    own_code: bool,
    /// Leave out what this file names
    #[arg(long, value_name = "FILE", requires = "check")]
    suppress: Option<PathBuf>,
    /// Write a litmus test for each race, and a repaired one, to this folder
    #[arg(long, value_name = "FOLDER", requires = "check")]
    emit_litmus: Option<PathBuf>,
    /// Run each launch that is short enough under so many schedules, and report what is seen under any
    #[arg(long, value_name = "N", requires = "check", value_parser = clap::value_parser!(u32).range(1..=1000))]
    schedules: Option<u32>,
    /// Go on after a bad access, which then does nothing and reads zero, up to N different ones [default: 100]
    #[arg(long, value_name = "N", requires = "check", num_args = 0..=1, require_equals = true,
          default_missing_value = "100", value_parser = clap::value_parser!(u32).range(1..))]
    keep_going: Option<u32>,
    /// Write what was found as JUnit XML, for CI
    #[arg(long, value_name = "FILE", requires = "check")]
    junit: Option<PathBuf>,
    /// Write what was found as one HTML page, with the sources
    #[arg(long, value_name = "FILE", requires = "check")]
    html: Option<PathBuf>,
    /// Print what the kernel and the functions that it calls are inside, below their PTX, and run nothing
    #[arg(long, value_enum, value_name = "FORM", conflicts_with_all = ["json", "stats", "trace", "check"])]
    emit: Option<Emit>,
    /// Print one JSON object with everything: outputs, what the kernel printed, time, statistics, fault
    #[arg(long)]
    json: bool,
}

/// What `--check` looks for.
#[derive(Clone, Copy, Debug)]
enum Wanted {
    /// What the sanitizer does.
    Concurrency(sanitizer::Checks),
    /// Dependences of machine code that control codes break.
    Hazards,
}

impl FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "hazards" => Ok(Self::Hazards),
            _ => text.parse().map(Self::Concurrency),
        }
    }
}

impl Arguments {
    /// What the sanitizer is to look for.
    fn checks(&self) -> Option<sanitizer::Checks> {
        self.check.and_then(|wanted| match wanted {
            Wanted::Concurrency(checks) => Some(checks),
            Wanted::Hazards => None,
        })
    }
}

/// What runs a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Engine {
    /// The virtual GPU, which interprets kernels
    #[value(alias = "machine")]
    Interp,
    /// The virtual GPU, which compiles kernels with LLVM where it can
    Jit,
    /// The virtual GPU, which compiles kernels that run for long, where an LLVM is found
    #[default]
    Auto,
    /// This machine's NVIDIA GPU, through its driver
    Cuda,
}

/// An inner form of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Emit {
    /// Typed instructions
    Ir,
    /// Operations of the virtual GPU, with their fields
    Ops,
}

/// What a kernel prints, when it is to be part of a report.
#[derive(Clone, Default)]
struct Capture(Arc<Mutex<Vec<u8>>>);

impl Write for Capture {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Capture {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

pub(crate) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    ffi::journal::calls_are_logged();
    if let Some(cubin) = cubin(&arguments.request.file)? {
        return sass::execute(arguments, &cubin);
    }
    if matches!(arguments.check, Some(Wanted::Hazards)) || arguments.own_code {
        return Err(Failure::usage("--check hazards and --own-code are for cubins"));
    }
    let (source, module) = input::module(&arguments.request.file)?;
    if let Some(Emit::Ir) = arguments.emit {
        let kernel = choose(&module, arguments.request.kernel.as_deref(), &source)?;
        terminal::result(&instructions(&module, &kernel.name))?;
        return Ok(Exit::Ok);
    }
    if arguments.engine == Engine::Cuda {
        return gpu::execute(arguments, &source, &module);
    }
    let printed = Capture::default();
    let output = if arguments.json { Output::new(printed.clone()) } else { Output::default() };
    let Placed { device, loaded, kernel, block, binding } =
        arguments.request.place(&source, module, output)?;
    let kernel = loaded.kernel(&kernel).ok_or_else(|| Failure::usage("the kernel is gone"))?;
    let launch = Launch {
        kernel,
        grid: arguments.request.grid.0,
        block,
        cluster: arguments.request.cluster.map(|extents| extents.0),
        nonportable_cluster: arguments.request.nonportable_cluster,
        dynamic_shared: arguments.request.shared,
        params: binding.params,
    };
    if let Some(Emit::Ops) = arguments.emit {
        let listing = device
            .listing(&launch)
            .map_err(|error| Failure::new(exit_of(&error), error_text(&error, &source, None)))?;
        terminal::result(&listing)?;
        return Ok(Exit::Ok);
    }
    let launched = launch::run(arguments, &device, &loaded, &launch, &binding.buffers)?;
    let mut report = arguments.json.then(Vec::new);
    let mut exit = match &launched.result {
        Ok(_) => outcome::deliver(&binding.buffers, device.memory(), report.as_mut())?,
        Err(error) => exit_of(error),
    };
    let misuses = launched.result.iter().flat_map(|report| &report.misuses);
    misuses.for_each(|misuse| terminal::note(&format!("warning: {misuse}\n")));
    let replay = replay(&launched.result);
    if let Some(reports) = &launched.reports {
        exit = exit.max(check::deliver(arguments, reports, launched.result.is_ok())?);
    }
    if let Some(outputs) = report {
        let mut value = launched.json(arguments, &launch, &loaded);
        value["outputs"] = outputs.into();
        if let Some(reports) = &launched.reports {
            value["reports"] = check::json(reports);
        }
        value["printed"] = printed.text().into();
        value["error"] =
            launched.result.as_ref().err().map_or(Value::Null, |error| error_json(error, replay.as_deref()));
        value["exit"] = (exit as u8).into();
        terminal::json(&value)?;
    } else {
        match &launched.result {
            Ok(_) => terminal::note(&launched.summary(&launch, arguments)),
            Err(error) => terminal::note(&error_text(error, &source, replay.as_deref())),
        }
        if let Some(statistics) = &launched.statistics {
            terminal::result(&statistics::text(statistics, loaded.module()))?;
        }
        match &launched.compiles {
            Some(Ok(())) => terminal::result("engine: without --stats the kernel is compiled\n")?,
            Some(Err(why)) => terminal::result(&format!("engine: the kernel is not compiled: {why}\n"))?,
            None => {}
        }
    }
    if let Some(error) = launched.trace_error {
        Failure::usage(format!("the trace is incomplete: {error}")).report();
        exit = exit.max(Exit::Usage);
    }
    Ok(exit)
}

/// The bytes of a file that is a cubin.
pub(crate) fn cubin(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let mut begin = Vec::new();
    let file = match File::open(path) {
        Ok(file) if file.metadata().is_ok_and(|it| it.is_file()) => file,
        // Another reader says what is wrong with it; a pipe can be read once.
        _ => return Ok(None),
    };
    match file.take(64).read_to_end(&mut begin) {
        Ok(_) if images::is_cubin(&begin) => images::read(path).map(Some),
        _ => Ok(None),
    }
}

/// The typed instructions of a kernel and of all that it calls by name.
fn instructions(module: &Module, kernel: &str) -> String {
    let mut functions: Vec<_> = module.function(kernel).into_iter().collect();
    let mut text = String::new();
    let mut next = 0;
    while let Some(&id) = functions.get(next) {
        next += 1;
        let Some(function) = ir::Function::lower(module, id) else { continue };
        text += &format!("{function:#}");
        for callee in function.callees() {
            if !functions.contains(&callee) {
                functions.push(callee);
            }
        }
    }
    text
}

fn exit_of(error: &LaunchError) -> Exit {
    match error {
        LaunchError::InvalidConfiguration(_) | LaunchError::OutOfResources(_) => Exit::Usage,
        LaunchError::Unsupported(_) => Exit::Unsupported,
        LaunchError::Fault(fault) if fault.trap == Trap::Cancelled => Exit::Cancelled,
        LaunchError::Fault(_) => Exit::Fault,
    }
}

/// The command that shows a fault again.
fn replay<T>(result: &Result<T, LaunchError>) -> Option<String> {
    match result {
        Err(LaunchError::Fault(fault)) if fault.trap != Trap::Cancelled => {
            let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
            Some(replay::command(words, &fault.scheduler))
        }
        _ => None,
    }
}

fn error_text(error: &LaunchError, source: &Source, replay: Option<&str>) -> String {
    match error {
        LaunchError::InvalidConfiguration(_) | LaunchError::OutOfResources(_) => format!("error: {error}"),
        LaunchError::Unsupported(unsupported) => fault::unsupported_text(source, unsupported),
        LaunchError::Fault(fault) => fault::text(source, fault, replay),
    }
}

fn error_json(error: &LaunchError, replay: Option<&str>) -> Value {
    match error {
        LaunchError::InvalidConfiguration(_) | LaunchError::OutOfResources(_) => {
            json!({ "launch": error.to_string() })
        }
        LaunchError::Unsupported(unsupported) => {
            json!({ "unsupported": fault::unsupported_json(unsupported) })
        }
        LaunchError::Fault(fault) => json!({ "fault": fault::json(fault, replay) }),
    }
}
