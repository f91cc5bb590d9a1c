//! Diagnostics as comments under the tokens that they are about, for tests that keep both in one file:
//!
//! ```text
//!     add.s32 %r1, %r2 %r3;
//! //                   ^^^ P0001 expected `;` or `,`, found `%r3`
//! ```

use ptx::diagnostic::Diagnostic;
use ptx::source::Source;
use std::fmt::Write;

/// A diagnostic as a comment, to be put below the line that it points into.
fn annotation(source: &Source, diagnostic: &Diagnostic) -> (u32, String) {
    let (line, column) = source.line_column(diagnostic.span.start);
    // What is missing at the end of the file goes below the last line.
    let line = line.min(source.text().lines().count() as u32);
    let end_of_line = source.text()[diagnostic.span.start as usize..].find('\n').unwrap_or(usize::MAX);
    let width = (diagnostic.span.end - diagnostic.span.start) as usize;
    let carets = "^".repeat(width.min(end_of_line).max(1));
    let indent = " ".repeat((column as usize).saturating_sub(3));
    let mut text = format!("//{indent}{carets} {} {}", diagnostic.code, diagnostic.message);
    if let Some(hint) = &diagnostic.hint {
        write!(text, " ({hint})").unwrap();
    }
    (line, text)
}

/// Whether a line is such a comment.
fn is_annotation(line: &str) -> bool {
    line.strip_prefix("//").is_some_and(|rest| rest.trim_start().starts_with('^'))
}

/// A text without the comments.
pub(crate) fn bare(text: &str) -> String {
    text.lines().filter(|line| !is_annotation(line)).map(|line| format!("{line}\n")).collect()
}

/// A text with the comments.
pub(crate) fn annotate(source: &Source, diagnostics: &[Diagnostic]) -> String {
    let mut annotations: Vec<_> = diagnostics.iter().map(|d| annotation(source, d)).collect();
    annotations.sort_by_key(|(line, _)| *line);
    let mut found = String::new();
    for (index, line) in source.text().lines().enumerate() {
        writeln!(found, "{line}").unwrap();
        for (_, text) in annotations.iter().filter(|(at, _)| *at as usize == index + 1) {
            writeln!(found, "{text}").unwrap();
        }
    }
    found
}
