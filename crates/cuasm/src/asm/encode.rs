//! Instructions as words.

use super::evaluate::{Names, symbol_in};
use crate::codes::{self, Findings};
use crate::isa::{self, Words};
use crate::relocations;
use crate::syntax::{Argument, Expression, Hole, Instruction};
use cubin::elf::Relocation;
use ptx::diagnostic::Diagnostic;
use ptx::source::Span;
use sass::Control;

/// Where an instruction stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Location {
    pub(super) section: usize,
    pub(super) at: u64,
    pub(super) span: Span,
}

/// What an instruction became. After an error the word is zero.
#[derive(Debug, Default)]
pub(super) struct Encoded {
    pub(super) word: u128,
    /// The operands of the word, if it is known.
    pub(super) operands: Option<Vec<sass::Operand>>,
    /// Relocations of it.
    pub(super) relocations: Vec<Relocation>,
}

/// An instruction's word, and the relocations of it.
pub(super) fn encode(
    names: &Names<'_>,
    words: &Words,
    instruction: &Instruction,
    place: Location,
    findings: &mut Findings,
) -> Encoded {
    let section = &names.draft.sections[place.section];
    if !section.is_code() || !place.at.is_multiple_of(16) {
        let message = match section.is_code() {
            true => "an instruction stands at a multiple of 16 bytes",
            false => "an instruction stands in a section of code, with the flag `x`",
        };
        findings.error(codes::MISPLACED, place.span, message);
        return Encoded::default();
    }
    let control = instruction.control.put(0);
    if let Some(word) = instruction.raw {
        let word = word | control;
        let instruction = names.draft.isa.and_then(|isa| isa.decode(word));
        let operands = instruction.map(|found| found.operands().collect());
        return Encoded { word, operands, relocations: Vec::new() };
    }
    let Some(isa) = names.draft.isa else {
        let message = format!("the instructions of sm_{} are not known", names.draft.sm);
        findings.push(
            Diagnostic::error(codes::TARGET, place.span, message)
                .hint("words can stand as `.raw 0x...` where an instruction has 128 bits"),
        );
        return Encoded::default();
    };
    let (text, code) = (instruction.text.as_str(), instruction.control);
    let plain = instruction.holes.is_empty();
    let mut values = Values { names, instruction, place, relocations: Vec::new(), failed: false, findings };
    let mut parse = || isa.parse(text, code, place.at, &mut values);
    match if plain { words.get(text, code, parse) } else { parse() } {
        Ok(found) => {
            let Some(found) = keeping(isa, found, code.reuse) else {
                let message = "no operand of this instruction is kept there";
                findings.error(codes::CONTROL, instruction.control_span, message);
                return Encoded::default();
            };
            let relocations = values.relocations;
            let operands: Vec<_> = found.operands().collect();
            if let Some((start, message)) = super::align::misaligned(&found, &operands, text, place.at) {
                let end = start + text[start..].find([',', ' ']).unwrap_or(text.len() - start);
                let base = instruction.span.start;
                let span = Span::new(base + start as u32, base + end as u32);
                findings.error(codes::OPERAND, span, message);
            }
            Encoded { word: found.word(), operands: Some(operands), relocations }
        }
        Err(error) => {
            let short = Control { stall: 1, ..code };
            let stall = !values.failed && isa.parse(text, short, place.at, &mut values).is_ok();
            let Values { relocations, failed, findings, .. } = values;
            if stall {
                let message = "a stall count above 11 needs `Y` in front of it";
                findings.error(codes::CONTROL, instruction.control_span, message);
                return Encoded { relocations, ..Encoded::default() };
            }
            // A label without a value has been reported.
            if !failed {
                let base = instruction.span.start;
                let end = instruction.text.len();
                let start = error.span.start.min(end.saturating_sub(1));
                let span = Span::new(base + start as u32, base + error.span.end.clamp(start, end) as u32);
                let mnemonic = isa::mnemonic(&instruction.text);
                let names_it = instruction.text[start..].starts_with(mnemonic);
                let code = if names_it { codes::INSTRUCTION } else { codes::OPERAND };
                findings.error(code, span, error.message);
            }
            Encoded { relocations, ..Encoded::default() }
        }
    }
}

