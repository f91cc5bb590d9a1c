//! `warploom sass forms`: what the tables know, for people.

use super::arch;
use crate::failure::{Exit, Failure};
use crate::terminal;
use ::sass::Arch;
use ::sass::describe::{self, Form, Prints};
use std::fmt::Write;

/// Show the instructions of an architecture: fields, bits and modifiers
///
/// Without a mnemonic: all mnemonics with their opcodes. With one: its forms, each with its text, a picture of the 128 bits and
/// what every field prints. Opcodes have 13 bits: bits 11-0 of the word, and bit 91 above them.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The architecture: sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_120
    #[arg(long, value_parser = arch)]
    arch: Arch,
    /// Only the form with this opcode, hexadecimal
    #[arg(long, value_name = "OPCODE", value_parser = opcode, requires = "mnemonic")]
    opcode: Option<usize>,
    /// A mnemonic; modifiers behind it are ignored
    mnemonic: Option<String>,
}

fn opcode(text: &str) -> Result<usize, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let number = usize::from_str_radix(digits, 16).ok().filter(|&it| it < 1 << 13);
    number.ok_or_else(|| "an opcode is a hexadecimal number of 13 bits".to_owned())
}

pub(super) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    let arch = arguments.arch;
    let Some(mnemonic) = &arguments.mnemonic else {
        let mut out = String::new();
        for (name, forms) in describe::mnemonics(arch) {
            let mut opcodes: Vec<String> = forms.iter().map(|it| format!("{:#x}", it.opcode())).collect();
            opcodes.dedup();
            let _ = writeln!(out, "{name:<14} {}", opcodes.join(" "));
        }
        return terminal::result(&out).map(|()| Exit::Ok);
    };
    let mut forms = describe::forms(arch, Some(mnemonic));
    if forms.is_empty() {
        let message = format!("{arch} has no instruction `{mnemonic}` that is known");
        return Err(Failure::usage(message).hint(nearest(arch, mnemonic)));
    }
    if let Some(opcode) = arguments.opcode {
        forms.retain(|it| it.opcode() == opcode);
        if forms.is_empty() {
            return Err(Failure::usage(format!("no form of {mnemonic} has the opcode {opcode:#x}")));
        }
    }
    let shown: Vec<String> = forms.into_iter().map(show).collect();
    terminal::result(&shown.join("\n")).map(|()| Exit::Ok)
}

/// What to type instead.
fn nearest(arch: Arch, mnemonic: &str) -> String {
    let wanted = mnemonic.to_ascii_uppercase();
    let near: Vec<&str> = describe::mnemonics(arch)
        .into_iter()
        .map(|it| it.0)
        .filter(|it| it.contains(&wanted) || !it.is_empty() && wanted.starts_with(it))
        .take(8)
        .collect();
    if near.is_empty() {
        format!("`warploom sass forms --arch {arch}` lists all")
    } else {
        format!("there is {}", near.join(", "))
    }
}

fn show(form: Form) -> String {
    let mut out = format!("{:#05x}  {}\n", form.opcode(), form.template());
    for remark in form.remarks() {
        let _ = writeln!(out, "# {remark}");
    }
    let (mask, value) = form.conditions();
    if mask != 0 {
        let bits: Vec<String> = (0..128)
            .filter(|bit| mask >> bit & 1 == 1)
            .map(|bit| format!("{bit}={}", value >> bit & 1))
            .collect();
        let _ = writeln!(out, "only where bit {}", bits.join(", "));
    }
    out.push('\n');
    out.push_str(&form.picture());
    out.push('\n');
    for field in form.fields() {
        let prints = match &field.prints {
            Prints::Number(what) => what.clone(),
            Prints::Codes(codes) if field.prints.nothing() => illegal(codes),
            Prints::Codes(codes) => listed(codes),
        };
        let _ = writeln!(out, "{}  {:<12} {prints}", field.letter, bits(&field.bits));
    }
    if form.rest() != 0 {
        let set: Vec<String> =
            (0..128).filter(|bit| form.rest() >> bit & 1 == 1).map(|bit| bit.to_string()).collect();
        let _ = writeln!(out, "set where the text does not say: bit {}", set.join(", "));
    }
    out
}

/// `16-23`, or `16-23, 64`.
pub(super) fn bits(runs: &[(u8, u8)]) -> String {
    let run = |&(low, len): &(u8, u8)| match len {
        1 => low.to_string(),
        _ => format!("{low}-{}", low + len - 1),
    };
    runs.iter().map(run).collect::<Vec<_>>().join(",")
}

/// A text, in quotes if it is empty or has a blank in it.
pub(super) fn quoted(text: &str) -> String {
    if text.is_empty() || text.contains(' ') { format!("\"{text}\"") } else { text.to_owned() }
}

/// The codes with what they print: `0 "", 1 .FTZ`; codes that count up are one, those that no instruction has are left out.
fn listed(codes: &[Option<String>]) -> String {
    const MOST: usize = 24;
    let mut parts = Vec::new();
    let mut at = 0;
    while let Some(code) = codes.get(at) {
        let Some(text) = code else {
            at += 1;
            continue;
        };
        let same = codes[at..].iter().take_while(|it| it.as_ref() == Some(text)).count();
        let counting = counting(&codes[at..]);
        let len = if counting > 2 { counting } else { same };
        let text = match &codes[at + counting.max(1) - 1] {
            Some(last) if counting > 2 => format!("{} .. {}", quoted(text), quoted(last)),
            _ => quoted(text),
        };
        parts.push(format!("{} {text}", range(at, len)));
        at += len;
    }
    shortened(parts, MOST)
}

/// The codes that no legal instruction has.
fn illegal(codes: &[Option<String>]) -> String {
    const MOST: usize = 12;
    let mut parts = Vec::new();
    let mut at = 0;
    while at < codes.len() {
        let len = codes[at..].iter().take_while(|it| it.is_none()).count();
        if len > 0 {
            parts.push(range(at, len));
        }
        at += len.max(1);
    }
    format!("nothing; not legal: {}", shortened(parts, MOST))
}

fn range(first: usize, len: usize) -> String {
    if len == 1 { first.to_string() } else { format!("{first}-{}", first + len - 1) }
}

fn shortened(mut parts: Vec<String>, most: usize) -> String {
    let left = parts.len().saturating_sub(most);
    if left > 0 {
        parts.truncate(most);
        parts.push(format!("and {left} more"));
    }
    parts.join(", ")
}

/// How many texts from the first on have a last number in them that counts up by one.
fn counting(codes: &[Option<String>]) -> usize {
    let parts = |text: &str| {
        let end = text.len() - text.bytes().rev().take_while(|it| !it.is_ascii_digit()).count();
        let start = end - text[..end].bytes().rev().take_while(u8::is_ascii_digit).count();
        let number: u64 = text[start..end].parse().ok()?;
        Some((text[..start].to_owned(), number, text[end..].to_owned()))
    };
    let Some((before, first, behind)) = codes[0].as_deref().and_then(parts) else { return 0 };
    let counted = |code: &Option<String>, number| {
        code.as_deref().and_then(parts).is_some_and(|it| it == (before.clone(), number, behind.clone()))
    };
    codes.iter().zip(first..).take_while(|(code, number)| counted(code, *number)).count()
}
