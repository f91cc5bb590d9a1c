//! Symbols: as labels where they lie, the others in the symbol table.

use super::plan::Plan;
use crate::names::{self, Kind};
use crate::syntax::{quoted, string};
use cubin::elf::Elf;
use std::fmt::Write;

/// Where the assembler finds a string in a string table: the first entry that is the whole string.
pub(crate) fn find_string(elf: &Elf, table: u32, name: &str) -> Option<u32> {
    let data = elf.section(table).ok()?.data();
    let wanted: Vec<u8> = name.chars().map(|letter| letter as u8).chain([0]).collect();
    if wanted.len() == 1 {
        return (data.first() == Some(&0)).then_some(0);
    }
    let found = |&at: &usize| at == 0 || data[at - 1] == 0;
    let at = memchr::memmem::find_iter(data, &wanted).find(found)?;
    u32::try_from(at).ok()
}

/// The symbol table, in its order.
pub(super) fn table(plan: &Plan<'_>, out: &mut String) {
    let strings = plan.symtab.map_or(0, |table| plan.elf.sections[table].link);
    let first = plan.symbols.first().and_then(|first| plan.elf.symbol_name(first).ok());
    if first != Some(b"") {
        out.push_str("\t.__symtab_without_null\n");
    }
    for (index, symbol) in plan.symbols.iter().enumerate() {
        let name = plan.symbol(index as u32);
        let _ = write!(out, "\t.symbol\t{name}");
        if !plan.is_label(index) {
            let kind = names::argument(Kind::Symbol, symbol.kind().into());
            let binding = names::argument(Kind::Binding, symbol.binding().into());
            let other = names::argument(Kind::Other, symbol.other.into());
            let section = plan.section(symbol.section.into());
            let (value, size) = (symbol.value, symbol.size);
            let _ = write!(out, ", {kind}, {binding}, {other}, {section}, {value:#x}, {size:#x}");
        }
        let real = plan.elf.symbol_name(symbol).ok().map(super::plan::latin1);
        let found = real.as_ref().and_then(|real| find_string(plan.elf, strings, real));
        let _ = writeln!(out, "\t// {index}");
        if real.as_deref() != Some(&plan.names.symbols[index]) {
            let _ = writeln!(out, "\t.__symbol_name\t{}", string(&real.unwrap_or_default()));
        }
        if found != Some(symbol.name) {
            let _ = writeln!(out, "\t.__symbol_name_offset\t{:#x}", symbol.name);
        }
    }
}

/// The symbols that are written as labels of a section, in the order of their places.
pub(super) fn labels(plan: &Plan<'_>, section: usize) -> Vec<(u64, usize)> {
    let here = |&(index, symbol): &(usize, &cubin::elf::Symbol)| {
        usize::from(symbol.section) == section && plan.is_label(index)
    };
    let mut found: Vec<_> =
        plan.symbols.iter().enumerate().filter(here).map(|(index, symbol)| (symbol.value, index)).collect();
    found.sort_unstable();
    found
}

/// What stands before the place of a symbol: what it is, and its name.
pub(super) fn declare(plan: &Plan<'_>, section: usize, index: usize, out: &mut String) {
    let symbol = &plan.symbols[index];
    let name = quoted(&plan.names.symbols[index]);
    let binding = match symbol.binding() {
        0 => ".local",
        1 => ".global",
        _ => ".weak",
    };
    let _ = writeln!(out, "\t{binding}\t{name}");
    let _ = writeln!(out, "\t.type\t{name},{}", names::argument(Kind::Symbol, symbol.kind().into()));
    let end = symbol.value.checked_add(symbol.size);
    let end = end.filter(|_| symbol.size != 0).and_then(|end| plan.labels.plain(section, end));
    let _ = match end {
        Some(end) => writeln!(out, "\t.size\t{name},({end} - {name})"),
        None => writeln!(out, "\t.size\t{name},{:#x}", symbol.size),
    };
    if symbol.other != 0 {
        let _ = writeln!(out, "\t.other\t{name},{}", names::argument(Kind::Other, symbol.other.into()));
    }
    let _ = writeln!(out, "{name}:");
}
