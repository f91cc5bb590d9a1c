//! `warploom fatbin list`.

use super::kind;
use crate::failure::{Exit, Failure};
use crate::{images, terminal};
use ::cubin::fatbin::{Compression, Entry, entries};
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// A fatbin, or a file with fatbins in it
    file: PathBuf,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

pub(super) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    let bytes = images::read(&arguments.file)?;
    let name = arguments.file.display();
    let unusable = |error: &dyn std::fmt::Display| Failure::usage(format!("{name}: {error}"));
    let fatbins = images::fatbins(&bytes).map_err(|error| unusable(&error))?;
    let (mut rows, mut values) = (Vec::new(), Vec::new());
    for (number, fatbin) in fatbins.iter().enumerate() {
        for entry in entries(fatbin.bytes).map_err(|error| unusable(&error))? {
            let index = rows.len();
            rows.push(row(index, number, &fatbin.member, &entry));
            values.push(value(index, number, &fatbin.member, &entry));
        }
    }
    if arguments.json {
        return terminal::json(&values.into()).map(|()| Exit::Ok);
    }
    if rows.is_empty() {
        terminal::note(&format!("{name} holds no fatbin"));
        return Ok(Exit::Ok);
    }
    let header = ["#", "fatbin", "kind", "target", "version", "packing", "bytes", "name"];
    terminal::result(&terminal::table(&header, rows, false)).map(|()| Exit::Ok)
}

fn packing(entry: &Entry<'_>) -> &'static str {
    match entry.compression() {
        Compression::None => "none",
        Compression::Lz4 => "lz4",
        Compression::Zstd => "zstd",
    }
}

fn row(index: usize, fatbin: usize, member: &str, entry: &Entry<'_>) -> Vec<String> {
    let (major, minor) = entry.version;
    let names = [member, entry.name.unwrap_or_default()];
    vec![
        index.to_string(),
        fatbin.to_string(),
        kind(entry.kind),
        images::target(entry.kind, entry.sm, entry.reach),
        format!("{major}.{minor}"),
        packing(entry).to_owned(),
        entry.packed_size().to_string(),
        names.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join(" "),
    ]
}

fn value(index: usize, fatbin: usize, member: &str, entry: &Entry<'_>) -> Value {
    json!({
        "index": index,
        "fatbin": fatbin,
        "member": member,
        "kind": kind(entry.kind),
        "target": images::target(entry.kind, entry.sm, entry.reach),
        "version": [entry.version.0, entry.version.1],
        "packing": packing(entry),
        "bytes": entry.packed_size(),
        "flags": entry.flags,
        "name": entry.name,
    })
}
