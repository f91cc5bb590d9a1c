//! Bytes that are no instructions.

use super::labels::Labels;
use super::plan::Plan;
use super::symbols;
use crate::syntax::string;
use cubin::elf::section as kind;
use std::fmt::Write;

/// Bytes in a line.
const LINE: usize = 16;
/// Longer runs of zeros are written as `.zero`.
const ZEROS: usize = 32;

/// A string table: what it holds, in its order. The assembler adds what is missing.
pub(super) fn strings(plan: &Plan<'_>, index: usize, out: &mut String) {
    let mut rest = plan.elf.sections[index].data();
    while !rest.is_empty() {
        let zeros = rest.iter().take_while(|&&byte| byte == 0).count();
        if zeros > 0 {
            let _ = writeln!(out, "\t.zero\t{zeros}");
            rest = &rest[zeros..];
            continue;
        }
        let length = rest.iter().position(|&byte| byte == 0);
        let text = crate::strings::latin1(&rest[..length.unwrap_or(rest.len())]);
        // `.ascii` ends without a zero.
        let directive = if length.is_some() { ".string" } else { ".ascii" };
        let _ = writeln!(out, "\t{directive}\t{}", string(&text));
        rest = &rest[length.map_or(rest.len(), |length| length + 1)..];
    }
}

/// Bytes with labels and relocations between them, or the size of a section without bytes.
pub(super) fn print(plan: &Plan<'_>, labels: &Labels, index: usize, out: &mut String) {
    let section = &plan.elf.sections[index];
    let mut symbols = plan.placed[index].iter().peekable();
    let places = symbols.clone().map(|&(at, _)| at).chain(labels.places(index));
    let sites = plan.sites[index].iter().map(|(_, site)| site.offset);
    let mut places: Vec<u64> = places.chain(sites).chain([section.size()]).collect();
    places.sort_unstable();
    places.dedup();
    let mut sites = plan.sites[index].iter().map(|(_, site)| site).peekable();
    let mut at = 0;
    for (number, &place) in places.iter().enumerate() {
        let next = places.get(number + 1).copied().unwrap_or(place);
        bytes(plan, index, at, place, out);
        at = at.max(place);
        while let Some((_, symbol)) = symbols.next_if(|symbol| symbol.0 == place) {
            symbols::declare(plan, labels, index, *symbol, out);
        }
        for label in labels.at(index, place) {
            let _ = writeln!(out, "{label}:");
        }
        let rela = super::relocations::has_addends(plan, index);
        while let Some(site) = sites.next_if(|site| site.offset == place) {
            let last = sites.peek().is_none_or(|next| next.offset != place);
            let value = last.then(|| super::relocations::address(plan, section.data(), site, rela)).flatten();
            match value.filter(|_| next >= place + 8) {
                Some(text) => {
                    let _ = writeln!(out, "\t.dword\t{text}");
                    at = place + 8;
                }
                None => super::relocations::explicit(plan, site, rela, out),
            }
        }
    }
}

fn bytes(plan: &Plan<'_>, index: usize, from: u64, to: u64, out: &mut String) {
    if from >= to {
        return;
    }
    let section = &plan.elf.sections[index];
    if kind::reserves(section.kind) {
        let _ = writeln!(out, "\t.zero\t{}", to - from);
        return;
    }
    let mut rest = &section.data()[from as usize..to as usize];
    while !rest.is_empty() {
        let zeros = rest.iter().take_while(|&&byte| byte == 0).count();
        if zeros >= ZEROS {
            let _ = writeln!(out, "\t.zero\t{zeros}");
            rest = &rest[zeros..];
            continue;
        }
        let (line, next) = rest.split_at(LINE.min(rest.len()));
        let bytes: Vec<_> = line.iter().map(|byte| format!("{byte:#04x}")).collect();
        let _ = writeln!(out, "\t.byte\t{}", bytes.join(", "));
        rest = next;
    }
}
