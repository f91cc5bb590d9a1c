//! Relocations: written where they apply; their table says in which order they stand in it.

use super::plan::{Plan, entry_size};
use cubin::elf::Relocation;
use cubin::elf::section as kind;
use std::fmt::Write;

/// Whether the relocations that are written in a section have addends of their own.
pub(super) fn has_addends(plan: &Plan<'_>, section: usize) -> bool {
    plan.companion[section].is_some_and(|table| plan.elf.sections[table].kind == kind::RELA)
}

/// `symbol + addend`.
pub(super) fn sum(plan: &Plan<'_>, symbol: u32, addend: i64) -> String {
    let name = plan.symbol(symbol);
    match addend {
        0 => name,
        _ if addend < 0 => format!("{name} - {:#x}", addend.unsigned_abs()),
        _ => format!("{name} + {addend:#x}"),
    }
}

/// The argument of `.dword` for an address, if that says all.
pub(super) fn address(plan: &Plan<'_>, data: &[u8], site: &Relocation, addends: bool) -> Option<String> {
    let at = usize::try_from(site.offset).ok()?;
    let stands = i64::from_le_bytes(*data.get(at..)?.first_chunk()?);
    let addend = match addends {
        true => Some(site.addend.unwrap_or(0)).filter(|_| stands == 0),
        false => Some(stands),
    };
    // The null symbol is no name.
    let named = site.kind == crate::relocations::ADDRESS && site.symbol != 0;
    addend.filter(|_| named).map(|addend| sum(plan, site.symbol, addend))
}

/// `.reloc type, symbol + addend` before the place.
pub(super) fn explicit(plan: &Plan<'_>, site: &Relocation, addends: bool, out: &mut String) {
    let addend = if addends { site.addend.unwrap_or(0) } else { 0 };
    let _ = writeln!(
        out,
        "\t.reloc\t{}, {}",
        crate::names::relocation(site.kind),
        sum(plan, site.symbol, addend)
    );
}

/// A table of relocations.
pub(super) fn table(plan: &Plan<'_>, index: usize, out: &mut String) {
    let section = &plan.elf.sections[index];
    let target = section.info as usize;
    if plan.companion[target] != Some(index) {
        for found in plan.relocations(index) {
            let sum = sum(plan, found.symbol, found.addend.unwrap_or(0));
            let kind = crate::names::relocation(found.kind);
            let _ = writeln!(out, "\t.reloc\t{:#x}, {kind}, {sum}", found.offset);
        }
        return;
    }
    let sites = &plan.sites[target];
    debug_assert_eq!(sites.len() as u64 * entry_size(section.kind), section.size());
    // What stands where in the table, if the places are counted in the order of the text.
    let mut order = vec![0; sites.len()];
    for (place, &(entry, _)) in sites.iter().enumerate() {
        order[entry] = place;
    }
    if order.is_empty() || order == crate::relocations::descending(sites.iter().map(|(_, site)| site.offset))
    {
        return;
    }
    if order.is_sorted() {
        out.push_str("\t.__reloc_order\tascending\n");
        return;
    }
    for line in order.chunks(16) {
        let numbers: Vec<_> = line.iter().map(usize::to_string).collect();
        let _ = writeln!(out, "\t.__reloc_order\t{}", numbers.join(", "));
    }
}
