//! `tests/clients/passes.txt`: how many tests of each unit pass, and how many of them would without execution.

use crate::root;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::PathBuf;

/// What came of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u32,
    pub(crate) failed: u32,
    pub(crate) skipped: u32,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// A line of the file.
#[derive(Clone, Copy, Default)]
struct Entry {
    tally: Tally,
    /// Passes with a driver that executes nothing.
    stub: Option<u32>,
}

/// The file.
pub(crate) struct Ledger(BTreeMap<(String, String), Entry>);

const HEAD: &str = "\
# How many tests of each unit pass, fail and are skipped, and how many pass with a driver that executes no kernel (`-` where
# that was not tried). `cargo xtask clients --record [--stub]` writes this; a unit may not pass less.
#
# client unit passed failed skipped without-execution
";

fn path() -> PathBuf {
    root().join("tests/clients/passes.txt")
}

impl Ledger {
    pub(crate) fn read() -> Result<Self> {
        let mut entries = BTreeMap::new();
        let text = fs::read_to_string(path()).unwrap_or_default();
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [client, unit, passed, failed, skipped, stub] = words[..] else {
                anyhow::bail!("{}: `{line}` has not six words", path().display());
            };
            let number = |word: &str| word.parse().with_context(|| line.to_owned());
            let tally = Tally { passed: number(passed)?, failed: number(failed)?, skipped: number(skipped)? };
            let stub = if stub == "-" { None } else { Some(number(stub)?) };
            entries.insert((client.to_owned(), unit.to_owned()), Entry { tally, stub });
        }
        Ok(Self(entries))
    }

    /// How many tests of a unit passed.
    pub(crate) fn passed(&self, client: &str, unit: &str) -> Option<u32> {
        self.0.get(&(client.to_owned(), unit.to_owned())).map(|entry| entry.tally.passed)
    }

    /// What was recorded of all units of a client.
    pub(crate) fn sum(&self, client: &str) -> String {
        let entries: Vec<&Entry> =
            self.0.iter().filter(|((name, _), _)| name == client).map(|(_, e)| e).collect();
        let mut all = Tally::default();
        entries.iter().for_each(|entry| all.add(&entry.tally));
        let mut text = all.to_string();
        let tried = |entry: &&&Entry| entry.stub.is_some();
        let (mut passed, mut needs) = (0, 0);
        for entry in entries.iter().filter(tried) {
            // What passes without execution does not need it; whatever fails may.
            let without = entry.stub.unwrap_or_default().min(entry.tally.passed);
            passed += entry.tally.passed - without;
            needs += entry.tally.passed + entry.tally.failed - without;
        }
        if needs > 0 {
            let percent = 100.0 * f64::from(passed) / f64::from(needs);
            text += &format!("; of {needs} that need execution {passed} pass: {percent:.1} %");
        }
        text
    }

    /// Notes a unit's numbers.
    pub(crate) fn set(&mut self, client: &str, unit: &str, tally: &Tally, stub: bool) {
        let entry = self.0.entry((client.to_owned(), unit.to_owned())).or_default();
        if stub {
            entry.stub = Some(tally.passed);
        } else {
            entry.tally = *tally;
        }
    }

    pub(crate) fn write(&self) -> Result<()> {
        let mut text = HEAD.to_owned();
        for ((client, unit), Entry { tally, stub }) in &self.0 {
            let stub = stub.map_or("-".to_owned(), |passed| passed.to_string());
            let Tally { passed, failed, skipped } = tally;
            text.push_str(&format!("{client} {unit} {passed} {failed} {skipped} {stub}\n"));
        }
        Ok(fs::write(path(), text)?)
    }
}
