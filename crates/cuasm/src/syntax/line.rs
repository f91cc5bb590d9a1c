//! Lines: comments, labels, directives, instructions.

use super::expression::arguments;
use super::words::{is_name, words};
use super::{Argument, Hole, Instruction, Line, Statement};
use crate::codes::{self, Findings};
use ptx::diagnostic::Diagnostic;
use ptx::source::Span;
use sass::Control;
use std::borrow::Cow;

/// The statements of a text.
pub(crate) fn parse(text: &str, findings: &mut Findings) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.trim_end_matches(['\n', '\r']).len();
        let clean = without_comments(&text[start..end]);
        LineParser { clean: &clean, base: start, findings }.statements(&mut lines);
        start += line.len();
    }
    lines
}

/// An instruction that stands at a place, without comments and without its semicolon; none if a label or relocation in it is none.
pub(crate) fn instruction(
    control: Control,
    text: String,
    base: usize,
    findings: &mut Findings,
) -> Option<Line> {
    let span = Span::new(base as u32, (base + text.len()) as u32);
    let mut instruction =
        Instruction { control, control_span: span, text, span, holes: Vec::new(), raw: None };
    // Nothing else begins an operand that only the assembler knows the value of.
    if instruction.text.bytes().any(|byte| byte == b'`' || byte == b'(') {
        let clean = instruction.text.clone();
        LineParser { clean: &clean, base, findings }.holes(&mut instruction, 0)?;
    }
    Some(Line { statement: Statement::Instruction(Box::new(instruction)), span })
}

/// A line with spaces in the place of comments, so that places stay the same. A comment ends on its line.
fn without_comments(line: &str) -> Cow<'_, str> {
    let bytes = line.as_bytes();
    // Each begins with one of these.
    let begins = |pair: &[u8]| matches!(pair, b"//" | b"/*" | b"(*");
    if !bytes.windows(2).any(begins) {
        return line.into();
    }
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = match &bytes[at..] {
            [b'/', b'/', ..] => bytes.len(),
            [b'/', b'*', ..] => find(bytes, at + 2, b"*/").map_or(bytes.len(), |end| end + 2),
            [b'(', b'*', ..] => find(bytes, at + 2, b"*)").map_or(bytes.len(), |end| end + 2),
            [b'"', ..] => {
                at = string_end(bytes, at);
                continue;
            }
            _ => {
                at += 1;
                continue;
            }
        };
        out[at..end].fill(b' ');
        at = end;
    }
    // Whole comments have become spaces, so characters are whole.
    String::from_utf8(out).unwrap_or_default().into()
}

/// Behind the last quote of the string that begins at a place.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn find(bytes: &[u8], from: usize, what: &[u8]) -> Option<usize> {
    let rest = bytes.get(from..)?;
    rest.windows(what.len()).position(|window| window == what).map(|at| at + from)
}

struct LineParser<'a> {
    /// The line without comments.
    clean: &'a str,
    /// Where the line begins in the source.
    base: usize,
    findings: &'a mut Findings,
}

