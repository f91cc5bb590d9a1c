//! `exec --check`: the program runs as a child, whose driver writes what it finds to a file of ours.

use super::Arguments;
use crate::failure::{Exit, Failure};
use crate::terminal;
use sanitizer::Checks;
use serde_json::{Value, json};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::{env, fs, process};

/// Runs a program with the checks, and shows what they found.
pub(super) fn run(arguments: &Arguments, mut command: Command, mut checks: Checks) -> Result<Exit, Failure> {
    checks.litmus |= arguments.emit_litmus.is_some();
    if let Some(path) = &arguments.suppress {
        // A mistake in it is told before the program runs.
        crate::run::check::suppressions(path)?;
        command.env("WARPLOOM_CHECK_SUPPRESS", path);
    }
    let file = env::temp_dir().join(format!("warploom-check-{}.jsonl", process::id()));
    let failed = |what: &str, error: &std::io::Error| Failure::usage(format!("{what}: {error}"));
    fs::write(&file, "").map_err(|error| failed("cannot write to the temporary folder", &error))?;
    let status = command
        .env("WARPLOOM_CHECK", checks.to_string())
        .env("WARPLOOM_CHECK_REPORT", &file)
        .status()
        .map_err(|error| failed("cannot run the program", &error));
    let text = fs::read_to_string(&file);
    let _ = fs::remove_file(&file);
    let (status, text) = (status?, text.map_err(|error| failed("cannot read the reports", &error))?);
    let reports: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    if let Some(folder) = &arguments.emit_litmus {
        emit(folder, &reports).map_err(|error| failed("cannot write litmus tests", &error))?;
    }
    if arguments.json {
        terminal::note(&json!({ "reports": reports }).to_string());
    } else {
        for report in &reports {
            terminal::note(&format!("{}\n", report["text"].as_str().unwrap_or_default()));
        }
        terminal::note(&match reports.len() {
            0 => "the checks found nothing".to_owned(),
            count => format!("the checks found {}", terminal::count(count, "problem")),
        });
    }
    match status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)) {
        0 if reports.is_empty() => Ok(Exit::Ok),
        0 => Ok(Exit::Findings),
        // Its own exit code is what scripts look at.
        code => process::exit(code),
    }
}

fn emit(folder: &Path, reports: &[Value]) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    for (number, report) in reports.iter().enumerate() {
        for (part, name) in [("litmus", ""), ("repaired", "-repaired")] {
            if let Some(test) = report[part].as_str() {
                fs::write(folder.join(format!("race-{}{name}.ptx", number + 1)), test)?;
            }
        }
    }
    Ok(())
}
