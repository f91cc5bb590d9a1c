//! `warploom sass`: words of machine code as text and back, what is known of an instruction set, and how it is learned.

mod code;
mod compare;
mod forms;
mod learn;
mod repository;
mod table;
mod words;

use crate::failure::{EXIT_CODES, Exit, Failure};
use ::sass::Arch;
use ::sass_learn::Nvdisasm;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  warploom sass decode --arch sm_90 0x000fe200000001000000000302017221
  warploom sass encode --arch sm_90 '[B------:R-:W-:-:S04] FADD.FTZ R1, R2, -R3'
  warploom sass forms --arch sm_90 FADD
  warploom sass compare --arch sm_90 --oracle /usr/local/cuda/bin/nvdisasm --words 100000
  cuobjdump -sass kernel.cubin > kernel.sass && warploom sass gather --arch sm_90 kernel.sass -o sm_90.samples";

/// Words of machine code as text and back, and what is known of an instruction set.
///
/// `decode`, `encode`, `forms` and the commands about samples need nothing of NVIDIA's. `learn`, `table` and `compare` are tools for
/// the work on the tables: they ask nvdisasm, which --oracle names.
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
    Compare(compare::Arguments),
    Learn(learn::Arguments),
    Table(table::Arguments),
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
        Command::Compare(arguments) => compare::execute(arguments),
        Command::Learn(arguments) => learn::execute(arguments),
        Command::Table(arguments) => table::execute(arguments),
        Command::Gather(arguments) => repository::gather(arguments),
        Command::Verify(arguments) => repository::verify(arguments),
        Command::Merge(arguments) => repository::merge(arguments),
        Command::Keys(arguments) => repository::keys(arguments),
    }
}

/// What a command is told that asks nvdisasm.
#[derive(Debug, clap::Args)]
struct Asked {
    /// The architecture: sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_120
    #[arg(long, value_parser = arch)]
    arch: Arch,
    /// The path of nvdisasm
    #[arg(long, value_name = "PATH")]
    oracle: PathBuf,
}

impl Asked {
    fn open(&self) -> Result<Oracle, Failure> {
        Oracle::open(&self.oracle, self.arch)
    }
}

/// nvdisasm, and a folder for what it reads, which goes with it.
struct Oracle {
    nvdisasm: Nvdisasm,
    scratch: PathBuf,
}

impl Oracle {
    fn open(program: &std::path::Path, arch: Arch) -> Result<Self, Failure> {
        if !program.is_file() {
            let message = format!("there is no program {}", program.display());
            return Err(Failure::usage(message).hint("--oracle takes the path of NVIDIA's nvdisasm"));
        }
        let scratch = std::env::temp_dir().join(format!("warploom-sass-{}", std::process::id()));
        std::fs::create_dir_all(&scratch)
            .map_err(|error| Failure::usage(format!("cannot make {}: {error}", scratch.display())))?;
        Ok(Self { nvdisasm: Nvdisasm::new(program, arch, &scratch), scratch })
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        // What is left in the folder for temporary files does no harm.
        let _ = std::fs::remove_dir_all(&self.scratch);
    }
}

/// An architecture, as clap reads it.
fn arch(text: &str) -> Result<Arch, String> {
    text.parse().map_err(|error: ::sass::UnknownArch| error.to_string())
}
