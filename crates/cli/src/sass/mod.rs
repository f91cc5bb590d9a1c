//! `warploom sass`: words of machine code as text and back, what is known of an instruction set, what dumped code says of it.

mod forms;
mod repository;
mod words;

use crate::failure::{EXIT_CODES, Exit, Failure};
use ::sass::Arch;

const EXAMPLES: &str = "\
Examples:
  warploom sass decode --arch sm_90 0x000fe200000001000000000302017221
  warploom sass encode --arch sm_90 '[B------:R-:W-:-:S04] FADD.FTZ R1, R2, -R3'
  warploom sass forms --arch sm_90 FADD
  cuobjdump -sass kernel.cubin > kernel.sass && warploom sass gather --arch sm_90 kernel.sass -o sm_90.samples";

/// Words of machine code as text and back, and what is known of an instruction set.
///
/// Nothing of NVIDIA's is needed. `gather` and `verify` take cubins too where --oracle names nvdisasm.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Decode(words::Decode),
    Encode(words::Encode),
    Forms(forms::Arguments),
    Gather(repository::Gather),
    Verify(repository::Verify),
    Merge(repository::Merge),
    Keys(repository::Keys),
}

pub(crate) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    match &arguments.command {
        Command::Decode(arguments) => words::decode(arguments),
        Command::Encode(arguments) => words::encode(arguments),
        Command::Forms(arguments) => forms::execute(arguments),
        Command::Gather(arguments) => repository::gather(arguments),
        Command::Verify(arguments) => repository::verify(arguments),
        Command::Merge(arguments) => repository::merge(arguments),
        Command::Keys(arguments) => repository::keys(arguments),
    }
}

/// An architecture, as clap reads it.
fn arch(text: &str) -> Result<Arch, String> {
    text.parse().map_err(|error: ::sass::UnknownArch| error.to_string())
}
