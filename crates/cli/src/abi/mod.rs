//! `warploom abi`: how C and C++ data, calls and atomics stand in PTX.

mod atomics;
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
    Atomics(atomics::Arguments),
}

pub(crate) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    match &arguments.command {
        Command::Layout(arguments) => layout::execute(arguments),
        Command::Atomics(arguments) => atomics::execute(arguments),
    }
}

/// The host that is meant, by GNU C's rules.
fn target(m32: bool) -> Target {
    Target { host: if m32 { Host::Bits32 } else { Host::Bits64 }, side: Side::Gnu }
}

/// C declarations, with the name of their file for problems.
fn declarations(name: &str, text: &str, target: Target) -> Result<Declarations, Failure> {
    parse(text, target).map_err(|problem| Failure::usage(format!("{name}:{problem}")))
}
