//! `warploom cubin`: what stands in a cubin, and whether it survives being read and written.

mod attributes;
mod show;
mod tables;
mod verify;

use crate::failure::{EXIT_CODES, Exit, Failure};
use crate::images;
use ::cubin::elf::Elf;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  warploom cubin show kernel.cubin
  warploom cubin sections --json kernel.cubin
  warploom cubin info --index 3 libcurand.so.10
  warploom cubin verify /usr/local/cuda/lib64";

/// Show what stands in a cubin.
///
/// Where a cubin is expected, a fatbin, object, library or archive with one in it will do; `--index` chooses of several.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Arguments {
    #[command(subcommand)]
    view: View,
}

#[derive(Debug, clap::Subcommand)]
enum View {
    /// For which device it is, who made it, and what its functions take
    Show(File),
    /// Its sections and segments
    Sections(File),
    /// Its symbols
    Symbols(File),
    /// Its relocations
    Relocations(File),
    /// Its attributes: `.nv.info` of the file and of each function, `.nv.compat`
    Info(File),
    /// Read and write back every cubin in files and folders, and say which come out different
    Verify(verify::Arguments),
}

/// Which cubin, and how.
#[derive(Debug, clap::Args)]
struct File {
    /// A cubin, or a file with cubins in it
    file: PathBuf,
    /// Which of several cubins, as `warploom fatbin list` numbers them
    #[arg(long, value_name = "N")]
    index: Option<usize>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl File {
    fn elf(&self) -> Result<Elf, Failure> {
        let bytes = images::cubin(&self.file, self.index)?;
        Elf::parse(&bytes).map_err(|error| self.unusable(&error))
    }

    fn unusable(&self, error: &dyn std::fmt::Display) -> Failure {
        Failure::usage(format!("{}: {error}", self.file.display()))
    }
}

pub(crate) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    match &arguments.view {
        View::Show(file) => show::execute(file),
        View::Sections(file) => tables::sections(file),
        View::Symbols(file) => tables::symbols(file),
        View::Relocations(file) => tables::relocations(file),
        View::Info(file) => attributes::execute(file),
        View::Verify(arguments) => verify::execute(arguments),
    }
}

/// A name as text.
fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// The name of a section; empty if it has none that can be read.
fn section_name(elf: &Elf, number: u32) -> String {
    elf.section_name(number).map(text).unwrap_or_default()
}
