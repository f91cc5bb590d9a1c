//! The cubins and PTX in a file: it may be one, or a fatbin, an object, a program, a library or an archive with fatbins.

use crate::failure::{Exit, Failure};
use ::cubin::fatbin::{self, Kind, Reach};
pub(crate) use ::cubin::images::{fatbins, is_cubin};
use std::borrow::Cow;
use std::path::Path;

/// A file's bytes.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))
}

/// A cubin of a file that holds one, or of one that holds several the one with a number.
pub(crate) fn cubin(path: &Path, index: Option<usize>) -> Result<Vec<u8>, Failure> {
    let bytes = read(path)?;
    if is_cubin(&bytes) {
        return Ok(bytes);
    }
    let name = path.display();
    let unusable = |error: &dyn std::fmt::Display| Failure::usage(format!("{name}: {error}"));
    let fatbins = fatbins(&bytes).map_err(|error| unusable(&error))?;
    let mut number = 0;
    let mut cubins = Vec::new();
    for fatbin in &fatbins {
        for entry in fatbin::entries(fatbin.bytes).map_err(|error| unusable(&error))? {
            if entry.kind == Kind::Elf {
                cubins.push((number, entry));
            }
            number += 1;
        }
    }
    let wanted = match (index, cubins.as_slice()) {
        (None, [(_, only)]) => Some(only),
        (None, []) => return Err(Failure::usage(format!("{name} holds no cubin"))),
        (None, many) => {
            let message = format!("{name} holds {} cubins", many.len());
            return Err(
                Failure::usage(message).hint("choose one with --index; `warploom fatbin list` shows them")
            );
        }
        (Some(index), cubins) => cubins.iter().find(|(number, _)| *number == index).map(|(_, entry)| entry),
    };
    let Some(entry) = wanted else {
        return Err(Failure::usage(format!("{name} has no cubin {}", index.unwrap_or_default())));
    };
    entry.bytes().map(Cow::into_owned).map_err(|error| unusable(&error))
}

/// `sm_90a`, as the target of an entry.
pub(crate) fn target(kind: Kind, sm: u32, reach: Reach) -> String {
    let prefix = if kind == Kind::Elf { "sm" } else { "compute" };
    let suffix = match reach {
        Reach::Base => "",
        Reach::Family => "f",
        Reach::Specific => "a",
    };
    format!("{prefix}_{sm}{suffix}")
}

/// Writes a file.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<Exit, Failure> {
    let failed = |error| Failure::usage(format!("cannot write {}: {error}", path.display()));
    std::fs::write(path, bytes).map(|()| Exit::Ok).map_err(failed)
}
