//! The code in cubins, and in whatever holds cubins.

use crate::failure::Failure;
use crate::images;
use ::cubin::elf::{Elf, section};
use ::cubin::fatbin::{self, Kind};
use ::cubin::read::Program;
use ::sass::Arch;
use std::path::Path;

/// The words of every section of code for an architecture in a file: a cubin, or a fatbin, object, program, library or archive
/// with some. `None` if the file is none of these.
pub(super) fn sections(bytes: &[u8], path: &Path, arch: Arch) -> Result<Option<Vec<Vec<u128>>>, Failure> {
    let unusable = |error: &dyn std::fmt::Display| Failure::usage(format!("{}: {error}", path.display()));
    let mut found = Vec::new();
    if images::is_cubin(bytes) {
        of_cubin(bytes, arch, &mut found).map_err(|error| unusable(&error))?;
        return Ok(Some(found));
    }
    let Ok(fatbins) = images::fatbins(bytes) else { return Ok(None) };
    for image in &fatbins {
        for entry in fatbin::entries(image.bytes).map_err(|error| unusable(&error))? {
            if entry.kind == Kind::Elf && Arch::from_number(entry.sm) == Some(arch) {
                let cubin = entry.bytes().map_err(|error| unusable(&error))?;
                of_cubin(&cubin, arch, &mut found).map_err(|error| unusable(&error))?;
            }
        }
    }
    Ok(Some(found))
}

fn of_cubin(bytes: &[u8], arch: Arch, found: &mut Vec<Vec<u128>>) -> Result<(), ::cubin::elf::Error> {
    let elf = Elf::parse(bytes)?;
    if Arch::from_number(Program::new(&elf).architecture().sm) != Some(arch) {
        return Ok(());
    }
    for section in elf.sections.iter().filter(|it| it.flags & section::EXECUTE != 0) {
        let words = section.data().chunks_exact(16).filter_map(|it| it.try_into().ok());
        let words: Vec<u128> = words.map(u128::from_le_bytes).collect();
        if !words.is_empty() {
            found.push(words);
        }
    }
    Ok(())
}
