//! Bytes of sections, and relocations of them.

use super::draft::{Body, Draft};
use super::evaluate::{Meaning, Names, symbol_in};
use super::sizes::Offsets;
use super::{encode, payload};
use crate::codes::{self, Findings};
use crate::flow::counts::Counts;
use crate::isa::Words;
use crate::syntax::{Argument, Expression};
use cubin::elf::Relocation;
use cubin::elf::section as kind;
use cubin::info::{Attribute, Value};
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

/// All sections' bytes. The symbols' numbers are those of the symbol table.
pub(super) fn emit(draft: &Draft, places: &Offsets, findings: &mut Findings) -> Vec<Emitted> {
    let indices = super::symbols::numbers(draft);
    let names = Names { draft, places, indices: &indices };
    let addends = super::relocations::with_addends(draft);
    let words = Words::default();
    let mut emitted: Vec<Emitted> = Vec::new();
    emitted.resize_with(draft.sections.len(), Emitted::default);
    // Code first: attributes say what it needs.
    let is_code = |&number: &usize| draft.sections[number].is_code();
    let (code, others): (Vec<usize>, Vec<usize>) = (0..draft.sections.len()).partition(is_code);
    for number in code.into_iter().chain(others) {
        emitted[number] = section(&names, &words, number, addends[number], findings);
    }
    emitted
}

fn section(
    names: &Names<'_>,
    words: &Words,
    number: usize,
    addends: bool,
    findings: &mut Findings,
) -> Emitted {
    let section = &names.draft.sections[number];
    let mut out = Emitted::default();
    let mut counts = Counts::default();
    if kind::reserves(section.kind) {
        for item in &section.items {
            if !matches!(item.body, Body::Zeros(_) | Body::Align(_)) {
                findings.error(
                    codes::MISPLACED,
                    item.span,
                    "the file has no bytes of a section of this type",
                );
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
                    number_or_address(
                        names,
                        &mut out,
                        Target { at, width: *width, addends },
                        value,
                        findings,
                    );
                }
            }
            Body::Instruction(instruction) => {
                let place = encode::Location { section: number, at, span: item.span };
                let encoded = encode::encode(names, words, instruction, place, findings);
                match encoded.operands {
                    Some(operands) => counts.add(operands),
                    None => counts.unknown |= instruction.raw.is_some(),
                }
                out.bytes.extend(encoded.word.to_le_bytes());
                for found in encoded.relocations {
                    out.relocations.push(found);
                    out.spans.push(item.span);
                }
            }
            Body::SmallAttribute(format, code, argument) => {
                let value = payload::small(names, &section.name, *code, argument, findings);
                out.bytes.extend([*format, *code]);
                out.bytes.extend(value.to_le_bytes());
            }
            Body::Attribute(code, arguments) => {
                let payload = payload::payload(names, &section.name, *code, arguments, findings);
                let attribute = Attribute { code: *code, value: Value::Sized(payload) };
                // One of too many bytes has been refused when it was measured.
                out.bytes.extend(cubin::info::encode(&[attribute]).unwrap_or_default());
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
    // Nobody else counts it.
    let _ = section.counts.set(counts);
    out
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
                findings.error(
                    codes::UNKNOWN,
                    argument.span,
                    "a symbol is expected here, with or without a number to add",
                );
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

fn number_or_address(
    names: &Names<'_>,
    out: &mut Emitted,
    target: Target,
    value: &Argument,
    findings: &mut Findings,
) {
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
