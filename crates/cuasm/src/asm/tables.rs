//! Symbols, strings, references between sections and segments: the draft as an [`Elf`].

use super::draft::{Draft, Order, Section};
use super::emit::Emitted;
use super::evaluate::Names;
use super::sizes::Offsets;
use super::{relocations, symbols};
use crate::codes::{self, Findings};
use crate::defaults::{self, Reference};
use crate::strings::bytes;
use crate::syntax::{Argument, Expression};
use cubin::elf::section as kind;
use cubin::elf::{self, Contents, Covers, Elf, Placement, Relocation};
use ptx::source::Span;
use rustc_hash::FxHashMap as HashMap;

/// `STT_FUNC`.
const FUNCTION: u8 = 2;

/// Puts everything together.
pub(super) fn build(
    draft: &Draft,
    places: &Offsets,
    mut emitted: Vec<Emitted>,
    findings: &mut Findings,
) -> Option<Elf> {
    let indices = symbols::numbers(draft);
    let names = Names { draft, places, indices: &indices };
    tables_of_relocations(draft, &mut emitted, findings);
    let symtab = draft.sections.iter().position(|section| section.kind == kind::SYMTAB);
    let strings = symtab.and_then(|symtab| {
        let link = reference(&names, &draft.sections[symtab], true, findings)?;
        (link as usize).checked_sub(1).filter(|&strings| strings < draft.sections.len())
    });
    if let (Some(symtab), Some(strings)) = (symtab, strings) {
        let records = records(&names, &mut emitted[strings].bytes, findings);
        emitted[symtab].bytes = elf::symbol::encode(&records);
    }
    let name_table = match &draft.names {
        Some(argument) => section_number(draft, argument, findings)?,
        None => draft.section(".shstrtab").map(|number| number as u32 + 1)?,
    };
    let section_names = section_names(draft, name_table as usize - 1, &mut emitted);
    let mut sections = vec![elf::Section { contents: Contents::Reserved(0), ..elf::Section::default() }];
    for (number, section) in draft.sections.iter().enumerate() {
        let link = reference(&names, section, true, findings).unwrap_or_default();
        let mut info = reference(&names, section, false, findings).unwrap_or_default();
        if section.flags & kind::EXECUTE != 0 {
            info |= section.registers << defaults::SYMBOL_BITS;
        }
        let contents = match kind::reserves(section.kind) {
            true => Contents::Reserved(places.size(number)),
            false => Contents::Bytes(std::mem::take(&mut emitted[number].bytes)),
        };
        sections.push(elf::Section {
            name: section_names[number],
            kind: section.kind,
            flags: section.flags | section.barriers << defaults::BARRIERS.start,
            address: section.address,
            offset: section.offset.unwrap_or(0),
            link,
            info,
            align: section.align,
            entry_size: section.entry_size,
            place: Placement::Behind { gap: section.gap },
            contents,
        });
    }
    for (number, section) in draft.sections.iter().enumerate() {
        if let Some(other) = &section.overlay {
            let other = section_number(draft, other, findings)?;
            sections[number + 1].contents = sections[other as usize].contents.clone();
            sections[number + 1].place = Placement::On(other);
        }
    }
    let mut header = draft.header.clone()?;
    header.names = name_table;
    let segments = segments(draft, &sections, header.kind, findings);
    let mut elf = Elf { header, sections, segments, filler: Vec::new(), gap: draft.gap };
    if draft.stated {
        elf.filler = draft.filler.clone();
    } else if let Err(error) = elf.lay_out() {
        findings.error(codes::SIZE, Span::default(), error.to_string());
    }
    Some(elf)
}

/// Gives every table of relocations its entries.
fn tables_of_relocations(draft: &Draft, emitted: &mut [Emitted], findings: &mut Findings) {
    let mut done = vec![false; draft.sections.len()];
    for table in 0..draft.sections.len() {
        let Some(target) = relocations::target(draft, table) else { continue };
        let section = &draft.sections[table];
        let mut entries = std::mem::take(&mut emitted[table].entries);
        if !std::mem::replace(&mut done[target], true) {
            let found = std::mem::take(&mut emitted[target].relocations);
            entries.extend(ordered(section.order.as_ref(), &found));
        }
        let with_addends = section.kind == kind::RELA;
        let mut bytes = Vec::with_capacity(entries.len() * 24);
        for entry in entries {
            bytes.extend(entry.offset.to_le_bytes());
            bytes.extend(entry.kind.to_le_bytes());
            bytes.extend(entry.symbol.to_le_bytes());
            if with_addends {
                bytes.extend(entry.addend.unwrap_or(0).to_le_bytes());
            }
        }
        emitted[table].bytes = bytes;
    }
    for section in emitted {
        if let (false, Some(&span)) = (section.relocations.is_empty(), section.spans.first()) {
            findings.error(codes::RELOCATION, span, "no section holds the relocations of this one");
        }
    }
}

/// Relocations in the order of their table.
fn ordered(order: Option<&Order>, found: &[Relocation]) -> Vec<Relocation> {
    let mut by_place: Vec<Relocation> = found.to_vec();
    by_place.sort_by_key(|relocation| relocation.offset);
    let positions = match order {
        None => crate::relocations::descending(by_place.iter().map(|relocation| relocation.offset)),
        Some(Order::Ascending) => (0..by_place.len()).collect(),
        Some(Order::Numbers(numbers)) => {
            let mut left = vec![true; by_place.len()];
            let mut positions = Vec::new();
            for &number in numbers {
                if let Some(left) = left.get_mut(number as usize).filter(|left| **left) {
                    *left = false;
                    positions.push(number as usize);
                }
            }
            positions.extend((0..by_place.len()).filter(|&position| left[position]));
            positions
        }
    };
    positions.into_iter().map(|position| by_place[position]).collect()
}

