//! Instructions.

use super::plan::Plan;
use super::{relocations, symbols};
use crate::syntax::ControlCode;
use cubin::elf::Relocation;
use std::fmt::Write;

/// Bytes of an instruction.
const WORD: usize = 16;

/// The words of a section of code with their offsets.
pub(super) fn words(data: &[u8]) -> impl Iterator<Item = (u64, u128)> {
    let words = data.as_chunks::<WORD>().0.iter();
    words.enumerate().map(|(index, word)| ((index * WORD) as u64, u128::from_le_bytes(*word)))
}

pub(super) fn print(plan: &Plan<'_>, index: usize, out: &mut String) {
    let data = plan.elf.sections[index].data();
    let symbols = symbols::labels(plan, index);
    let mut symbols = symbols.iter().peekable();
    let mut sites = plan.sites[index].iter().map(|(_, site)| site).peekable();
    let addends = relocations::has_addends(plan, index);
    let returns = return_addresses(plan, index);
    let mut returns = returns.iter().peekable();
    let mut place = |offset: u64, out: &mut String| {
        while let Some((_, symbol)) = symbols.next_if(|symbol| symbol.0 == offset) {
            symbols::declare(plan, index, *symbol, out);
        }
        for label in plan.labels.at(index, offset) {
            let _ = writeln!(out, "{label}:");
        }
    };
    let mut end = 0;
    for (offset, word) in words(data) {
        place(offset, out);
        let mut here = Vec::new();
        while let Some(site) = sites.next_if(|site| site.offset == offset) {
            here.push(site);
        }
        let target = returns.next_if(|found| found.0 == offset).map(|found| found.1);
        instruction(plan, index, &Place { offset, word, sites: &here, addends, target }, out);
        end = offset + WORD as u64;
    }
    for byte in &data[end as usize..] {
        let _ = writeln!(out, "\t.byte\t{byte:#04x}");
    }
    place(end, out);
}

/// An instruction with what applies to it.
struct Place<'a> {
    offset: u64,
    word: u128,
    sites: &'a [&'a Relocation],
    addends: bool,
    /// The place that it takes the address of.
    target: Option<u64>,
}

fn instruction(plan: &Plan<'_>, section: usize, place: &Place<'_>, out: &mut String) {
    let plain = text(plan, section, place);
    let (explicit, text) = match place.sites.split_last() {
        None => (place.sites, plain),
        Some((site, others)) => match with_relocation(plan, place, site) {
            Some(text) => (others, Some(text)),
            None => (place.sites, plain),
        },
    };
    for site in explicit {
        relocations::explicit(plan, site, place.addends, out);
    }
    let control = ControlCode::of(place.word);
    let _ = match text {
        Some((text, 0)) => writeln!(out, "{control}         /*{:04x}*/  {text} ;", place.offset),
        Some((text, residue)) => {
            writeln!(out, "{control}         /*{:04x}*/  {text} ; ^{residue:#x}", place.offset)
        }
        None => writeln!(out, "{control}         /*{:04x}*/  .raw {:#034x} ;", place.offset, place.word & !ControlCode::MASK),
    };
}

/// An instruction's text with labels in it, and the bits that it does not show.
fn text(plan: &Plan<'_>, section: usize, place: &Place<'_>) -> Option<(String, u128)> {
    let isa = plan.isa?;
    let printed = isa.print(place.word, place.offset)?;
    let residue = residue(plan, &printed, place)?;
    let labelled = match (place.target, isa.target(place.word, place.offset)) {
        (Some(address), _) => {
            let label = plan.labels.plain(section, address);
            label.and_then(|label| isa.with_number(&printed, address, &format!("32@lo({label})")))
        }
        (None, Some(target)) => {
            let label = plan.labels.code(section, target);
            label.and_then(|label| isa.with_target(&printed, place.offset, target, &format!("`({label})")))
        }
        (None, None) => None,
    };
    Some((labelled.unwrap_or(printed), residue))
}

/// The bits in which what a text encodes to differs from the word; none if the text encodes to nothing, or to another
/// instruction altogether.
fn residue(plan: &Plan<'_>, text: &str, place: &Place<'_>) -> Option<u128> {
    let again = plan.isa?.parse(text, place.offset).ok()?;
    let residue = (again ^ place.word) & !ControlCode::MASK;
    Some(residue)
}

/// An instruction's text with a relocation as its operand, and the bits that it does not show.
fn with_relocation(plan: &Plan<'_>, place: &Place<'_>, site: &Relocation) -> Option<(String, u128)> {
    let isa = plan.isa?;
    let (function, field) = crate::relocations::operand(site.kind)?;
    let value = (place.word >> field.start) as u32;
    let addend = match place.addends {
        true => site.addend.filter(|_| value == 0)?,
        // The upper half of an address has only its own half of the addend.
        false if value != 0 => return None,
        false => 0,
    };
    let text = relocations::sum(plan, site.symbol, addend);
    if site.symbol == 0 {
        return None;
    }
    let printed = isa.print(place.word, place.offset)?;
    let residue = residue(plan, &printed, place)?;
    let with = isa.with_field(place.word, place.offset, field, &format!("{function}({text})"))?;
    Some((with, residue))
}

/// Instructions that load the address behind the next call, and that address.
pub(super) fn return_addresses(plan: &Plan<'_>, section: usize) -> Vec<(u64, u64)> {
    let Some(isa) = plan.isa else { return Vec::new() };
    let mut loads: Vec<(u64, u32)> = Vec::new();
    let mut found = Vec::new();
    for (offset, word) in words(plan.elf.sections[section].data()) {
        if isa.is_relative_call(word) {
            let behind = offset + WORD as u64;
            found.extend(loads.iter().filter(|load| u64::from(load.1) == behind).map(|load| (load.0, behind)));
        }
        if isa.ends_block(word) {
            loads.clear();
        } else if let Some(number) = isa.loaded_number(word) {
            loads.push((offset, number));
        }
    }
    found.sort_unstable();
    found
}
