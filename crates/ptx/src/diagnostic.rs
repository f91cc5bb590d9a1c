//! Diagnostics as data: a code, a message, spans with labels, and a hint. Rendering them is the caller's business.

use crate::source::Span;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The module is accepted, but something in it is suspicious.
    Warning,
    /// The module is not accepted.
    Error,
}

/// One finding about a source text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// A stable code such as `P0101`: `L` lexical, `P` syntax, `R` resolution, `C` checks.
    pub code: &'static str,
    /// Error or warning.
    pub severity: Severity,
    /// One sentence, lower case, no full stop.
    pub message: String,
    /// The offending place.
    pub span: Span,
    /// What to print under the caret; may be empty.
    pub label: String,
    /// Further places with a word each (a previous definition, say).
    pub related: Vec<(Span, String)>,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// An error with its place and code.
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            message: message.into(),
            span,
            label: String::new(),
            related: Vec::new(),
            hint: None,
        }
    }

    /// A warning with its place and code.
    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, span, message) }
    }

    /// Sets the words under the caret.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Adds a second place.
    #[must_use]
    pub fn related(mut self, span: Span, what: impl Into<String>) -> Self {
        self.related.push((span, what.into()));
        self
    }

    /// Sets the hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Defines diagnostic codes, each with its explanation, and the catalogue of them.
macro_rules! catalogue {
    ($($name:ident = $code:literal: $explanation:literal;)*) => {
        $(#[doc = $explanation] pub const $name: &str = $code;)*

        /// Every code with its explanation.
        pub const CATALOGUE: &[(&str, &str)] = &[$(($code, $explanation)),*];

        #[cfg(test)]
        mod tests {
            #[test]
            fn codes_are_unique_and_in_order() {
                assert!(super::CATALOGUE.is_sorted_by(|a, b| a.0 < b.0));
            }
        }
    };
}
pub(crate) use catalogue;
