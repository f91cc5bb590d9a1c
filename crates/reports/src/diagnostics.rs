//! Diagnostics for people, with the source line and a caret, and for programs, as JSON.

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};
use ptx::diagnostic::{Diagnostic, Severity};
use ptx::source::{Source, Span};
use serde_json::{Value, json};
use std::ops::Range;

/// How diagnostics are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// With source lines.
    Text,
    /// A JSON object a line.
    Json,
}

/// Bytes of source between two places that one excerpt may still show together.
const NEAR: u32 = 4096;

/// A place with the words to print there.
pub struct Mark<'a> {
    /// The place.
    pub span: Span,
    /// The words.
    pub label: &'a str,
    /// Whether it is what is meant, or what helps to understand it.
    pub kind: AnnotationKind,
}

/// A diagnostic for people, without colours.
pub fn plain(source: &Source, diagnostic: &Diagnostic) -> String {
    anstream::adapter::strip_str(&render(source, diagnostic, Format::Text)).to_string()
}

/// A diagnostic, ending in a line break.
pub fn render(source: &Source, diagnostic: &Diagnostic, format: Format) -> String {
    match format {
        Format::Json => format!("{}\n", value(source, diagnostic)),
        Format::Text => {
            let level = match diagnostic.severity {
                Severity::Error => Level::ERROR,
                Severity::Warning => Level::WARNING,
            };
            let related = diagnostic.related.iter().map(|(span, what)| Mark {
                span: *span,
                label: what,
                kind: AnnotationKind::Context,
            });
            let primary =
                Mark { span: diagnostic.span, label: &diagnostic.label, kind: AnnotationKind::Primary };
            let marks: Vec<_> = std::iter::once(primary).chain(related).collect();
            let title = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code);
            let mut group = title.elements(excerpts(source, &marks));
            if let Some(hint) = &diagnostic.hint {
                group = group.element(Level::HELP.message(hint.as_str()));
            }
            paragraph(group)
        }
    }
}

/// A rendered group with an empty line behind it.
pub fn paragraph(group: Group<'_>) -> String {
    Renderer::styled().render(&[group]) + "\n\n"
}

/// Excerpts of a source with marked places: those near the first mark together, the others each by itself. Only the
/// lines around the marks are handed to the renderer, so that the cost does not grow with the file.
pub fn excerpts<'a>(source: &'a Source, marks: &[Mark<'a>]) -> Vec<Snippet<'a, Annotation<'a>>> {
    let Some(first) = marks.first() else { return Vec::new() };
    let near = |mark: &&Mark<'_>| {
        let all = mark.span.to(first.span);
        all.end - all.start <= NEAR
    };
    let (together, apart): (Vec<_>, Vec<_>) = marks.iter().partition(near);
    let alone = apart.into_iter().map(|mark| excerpt(source, &[mark]));
    std::iter::once(excerpt(source, &together)).chain(alone).collect()
}

fn excerpt<'a>(source: &'a Source, marks: &[&Mark<'a>]) -> Snippet<'a, Annotation<'a>> {
    let text = source.text();
    let ranges: Vec<_> = marks.iter().map(|mark| clamp(text, mark.span)).collect();
    let start = ranges.iter().map(|r| r.start).min().unwrap_or(0);
    let end = ranges.iter().map(|r| r.end).max().unwrap_or(0);
    let start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let end = text[end..].find('\n').map_or(text.len(), |newline| end + newline);
    let (line, _) = source.line_column(start as u32);
    let annotations = marks.iter().zip(ranges).map(|(mark, range)| {
        let label = (!mark.label.is_empty()).then_some(mark.label);
        mark.kind.span(range.start - start..range.end - start).label(label)
    });
    Snippet::source(&text[start..end])
        .line_start(line as usize)
        .path(source.name())
        .annotations(annotations.collect::<Vec<_>>())
}

/// The bytes of a span, inside the text and between characters.
fn clamp(text: &str, span: Span) -> Range<usize> {
    let boundary = |offset: u32, step: isize| {
        let mut at = (offset as usize).min(text.len());
        while !text.is_char_boundary(at) {
            at = at.saturating_add_signed(step);
        }
        at
    };
    let start = boundary(span.start, -1);
    start..boundary(span.end, 1).max(start)
}

/// A diagnostic as JSON. Lines and columns count from 1, columns and offsets in bytes; ends are exclusive.
pub fn value(source: &Source, diagnostic: &Diagnostic) -> Value {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let related: Vec<_> = diagnostic
        .related
        .iter()
        .map(|(span, message)| json!({ "message": message, "span": span_value(source, *span) }))
        .collect();
    json!({
        "file": source.name(),
        "code": diagnostic.code,
        "severity": severity,
        "message": diagnostic.message,
        "label": diagnostic.label,
        "span": span_value(source, diagnostic.span),
        "related": related,
        "hint": diagnostic.hint,
    })
}

/// A place as JSON, in the same way.
pub fn span_value(source: &Source, span: Span) -> Value {
    let position = |offset: u32| {
        let (line, column) = source.line_column(offset);
        json!({ "line": line, "column": column, "offset": offset })
    };
    json!({ "start": position(span.start), "end": position(span.end) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_stay_inside_the_text_and_between_characters() {
        let text = "aé\n";
        assert_eq!(clamp(text, Span::new(2, 2)), 1..3);
        assert_eq!(clamp(text, Span::new(9, 12)), 4..4);
    }

    #[test]
    fn far_places_have_excerpts_of_their_own() {
        let text = "first\n".to_owned() + &"// filler\n".repeat(1000) + "last\n";
        let source = Source::new("x.ptx", text);
        let end = source.text().len() as u32 - 1;
        let diagnostic = Diagnostic::error("X0001", Span::new(end - 4, end), "bad")
            .label("here")
            .related(Span::new(0, 5), "as this")
            .hint("mend it");
        let text = anstream::adapter::strip_str(&render(&source, &diagnostic, Format::Text)).to_string();
        for part in
            ["error[X0001]: bad", "x.ptx:1002:1", "1002 | last", "^^^^ here", "   1 | first", "mend it"]
        {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        assert!(!text.contains("filler"), "{text}");
    }
}
