//! A cubin as text.
//!
//! Every number of the file either follows from the text by a rule, and is left out where it does, or is written down.
//! So what is written is what the rules do not say, and an edit moves all that follows from it.

mod code;
mod data;
mod header;
mod info;
mod labels;
mod plan;
mod relocations;
mod symbols;

use crate::Malformed;
use crate::syntax::quoted;
use cubin::elf::Elf;
use labels::Labels;
use plan::{Content, Plan};
use std::fmt::Write;

/// Writes a cubin as text. The text has been assembled, and gives the same bytes.
///
/// # Errors
/// The bytes are no cubin, or have something that the text form cannot say.
pub fn disassemble(bytes: &[u8]) -> Result<String, Malformed> {
    let text = write(&Elf::parse(bytes)?, bytes.len())?;
    // A damaged file may hold what no rule foresees: better no text than one that loses something.
    let source = ptx::source::Source::new("", text);
    match crate::assemble(&source) {
        Ok(again) if again.bytes == bytes => Ok(source.text().to_owned()),
        _ => Err(Malformed::Form("the text form cannot say everything that is in this file")),
    }
}

/// The text, not yet checked. A cubin of so many bytes has a text about four times as long.
pub(crate) fn write(elf: &Elf, size: usize) -> Result<String, Malformed> {
    let plan = Plan::new(elf)?;
    let labels = Labels::new(&plan);
    let mut out = String::with_capacity(size * 4);
    header::file(&plan, &mut out);
    for index in 1..elf.sections.len() {
        section(&plan, &labels, index, &mut out);
    }
    header::segments(&plan, &mut out);
    Ok(out)
}

fn section(plan: &Plan<'_>, labels: &Labels, index: usize, out: &mut String) {
    let name = &plan.names.sections[index];
    let printable = name.replace(|letter: char| !matches!(letter, ' '..='~'), "?");
    let _ = writeln!(out, "\n//--------------------- {printable:<24} --------------------------");
    header::section(plan, index, out);
    match plan.contents[index] {
        Content::Strings => data::strings(plan, index, out),
        Content::Symbols => symbols::table(plan, out),
        Content::Relocations => relocations::table(plan, index, out),
        Content::Info => info::print(plan, labels, index, out),
        Content::Code => code::print(plan, labels, index, out),
        Content::Data => data::print(plan, labels, index, out),
        Content::Overlay(other) => {
            let _ = writeln!(out, "\t.__section_overlay\t{}", quoted(&plan.names.sections[other]));
        }
    }
}
