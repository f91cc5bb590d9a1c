//! `warploom exec`: another program, with our libraries in the place of NVIDIA's.
//!
//! The program takes the place of this process, so that its exit code, its signals and its terminal are its own. Before
//! that [`program`] looks at the file and says in plain words what will not work.

mod check;
pub(crate) mod environment;
pub(crate) mod libraries;
pub(crate) mod program;
mod sim;
mod told;

use crate::devices;
use crate::failure::{Exit, Failure};
use crate::terminal;
use libraries::{Installation, Prepared};
use machine::{Asynchrony, Profile};
use program::{Finding, Program};
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

const EXAMPLES: &str = "\
Examples:
  warploom exec -- ./vector-add 1000000
  warploom exec --device h100 --count 4 --memory 8G -- python train.py
  warploom exec --dry-run -- ./vector-add     # only say what will not work
  warploom exec --check race -- ./vector-add  # look for data races
  warploom exec --engine jit -- ./vector-add  # compile kernels before they run
  warploom exec --sim -- ./vector-add         # what its kernels cost on an H100, by the model
  eval \"$(warploom exec --env)\"               # this shell, and all that it starts

Environment:
  WARPLOOM_LIB           where the libraries are, if not those beside this program, in ../lib or within it
  WARPLOOM_DEVICES       what --device and --count set: h200:4, or h100,l40s:2
  CUDA_VISIBLE_DEVICES   which of the devices the program sees, and in which order
  WARPLOOM_MEMORY        what --memory sets: bytes, or 512M, 8G
  WARPLOOM_ENGINE        what --engine sets: interp, jit or auto (the default)
  WARPLOOM_ASYNC         what --async sets: eager (the default), late, random:SEED or adversarial
  WARPLOOM_LLVM          the library with LLVM, if not the newest that is installed
  WARPLOOM_CACHE=0       do not keep compiled kernels; WARPLOOM_CACHE_DIR is where they are kept
  WARPLOOM_LOG           LEVEL or LEVEL:FILE; off, error, warn (the default), info, debug or trace
  WARPLOOM_TRACE=api     log every call of the driver with its arguments and its result

Set for the program:
  LD_LIBRARY_PATH        begins with our libraries
  LD_AUDIT               begins with what redirects those libraries wherever the program looks for them
  LD_PRELOAD             begins with what tells programs that /dev/nvidia0 and /dev/nvidiactl are there
  PATH                   begins with a folder with nvidia-smi, which is `warploom smi`
  TRITON_PTXAS_PATH, TRITON_PTXAS_BLACKWELL_PATH, CUPY_COMPILE_WITH_PTX, CUDA_ROOT, XLA_FLAGS
                         Triton, CuPy, JAX and XLA hand over PTX, unless they are told otherwise already

Exit codes:
  that of the program; with --check that of --error-exitcode if it succeeds and something was found; before it starts
  2    a program, a library or a device that is not there
  4    the program would not work, or not with these libraries (--force runs it all the same)";

/// Run a program with the virtual GPU in the place of NVIDIA's driver.
///
/// The program must find the driver and the CUDA runtime as shared libraries, and bring its kernels as PTX.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// What every device is; `warploom devices` lists the names
    #[arg(long, value_name = "NAME", value_parser = devices::profile)]
    device: Option<&'static Profile>,
    /// How many devices there are [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    count: Option<u8>,
    /// How much memory each device has: 512M, 8G [default: half of the host's]
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    memory: Option<String>,
    /// What runs its kernels: interp, jit or auto
    #[arg(long, value_name = "NAME")]
    engine: Option<jit::Choice>,
    /// Run it even if it will not work
    #[arg(long)]
    force: bool,
    /// Say what will not work, and do not run it
    #[arg(long, conflicts_with_all = ["force", "env"])]
    dry_run: bool,
    /// Stop kernels for what a GPU would not notice: accesses behind an allocation, member masks that leave a lane out
    #[arg(long)]
    strict: bool,
    /// When asynchronous operations are done: eager, late, random:SEED or adversarial
    #[arg(long = "async", value_name = "WHEN", conflicts_with = "check")]
    asynchrony: Option<Asynchrony>,
    /// Look for data races, bad accesses, reads of unwritten memory, misused barriers: race,memory,init,sync or all; for races of
    /// other orders of critical sections, and accesses without a lock in common: predict,locks
    #[arg(long, value_name = "CHECKS", conflicts_with_all = ["dry_run", "env"])]
    check: Option<sanitizer::Checks>,
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
    /// Tell of errors that calls of CUDA have returned, and that the program has not asked about
    #[arg(long, requires = "check")]
    api_errors: bool,
    /// Write what was found as JUnit XML, for CI
    #[arg(long, value_name = "FILE", requires = "check")]
    junit: Option<PathBuf>,
    /// Write what was found as one HTML page, with the sources
    #[arg(long, value_name = "FILE", requires = "check")]
    html: Option<PathBuf>,
    /// Let each launch run in the model in cycles too, of an h100 or another device of `warploom sim`, and show what kernels cost
    #[arg(long, value_name = "DEVICE", num_args = 0..=1, require_equals = true, default_missing_value = "h100",
          conflicts_with_all = ["check", "dry_run", "env"])]
    sim: Option<String>,
    /// The exit code if the program succeeds and something was found, or was not checked to its end
    #[arg(long, value_name = "CODE", requires = "check", default_value_t = Exit::Findings as u8)]
    error_exitcode: u8,
    /// Print the reports as one JSON object, to standard error
    #[arg(long, requires = "check")]
    json: bool,
    /// Print the environment for a shell, and run nothing
    #[arg(long)]
    env: bool,
    /// The program and its arguments
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required_unless_present = "env",
        conflicts_with = "env",
        value_name = "PROGRAM"
    )]
    command: Vec<OsString>,
}

