//! Where lexer and parser put what they find wrong.

use super::codes;
use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// How many errors are worth reading.
const MOST_ERRORS: usize = 1000;

/// The diagnostics so far, bounded.
#[derive(Default)]
pub(super) struct Report {
    diagnostics: Vec<Diagnostic>,
}

impl Report {
    /// Adds an error; `detail` gives it label, hint and further places.
    #[cold]
    pub(super) fn error(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
        detail: impl FnOnce(Diagnostic) -> Diagnostic,
    ) {
        if self.diagnostics.len() < MOST_ERRORS {
            self.diagnostics.push(detail(Diagnostic::error(code, span, message)));
        } else if self.diagnostics.len() == MOST_ERRORS {
            let message = "too many errors: the rest is not reported";
            self.diagnostics.push(Diagnostic::error(codes::TOO_MANY_ERRORS, span, message));
        }
    }

    /// Whether further errors would not be kept.
    pub(super) fn is_full(&self) -> bool {
        self.diagnostics.len() > MOST_ERRORS
    }

    /// The diagnostics in the order of their places. A token that was looked at twice is reported once.
    pub(super) fn finish(mut self) -> Vec<Diagnostic> {
        self.diagnostics.sort_by_key(|d| d.span.start);
        self.diagnostics.dedup();
        self.diagnostics
    }
}
