//! Faults, and instructions that the machine does not execute: with the PTX line and the source line.

use crate::diagnostics::{self, Mark};
use ::abi::names::demangled;
use annotate_snippets::{AnnotationKind, Level};
use machine::{Fault, Inlined, Location, SourceLocation, Unsupported};
use ptx::source::{Source, Span};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// Source files beyond this size are not shown.
const LARGEST_SOURCE: u64 = 16 << 20;

/// A fault for people, with the command that shows it again, if there is one.
pub fn text(source: &Source, fault: &Fault, replay: Option<&str>) -> String {
    let Location { ptx, text, source: compiled_from, inlined } = &fault.location;
    let span = ptx.as_ref().map(|place| span(source, place, text.as_deref()));
    let title = fault.trap.to_string();
    let thread = fault.thread.map(|[x, y, z]| format!("thread ({x}, {y}, {z})"));
    let mut group = Level::ERROR.primary_title(title.as_str()).id(fault.trap.name()).elements(excerpt(
        source,
        span,
        thread.as_deref().unwrap_or_default(),
    ));
    let original = compiled_from.as_ref().and_then(original);
    if let (Some(original), Some(place)) = (&original, compiled_from) {
        group = group.elements(excerpt(original, Some(span_of_place(original, place)), "compiled from this"));
    }
    let kernel = demangled(&fault.kernel);
    let mut notes = vec![format!("in kernel {kernel}{}", called(fault.function.as_deref()))];
    if let Some([x, y, z]) = fault.block {
        notes.push(format!(
            "block ({x}, {y}, {z}){}",
            thread.as_ref().map(|t| format!(", {t}")).unwrap_or_default()
        ));
    }
    if let (None, Some(place)) = (&original, compiled_from) {
        notes.push(format!("compiled from {place}"));
    }
    notes.extend(inlined.iter().map(|Inlined { function, at }| match function {
        Some(function) => format!("{} was inlined at {at}", demangled(function)),
        None => format!("inlined at {at}"),
    }));
    group = group.elements(notes.iter().map(|note| Level::NOTE.message(note.as_str())));
    let replay = replay.map(|command| format!("to see it again: {command}"));
    group = group.elements(replay.iter().map(|help| Level::HELP.message(help.as_str())));
    diagnostics::paragraph(group).trim_end().to_owned()
}

/// A fault for people, without colours.
pub fn plain(source: &Source, fault: &Fault) -> String {
    anstream::adapter::strip_str(&text(source, fault, None)).to_string()
}

/// An instruction that the machine does not execute, for people.
pub fn unsupported_text(source: &Source, unsupported: &Unsupported) -> String {
    let title = format!("unsupported: {}", unsupported.what);
    let function = Some(unsupported.function.as_str()).filter(|f| *f != unsupported.kernel);
    let note = format!("in kernel {}{}", demangled(&unsupported.kernel), called(function));
    let group = Level::ERROR
        .primary_title(title.as_str())
        .elements(excerpt(source, Some(unsupported.span), ""))
        .element(Level::NOTE.message(note.as_str()));
    diagnostics::paragraph(group).trim_end().to_owned()
}

fn called(function: Option<&str>) -> String {
    function.map(|f| format!(", in function {}", demangled(f))).unwrap_or_default()
}

fn excerpt<'a>(
    source: &'a Source,
    span: Option<Span>,
    label: &'a str,
) -> Vec<annotate_snippets::Snippet<'a, annotate_snippets::Annotation<'a>>> {
    let mark = span.map(|span| Mark { span, label, kind: AnnotationKind::Primary });
    diagnostics::excerpts(source, mark.as_slice())
}

/// The bytes of an instruction that begins at a place.
fn span(source: &Source, place: &SourceLocation, instruction: Option<&str>) -> Span {
    let start = offset(source, place);
    Span::new(start, start + instruction.map_or(0, |text| text.len() as u32))
}

fn offset(source: &Source, place: &SourceLocation) -> u32 {
    let before = source.text().split_inclusive('\n').take(place.line.saturating_sub(1) as usize);
    before.map(|line| line.len() as u32).sum::<u32>() + place.column.saturating_sub(1)
}

/// The place in the file that the PTX was compiled from, if it can be read here.
fn original(place: &SourceLocation) -> Option<Arc<Source>> {
    let path = Path::new(&place.file);
    let data = std::fs::metadata(path).ok()?;
    let text =
        (data.is_file() && data.len() <= LARGEST_SOURCE).then(|| std::fs::read_to_string(path).ok())??;
    // Line 0 is the compiler's way to say that no line of the source has this instruction.
    let exists = place.line > 0 && (place.line as usize) <= text.lines().count();
    exists.then(|| Source::new(place.file.as_str(), text))
}

/// From the column, or the beginning of the line, to its end.
fn span_of_place(source: &Source, place: &SourceLocation) -> Span {
    let line = offset(source, &SourceLocation { column: 1, ..place.clone() });
    let text = source.text()[line as usize..].lines().next().unwrap_or_default();
    let indent = (text.len() - text.trim_start().len()) as u32;
    let column = if place.column > 0 { place.column - 1 } else { indent };
    let end = text.trim_end().len() as u32;
    Span::new(line + column.min(end), line + end)
}

/// A fault for programs; the same.
pub fn json(fault: &Fault, replay: Option<&str>) -> Value {
    json!({
        "name": fault.trap.name(),
        "message": fault.trap.to_string(),
        "kernel": fault.kernel,
        "function": fault.function,
        "block": fault.block,
        "thread": fault.thread,
        "ptx": fault.location.ptx.as_ref().map(place),
        "instruction": fault.location.text,
        "source": fault.location.source.as_ref().map(place),
        "inlined": fault.location.inlined.iter().map(call).collect::<Vec<_>>(),
        "scheduler": fault.scheduler,
        "replay": replay,
    })
}

/// An instruction that the machine does not execute, for programs.
pub fn unsupported_json(unsupported: &Unsupported) -> Value {
    json!({
        "what": unsupported.what,
        "kernel": unsupported.kernel,
        "function": unsupported.function,
        "ptx": unsupported.location.ptx.as_ref().map(place),
        "instruction": unsupported.location.text,
        "source": unsupported.location.source.as_ref().map(place),
    })
}

fn call(call: &Inlined) -> Value {
    json!({ "function": call.function, "at": place(&call.at) })
}

fn place(place: &SourceLocation) -> Value {
    json!({ "file": place.file, "line": place.line, "column": place.column })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_become_spans() {
        let source = Source::new("x", "ab\n  cde f\n");
        let place = |line, column| SourceLocation { file: "x".into(), line, column };
        assert_eq!(source.slice(span(&source, &place(2, 3), Some("cde"))), "cde");
        assert_eq!(source.slice(span_of_place(&source, &place(2, 0))), "cde f");
        assert_eq!(source.slice(span_of_place(&source, &place(2, 5))), "e f");
        assert_eq!(source.slice(span_of_place(&source, &place(1, 9))), "");
    }
}