impl LineParser<'_> {
    fn span(&self, start: usize, end: usize) -> Span {
        Span::new((self.base + start) as u32, (self.base + end) as u32)
    }

    fn statements(&mut self, lines: &mut Vec<Line>) {
        let bytes = self.clean.as_bytes();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if matches!(byte, b' ' | b'\t') {
                at += 1;
            } else if byte == b'[' {
                if let Some(line) = self.instruction(at) {
                    lines.push(line);
                }
                return;
            } else if let Some((name, end)) = self.label(at) {
                lines.push(Line { statement: Statement::Label(name), span: self.span(at, end) });
                at = end;
            } else if byte == b'.' {
                lines.push(self.directive(at));
                return;
            } else {
                let span = self.span(at, self.clean.trim_end().len());
                self.findings.push(
                    Diagnostic::error(codes::SYNTAX, span, "not a label, a directive or an instruction")
                        .hint("an instruction begins with its control code, such as `[B------:R-:W-:-:S04]`"),
                );
                return;
            }
        }
    }

    /// `name:` or `"name":`, with the place behind it. `#` may stand in a label: it ends those for offsets.
    fn label(&self, start: usize) -> Option<(String, usize)> {
        let bytes = self.clean.as_bytes();
        let (name, mut at) = if bytes[start] == b'"' {
            let end = string_end(bytes, start);
            let span = Span::new(start as u32, end as u32);
            let token = words(self.clean, span, &mut Findings::default()).pop()?;
            let super::words::Word::Text(name) = token.word else { return None };
            (name, end)
        } else {
            let length = bytes[start..].iter().take_while(|&&byte| is_name(byte) || byte == b'#').count();
            (self.clean[start..start + length].to_owned(), start + length)
        };
        while bytes.get(at).is_some_and(|byte| matches!(byte, b' ' | b'\t')) {
            at += 1;
        }
        (!name.is_empty() && bytes.get(at) == Some(&b':')).then_some((name, at + 1))
    }

    fn directive(&mut self, start: usize) -> Line {
        let bytes = self.clean.as_bytes();
        let length = bytes[start..].iter().take_while(|&&byte| is_name(byte)).count();
        let name = self.clean[start..start + length].to_owned();
        let arguments = self.arguments(start + length, self.clean.trim_end().len());
        Line { statement: Statement::Directive { name, arguments }, span: self.span(start, start + length) }
    }

    /// The arguments in a part of the line.
    fn arguments(&mut self, start: usize, end: usize) -> Vec<Argument> {
        let mut found = Findings::default();
        let mut tokens = words(self.clean, Span::new(start as u32, end.max(start) as u32), &mut found);
        let base = self.base as u32;
        let shift = |span: Span| Span::new(span.start + base, span.end + base);
        for token in &mut tokens {
            token.span = shift(token.span);
        }
        for mut diagnostic in found.list {
            diagnostic.span = shift(diagnostic.span);
            self.findings.push(diagnostic);
        }
        let last = self.span(end, end);
        arguments(&tokens, last, self.findings)
    }

    fn instruction(&mut self, start: usize) -> Option<Line> {
        let line = self.clean;
        let Some(close) = line[start..].find(']').map(|at| start + at + 1) else {
            let span = self.span(start, line.trim_end().len());
            self.findings.error(codes::CONTROL, span, "the control code does not end");
            return None;
        };
        let control_span = self.span(start, close);
        let control = match line[start..close].parse::<Control>() {
            Ok(control) => control,
            Err(wrong) => {
                let at = (start + wrong.0).min(close - 1);
                let span = self.span(at, at + line[at..].chars().next().map_or(0, char::len_utf8));
                self.findings.push(
                    Diagnostic::error(codes::CONTROL, span, "not a control code")
                        .hint("a control code is of the form `[B--2---:R-:W0:-:S01]`"),
                );
                return None;
            }
        };
        let rest = &line[close..];
        let from = close + (rest.len() - rest.trim_start().len());
        let semicolon = line[from..].find(';').map(|at| from + at);
        let end = semicolon.unwrap_or(line.len());
        let text_end = from + line[from..end].trim_end().len();
        let span = self.span(from, text_end);
        let Some(semicolon) = semicolon else {
            let span = if from == text_end { control_span } else { span };
            self.findings.error(codes::SYNTAX, span, "an instruction ends with `;`");
            return None;
        };
        if !line[semicolon + 1..].trim().is_empty() {
            let span = self.span(semicolon + 1, line.trim_end().len());
            self.findings.error(codes::SYNTAX, span, "nothing may stand behind an instruction");
        }
        let text = line[from..text_end].to_owned();
        let mut instruction = Instruction { control, control_span, text, span, holes: Vec::new(), raw: None };
        if let Some(digits) = instruction.text.strip_prefix(".raw") {
            let at = from + (text_end - from - digits.trim_start().len());
            instruction.raw = Some(self.wide(at, text_end)?);
        } else {
            self.holes(&mut instruction, from)?;
        }
        Some(Line { statement: Statement::Instruction(Box::new(instruction)), span })
    }

    /// A number of 128 bits, which leaves the control code out.
    fn wide(&mut self, start: usize, end: usize) -> Option<u128> {
        let digits =
            self.clean[start..end].trim().strip_prefix("0x").filter(|digits| !digits.starts_with('+'));
        let number = digits.and_then(|digits| u128::from_str_radix(digits, 16).ok());
        let number = number.filter(|number| number & crate::isa::CONTROL == 0);
        if number.is_none() {
            let span = self.span(start, end);
            self.findings.push(
                Diagnostic::error(codes::NUMBER, span, "not the bits of an instruction")
                    .hint("128 bits as `0x...`, of which 105 to 121, the control code, are zero"),
            );
        }
        number
    }

    /// Finds labels (`` `(name) ``) and relocations (`32@lo(name)`) in an instruction's text.
    fn holes(&mut self, instruction: &mut Instruction, from: usize) -> Option<()> {
        let text = instruction.text.as_bytes();
        let mut at = 0;
        while at < text.len() {
            let start = at;
            let open = match text[at] {
                b'`' if text.get(at + 1) == Some(&b'(') => Some(at + 1),
                b'0'..=b'9' if at == 0 || !is_name(text[at - 1]) => {
                    let word = text[at..].iter().take_while(|&&byte| is_name(byte)).count();
                    at += word;
                    let name = |from: usize| text[from..].iter().take_while(|&&byte| is_name(byte)).count();
                    let found = (text.get(at) == Some(&b'@')).then(|| at + 1 + name(at + 1));
                    found.filter(|&open| text.get(open) == Some(&b'('))
                }
                _ => None,
            };
            let Some(open) = open else {
                at = (start + 1).max(at);
                continue;
            };
            let end = closing(text, open);
            // A back quote is no word of an expression.
            let first = if text[start] == b'`' { open } else { start };
            let mut found = self.arguments(from + first, from + end);
            if found.len() != 1 {
                let span = self.span(from + start, from + end);
                self.findings.error(codes::SYNTAX, span, "not a label or a relocation");
                return None;
            }
            let Argument { expression, span } = found.swap_remove(0);
            instruction.holes.push(Hole { at: start..end, expression, span });
            at = end;
        }
        Some(())
    }
}

/// Behind the parenthesis that closes the one at a place; the end of the text if there is none.
fn closing(text: &[u8], open: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = open;
    while at < text.len() {
        match text[at] {
            b'"' => {
                at = string_end(text, at);
                continue;
            }
            b'(' => depth += 1,
            b')' if depth <= 1 => return at + 1,
            b')' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    text.len()
}
