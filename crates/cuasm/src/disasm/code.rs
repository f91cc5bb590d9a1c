//! Instructions.

use super::labels::{self, Labels};
use super::plan::Plan;
use super::{relocations, symbols};
use crate::isa;
use cubin::elf::Relocation;
use std::fmt::Write;

pub(super) fn print(plan: &Plan<'_>, labels: &Labels, index: usize, out: &mut String) {
    let data = plan.elf.sections[index].data();
    let mut symbols = plan.placed[index].iter().peekable();
    let mut sites = plan.sites[index].iter().map(|(_, site)| site).peekable();
    let addends = relocations::has_addends(plan, index);
    let returns = labels::return_addresses(plan, index);
    let mut returns = returns.iter().peekable();
    let mut place = |offset: u64, out: &mut String| {
        while let Some((_, symbol)) = symbols.next_if(|symbol| symbol.0 == offset) {
            symbols::declare(plan, labels, index, *symbol, out);
        }
        for label in labels.at(index, offset) {
            let _ = writeln!(out, "{label}:");
        }
    };
    let mut end = 0;
    for (offset, word) in isa::words(data) {
        place(offset, out);
        let mut here = Vec::new();
        while let Some(site) = sites.next_if(|site| site.offset == offset) {
            here.push(site);
        }
        let target = returns.next_if(|found| found.0 == offset).map(|found| found.1);
        instruction(plan, labels, index, &Placed { offset, word, sites: &here, addends, target }, out);
        end = offset + isa::WORD as u64;
    }
    for byte in &data[end as usize..] {
        let _ = writeln!(out, "\t.byte\t{byte:#04x}");
    }
    place(end, out);
}

/// An instruction with what applies to it.
struct Placed<'a> {
    offset: u64,
    word: u128,
    sites: &'a [&'a Relocation],
    addends: bool,
    /// The place that it takes the address of.
    target: Option<u64>,
}

fn instruction(plan: &Plan<'_>, labels: &Labels, section: usize, place: &Placed<'_>, out: &mut String) {
    let plain = text(plan, labels, section, place);
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
    let control = sass::Control::of(place.word);
    let _ = match text {
        Some(text) => writeln!(out, "{control}         /*{:04x}*/  {text} ;", place.offset),
        None => {
            let raw = place.word & !isa::CONTROL;
            writeln!(out, "{control}         /*{:04x}*/  .raw {raw:#034x} ;", place.offset)
        }
    };
}

/// An instruction's text with labels in it; none if the word is unknown.
fn text(plan: &Plan<'_>, labels: &Labels, section: usize, place: &Placed<'_>) -> Option<String> {
    let decoded = plan.isa?.decode(place.word)?;
    let mut text = String::new();
    plan.residues.print(decoded, place.offset, &mut text, |target, out| {
        let label = labels.code(section, target);
        label.is_some_and(|label| write!(out, "`({label})").is_ok())
    });
    let return_to = place.target.and_then(|address| Some((address, labels.plain(section, address)?)));
    Some(match return_to {
        Some((address, label)) => {
            isa::with_last_number(&text, address, &format!("32@lo({label})")).unwrap_or(text)
        }
        None => text,
    })
}

/// An instruction's text with a relocation as its operand.
fn with_relocation(plan: &Plan<'_>, place: &Placed<'_>, site: &Relocation) -> Option<String> {
    let (function, field) = crate::relocations::operand(site.kind)?;
    let empty = place.word & field.mask() == 0;
    let addend = if place.addends { site.addend? } else { 0 };
    if !empty || site.symbol == 0 {
        return None;
    }
    let text = relocations::sum(plan, site.symbol, addend);
    plan.isa?.with_field(place.word, place.offset, field, &format!("{function}({text})"))
}