/// An instruction with more operands kept.
fn keeping(isa: isa::Isa, instruction: sass::Instruction, reuse: u8) -> Option<sass::Instruction> {
    if reuse == 0 {
        return Some(instruction);
    }
    let reuse = instruction.control().reuse | reuse;
    isa.decode(Control { reuse, ..instruction.control() }.put(instruction.word()))
}

/// What labels and relocations in an instruction stand for.
struct Values<'a, 'n> {
    names: &'a Names<'n>,
    instruction: &'a Instruction,
    place: Location,
    relocations: Vec<Relocation>,
    /// Whether something has been reported.
    failed: bool,
    findings: &'a mut Findings,
}

impl sass::Symbols for Values<'_, '_> {
    fn value(&mut self, expression: &str, field: sass::Field, bits: u128) -> Option<u64> {
        let written = |hole: &&Hole| &self.instruction.text[hole.at.clone()] == expression;
        let hole = self.instruction.holes.iter().find(written)?;
        let found = match (&hole.expression, field) {
            (Expression::Function(function, inner), _) => self.function(function, inner, hole, bits),
            (_, sass::Field::Target) => self.label(hole),
            _ => {
                let message = "a label is no number here; `32@lo(label)` is its offset";
                self.error(codes::OPERAND, hole.span, message);
                None
            }
        };
        self.failed |= found.is_none();
        found
    }
}

impl Values<'_, '_> {
    /// Reports once, however often the instruction set asks.
    fn error(&mut self, code: &'static str, span: Span, message: &str) {
        if !std::mem::replace(&mut self.failed, true) {
            self.findings.error(code, span, message);
        }
    }

    fn label(&mut self, hole: &Hole) -> Option<u64> {
        if let Some(name) = hole.expression.name()
            && let Some(label) = self.names.draft.labels.get(name)
            && label.section != self.place.section
        {
            if !std::mem::replace(&mut self.failed, true) {
                self.findings.push(
                    Diagnostic::error(codes::BRANCH, hole.span, "this label is in another section")
                        .related(label.span, "here")
                        .hint("code of another section is reached through a relocation"),
                );
            }
            return None;
        }
        let argument = Argument { expression: hole.expression.clone(), span: hole.span };
        let target = match self.failed {
            true => return None,
            false => self.names.number(&argument, self.findings)?,
        };
        match u64::try_from(target) {
            Ok(target) if target.is_multiple_of(16) => Some(target),
            _ => {
                self.error(codes::BRANCH, hole.span, "no instruction stands at this address");
                None
            }
        }
    }

    fn function(&mut self, function: &str, inner: &Expression, hole: &Hole, bits: u128) -> Option<u64> {
        let Some((kind, _)) = relocations::of_function(function).filter(|(_, field)| field.mask() == bits)
        else {
            if !std::mem::replace(&mut self.failed, true) {
                self.findings.push(
                    Diagnostic::error(
                        codes::RELOCATION,
                        hole.span,
                        format!("there is no `{function}` of this operand"),
                    )
                    .hint("any relocation can stand before the instruction: `.reloc type, symbol`"),
                );
            }
            return None;
        };
        if let Some((symbol, addend)) = symbol_in(self.names.draft, inner) {
            let addend = i64::try_from(addend).unwrap_or(0);
            let symbol = self.names.indices[symbol];
            let found = Relocation { offset: self.place.at, kind, symbol, addend: Some(addend) };
            // The instruction set may ask for each form that it tries.
            if !self.relocations.contains(&found) {
                self.relocations.push(found);
            }
            return Some(0);
        }
        if self.failed {
            return None;
        }
        let argument = Argument { expression: inner.clone(), span: hole.span };
        self.names.number(&argument, self.findings).and_then(|number| u64::try_from(number).ok())
    }
}
