//! Symbols: as labels where they lie, the others in the symbol table.

use super::labels::Labels;
use super::plan::Plan;
use crate::names::{self, Kind};
use crate::syntax::{quoted, string};
use std::fmt::Write;

/// The symbol table, in its order.
pub(super) fn table(plan: &Plan<'_>, out: &mut String) {
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
        let bytes = plan.elf.symbol_name(symbol).ok();
        let found = bytes.and_then(|name| plan.symbol_strings.get(name).copied());
        let real = bytes.map(crate::strings::latin1);
        let _ = writeln!(out, "\t// {index}");
        if real.as_deref() != Some(&plan.names.symbols[index]) {
            let _ = writeln!(out, "\t.__symbol_name\t{}", string(&real.unwrap_or_default()));
        }
        if found != Some(symbol.name) {
            let _ = writeln!(out, "\t.__symbol_name_offset\t{:#x}", symbol.name);
        }
    }
}

/// What stands before the place of a symbol: what it is, and its name.
pub(super) fn declare(plan: &Plan<'_>, labels: &Labels, section: usize, index: usize, out: &mut String) {
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
    let end = end.filter(|_| symbol.size != 0).and_then(|end| labels.plain(section, end));
    let _ = match end {
        Some(end) => writeln!(out, "\t.size\t{name},({end} - {name})"),
        None => writeln!(out, "\t.size\t{name},{:#x}", symbol.size),
    };
    if symbol.other != 0 {
        let _ = writeln!(out, "\t.other\t{name},{}", names::argument(Kind::Other, symbol.other.into()));
    }
    let _ = writeln!(out, "{name}:");
}
