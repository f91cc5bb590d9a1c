//! `warploom fatbin pack`.

use super::Packing;
use crate::failure::{Exit, Failure};
use crate::{images, input};
use ::cubin::elf::Elf;
use ::cubin::fatbin::{Container, Content, Item, Kind, Reach};
use ::cubin::read::Program;
use ptx::types::ArchVariant;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// PTX files and cubins
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Where the fatbin goes
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// How the entries are packed
    #[arg(long, value_enum, default_value_t = Packing::None, value_name = "HOW")]
    compress: Packing,
}

pub(super) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    let items = arguments.files.iter().map(|file| item(file, arguments.compress));
    let container = Container::new(items.collect::<Result<_, _>>()?);
    images::write(&arguments.output, &container.to_bytes())
}

/// The entry that a file becomes.
fn item(file: &Path, compress: Packing) -> Result<Item, Failure> {
    let unusable = |error: &dyn std::fmt::Display| Failure::usage(format!("{}: {error}", file.display()));
    let bytes = images::read(file)?;
    let compression = compress.into();
    let content = if images::is_cubin(&bytes) {
        let elf = Elf::parse(&bytes).map_err(|error| unusable(&error))?;
        let architecture = Program::new(&elf).architecture();
        let reach = if architecture.specific == Some(true) { Reach::Specific } else { Reach::Base };
        let version = (1, u16::from(elf.header.abi_version));
        Content { kind: Kind::Elf, sm: architecture.sm, reach, version, name: None, compression }
    } else {
        let (_, module) = input::module(file)?;
        let reach = match module.arch.variant {
            ArchVariant::Base => Reach::Base,
            ArchVariant::Family => Reach::Family,
            ArchVariant::Specific => Reach::Specific,
        };
        let version = (module.version.major.into(), module.version.minor.into());
        Content { kind: Kind::Ptx, sm: module.arch.sm.into(), reach, version, name: None, compression }
    };
    Item::new(&content, &bytes).map_err(|error| unusable(&error))
}
