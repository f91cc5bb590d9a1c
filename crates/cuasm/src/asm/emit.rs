//! Bytes of sections, and relocations of them.

use super::draft::{Body, Draft, Section};
use super::encode;
use super::evaluate::{Meaning, Names, symbol_in};
use super::sizes::Places;
use crate::codes::{self, Findings};
use crate::defaults;
use crate::info::{self, Record, Value};
use crate::syntax::{Argument, Expression};
use cubin::elf::Relocation;
use cubin::elf::section as kind;
use ptx::source::Span;

/// What a section became.
#[derive(Debug, Default)]
pub(super) struct Emitted {
    pub(super) bytes: Vec<u8>,
    /// Relocations of its bytes, in the order of the text. The symbols are those of the symbol table.
    pub(super) relocations: Vec<Relocation>,
    /// Entries that it has as a table of relocations.
    pub(super) entries: Vec<Relocation>,
    /// Where the relocations come from.
    pub(super) spans: Vec<Span>,
}

/// Relocation types of plain addresses, by their size.
const ADDRESSES: [(u64, u32); 2] = [(4, 1), (8, crate::relocations::ADDRESS)];

/// Whether a section will have relocations, as far as its text shows.
pub(super) fn has_relocations(draft: &Draft, section: &Section) -> bool {
    section.items.iter().any(|item| match &item.body {
        Body::Relocation(..) => true,
        Body::Values(4 | 8, values) => {
            values.iter().any(|value| symbol_in(draft, &value.expression).is_some())
        }
        Body::Instruction(instruction) => instruction.holes.iter().any(|hole| match &hole.expression {
            Expression::Function(_, inner) => symbol_in(draft, inner).is_some(),
            _ => false,
        }),
        _ => false,
    })
}

/// All sections' bytes. The symbols' numbers are those that [`super::tables`] gives them.
pub(super) fn emit(draft: &Draft, places: &Places, findings: &mut Findings) -> Vec<Emitted> {
    let indices = super::tables::symbol_numbers(draft);
    let names = Names { draft, places, indices: &indices };
    let addends = super::tables::addends(draft);
    (0..draft.sections.len()).map(|number| section(&names, number, addends[number], findings)).collect()
}

fn section(names: &Names<'_>, number: usize, addends: bool, findings: &mut Findings) -> Emitted {
    let section = &names.draft.sections[number];
    let mut out = Emitted::default();
    if kind::reserves(section.kind) {
        for item in &section.items {
            if !matches!(item.body, Body::Zeros(_) | Body::Align(_)) {
                findings.error(codes::MISPLACED, item.span, "the file has no bytes of a section of this type");
            }
        }
        return out;
    }
    for (index, item) in section.items.iter().enumerate() {
        let at = names.places.offsets[number][index];
        let end = names.places.offsets[number][index + 1];
        match &item.body {
            Body::Zeros(_) | Body::Align(_) => {}
            Body::Bytes(bytes) => out.bytes.extend(bytes),
            Body::Values(width, values) => {
                for (index, value) in values.iter().enumerate() {
                    let at = at + index as u64 * width;
                    number_or_address(names, &mut out, Target { at, width: *width, addends }, value, findings);
                }
            }
            Body::Instruction(instruction) => {
                let place = encode::Place { section: number, at, span: item.span };
                let (word, relocations) = encode::encode(names, instruction, place, findings);
                out.bytes.extend(word.to_le_bytes());
                for found in relocations {
                    out.relocations.push(found);
                    out.spans.push(item.span);
                }
            }
            Body::SmallAttribute(format, attribute, value) => {
                let value = Value::Small(*format, *value);
                write(Record { attribute: *attribute, value }, &mut out);
            }
            Body::Attribute(attribute, arguments) => {
                let payload = payload(names, &section.name, *attribute, arguments, findings);
                write(Record { attribute: *attribute, value: Value::Sized(payload) }, &mut out);
            }
            Body::Relocation(kind, argument) => {
                if let Some(found) = relocation(names, at, *kind, argument, findings) {
                    out.relocations.push(found);
                    out.spans.push(item.span);
                }
            }
            Body::Entry(place, kind, argument) => {
                let offset = names.number(place, findings).and_then(|offset| u64::try_from(offset).ok());
                let found = relocation(names, offset.unwrap_or(0), *kind, argument, findings);
                out.entries.extend(found);
            }
        }
        // Also what an error left out.
        out.bytes.resize(end as usize, 0);
    }
    out
}

fn write(record: Record, out: &mut Emitted) {
    // A record of too many bytes has been refused when it was measured.
    let _ = record.write(&mut out.bytes);
}

/// A relocation of a place.
fn relocation(
    names: &Names<'_>,
    offset: u64,
    kind: u32,
    argument: &Argument,
    findings: &mut Findings,
) -> Option<Relocation> {
    let (symbol, addend) = match symbol_in(names.draft, &argument.expression) {
        Some((symbol, addend)) => (names.indices[symbol], addend),
        None => match argument.expression {
            // A relocation that needs no symbol.
            Expression::Number(0) => (0, 0),
            _ => {
                findings.error(codes::UNKNOWN, argument.span, "a symbol is expected here, with or without a number to add");
                return None;
            }
        },
    };
    let Ok(addend) = i64::try_from(addend) else {
        findings.error(codes::RANGE, argument.span, "the number to add does not fit 64 bits");
        return None;
    };
    Some(Relocation { offset, kind, symbol, addend: Some(addend) })
}

