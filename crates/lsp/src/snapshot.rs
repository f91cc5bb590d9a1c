//! A text at one version, with what is known of it.

use crate::analysis::{Analysis, Language};
use crate::lines::Lines;
use lsp_types::{Position, Range, Uri};
use ptx::source::{Source, Span};
use std::sync::Arc;

/// What requests are answered from.
pub(crate) struct Snapshot {
    pub(crate) uri: Uri,
    /// The client's number.
    pub(crate) version: i32,
    /// The server's.
    pub(crate) revision: u64,
    pub(crate) source: Arc<Source>,
    pub(crate) lines: Lines,
    pub(crate) analysis: Box<dyn Analysis>,
}

impl Snapshot {
    pub(crate) fn new(
        uri: Uri,
        (version, revision): (i32, u64),
        language: Language,
        text: String,
        lines: Lines,
    ) -> Self {
        let source = Source::new(uri.path().as_str(), text);
        let analysis = language.analyse(Arc::clone(&source));
        Self { uri, version, revision, source, lines, analysis }
    }

    pub(crate) fn offset(&self, position: Position) -> u32 {
        self.lines.offset(self.source.text(), position) as u32
    }

    pub(crate) fn span(&self, range: Range) -> Span {
        Span::new(self.offset(range.start), self.offset(range.end))
    }

    pub(crate) fn position(&self, offset: u32) -> Position {
        self.lines.position(self.source.text(), offset as usize)
    }

    pub(crate) fn range(&self, span: Span) -> Range {
        self.lines.range(self.source.text(), span)
    }
}
