//! `warploom fatbin`: what stands in a fatbin, taking it out, and making one.

mod change;
mod extract;
mod list;
mod pack;

use crate::failure::{EXIT_CODES, Exit, Failure};
use ::cubin::fatbin::{Compression, Kind};

const EXAMPLES: &str = "\
Examples:
  warploom fatbin list libcurand.so.10
  warploom fatbin extract --kind ptx program -o folder
  warploom fatbin pack kernel.ptx kernel.sm_90.cubin --compress zstd -o kernel.fatbin
  warploom fatbin replace program --index 2 --with edited.cubin -o program.edited";

/// List, extract, make and change fatbins: alone, or in objects, programs, libraries and archives.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List the entries of all fatbins in a file
    List(list::Arguments),
    /// Write entries to files, unpacked
    Extract(extract::Arguments),
    /// Make a fatbin of PTX files and cubins
    Pack(pack::Arguments),
    /// Replace one entry; all others stay as they are
    Replace(change::Arguments),
}

/// `--compress`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Packing {
    /// Not at all
    None,
    /// LZ4
    Lz4,
    /// Zstd
    Zstd,
}

impl From<Packing> for Compression {
    fn from(packing: Packing) -> Self {
        match packing {
            Packing::None => Self::None,
            Packing::Lz4 => Self::Lz4,
            Packing::Zstd => Self::Zstd,
        }
    }
}

pub(crate) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    match &arguments.action {
        Action::List(arguments) => list::execute(arguments),
        Action::Extract(arguments) => extract::execute(arguments),
        Action::Pack(arguments) => pack::execute(arguments),
        Action::Replace(arguments) => change::execute(arguments),
    }
}

/// The name of what an entry holds.
fn kind(kind: Kind) -> String {
    match kind {
        Kind::Ptx => "ptx".to_owned(),
        Kind::Elf => "cubin".to_owned(),
        Kind::Lto => "lto".to_owned(),
        Kind::Other(number) => format!("kind {number}"),
    }
}