/// A size as the driver library reads it from `WARPLOOM_MEMORY`.
fn memory(text: &str) -> Result<String, String> {
    let number = text.strip_suffix(['K', 'M', 'G', 'k', 'm', 'g']).unwrap_or(text);
    match number.parse::<u64>() {
        Ok(1..) => Ok(text.to_owned()),
        _ => Err("a size is a number of bytes, or of K, M or G of them".to_owned()),
    }
}

pub(crate) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    let installation = Installation::find()?;
    let prepared = installation.prepare()?;
    let environment = environment::variables(arguments, &prepared);
    let [name, rest @ ..] = arguments.command.as_slice() else {
        let line = |(name, value): &(&str, OsString)| match shlex::try_quote(&value.to_string_lossy()) {
            Ok(quoted) => Ok(format!("export {name}={quoted}\n")),
            Err(_) => Err(Failure::usage(format!("{name} has a zero byte"))),
        };
        let lines: Result<Vec<String>, Failure> = environment.iter().map(line).collect();
        return terminal::result(&lines?.concat()).map(|()| Exit::Ok);
    };
    let program = Program::open(name, &prepared.tools)?;
    let fatal = announce(&program, &installation, &prepared);
    if arguments.dry_run {
        return Ok(if fatal { Exit::Unsupported } else { Exit::Ok });
    }
    if fatal && !arguments.force {
        return Err(Failure::silent(Exit::Unsupported));
    }
    let mut command = Command::new(&program.path);
    command.arg0(name).args(rest).envs(environment);
    if let Some(checks) = arguments.check {
        return check::run(arguments, command, checks);
    }
    if let Some(device) = &arguments.sim {
        return sim::run(device, command);
    }
    let error = command.exec();
    Err(Failure::usage(format!("cannot run {}: {error}", program.path.display())))
}

/// A program as a command that a process can be made of, for others than `exec`.
pub(crate) fn command(
    name: &OsStr,
    words: &[String],
    device: Option<&'static Profile>,
) -> Result<Command, Failure> {
    let installation = Installation::find()?;
    let prepared = installation.prepare()?;
    let program = Program::open(name, &prepared.tools)?;
    if announce(&program, &installation, &prepared) {
        return Err(Failure::silent(Exit::Unsupported));
    }
    let environment = environment::variables(&Arguments { device, ..Arguments::default() }, &prepared);
    let mut command = Command::new(&program.path);
    command.arg0(name).args(words).envs(environment);
    Ok(command)
}

/// Says what will not work of a program; whether that is fatal.
fn announce(program: &Program, installation: &Installation, prepared: &Prepared) -> bool {
    let findings = program.findings(installation, prepared.redirect.is_some());
    findings.iter().for_each(report);
    findings.iter().any(|finding| finding.fatal)
}

fn report(finding: &Finding) {
    use annotate_snippets::{Level, Renderer};
    let level = if finding.fatal { Level::ERROR } else { Level::WARNING };
    let help = finding.hints.iter().map(|hint| Level::HELP.message(hint.as_str()));
    let group = level.primary_title(finding.message.as_str()).elements(help);
    terminal::note(&Renderer::styled().render(&[group]));
}
