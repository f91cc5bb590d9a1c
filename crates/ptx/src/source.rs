//! Source text, byte spans into it, and the line index that turns them into positions for people.

use std::sync::{Arc, OnceLock};

/// A half-open range of bytes of one [`Source`]. Sources are limited to 4 GiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span of `start..end`.
    pub fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// The smallest span that covers both.
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// A PTX file: its name for messages, and its text.
#[derive(Debug)]
pub struct Source {
    name: String,
    text: String,
    line_starts: OnceLock<Vec<u32>>,
}

impl Source {
    /// Takes a text with the name that diagnostics call it by.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Arc<Self> {
        Arc::new(Self { name: name.into(), text: text.into(), line_starts: OnceLock::new() })
    }

    /// The name that diagnostics use, usually a path.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text under a span.
    pub fn slice(&self, span: Span) -> &str {
        &self.text[span.start as usize..span.end as usize]
    }

    /// Line and column, both counted from 1, of a byte offset; columns count bytes.
    pub fn line_column(&self, offset: u32) -> (u32, u32) {
        let starts = self.line_starts.get_or_init(|| {
            let newlines = self.text.bytes().enumerate().filter(|&(_, b)| b == b'\n');
            std::iter::once(0).chain(newlines.map(|(i, _)| i as u32 + 1)).collect()
        });
        let line = starts.partition_point(|&s| s <= offset);
        (line as u32, offset - starts[line - 1] + 1)
    }
}
