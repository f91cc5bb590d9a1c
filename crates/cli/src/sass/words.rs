//! Single instructions: word to text, text to word.

use super::arch;
use crate::failure::{Exit, Failure};
use crate::terminal;
use ::sass::{Arch, BadControl, Control, Instruction, NoSymbols, ParseError};
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use std::fmt::Write;
use std::ops::Range;

/// Print words of machine code as instructions
///
/// A line has the control code, the text as nvdisasm prints it, and a residue where the text does not say all. `encode` reads it
/// back to the same word.
#[derive(Debug, clap::Args)]
pub(super) struct Decode {
    /// The architecture: sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_120
    #[arg(long, value_parser = arch)]
    arch: Arch,
    /// Where the first word stands: targets of branches are counted from there
    #[arg(long, value_parser = number64, default_value = "0x0")]
    address: u64,
    /// Show the word's fields too
    #[arg(long)]
    fields: bool,
    /// Words of up to 32 hexadecimal digits
    #[arg(required = true, value_name = "WORD", value_parser = number)]
    words: Vec<u128>,
}

/// Print the word of an instruction
///
/// A control code in brackets may stand before it, and a residue behind it. Without a control code: no scoreboards, stall for one
/// cycle.
#[derive(Debug, clap::Args)]
pub(super) struct Encode {
    /// The architecture: sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_120
    #[arg(long, value_parser = arch)]
    arch: Arch,
    /// Where the first instruction stands: targets of branches are counted from there
    #[arg(long, value_parser = number64, default_value = "0x0")]
    address: u64,
    /// Instructions
    #[arg(required = true, value_name = "TEXT")]
    texts: Vec<String>,
}

fn number(text: &str) -> Result<u128, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let plain = digits.bytes().all(|it| it.is_ascii_hexdigit());
    u128::from_str_radix(digits, 16)
        .ok()
        .filter(|_| plain)
        .ok_or_else(|| "a word has up to 32 hexadecimal digits".to_owned())
}

fn number64(text: &str) -> Result<u64, String> {
    number(text)?.try_into().map_err(|_| "an address has up to 16 hexadecimal digits".to_owned())
}

pub(super) fn decode(arguments: &Decode) -> Result<Exit, Failure> {
    let mut out = String::new();
    let mut unknown = Vec::new();
    for (at, &word) in arguments.words.iter().enumerate() {
        let Some(instruction) = ::sass::decode(arguments.arch, word) else {
            unknown.push(format!("{word:#034x} is no instruction of {} that is known", arguments.arch));
            continue;
        };
        let address = arguments.address.wrapping_add(16 * at as u64);
        let _ = write!(out, "{} ", instruction.control());
        instruction.print_exact(address, &mut out, |_, _| false);
        out.push('\n');
        if arguments.fields {
            fields(&instruction, &mut out);
        }
    }
    terminal::result(&out)?;
    if unknown.is_empty() { Ok(Exit::Ok) } else { Err(Failure::new(Exit::Findings, unknown.join("\n"))) }
}

/// The word's fields: letter, bits, value, what is printed.
fn fields(instruction: &Instruction, out: &mut String) {
    let form = instruction.form();
    let _ = writeln!(out, "  {}  opcode {:#x}", form.template(), form.opcode());
    for field in form.fields() {
        let value = field.value(instruction.word());
        let text = match &field.prints {
            ::sass::describe::Prints::Codes(codes) => match codes.get(value as usize) {
                Some(Some(text)) => super::forms::quoted(text),
                _ => String::new(),
            },
            ::sass::describe::Prints::Number(what) => what.clone(),
        };
        let _ =
            writeln!(out, "  {}  {:<12} {value:<#10x} {text}", field.letter, super::forms::bits(&field.bits));
    }
}

pub(super) fn encode(arguments: &Encode) -> Result<Exit, Failure> {
    let mut out = String::new();
    for (at, text) in arguments.texts.iter().enumerate() {
        let address = arguments.address.wrapping_add(16 * at as u64);
        match instruction(arguments.arch, text, address) {
            Ok(instruction) => {
                let _ = writeln!(out, "{:#034x}", instruction.word());
            }
            Err((span, message)) => {
                terminal::result(&out)?;
                terminal::note(&pointed(text, span, &message));
                return Err(Failure::silent(Exit::Findings));
            }
        }
    }
    terminal::result(&out).map(|()| Exit::Ok)
}

/// The instruction that a text with or without control code is.
fn instruction(arch: Arch, text: &str, address: u64) -> Result<Instruction, (Range<usize>, String)> {
    let blanks = text.len() - text.trim_start().len();
    let (control, start) = if text[blanks..].starts_with('[') {
        let end = text[blanks..].find(']').map_or(text.len(), |it| blanks + it + 1);
        let control = text[blanks..end].parse::<Control>();
        let wrong =
            |error: BadControl| (blanks + error.0..(blanks + error.0 + 1).min(text.len()), error.to_string());
        (control.map_err(wrong)?, end)
    } else {
        (Control::default(), 0)
    };
    if text[start..].trim().is_empty() {
        return Err((start..text.len(), "there is no instruction".to_owned()));
    }
    ::sass::parse(arch, &text[start..], control, address, &mut NoSymbols)
        .map_err(|ParseError { span, message }| (span.start + start..span.end + start, message))
}

/// A message with the text and a mark under the wrong part of it.
fn pointed(text: &str, span: Range<usize>, message: &str) -> String {
    let boundary = |mut at: usize| {
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let (start, end) = (boundary(span.start.min(text.len())), boundary(span.end.min(text.len())));
    let snippet = Snippet::source(text)
        .line_start(1)
        .annotation(AnnotationKind::Primary.span(start..end.max(start)).label("here"));
    Renderer::styled().render(&[Level::ERROR.primary_title(message).element(snippet)])
}
