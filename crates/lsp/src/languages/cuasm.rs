//! Cubins as text: what the assembler says of them, their names, and what an instruction reads and writes.

use crate::analysis::{Analysis, Color, Fix, Proposal, ProposalKind, Proposals, Signature};
use crate::config::Hints;
use crate::index::{Index, Kind, Occurrence, Symbol};
use cuasm::highlight::{self, Word};
use ptx::diagnostic::{Diagnostic, Severity};
use ptx::source::{Source, Span};
use rustc_hash::FxHashMap;
use sass::{Access, Arch, Control, Instruction, Name, Symbols};
use std::fmt::Write as _;
use std::sync::Arc;

/// Names of the text, whose values do not matter here.
struct Unnamed;

impl Symbols for Unnamed {
    fn value(&mut self, _: &str, _: sass::Field, _: u128) -> Option<u64> {
        Some(0)
    }
}

/// A text of a cubin.
pub(crate) struct Cuasm {
    source: Arc<Source>,
    diagnostics: Vec<Diagnostic>,
    assembles: bool,
    arch: Option<Arch>,
    words: Vec<(Span, Word)>,
    index: Index,
}

impl Cuasm {
    /// Looks at a text.
    pub(crate) fn new(source: Arc<Source>) -> Self {
        let outcome = cuasm::assemble_with(&source, cuasm::Options { hazards: true });
        let assembles = outcome.is_ok();
        let diagnostics = match outcome {
            Ok(assembled) => assembled.warnings,
            Err(found) => found,
        };
        let text = source.text();
        let arch = text.lines().find_map(|line| {
            let name = line.trim().strip_prefix(".target")?.trim();
            Arch::from_number(name.strip_prefix("sm_")?.trim_end_matches(char::is_alphabetic).parse().ok()?)
        });
        let mut words = Vec::new();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let indent = line.len() - line.trim_start().len();
            let from = start + indent;
            let found = highlight::words(line[indent..].trim_end());
            words.extend(
                found
                    .into_iter()
                    .map(|(at, word)| (Span::new((from + at.start) as u32, (from + at.end) as u32), word)),
            );
            start += line.len();
        }
        let index = names(&source, &words);
        Self { source, diagnostics, assembles, arch, words, index }
    }

    fn line(&self, offset: u32) -> Span {
        let text = self.source.text();
        let from = text[..offset as usize].rfind('\n').map_or(0, |at| at + 1);
        let to = text[offset as usize..].find('\n').map_or(text.len(), |at| offset as usize + at);
        Span::new(from as u32, to as u32)
    }

    /// The instruction of a line, with its control code.
    fn instruction(&self, line: Span) -> Option<(Control, Instruction)> {
        let text = self.source.slice(line).trim();
        let (control, rest) = text.strip_prefix('[')?.split_once(']')?;
        let control: Control = format!("[{control}]").parse().or_else(|_| control.parse()).ok()?;
        let rest = rest.split("//").next().unwrap_or_default().trim();
        let rest = match rest.strip_prefix("/*") {
            Some(comment) => comment.split_once("*/")?.1.trim(),
            None => rest,
        };
        Some((control, sass::parse(self.arch?, rest, control, 0, &mut Unnamed).ok()?))
    }
}