/// A place of some bytes.
#[derive(Clone, Copy)]
struct Target {
    at: u64,
    width: u64,
    addends: bool,
}

fn number_or_address(names: &Names<'_>, out: &mut Emitted, target: Target, value: &Argument, findings: &mut Findings) {
    let width = target.width as usize;
    let kind = ADDRESSES.iter().find(|row| row.0 == target.width).map(|row| row.1);
    let number = match (names.meaning(value, findings), kind) {
        (Some(Meaning::Number(number)), _) => number,
        (Some(Meaning::Symbol(symbol, addend)), Some(kind)) => {
            let symbol = names.indices[symbol];
            let addend = i64::try_from(addend).unwrap_or(0);
            out.relocations.push(Relocation { offset: target.at, kind, symbol, addend: Some(addend) });
            out.spans.push(value.span);
            if target.addends { 0 } else { i128::from(addend) }
        }
        (Some(Meaning::Symbol(..)), None) => {
            findings.error(codes::RANGE, value.span, "an address needs `.dword` or `.word`");
            0
        }
        (None, _) => 0,
    };
    let bits = 8 * target.width as u32;
    if number < -(1 << (bits - 1)) || number >= 1 << bits {
        findings.error(codes::RANGE, value.span, format!("{number:#x} does not fit {bits} bits"));
    }
    out.bytes.extend(&number.to_le_bytes()[..width]);
}

/// Bytes of an attribute's payload.
pub(super) fn attribute_size(draft: &Draft, section: &str, attribute: u8, arguments: &[Argument]) -> u64 {
    match list(arguments) {
        Some(List::Exits) => 4 * exits(draft, section).count() as u64,
        Some(List::Offsets) => 4 * offset_labels(draft, section, attribute).len() as u64,
        None => arguments.iter().map(|argument| width(argument) as u64).sum(),
    }
}

/// Lists that the assembler makes.
enum List {
    /// `auto`
    Exits,
    /// `offsets`
    Offsets,
}

fn list(arguments: &[Argument]) -> Option<List> {
    let [Argument { expression: Expression::Name(name), .. }] = arguments else { return None };
    match name.as_str() {
        "auto" => Some(List::Exits),
        "offsets" => Some(List::Offsets),
        _ => None,
    }
}

/// The instructions of a section's function that end a thread, as item numbers.
fn exits<'a>(draft: &'a Draft, section: &str) -> impl Iterator<Item = (usize, usize)> + use<'a> {
    let code = defaults::function(section).and_then(|name| draft.section(&format!(".text{name}")));
    code.into_iter().flat_map(move |code| {
        let items = draft.sections[code].items.iter().enumerate();
        items.filter_map(move |(index, item)| match &item.body {
            Body::Instruction(instruction) if encode::is_exit(instruction) => Some((code, index)),
            _ => None,
        })
    })
}

fn offset_labels<'a>(draft: &'a Draft, section: &str, attribute: u8) -> &'a [super::draft::LabelPlace] {
    let function = defaults::function(section).and_then(|name| name.strip_prefix('.'));
    let key = function.map(|function| (function.to_owned(), info::name(attribute)));
    key.and_then(|key| draft.offset_labels.get(&key)).map_or(&[], Vec::as_slice)
}

fn payload(
    names: &Names<'_>,
    section: &str,
    attribute: u8,
    arguments: &[Argument],
    findings: &mut Findings,
) -> Vec<u8> {
    match list(arguments) {
        Some(List::Exits) => exits(names.draft, section)
            .flat_map(|(code, item)| (names.places.offsets[code][item] as u32).to_le_bytes())
            .collect(),
        Some(List::Offsets) => offset_labels(names.draft, section, attribute)
            .iter()
            .flat_map(|&label| (names.places.offset(label) as u32).to_le_bytes())
            .collect(),
        None => {
            let mut bytes = Vec::new();
            for argument in arguments {
                let width = width(argument);
                let inner = match &argument.expression {
                    Expression::Function(name, inner) if name == "byte" || name == "half" => {
                        &Argument { expression: (**inner).clone(), span: argument.span }
                    }
                    _ => argument,
                };
                let number = names.number(inner, findings).unwrap_or(0);
                let bits = 8 * width as u32;
                if number < -(1 << (bits - 1)) || number >= 1 << bits {
                    findings.error(codes::RANGE, argument.span, format!("this does not fit {bits} bits"));
                }
                bytes.extend(&number.to_le_bytes()[..width]);
            }
            bytes
        }
    }
}

/// Bytes of an item of a payload.
fn width(argument: &Argument) -> usize {
    match &argument.expression {
        Expression::Function(name, _) if name == "byte" => 1,
        Expression::Function(name, _) if name == "half" => 2,
        _ => 4,
    }
}