/// The number that an argument names a section by.
fn section_number(draft: &Draft, argument: &Argument, findings: &mut Findings) -> Option<u32> {
    let found = argument.expression.name().and_then(|name| draft.section(name));
    if found.is_none() {
        findings.error(codes::UNKNOWN, argument.span, "there is no such section");
    }
    found.map(|number| number as u32 + 1)
}

/// `sh_link` or `sh_info`.
fn reference(names: &Names<'_>, section: &Section, link: bool, findings: &mut Findings) -> Option<u32> {
    let draft = names.draft;
    let (written, usual) = match link {
        true => (&section.link, defaults::link(section.facts())),
        false => (&section.info, defaults::info(section.facts())),
    };
    if let Some(argument) = written {
        return match &argument.expression {
            Expression::Name(_) | Expression::Text(_) => section_number(draft, argument, findings),
            _ => {
                let number = names.number(argument, findings)?;
                let number = u32::try_from(number).ok();
                if number.is_none() {
                    findings.error(codes::RANGE, argument.span, "this does not fit 32 bits");
                }
                number
            }
        };
    }
    Some(match usual {
        Reference::Number(number) => number,
        Reference::Section(name) => draft.section(&name).map_or(0, |number| number as u32 + 1),
        Reference::Symbol(name) => draft.symbol(&name).map_or(0, |number| names.indices[number]),
        Reference::SymbolCount => (draft.symbols.len() + usize::from(symbols::needs_null(draft))) as u32,
    })
}

/// A string table that grows.
struct Strings<'a> {
    bytes: &'a mut Vec<u8>,
    found: HashMap<Vec<u8>, u32>,
}

impl<'a> Strings<'a> {
    fn new(bytes: &'a mut Vec<u8>) -> Self {
        if bytes.is_empty() {
            bytes.push(0);
        }
        let found = crate::strings::first_offsets(bytes);
        Self { bytes, found }
    }

    fn offset(&mut self, name: &str) -> u32 {
        let text = bytes(name).collect::<Vec<_>>();
        if let Some(&found) = self.found.get(&text) {
            return found;
        }
        let at = self.bytes.len() as u32;
        self.bytes.extend(&text);
        self.bytes.push(0);
        self.found.insert(text, at);
        at
    }
}

fn section_names(draft: &Draft, table: usize, emitted: &mut [Emitted]) -> Vec<u32> {
    let mut strings = Strings::new(&mut emitted[table].bytes);
    let name = |section: &Section| match section.name_offset {
        Some(offset) => offset,
        None => strings.offset(section.real_name.as_ref().unwrap_or(&section.name)),
    };
    draft.sections.iter().map(name).collect()
}

fn records(names: &Names<'_>, strings: &mut Vec<u8>, findings: &mut Findings) -> Vec<elf::Symbol> {
    let draft = names.draft;
    let mut strings = Strings::new(strings);
    let mut records = Vec::new();
    if symbols::needs_null(draft) {
        records.push(elf::Symbol::default());
    }
    for number in symbols::order(draft) {
        let symbol = &draft.symbols[number];
        let name = match symbol.name_offset {
            Some(offset) => offset,
            None => strings.offset(symbol.real_name.as_ref().unwrap_or(&symbol.name)),
        };
        let (section, value) = match (&symbol.place, draft.labels.get(&symbol.name)) {
            (Some((section, value)), _) => {
                let number = match section.expression {
                    Expression::Number(number) => u16::try_from(number).ok(),
                    _ => {
                        section_number(draft, section, findings).and_then(|number| u16::try_from(number).ok())
                    }
                };
                (number.unwrap_or_default(), *value)
            }
            (None, Some(&label)) => {
                (u16::try_from(label.section + 1).unwrap_or_default(), names.places.offset(label))
            }
            (None, None) => (0, 0),
        };
        let size = match (&symbol.size, draft.labels.get(&symbol.name)) {
            (Some(size), _) => names.number(size, findings).unwrap_or(0),
            // A function whose size nobody says goes on to the end of its section.
            (None, Some(&label)) if symbol.kind == FUNCTION && symbol.listed.is_none() => {
                i128::from(names.places.size(label.section) - names.places.offset(label))
            }
            _ => 0,
        };
        let Ok(size) = u64::try_from(size) else {
            findings.error(codes::RANGE, symbol.span, "this symbol's size is negative");
            continue;
        };
        let info = symbol.binding << 4 | symbol.kind;
        records.push(elf::Symbol { name, info, other: symbol.other, section, value, size });
    }
    records
}

fn segments(
    draft: &Draft,
    sections: &[elf::Section],
    file_kind: u16,
    findings: &mut Findings,
) -> Vec<elf::Segment> {
    if draft.segments.is_empty() {
        let usual = file_kind == defaults::EXECUTABLE && !draft.stated && !draft.without_segments;
        return if usual { defaults::segments(sections) } else { Vec::new() };
    }
    let mut segments = Vec::new();
    for segment in &draft.segments {
        let mut header = segment.header;
        header.covers = match (&segment.first, &segment.last) {
            (Some(Argument { expression: Expression::At(_), .. }), _) => Covers::Table,
            (Some(first), Some(last)) => {
                let first = section_number(draft, first, findings).unwrap_or_default();
                let last = section_number(draft, last, findings).unwrap_or_default();
                Covers::Sections { first, last }
            }
            _ => Covers::Stated,
        };
        segments.push(header);
    }
    segments
}
