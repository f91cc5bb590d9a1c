//! `warploom abi`: how C and C++ data, calls and atomics stand in PTX.

mod atomics;
mod call;
mod layout;

use crate::failure::{EXIT_CODES, Exit, Failure};
use ::abi::c::{Declarations, parse};
use ::abi::data::{Host, Side, Target};
use clap::Subcommand;

/// Show how C data and calls stand in PTX: layouts, prototypes, C++ atomics.
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Layout(layout::Arguments),
    Call(call::Arguments),
    Atomics(atomics::Arguments),
}

pub(crate) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    match &arguments.command {
        Command::Layout(arguments) => layout::execute(arguments),
        Command::Call(arguments) => call::execute(arguments),
        Command::Atomics(arguments) => atomics::execute(arguments),
    }
}

/// What layouts and calls are for.
#[derive(Debug, clap::Args)]
struct For {
    /// A host of 32 bits: `long` and pointers have 4 bytes
    #[arg(long)]
    m32: bool,
    /// As nvcc's device side has it where it departs from the guide: packed structures, arguments of more than 128 bytes
    #[arg(long)]
    nvcc: bool,
}

impl For {
    fn target(&self) -> Target {
        Target {
            host: if self.m32 { Host::Bits32 } else { Host::Bits64 },
            side: if self.nvcc { Side::NvccDevice } else { Side::Gnu },
        }
    }
}

/// C declarations, with the name of their file for problems.
fn declarations(name: &str, text: &str, target: Target) -> Result<Declarations, Failure> {
    parse(text, target).map_err(|problem| Failure::usage(format!("{name}:{problem}")))
}
