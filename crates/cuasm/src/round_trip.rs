//! A cubin to text and back, with counts: the measure of the text form.

use crate::asm::{self, Options};
use crate::{Malformed, disasm, target};
use cubin::elf::Elf;
use ptx::diagnostic::Diagnostic;
use ptx::source::Source;
use std::time::{Duration, Instant};

/// What came of a cubin that went through text.
#[derive(Clone, Debug, Default)]
pub struct Trip {
    /// The device, as in `sm_90`.
    pub sm: u32,
    /// Words of code; none where an instruction has not 128 bits, since that code is data.
    pub words: u64,
    /// Words that the instruction tables do not have.
    pub unknown: u64,
    /// Words whose text needs bits behind it.
    pub residues: u64,
    /// Bytes of text.
    pub text: u64,
    /// How long the text took.
    pub writing: Duration,
    /// How long the way back took.
    pub reading: Duration,
    /// What is wrong with the control codes, if that was asked for.
    pub hazards: Vec<String>,
    /// What came back different, or did not come back.
    pub difference: Option<String>,
}

/// Takes a cubin through text, without the check that [`crate::disassemble`] makes by itself.
///
/// # Errors
/// The bytes are no cubin, or have something that the text form cannot say.
pub fn round_trip(bytes: &[u8], options: Options) -> Result<Trip, Malformed> {
    let elf = Elf::parse(bytes)?;
    let start = Instant::now();
    let text = disasm::write(&elf, bytes.len())?;
    let mut trip = Trip {
        sm: target::sm(&elf.header),
        text: text.len() as u64,
        writing: start.elapsed(),
        ..Trip::default()
    };
    for line in text.lines().filter(|line| line.starts_with('[')) {
        trip.words += 1;
        trip.unknown += u64::from(line.contains("  .raw "));
        trip.residues += u64::from(line.contains(sass::RESIDUE));
    }
    let source = Source::new("", text);
    let start = Instant::now();
    let again = asm::assemble_with(&source, options);
    trip.reading = start.elapsed();
    let say = |found: &Diagnostic| {
        let number = source.line_column(found.span.start).0;
        let line = source.text().lines().nth(number as usize - 1).unwrap_or("").trim();
        format!("line {number}: {} {}: {line}", found.code, found.message)
    };
    match again {
        Ok(again) => {
            trip.hazards = again.warnings.iter().map(say).collect();
            trip.difference = (again.bytes != bytes).then(|| difference(&elf, bytes, &again.bytes));
        }
        Err(found) => trip.difference = found.first().map(say),
    }
    Ok(trip)
}

/// Where two files begin to differ.
fn difference(elf: &Elf, before: &[u8], after: &[u8]) -> String {
    let at = before.iter().zip(after).take_while(|(before, after)| before == after).count();
    let holder = elf.sections.iter().enumerate().find(|(_, section)| {
        let start = usize::try_from(section.offset).unwrap_or(usize::MAX);
        (start..start.saturating_add(section.data().len())).contains(&at)
    });
    let place = match holder {
        Some((number, section)) => {
            let name = elf.section_name(number as u32).map(String::from_utf8_lossy).unwrap_or_default();
            format!("{name} at {:#x}", at as u64 - section.offset)
        }
        None => "no section".to_owned(),
    };
    let byte = |bytes: &[u8]| bytes.get(at).map_or("its end".to_owned(), |byte| format!("{byte:#04x}"));
    format!("byte {at:#x}, in {place}, is {} in place of {}", byte(after), byte(before))
}
