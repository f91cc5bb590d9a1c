//! Running tests in a process, and counting what came of them.

use super::cache;
use super::install::Installation;
use super::ledger::Tally;
use super::suite::{Client, Unit};
use crate::root;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// What runs a client's units.
pub(crate) struct Runner<'a> {
    pub(crate) name: &'a str,
    pub(crate) client: &'a Client,
    pub(crate) place: &'a Installation,
    pub(crate) libraries: &'a Path,
    /// `warploom`.
    pub(crate) command: &'a Path,
    pub(crate) stub: bool,
}

/// A line that `tests/clients/outcomes.py` writes.
#[derive(Deserialize)]
struct Line {
    test: String,
    outcome: String,
}

/// Seconds that a unit may take: a whole suite where tests are one program.
const LONGEST: u64 = 1200;

impl Runner<'_> {
    /// Runs a unit for at most `left`.
    pub(crate) fn run(&self, unit: &Unit, left: Duration) -> Result<Tally> {
        let folder = cache().join(self.name).join(if self.stub { "stub" } else { "outcomes" });
        fs::create_dir_all(&folder)?;
        let file = folder.join(unit.name.replace('/', "."));
        let beside = |suffix: &str| PathBuf::from(format!("{}.{suffix}", file.display()));
        let (outcomes, log) = (beside("jsonl"), beside("log"));
        let _ = fs::remove_file(&outcomes);
        let mut command = self.command(unit, left.as_secs().clamp(1, LONGEST), &outcomes);
        // Apart, so that what the driver says does not stand in the middle of a result.
        command.stdin(Stdio::null()).stdout(File::create(&log)?).stderr(File::create(beside("errors"))?);
        let status = command.status().context("nice")?;
        let found = match &self.place.program {
            Some(_) => of_libtest(&log)?,
            None => of_pytest(&outcomes)?,
        };
        let mut tally = Tally::default();
        for outcome in found.values() {
            match outcome.as_str() {
                "passed" | "ok" => tally.passed += 1,
                "skipped" | "ignored" => tally.skipped += 1,
                _ => tally.failed += 1,
            }
        }
        if found.is_empty() && !status.success() {
            println!("  {}: no test ran; see {}", unit.name, log.display());
            tally.failed += 1;
        }
        Ok(tally)
    }

    fn command(&self, unit: &Unit, seconds: u64, outcomes: &Path) -> Command {
        let mut command = Command::new("nice");
        command.args(["-n", "10", "timeout", "--kill-after=5"]).arg(seconds.to_string());
        command.arg(self.command).args(["exec", "--"]).env("WARPLOOM_LIB", self.libraries);
        if let Some(program) = &self.place.program {
            command.arg(program).arg("--test-threads=1");
            for test in self.client.package.iter().flat_map(|package| &package.without) {
                command.args(["--skip", test]);
            }
        } else {
            let limit = self.client.limit.to_string();
            command.arg(self.place.environment.join("bin/python"));
            command.args([
                "-m",
                "pytest",
                "-q",
                "-p",
                "outcomes",
                "-p",
                "no:cacheprovider",
                "--timeout",
                &limit,
            ]);
            command.args(&self.client.arguments).arg(&unit.target);
        }
        for (name, value) in &self.client.environment {
            command.env(name, self.place.fill(value));
        }
        let plugins = root().join("tests/clients");
        let path = [plugins, self.place.folder.clone()].map(|folder| folder.display().to_string()).join(":");
        command.env("PYTHONPATH", path).env("WARPLOOM_OUTCOMES", outcomes).env("RUST_BACKTRACE", "0");
        command.env("WARPLOOM_PART", format!("{}/{}", unit.part.0, unit.part.1));
        command.env("WARPLOOM_STUB", if self.stub { "1" } else { "0" });
        command.current_dir(&self.place.folder);
        command
    }
}

/// The last that is said of every test.
fn of_pytest(outcomes: &PathBuf) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    let Ok(file) = File::open(outcomes) else { return Ok(found) };
    for line in BufReader::new(file).lines() {
        // The last line of a process that died may be half a line.
        if let Ok(Line { test, outcome }) = serde_json::from_str(&line?) {
            found.insert(test, outcome);
        }
    }
    Ok(found)
}

/// `test NAME ... ok`, with what the test prints in between: a kernel's output is not captured.
fn of_libtest(log: &Path) -> Result<BTreeMap<String, String>> {
    let text = String::from_utf8_lossy(&fs::read(log)?).into_owned();
    let mut found = BTreeMap::new();
    let mut running = None;
    for line in text.lines() {
        let mut said = line;
        if let Some((test, rest)) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ")) {
            found.insert(test.to_owned(), "began".to_owned());
            (running, said) = (Some(test), rest);
        }
        let outcome = said.split(',').next().unwrap_or_default().trim();
        if ["ok", "FAILED", "ignored"].contains(&outcome)
            && let Some(test) = running.take()
        {
            found.insert(test.to_owned(), outcome.to_owned());
        }
    }
    Ok(found)
}
