//! Compiled code: the words of files, and how many of them the table does not have or reads otherwise than the oracle.

use std::collections::HashMap;

use super::oracle::Oracle;
use super::report::{Report, shape};
use cubin::elf::{self, Elf, section};
use cubin::fatbin::{self, Kind};
use cubin::images;
use cubin::read::Program;
use sass::Arch;
use sass::decode;

/// The words of every section of code for an architecture in a file: a cubin, or a fatbin, object, program, library or archive
/// with some. `None` if the file is none of these.
///
/// # Errors
/// What is damaged.
pub fn sections(bytes: &[u8], arch: Arch) -> Result<Option<Vec<Vec<u128>>>, String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let mut found = Vec::new();
    if images::is_cubin(bytes) {
        of_cubin(bytes, arch, &mut found).map_err(|error| said(&error))?;
        return Ok(Some(found));
    }
    let Ok(fatbins) = images::fatbins(bytes) else { return Ok(None) };
    for image in &fatbins {
        for entry in fatbin::entries(image.bytes).map_err(|error| said(&error))? {
            if entry.kind == Kind::Elf && Arch::from_number(entry.sm) == Some(arch) {
                let cubin = entry.bytes().map_err(|error| said(&error))?;
                of_cubin(&cubin, arch, &mut found).map_err(|error| said(&error))?;
            }
        }
    }
    Ok(Some(found))
}

fn of_cubin(bytes: &[u8], arch: Arch, found: &mut Vec<Vec<u128>>) -> Result<(), elf::Error> {
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

/// Compares the table in use with the oracle over words of code, each with the number of its uses. All words are decoded;
/// the oracle is asked about all that the table does not have, and of the others about `each` of every shape: the same
/// form, modifiers and kinds of operand, with other registers and numbers. With `each` 0 it is asked about all. The report has so many
/// examples of every group.
pub fn compare_code(
    oracle: &dyn Oracle,
    arch: Arch,
    words: &[(u128, u64)],
    each: usize,
    examples: usize,
) -> Result<Report, String> {
    let mut report = Report::default();
    let mut shapes: HashMap<String, usize> = HashMap::new();
    let mut text = String::new();
    let mut asked: Vec<(u128, u64)> = Vec::new();
    for &(word, uses) in words {
        report.words += 1;
        report.uses += uses;
        let wanted = each == 0
            || decode(arch, word).is_none_or(|it| {
                text.clear();
                it.print(0, &mut text);
                let seen = shapes.entry(shape(&text)).or_default();
                *seen += 1;
                *seen <= each
            });
        if wanted {
            asked.push((word, uses));
        }
    }
    report.ask(oracle, arch, &asked, examples)?;
    Ok(report)
}
