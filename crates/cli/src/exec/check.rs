//! `exec --check`: the program runs as a child, whose driver writes what it finds to a file of ours.

use super::{Arguments, told};
use crate::failure::{Exit, Failure};
use crate::findings;
use crate::terminal;
use reports::findings::Findings;
use sanitizer::Checks;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::{fs, process};

/// Runs a program with the checks, and shows what they found.
pub(super) fn run(arguments: &Arguments, mut command: Command, mut checks: Checks) -> Result<Exit, Failure> {
    checks.litmus |= arguments.emit_litmus.is_some();
    if let Some(path) = &arguments.suppress {
        // A mistake in it is told before the program runs.
        crate::run::check::suppressions(path)?;
        command.env("WARPLOOM_CHECK_SUPPRESS", path);
    }
    command.env("WARPLOOM_CHECK", checks.to_string());
    let (code, text) = told::run(&mut command, "WARPLOOM_CHECK_REPORT", "cannot read the reports")?;
    let Outcome { reports, cut_short, begun } = Outcome::read(&text);
    if let Some(folder) = &arguments.emit_litmus {
        emit(folder, &reports)
            .map_err(|error| Failure::usage(format!("cannot write litmus tests: {error}")))?;
    }
    let name = command.get_program().to_string_lossy().into_owned();
    let findings = Findings { name: &name, reports: &reports, cut_short: &cut_short };
    findings::write(&findings, arguments.junit.as_ref(), arguments.html.as_ref())?;
    if arguments.json {
        terminal::note(&json!({ "reports": reports, "cut_short": cut_short }).to_string());
    } else {
        for report in &reports {
            terminal::note(&format!("{}\n", report["text"].as_str().unwrap_or_default()));
        }
        for why in &cut_short {
            terminal::note(&format!("not checked to the end: {why}"));
        }
        terminal::note(&match reports.len() {
            0 if !begun => "nothing was checked: the program has not used the driver".to_owned(),
            0 if !cut_short.is_empty() => "the checks found nothing in what was checked".to_owned(),
            0 => "the checks found nothing".to_owned(),
            count => format!("the checks found {}", terminal::count(count, "problem")),
        });
    }
    match code {
        0 if reports.is_empty() && cut_short.is_empty() => Ok(Exit::Ok),
        0 => process::exit(arguments.error_exitcode.into()),
        // Its own exit code is what scripts look at.
        code => process::exit(code),
    }
}

/// What the driver has written.
struct Outcome {
    reports: Vec<Value>,
    /// Why something was not checked to its end.
    cut_short: Vec<String>,
    /// Whether there was anything to check.
    begun: bool,
}

impl Outcome {
    fn read(text: &str) -> Self {
        let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let of =
            |name: &'static str| lines.iter().map(move |line| &line[name]).filter(|value| !value.is_null());
        let lost = |begun: &&Value| of("ended").filter(|ended| ended == begun).count() == 0;
        let lost =
            of("begun").filter(lost).map(|process| format!("process {process} ended before its checks did"));
        let stopped = of("cut_short").filter_map(Value::as_str).map(str::to_owned);
        // What was found more than once is told again at the end.
        let mut reports: Vec<Value> = Vec::new();
        for line in lines.iter().filter(|line| line["kind"].is_string()) {
            let same = |known: &&mut Value| ["process", "number"].iter().all(|&key| known[key] == line[key]);
            match reports.iter_mut().find(same) {
                Some(known) => *known = line.clone(),
                None => reports.push(line.clone()),
            }
        }
        Self { cut_short: stopped.chain(lost).collect(), begun: of("begun").next().is_some(), reports }
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
