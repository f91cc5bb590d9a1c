//! Lines around a place in a source file, if it can be read.

use std::collections::HashMap;
use std::fs;

/// Lines before and behind the one that is meant.
const AROUND: usize = 4;
/// Bytes of a file that is read.
const MOST: u64 = 8 << 20;

/// Files that have been read; nothing of those that cannot be.
#[derive(Default)]
pub(super) struct Sources(HashMap<String, Vec<String>>);

impl Sources {
    /// The lines around one, with their numbers.
    pub(super) fn around(&mut self, file: &str, line: u64) -> Vec<(usize, &str)> {
        let lines = self.0.entry(file.to_owned()).or_insert_with(|| source_lines(file));
        let line = usize::try_from(line).unwrap_or(0);
        let first = line.saturating_sub(AROUND).max(1);
        let numbered = lines.iter().enumerate().map(|(at, text)| (at + 1, text.as_str()));
        numbered.skip(first - 1).take(line + AROUND + 1 - first).collect()
    }
}

/// The lines of a source file; none, if it cannot be read or is too large.
pub fn source_lines(file: &str) -> Vec<String> {
    if fs::metadata(file).is_ok_and(|data| !data.is_file() || data.len() > MOST) {
        return Vec::new();
    }
    let bytes = fs::read(file).unwrap_or_default();
    String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
}
