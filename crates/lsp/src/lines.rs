//! Positions of the protocol, a line and a column in UTF-16 units, and offsets into a text, which are bytes.
//!
//! Lines end with `\n`, `\r\n` or a lone `\r`, as the protocol has it. An edit costs what it replaces and a shift of the
//! starts of the lines behind it; nothing is scanned again.

use lsp_types::{Position, Range};
use ptx::source::Span;

/// Where the lines of a text begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    starts: Vec<u32>,
}

/// Whether a line begins at an offset other than 0.
fn begins_line(bytes: &[u8], at: usize) -> bool {
    match bytes[at - 1] {
        b'\n' => true,
        b'\r' => bytes.get(at) != Some(&b'\n'),
        _ => false,
    }
}

impl Lines {
    /// The lines of a text.
    pub fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let ends = memchr::memchr2_iter(b'\n', b'\r', bytes).map(|at| at + 1);
        let starts = ends.filter(|&at| begins_line(bytes, at)).map(|at| at as u32);
        Self { starts: std::iter::once(0).chain(starts).collect() }
    }

    /// How many lines there are, at least one.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// Where a line begins; the end of the text behind the last one.
    pub fn start(&self, line: usize, text: &str) -> usize {
        self.starts.get(line).map_or(text.len(), |start| *start as usize)
    }

    /// The line that an offset is in.
    pub fn line(&self, offset: usize) -> usize {
        self.starts.partition_point(|&start| start as usize <= offset) - 1
    }

    /// Replaces bytes of a text, which these are the lines of.
    pub fn replace(&mut self, text: &mut String, range: std::ops::Range<usize>, with: &str) {
        text.replace_range(range.clone(), with);
        // A line begins where the two bytes around its start say so. Those with a start behind the range keep both.
        let first = self.line(range.start).saturating_sub(1);
        let kept = self.starts.partition_point(|&start| start as usize <= range.end);
        let from = self.starts[first] as usize + 1;
        let to = range.start + with.len();
        let bytes = text.as_bytes();
        let fresh: Vec<u32> =
            (from..=to.min(bytes.len())).filter(|&at| begins_line(bytes, at)).map(|at| at as u32).collect();
        let (removed, added) = (range.len() as u32, with.len() as u32);
        for start in &mut self.starts[kept..] {
            *start = *start - removed + added;
        }
        self.starts.splice(first + 1..kept.max(first + 1), fresh);
    }

    /// The offset of a position. What lies behind the end of a line is its end, what lies within a character its beginning.
    pub fn offset(&self, text: &str, position: Position) -> usize {
        let line = position.line as usize;
        if line >= self.starts.len() {
            return text.len();
        }
        let start = self.start(line, text);
        let content = text[start..self.start(line + 1, text)].trim_end_matches(['\n', '\r']);
        let mut units = 0;
        for (at, character) in content.char_indices() {
            units += character.len_utf16() as u32;
            if units > position.character {
                return start + at;
            }
        }
        start + content.len()
    }

    /// The position of an offset.
    pub fn position(&self, text: &str, offset: usize) -> Position {
        let offset = (0..=offset.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let line = self.line(offset);
        let before = &text[self.starts[line] as usize..offset];
        let units = if before.is_ascii() { before.len() } else { before.chars().map(char::len_utf16).sum() };
        Position::new(line as u32, units as u32)
    }

    /// The range of a span.
    pub fn range(&self, text: &str, span: Span) -> Range {
        Range::new(self.position(text, span.start as usize), self.position(text, span.end as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn columns_count_utf16_units() {
        let text = "aä😀b\r\nc\rd\n";
        let lines = Lines::new(text);
        assert_eq!(lines.count(), 4);
        assert_eq!(lines.position(text, 7), Position::new(0, 4));
        assert_eq!(lines.offset(text, Position::new(0, 4)), 7);
        // Between the two halves of a surrogate pair.
        assert_eq!(lines.offset(text, Position::new(0, 3)), 3);
        assert_eq!(lines.offset(text, Position::new(0, 99)), 8);
        assert_eq!(lines.offset(text, Position::new(9, 0)), text.len());
    }

    proptest! {
        #[test]
        fn edits_give_the_lines_of_the_whole_text(
            mut text in "[a\u{e4}\u{1f600}\r\n]{0,40}",
            edits in prop::collection::vec((0usize..60, 0usize..20, "[x\u{1f600}\r\n]{0,6}"), 0..12),
        ) {
            let mut lines = Lines::new(&text);
            let mut reference = text.clone();
            for (start, length, with) in edits {
                let start = text.floor_char_boundary(start.min(text.len()));
                let end = text.floor_char_boundary((start + length).min(text.len())).max(start);
                lines.replace(&mut text, start..end, &with);
                reference = [&reference[..start], &with, &reference[end..]].concat();
                prop_assert_eq!(&text, &reference);
                prop_assert_eq!(&lines, &Lines::new(&reference));
            }
        }

        #[test]
        fn positions_and_offsets_are_inverse(text in "[a\u{e4}\u{1f600}\r\n]{0,40}") {
            let lines = Lines::new(&text);
            for (at, character) in text.char_indices() {
                if !matches!(character, '\r' | '\n') {
                    prop_assert_eq!(lines.offset(&text, lines.position(&text, at)), at);
                }
            }
        }
    }
}
