//! `warploom debug`: a kernel in the debugger, from a terminal or a script.
//!
//! | file | what it knows |
//! | --- | --- |
//! | `line` | a line editor with history and completion; scripts |
//! | `sources` | where source texts are looked for |

mod line;
mod sources;

use crate::failure::{EXIT_CODES, Exit, Failure};
use crate::run::request::{Placed, Request};
use crate::{input, terminal};
use debugger::{Console, Printed, Program, Session};
use line::Lines;
use machine::output::Output;
pub(crate) use sources::Files;
use std::io::Write;
use std::path::PathBuf;
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
    let session = session(&arguments.request, arguments.check, std::io::stdout())?;
    let interrupt = session.interrupt();
    // Ctrl-C stops the kernel, not the debugger.
    let _ = ctrlc::set_handler(move || interrupt.store(true, Ordering::Relaxed));
    let mut folders = arguments.source;
    folders.extend(arguments.request.file.parent().map(PathBuf::from));
    let mut console = Console::new(session, Files::new(folders));
    let mut lines = Lines::new(&arguments.scripts, arguments.batch, &console.session)?;
    let mut exit = Exit::Ok;
    while let Some(line) = lines.next()? {
        let reply = console.follow(&line);
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
    for buffer in &binding.buffers {
        buffer.upload(device.memory(), true).map_err(|error| Failure::usage(error.to_string()))?;
    }
    let program = Program {
        device,
        loaded,
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
