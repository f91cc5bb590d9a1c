//! Where text goes: results to standard output, remarks to standard error, colours only where they are wanted.

use crate::failure::{Exit, Failure};
use anstream::ColorChoice;
use std::io::{ErrorKind, Write};

/// `--color`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless the environment says otherwise (`NO_COLOR`, `CLICOLOR_FORCE`, `TERM=dumb`).
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// Makes it the choice for everything that is printed from here on.
    pub(crate) fn apply(self) {
        match self {
            Self::Auto => ColorChoice::Auto,
            Self::Always => ColorChoice::Always,
            Self::Never => ColorChoice::Never,
        }
        .write_global();
    }
}

/// Writes a result to standard output as it is.
///
/// # Errors
/// If standard output is closed, the command ends in silence; if it cannot take the text, with a message.
pub(crate) fn result(text: &str) -> Result<(), Failure> {
    let mut stdout = anstream::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failure::silent(Exit::Ok)),
        Err(error) => Err(Failure::usage(format!("standard output: {error}"))),
    }
}

/// Writes a JSON value to standard output on a line of its own.
pub(crate) fn json(value: &serde_json::Value) -> Result<(), Failure> {
    result(&format!("{value}\n"))
}

/// Writes a remark and a line break to standard error. One that nobody can read is no reason to stop.
pub(crate) fn note(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// `1 error`, `3 errors`.
pub(crate) fn count(n: usize, noun: &str) -> String {
    match n {
        1 => format!("1 {noun}"),
        _ => format!("{n} {noun}s"),
    }
}

/// A table without lines: columns side by side, the first to the left and the others to the right if `numbers`.
pub(crate) fn table(header: &[&str], rows: Vec<Vec<String>>, numbers: bool) -> String {
    use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.iter().copied()).add_rows(rows);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if numbers && index > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines: Vec<_> = table.lines().map(|line| line.trim_end().to_owned() + "\n").collect();
    lines.concat()
}

/// `1234567` as `1,234,567`.
pub(crate) fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        for (n, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(thousands(n), text);
        }
    }

    #[test]
    fn numbers_stand_to_the_right() {
        let rows = vec![vec!["a".into(), "1".into()], vec!["bcd".into(), "100".into()]];
        assert_eq!(table(&["name", "n"], rows, true), "name    n\na       1\nbcd   100\n");
    }
}
