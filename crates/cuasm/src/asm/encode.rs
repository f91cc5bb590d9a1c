//! Instructions as words.

use super::evaluate::{Names, symbol_in};
use crate::codes::{self, Findings};
use crate::isa;
use crate::relocations;
use crate::syntax::{Argument, Expression, Hole, Instruction};
use cubin::elf::Relocation;
use ptx::diagnostic::Diagnostic;
use ptx::source::Span;

/// Where an instruction stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) section: usize,
    pub(super) at: u64,
    pub(super) span: Span,
}

/// Whether an instruction ends its thread.
pub(super) fn is_exit(instruction: &Instruction) -> bool {
    match instruction.raw {
        Some(word) => isa::is_exit(word),
        None => isa::mnemonic(&instruction.text) == "EXIT",
    }
}

/// An instruction's word, and the relocations of it. After an error the word is zero.
pub(super) fn encode(
    names: &Names<'_>,
    instruction: &Instruction,
    place: Place,
    findings: &mut Findings,
) -> (u128, Vec<Relocation>) {
    let section = &names.draft.sections[place.section];
    if !section.is_code() || !place.at.is_multiple_of(16) {
        let message = match section.is_code() {
            true => "an instruction stands at a multiple of 16 bytes",
            false => "an instruction stands in a section of code, with the flag `x`",
        };
        findings.error(codes::MISPLACED, place.span, message);
        return (0, Vec::new());
    }
    let control = instruction.control.bits();
    if let Some(word) = instruction.raw {
        return ((word | control) ^ instruction.residue, Vec::new());
    }
    let Some(isa) = names.draft.isa else {
        let message = format!("the instructions of sm_{} are not known", names.draft.sm);
        findings.push(
            Diagnostic::error(codes::TARGET, place.span, message)
                .hint("words can stand as `.raw 0x...` where an instruction has 128 bits"),
        );
        return (0, Vec::new());
    };
    let mut relocations = Vec::new();
    let mut text = String::with_capacity(instruction.text.len());
    // Where pieces of the encoded text come from: its offset, and the offset in the instruction's text.
    let mut pieces = Vec::new();
    let mut from = 0;
    for hole in &instruction.holes {
        pieces.push((text.len(), from));
        text.push_str(&instruction.text[from..hole.at.start]);
        let Some(number) = fill(names, &instruction.text, hole, place, &mut relocations, findings) else {
            return (0, relocations);
        };
        pieces.push((text.len(), hole.at.start));
        text.push_str(&number);
        from = hole.at.end;
    }
    pieces.push((text.len(), from));
    text.push_str(&instruction.text[from..]);
    match isa.parse(&text, place.at) {
        Ok(word) => ((word | control) ^ instruction.residue, relocations),
        Err(refusal) => {
            let origin = |at: usize| {
                let piece = pieces.iter().rfind(|piece| piece.0 <= at).copied().unwrap_or_default();
                // A number that stands for a label has another length than the label.
                (piece.1 + (at - piece.0)).min(instruction.text.len()) as u32
            };
            let base = instruction.span.start;
            let start = base + origin(refusal.at.start);
            let end = base + origin(refusal.at.end.saturating_sub(1)) + 1;
            let span = Span::new(start, end.clamp(start, instruction.span.end));
            let code = if refusal.operand { codes::OPERAND } else { codes::INSTRUCTION };
            findings.error(code, span, refusal.message);
            (0, relocations)
        }
    }
}

/// The number that stands for a label or a relocation.
fn fill(
    names: &Names<'_>,
    text: &str,
    hole: &Hole,
    place: Place,
    relocations: &mut Vec<Relocation>,
    findings: &mut Findings,
) -> Option<String> {
    if let Expression::Function(function, inner) = &hole.expression {
        let Some(kind) = relocations::of_function(function) else {
            findings.push(
                Diagnostic::error(codes::RELOCATION, hole.span, format!("there is no operand `{function}`"))
                    .hint("any relocation can stand before the instruction: `.reloc type, symbol`"),
            );
            return None;
        };
        if let Some((symbol, addend)) = symbol_in(names.draft, inner) {
            let addend = i64::try_from(addend).unwrap_or(0);
            let symbol = names.indices[symbol];
            relocations.push(Relocation { offset: place.at, kind, symbol, addend: Some(addend) });
            return Some("0x0".to_owned());
        }
        let argument = Argument { expression: (**inner).clone(), span: hole.span };
        return names.number(&argument, findings).map(hexadecimal);
    }
    let argument = Argument { expression: hole.expression.clone(), span: hole.span };
    if let Some(name) = hole.expression.name()
        && let Some(label) = names.draft.labels.get(name)
        && label.section != place.section
    {
        findings.push(
            Diagnostic::error(codes::BRANCH, hole.span, "this label is in another section")
                .related(label.span, "here")
                .hint("code of another section is reached through a relocation"),
        );
        return None;
    }
    let target = names.number(&argument, findings)?;
    if target % 16 != 0 {
        findings.error(codes::BRANCH, hole.span, "no instruction stands at this address");
        return None;
    }
    match isa::is_relative(text) {
        true => Some(hexadecimal(target - i128::from(place.at) - 16)),
        false => Some(hexadecimal(target)),
    }
}

fn hexadecimal(number: i128) -> String {
    if number < 0 { format!("-{:#x}", number.unsigned_abs()) } else { format!("{number:#x}") }
}
