//! `warploom cubin sections`, `symbols` and `relocations`: the tables of the ELF file.

use super::{File, section_name, text};
use crate::failure::{Exit, Failure};
use crate::terminal;
use ::cubin::elf::{Covers, Elf, relocation, section, symbol};
use serde_json::{Value, json};

pub(super) fn sections(file: &File) -> Result<Exit, Failure> {
    let elf = file.elf()?;
    if file.json {
        let sections: Vec<_> =
            (0..).zip(&elf.sections).map(|(number, section)| value(&elf, number, section)).collect();
        let segments: Vec<_> = elf.segments.iter().map(segment).collect();
        return terminal::json(&json!({ "sections": sections, "segments": segments })).map(|()| Exit::Ok);
    }
    let header = ["#", "name", "type", "flags", "offset", "size", "link", "info", "align", "entry"];
    let rows = (0..).zip(&elf.sections).map(|(number, section)| {
        vec![
            number.to_string(),
            section_name(&elf, number),
            kind(section.kind),
            format!("{:#x}", section.flags),
            format!("{:#x}", section.offset),
            format!("{:#x}", section.size()),
            section.link.to_string(),
            format!("{:#x}", section.info),
            section.align.to_string(),
            section.entry_size.to_string(),
        ]
    });
    let mut text = terminal::table(&header, rows.collect(), false);
    let segments: Vec<_> = elf.segments.iter().map(|segment| segment_row(&elf, segment)).collect();
    if !segments.is_empty() {
        text += "\n";
        text +=
            &terminal::table(&["segment", "flags", "offset", "file", "memory", "covers"], segments, false);
    }
    terminal::result(&text).map(|()| Exit::Ok)
}

fn kind(kind: u32) -> String {
    section::kind_name(kind).map_or_else(|| format!("{kind:#x}"), str::to_owned)
}

fn value(elf: &Elf, number: u32, section: &section::Section) -> Value {
    json!({
        "number": number,
        "name": section_name(elf, number),
        "type": kind(section.kind),
        "flags": section.flags,
        "address": section.address,
        "offset": section.offset,
        "size": section.size(),
        "link": section.link,
        "info": section.info,
        "align": section.align,
        "entry_size": section.entry_size,
    })
}

fn segment(segment: &::cubin::elf::Segment) -> Value {
    json!({
        "type": segment.kind,
        "flags": segment.flags,
        "offset": segment.offset,
        "file_size": segment.file_size,
        "memory_size": segment.memory_size,
        "align": segment.align,
    })
}

fn segment_row(elf: &Elf, segment: &::cubin::elf::Segment) -> Vec<String> {
    let kind = match segment.kind {
        1 => "LOAD".to_owned(),
        6 => "PHDR".to_owned(),
        other => format!("{other:#x}"),
    };
    let flags: String = [(4, 'R'), (2, 'W'), (1, 'E')]
        .into_iter()
        .filter(|(bit, _)| segment.flags & bit != 0)
        .map(|(_, letter)| letter)
        .collect();
    let covers = match segment.covers {
        Covers::Stated => "-".to_owned(),
        Covers::Table => "the program headers".to_owned(),
        Covers::Sections { first, last } if first == last => section_name(elf, first),
        Covers::Sections { first, last } => {
            format!("{} to {}", section_name(elf, first), section_name(elf, last))
        }
    };
    let hex = |number: u64| format!("{number:#x}");
    vec![kind, flags, hex(segment.offset), hex(segment.file_size), hex(segment.memory_size), covers]
}

pub(super) fn symbols(file: &File) -> Result<Exit, Failure> {
    let elf = file.elf()?;
    let symbols = elf.symbols().map_err(|error| file.unusable(&error))?;
    let name = |symbol: &symbol::Symbol| elf.symbol_name(symbol).map(text).unwrap_or_default();
    let binding = |symbol: &symbol::Symbol| {
        symbol::binding_name(symbol.binding()).map_or_else(|| symbol.binding().to_string(), str::to_owned)
    };
    let kind = |symbol: &symbol::Symbol| {
        symbol::kind_name(symbol.kind()).map_or_else(|| symbol.kind().to_string(), str::to_owned)
    };
    let other = |symbol: &symbol::Symbol| symbol::other_names(symbol.kind(), symbol.other);
    let rows = (0..).zip(&symbols);
    if file.json {
        let values: Vec<_> = rows
            .map(|(number, symbol)| {
                json!({
                    "number": number,
                    "name": name(symbol),
                    "value": symbol.value,
                    "size": symbol.size,
                    "type": kind(symbol),
                    "binding": binding(symbol),
                    "visibility": symbol::visibility_name(symbol.other),
                    "other": other(symbol),
                    "section": elf.symbol_section(number, symbol),
                })
            })
            .collect();
        return terminal::json(&values.into()).map(|()| Exit::Ok);
    }
    let header = ["#", "value", "size", "type", "binding", "visibility", "other", "section", "name"];
    let rows = rows.map(|(number, symbol)| {
        vec![
            number.to_string(),
            format!("{:#x}", symbol.value),
            format!("{:#x}", symbol.size),
            kind(symbol),
            binding(symbol),
            symbol::visibility_name(symbol.other).to_owned(),
            other(symbol).join("|"),
            elf.symbol_section(number, symbol).to_string(),
            name(symbol),
        ]
    });
    terminal::result(&terminal::table(&header, rows.collect(), false)).map(|()| Exit::Ok)
}

pub(super) fn relocations(file: &File) -> Result<Exit, Failure> {
    let elf = file.elf()?;
    let symbols = elf.symbols().map_err(|error| file.unusable(&error))?;
    let name = |number: u32| {
        let symbol = symbols.get(number as usize);
        symbol.and_then(|symbol| elf.symbol_name(symbol).ok()).map(text).unwrap_or_default()
    };
    let kind = |kind: u32| relocation::kind_name(kind).map_or_else(|| format!("{kind:#x}"), str::to_owned);
    let tables =
        (0..).zip(&elf.sections).filter(|(_, table)| matches!(table.kind, section::REL | section::RELA));
    let (mut rows, mut values) = (Vec::new(), Vec::new());
    for (number, table) in tables {
        let target = section_name(&elf, table.info);
        for r in elf.relocations(number).map_err(|error| file.unusable(&error))? {
            if file.json {
                let (kind, symbol) = (kind(r.kind), name(r.symbol));
                values.push(json!({
                    "section": target,
                    "offset": r.offset,
                    "type": kind,
                    "symbol": symbol,
                    "addend": r.addend,
                }));
            } else {
                let addend = r.addend.map_or("-".to_owned(), |addend| format!("{addend:#x}"));
                rows.push(vec![
                    target.clone(),
                    format!("{:#x}", r.offset),
                    kind(r.kind),
                    name(r.symbol),
                    addend,
                ]);
            }
        }
    }
    if file.json {
        return terminal::json(&values.into()).map(|()| Exit::Ok);
    }
    let header = ["section", "offset", "type", "symbol", "addend"];
    terminal::result(&terminal::table(&header, rows, false)).map(|()| Exit::Ok)
}
