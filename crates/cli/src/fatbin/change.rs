//! `warploom fatbin replace`.

use super::{Packing, kind};
use crate::failure::{Exit, Failure};
use crate::images;
use ::cubin::fatbin::{CONTAINER_MAGIC, Container, Kind};
use ::cubin::object;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// A fatbin, or a file with fatbins in it
    file: PathBuf,
    /// The number of the entry, as `list` prints it
    #[arg(long, value_name = "N")]
    index: usize,
    /// What it shall hold: PTX or a cubin, as it did
    #[arg(long, value_name = "FILE")]
    with: PathBuf,
    /// Where the result goes
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// How the entry is packed; as it was, if not said
    #[arg(long, value_enum, value_name = "HOW")]
    compress: Option<Packing>,
}

pub(super) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    let name = arguments.file.display();
    let unusable = |error: &dyn std::fmt::Display| Failure::usage(format!("{name}: {error}"));
    let bytes = images::read(&arguments.file)?;
    let payload = images::read(&arguments.with)?;
    let mut before = 0;
    for (number, fatbin) in images::fatbins(&bytes).map_err(|error| unusable(&error))?.iter().enumerate() {
        let mut container = Container::parse(fatbin.bytes).map_err(|error| unusable(&error))?;
        let Some(item) = container.items.get_mut(arguments.index - before) else {
            before += container.items.len();
            continue;
        };
        if (item.entry().kind == Kind::Elf) != images::is_cubin(&payload) {
            let with = arguments.with.display();
            let message = format!(
                "entry {} of {name} holds {}, {with} does not",
                arguments.index,
                kind(item.entry().kind)
            );
            return Err(Failure::usage(message));
        }
        let compression = arguments.compress.map_or_else(|| item.entry().compression(), Into::into);
        item.set_payload(&payload, compression).map_err(|error| unusable(&error))?;
        let changed = container.to_bytes();
        let changed = if bytes.starts_with(&CONTAINER_MAGIC.to_le_bytes()) {
            changed
        } else {
            object::replace(&bytes, number, &changed).map_err(|error| {
                unusable(&error).hint("pack it with --compress zstd, or extract the fatbin and link it again")
            })?
        };
        return images::write(&arguments.output, &changed);
    }
    Err(Failure::usage(format!("{name} has {before} entries, none with the number {}", arguments.index)))
}
