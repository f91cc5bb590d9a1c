//! Messages in ptxas' form, which the programs that call it take apart.

use super::PTX_VERSION;
use crate::terminal;
use ptx::diagnostic::{Diagnostic, Severity};
use ptx::resolve::codes::{UNKNOWN_TARGET, UNSUPPORTED_VERSION};
use ptx::source::Source;
use std::fmt;

/// What ends the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fatal(String);

/// The last words where the input is wrong.
pub(super) const ABORTED: &str = "Ptx assembly aborted due to errors";

impl Fatal {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// Prints it.
    pub(super) fn report(&self) {
        terminal::note(&format!("ptxas fatal   : {self}"));
    }
}

impl fmt::Display for Fatal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether ptxas stops at once.
pub(super) fn is_fatal(diagnostic: &Diagnostic) -> bool {
    matches!(diagnostic.code, UNSUPPORTED_VERSION | UNKNOWN_TARGET)
}

/// A line for a diagnostic.
pub(super) fn line(source: &Source, diagnostic: &Diagnostic) -> String {
    let (line, column) = source.line_column(diagnostic.span.start);
    let place = format!("ptxas {}, line {line}", source.name());
    let text = &source.text()[diagnostic.span.start as usize..diagnostic.span.end as usize];
    // XLA asks for a version that there will never be, to learn from the answer which is the newest.
    match diagnostic.code {
        UNSUPPORTED_VERSION => {
            return format!(
                "{place}; fatal   : Unsupported .version {text}; current version is '{PTX_VERSION}'"
            );
        }
        UNKNOWN_TARGET => return format!("{place}; fatal   : Unsupported .target '{text}'"),
        _ => {}
    }
    let severity = match diagnostic.severity {
        Severity::Error => "error   ",
        Severity::Warning => "warning ",
    };
    let hint = diagnostic.hint.as_ref().map_or(String::new(), |hint| format!(" ({hint})"));
    format!("{place}; {severity}: {}: {}{hint}, column {column}", diagnostic.code, diagnostic.message)
}
