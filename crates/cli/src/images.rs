//! The cubins and PTX in a file: it may be one, or a fatbin, an object, a program, a library or an archive with fatbins.

use crate::failure::{Exit, Failure};
use ::cubin::fatbin::{self, CONTAINER_MAGIC, Kind, Reach};
use ::cubin::object;
use std::borrow::Cow;
use std::path::Path;

/// The bytes that an ELF file begins with.
const ELF: &[u8] = b"\x7fELF";

/// Where the machine stands in an ELF file: [`::cubin::elf::EM_CUDA`] makes it a cubin.
const MACHINE: std::ops::Range<usize> = 18..20;

/// A file's bytes.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))
}

/// A fatbin, and where it was.
pub(crate) struct Found<'b> {
    /// The archive's member; empty if there is none.
    pub(crate) member: String,
    pub(crate) bytes: &'b [u8],
}

/// The fatbins in bytes.
pub(crate) fn fatbins<'b>(bytes: &'b [u8]) -> Result<Vec<Found<'b>>, object::Error> {
    if bytes.starts_with(&CONTAINER_MAGIC.to_le_bytes()) {
        return Ok(vec![Found { member: String::new(), bytes }]);
    }
    let found = |member: object::Member<'b>| {
        let object::Member { name, fatbins, .. } = member;
        fatbins.into_iter().map(move |bytes| Found { member: name.clone(), bytes })
    };
    Ok(object::members(bytes)?.into_iter().flat_map(found).collect())
}

/// Whether bytes are a cubin.
pub(crate) fn is_cubin(bytes: &[u8]) -> bool {
    bytes.starts_with(ELF) && bytes.get(MACHINE) == Some(&::cubin::elf::EM_CUDA.to_le_bytes())
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
