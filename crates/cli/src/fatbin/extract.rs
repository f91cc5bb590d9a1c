//! `warploom fatbin extract`.

use crate::failure::{Exit, Failure};
use crate::{images, terminal};
use ::cubin::fatbin::{Kind, entries};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// A fatbin, or a file with fatbins in it
    file: PathBuf,
    /// Where the files go; the folder is made
    #[arg(short, long, value_name = "FOLDER", default_value = ".")]
    output: PathBuf,
    /// Only entries that hold this
    #[arg(long, value_enum)]
    kind: Option<Wanted>,
    /// Only the entry with this number, as `list` prints it
    #[arg(long, value_name = "N")]
    index: Option<usize>,
}

/// `--kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Wanted {
    /// PTX text
    Ptx,
    /// Cubins
    Cubin,
}

pub(super) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    let bytes = images::read(&arguments.file)?;
    let name = arguments.file.display();
    let unusable = |error: &dyn std::fmt::Display| Failure::usage(format!("{name}: {error}"));
    let fatbins = images::fatbins(&bytes).map_err(|error| unusable(&error))?;
    std::fs::create_dir_all(&arguments.output).map_err(|error| {
        Failure::usage(format!("cannot make the folder {}: {error}", arguments.output.display()))
    })?;
    let stem = arguments.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (mut index, mut written) = (0, Vec::new());
    for fatbin in &fatbins {
        for entry in entries(fatbin.bytes).map_err(|error| unusable(&error))? {
            let number = index;
            index += 1;
            let wanted = match arguments.kind {
                None => true,
                Some(Wanted::Ptx) => entry.kind == Kind::Ptx,
                Some(Wanted::Cubin) => entry.kind == Kind::Elf,
            };
            if !wanted || arguments.index.is_some_and(|wanted| wanted != number) {
                continue;
            }
            let extension = match entry.kind {
                Kind::Ptx => "ptx",
                Kind::Elf => "cubin",
                Kind::Lto => "lto",
                Kind::Other(_) => "bin",
            };
            let target = images::target(entry.kind, entry.sm, entry.reach);
            let path = arguments.output.join(format!("{stem}.{number}.{target}.{extension}"));
            if entry.kind == Kind::Ptx {
                images::write(&path, entry.text().map_err(|error| unusable(&error))?.as_bytes())?;
            } else {
                images::write(&path, &entry.bytes().map_err(|error| unusable(&error))?)?;
            }
            written.push(path.display().to_string() + "\n");
        }
    }
    if written.is_empty() {
        return Err(Failure::usage(format!("{name} has no such entry"))
            .hint("`warploom fatbin list` shows what it has"));
    }
    terminal::result(&written.concat()).map(|()| Exit::Ok)
}
