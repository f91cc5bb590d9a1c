//! `warploom debug`: a kernel in the debugger, from a terminal or a script.
//!
//! | file | what it knows |
//! | --- | --- |
//! | `line` | a line editor with history and completion; scripts |
//! | `process` | the process of a program, and what it prints |
//! | `program` | the console's end of a program |

mod line;
pub(crate) mod process;
mod program;

use crate::exec;
use crate::failure::{EXIT_CODES, Exit, Failure};
use crate::run::binding::upload;
use crate::run::request::{Placed, Request};
use crate::{input, terminal};
use debugger::attached::{Face, Wishes};
use debugger::files::Files;
use debugger::{Console, Printed, Program, Reply, Session};
use line::Lines;
use machine::Profile;
use machine::output::Output;
use process::Process;
use program::{Remote, Way};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

const HELP: &str = "\
Launch options and arguments are those of `warploom run`. In the debugger `help` lists the commands, which have the names
of cuda-gdb's; a beginning of a name will do.

Examples:
  warploom debug smooth.ptx --grid 2 --block 64 'zeros:f32[128]' 'range:f32[128]' 128
  warploom debug racy.ptx --check race --block 64 'zeros:u32[1]'
  warploom debug smooth.ptx --block 64 -x commands.txt --batch 'zeros:f32[64]' 'range:f32[64]' 64";

/// Debug a kernel on the virtual GPU, forwards and backwards.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct Arguments {
    #[command(flatten)]
    request: Request,
    /// Stop where data races and the like are found: race,memory,init,sync or all
    #[arg(long, value_name = "CHECKS")]
    check: Option<sanitizer::Checks>,
    /// Follow the commands of a file first; a command that fails makes the exit code 1
    #[arg(short = 'x', long = "command", value_name = "FILE")]
    scripts: Vec<PathBuf>,
    /// End behind the scripts
    #[arg(long, requires = "scripts")]
    batch: bool,
    /// Look for source files in this folder too
    #[arg(long, value_name = "FOLDER")]
    source: Vec<PathBuf>,
}

pub(crate) fn execute(arguments: Arguments) -> Result<Exit, Failure> {
    match is_program(&arguments.request.file) {
        true => execute_program(arguments),
        false => execute_kernel(arguments),
    }
}

fn execute_kernel(arguments: Arguments) -> Result<Exit, Failure> {
    let session = session(&arguments.request, arguments.check, std::io::stdout())?;
    let interrupt = session.interrupt();
    // Ctrl-C stops the kernel, not the debugger.
    let _ = ctrlc::set_handler(move || interrupt.store(true, Ordering::Relaxed));
    let mut folders = arguments.source;
    folders.extend(arguments.request.file.parent().map(PathBuf::from));
    let names = line::names(&session);
    let mut console = Console::new(session, Files::new(folders));
    let lines = Lines::new(&arguments.scripts, arguments.batch, names)?;
    converse(lines, |line| Ok(console.follow(line)))
}

fn execute_program(arguments: Arguments) -> Result<Exit, Failure> {
    let Arguments { request, check, scripts, batch, source } = arguments;
    let process = begin(&request, check, source, Face::Console)?;
    let way = Way::default();
    let interrupted = way.clone();
    let _ = ctrlc::set_handler(move || interrupted.interrupt());
    let mut remote = Remote::new(process, way);
    let lines = Lines::new(&scripts, batch, Vec::new())?;
    terminal::result(&remote.wait()?.text)?;
    converse(lines, |line| remote.follow(line))
}

/// Follows lines to the last one.
fn converse(
    mut lines: Lines,
    mut follow: impl FnMut(&str) -> Result<Reply, Failure>,
) -> Result<Exit, Failure> {
    let mut exit = Exit::Ok;
    while let Some(line) = lines.next()? {
        let reply = follow(&line)?;
        terminal::result(&reply.text)?;
        if reply.failed {
            exit = Exit::Findings;
        }
        if reply.quit {
            break;
        }
    }
    Ok(if lines.is_terminal() { Exit::Ok } else { exit })
}

/// Whether a file is a program: an ELF file, a script, or what no file here is, which the shell looks for.
pub(crate) fn is_program(file: &Path) -> bool {
    let mut magic = [0; 4];
    match File::open(file).and_then(|mut file| file.read(&mut magic)) {
        Ok(_) => &magic == b"\x7fELF" || magic.starts_with(b"#!"),
        Err(_) => !file.as_os_str().as_encoded_bytes().contains(&b'/') && file.extension().is_none(),
    }
}

/// Starts the program that a command line asks for.
pub(crate) fn begin(
    request: &Request,
    checks: Option<sanitizer::Checks>,
    folders: Vec<PathBuf>,
    face: Face,
) -> Result<Process, Failure> {
    let Request { file, arguments, kernel, scheduler, max_instructions, .. } = request;
    let extents = [request.block, request.cluster].iter().any(Option::is_some) || request.grid.0 != [1; 3];
    if extents || request.shared != 0 {
        return Err(Failure::usage("a program says itself how it launches its kernels")
            .hint("leave out --grid, --block, --cluster and --shared"));
    }
    let wishes = Wishes {
        face,
        folders: folders.into_iter().filter_map(|folder| std::path::absolute(folder).ok()).collect(),
        kernel: kernel.clone(),
        checks,
        scheduler: *scheduler,
        budget: *max_instructions,
    };
    let usual = request.device.name == Profile::default().name;
    let command = exec::command(file.as_os_str(), arguments, (!usual).then_some(request.device))?;
    Process::start(command, &wishes)
        .map_err(|error| Failure::usage(format!("cannot run {}: {error}", file.display())))
}

/// A session with the launch that a command line asks for; what the kernel prints goes to a sink.
pub(crate) fn session(
    request: &Request,
    checks: Option<sanitizer::Checks>,
    sink: impl Write + Send + 'static,
) -> Result<Session, Failure> {
    let (source, module) = input::module(&request.file)?;
    let printed = Printed::new(sink);
    let Placed { device, loaded, kernel, block, binding } =
        request.place(&source, module, Output::new(printed.clone()))?;
    upload(&binding.buffers, device.memory(), true)?;
    let program = Program {
        device,
        loaded: Arc::new(loaded),
        kernel,
        grid: request.grid.0,
        block,
        cluster: request.cluster.map(|extents| extents.0),
        nonportable_cluster: request.nonportable_cluster,
        dynamic_shared: request.shared,
        params: binding.params,
        scheduler: request.scheduler,
        budget: request.max_instructions,
        checks,
    };
    Session::new(program, printed).map_err(|error| Failure::usage(error.to_string()))
}