/// Labels and sections, and the registers of each section.
fn names(source: &Source, words: &[(Span, Word)]) -> Index {
    let mut index = Index::default();
    let text = source.text();
    let whole = Span::new(0, text.len() as u32);
    let mut known: FxHashMap<&str, u32> = FxHashMap::default();
    let symbol = |name: &str, kind, span, detail: &str| Symbol {
        name: name.to_owned(),
        kind,
        declared: span,
        whole: span,
        scope: whole,
        parent: None,
        count: None,
        detail: detail.to_owned(),
    };
    for (span, _) in words.iter().filter(|(_, word)| *word == Word::Label) {
        known.entry(source.slice(*span)).or_insert_with(|| {
            index.symbols.push(symbol(source.slice(*span), Kind::Label, *span, "label"));
            index.symbols.len() as u32 - 1
        });
    }
    // Registers are told apart by the section that they are in.
    let mut registers: FxHashMap<&str, u32> = FxHashMap::default();
    let mut at = 0;
    while at < text.len() {
        let name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'$');
        let begin = text.as_bytes()[at..].iter().position(|byte| name(*byte)).map_or(text.len(), |n| at + n);
        let length = text.as_bytes()[begin..].iter().take_while(|byte| name(**byte)).count();
        let span = Span::new(begin as u32, (begin + length) as u32);
        at = begin + length;
        let word = &text[begin..at];
        if word == ".section" {
            registers.clear();
            let line = &text[at..text[at..].find('\n').map_or(text.len(), |end| at + end)];
            let from = at + line.len() - line.trim_start().len();
            let section = &text[from..from + line.trim().find(',').unwrap_or(line.trim().len())];
            let span = Span::new(from as u32, (from + section.len()) as u32);
            if !section.is_empty() {
                index.symbols.push(symbol(section, Kind::Section, span, "section"));
                let number = index.symbols.len() as u32 - 1;
                known.entry(section).or_insert(number);
            }
            continue;
        }
        let place = words.partition_point(|(other, _)| other.start < span.start);
        let register = words.get(place).filter(|(other, word)| *other == span && *word == Word::Register);
        let stem = word.split('.').next().unwrap_or(word);
        let found = if register.is_some() && !stem.ends_with(['Z', 'T']) {
            let short = Span::new(span.start, span.start + stem.len() as u32);
            let number = *registers.entry(stem).or_insert_with(|| {
                index.symbols.push(symbol(stem, Kind::Register, short, "register"));
                index.symbols.len() as u32 - 1
            });
            Some((short, number))
        } else {
            known.get(word).map(|number| (span, *number))
        };
        if let Some((span, symbol)) = found {
            let written = index.symbols[symbol as usize].declared == span;
            index.occurrences.push(Occurrence { span, symbol, member: None, written });
        }
    }
    index
}

/// A register as it is written.
fn text(name: Name) -> String {
    match name {
        Name::Register(number) => format!("R{number}"),
        Name::Uniform(number) => format!("UR{number}"),
        Name::Predicate(number) => format!("P{number}"),
        Name::UniformPredicate(number) => format!("UP{number}"),
        Name::Convergence(number) => format!("B{number}"),
        Name::Scoreboard(number) => format!("SB{number}"),
        Name::Barrier(number) => format!("barrier {number}"),
        Name::Constant(bank) => format!("c[{bank:#x}]"),
    }
}

fn describe(control: Control, instruction: Option<&Instruction>) -> String {
    let mut out = String::new();
    if let Some(instruction) = instruction {
        let form = instruction.form();
        let _ = writeln!(out, "```text\n{}\n```", form.template());
        let named = |wanted: fn(Access) -> bool| {
            let mut all: Vec<String> = Vec::new();
            for operand in instruction.operands().filter(|operand| wanted(operand.access)) {
                all.extend(operand.names().map(text));
            }
            if all.is_empty() { "nothing".to_owned() } else { all.join(" ") }
        };
        let _ = writeln!(out, "- reads {}", named(|access| access != Access::Write));
        let _ = writeln!(out, "- writes {}", named(|access| access != Access::Read));
    }
    let waits: Vec<String> =
        (0..6).filter(|bit| control.wait_mask >> bit & 1 == 1).map(|bit| format!("SB{bit}")).collect();
    if !waits.is_empty() {
        let _ = writeln!(out, "- waits for {}", waits.join(" "));
    }
    if let Some(number) = control.read_scoreboard {
        let _ = writeln!(out, "- holds SB{number} until its operands are read");
    }
    if let Some(number) = control.write_scoreboard {
        let _ = writeln!(out, "- holds SB{number} until its results are written");
    }
    let cycles = if control.stall == 1 { "cycle" } else { "cycles" };
    let yields = if control.yield_flag { ", `Y`: bit 109 is 0" } else { "" };
    let _ = writeln!(
        out,
        "- the next instruction issues {} {cycles} later at the earliest{yields}",
        control.stall
    );
    out
}

impl Analysis for Cuasm {
    fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    fn index(&self) -> &Index {
        &self.index
    }

    fn explain(&self, code: &str) -> Option<&'static str> {
        let found = cuasm::codes::CATALOGUE.iter().find(|(known, _)| *known == code);
        found.map(|(_, explanation)| *explanation)
    }

    fn hover(&self, offset: u32) -> Option<(Span, String)> {
        let at = self.words.partition_point(|(span, _)| span.start <= offset).checked_sub(1)?;
        let (span, word) = self.words[at];
        if offset <= span.end && matches!(word, Word::Mnemonic | Word::Control) {
            let line = self.line(offset);
            let instruction = self.instruction(line);
            let control = instruction.map(|(control, _)| control).or_else(|| {
                let line = self.source.slice(line).trim();
                line.strip_prefix('[')?.split_once(']')?.0.parse().ok()
            })?;
            return Some((span, describe(control, instruction.as_ref().map(|(_, instruction)| instruction))));
        }
        let name = self.index.at(offset)?;
        let symbol = self.index.symbol(name);
        let number = self.index.same(*name).count();
        let line = self.source.line_column(symbol.declared.start).0;
        let first = if symbol.kind == Kind::Register { "first named" } else { "declared" };
        Some((
            name.span,
            format!("`{}`, {}: {first} in line {line}, {number} places", symbol.name, symbol.detail),
        ))
    }

    fn complete(&self, offset: u32) -> Proposals {
        let line = self.line(offset);
        let before = &self.source.text()[line.start as usize..offset as usize];
        let length =
            before.bytes().rev().take_while(|b| b.is_ascii_alphanumeric() || b"._$".contains(b)).count();
        let replace = Span::new(offset - length as u32, offset);
        let trimmed = before.trim_start();
        let begins = trimmed.starts_with('[')
            && trimmed.split_once(']').is_some_and(|(_, rest)| {
                let rest = rest.rsplit("*/").next().unwrap_or(rest).trim_start();
                !rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '.').contains(' ')
            });
        let mut list: Vec<Proposal> = Vec::new();
        if let (true, Some(arch)) = (begins, self.arch) {
            list.extend(sass::describe::mnemonics(arch).into_iter().map(|(name, forms)| Proposal {
                text: name.to_owned(),
                kind: ProposalKind::Instruction,
                detail: format!("{} forms", forms.len()),
                rank: 0,
            }));
        } else {
            list.extend(self.index.symbols.iter().map(|symbol| Proposal {
                text: symbol.name.clone(),
                kind: ProposalKind::Name(symbol.kind),
                detail: symbol.detail.clone(),
                rank: 0,
            }));
            list.dedup();
        }
        Proposals { replace, list }
    }

    fn signatures(&self, _: u32) -> (Vec<Signature>, u32) {
        (Vec::new(), 0)
    }

    fn fixes(&self, _: &Diagnostic) -> Vec<Fix> {
        Vec::new()
    }

    fn hints(&self, _: Span, _: &Hints) -> Vec<(u32, String)> {
        Vec::new()
    }

    fn colors(&self) -> Vec<(Span, Color)> {
        let color = |word: Word| match word {
            Word::Comment => Color::Comment,
            Word::Directive => Color::Directive,
            Word::Label => Color::Label,
            Word::Control => Color::Control,
            Word::Mnemonic => Color::Mnemonic,
            Word::Register => Color::Register,
            Word::Number => Color::Number,
            Word::Text => Color::Text,
        };
        self.words.iter().map(|(span, word)| (*span, color(*word))).collect()
    }

    fn folds(&self) -> Vec<Span> {
        let sections: Vec<Span> = self
            .index
            .symbols
            .iter()
            .filter(|one| one.kind == Kind::Section)
            .map(|one| one.declared)
            .collect();
        let end = self.source.text().trim_end().len() as u32;
        let ends =
            sections.iter().skip(1).map(|next| self.line(next.start).start.saturating_sub(1)).chain([end]);
        sections.iter().zip(ends).map(|(from, to)| Span::new(from.start, to.max(from.start))).collect()
    }

    fn statement(&self, offset: u32) -> Option<Span> {
        Some(self.line(offset))
    }

    fn format(&self) -> Result<String, String> {
        Err("cuasm has no canonical form beside that of `warploom disasm`".into())
    }

    fn renamable(&self, occurrence: &Occurrence, name: Option<&str>) -> Result<(), String> {
        let symbol = self.index.symbol(occurrence);
        if symbol.kind != Kind::Label {
            return Err(format!("`{}` is a {}: only labels can be renamed", symbol.name, symbol.detail));
        }
        if !self.assembles && self.diagnostics.iter().any(|one| one.severity == Severity::Error) {
            return Err("the text has errors, so that not all uses are known".into());
        }
        let Some(name) = name else { return Ok(()) };
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'$');
        if name.is_empty() || name.as_bytes()[0].is_ascii_digit() || !name.bytes().all(legal) {
            return Err(format!("`{name}` is not a name of cuasm"));
        }
        let taken = self.index.symbols.iter().any(|other| other.name == name);
        if taken { Err(format!("`{name}` is taken")) } else { Ok(()) }
    }

    fn lenses(&self) -> Vec<(Span, String)> {
        Vec::new()
    }
}
