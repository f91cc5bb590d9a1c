//! `--check`: the sanitizer, what it is told to leave out, and what becomes of its reports.

use super::Arguments;
use crate::failure::{Exit, Failure};
use crate::findings;
use crate::terminal;
use reports::findings::Findings;
use sanitizer::{Report, Sanitizer, Suppressions};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The sanitizer that the command line asks for.
pub(super) fn sanitizer(arguments: &Arguments) -> Result<Option<Sanitizer>, Failure> {
    let Some(mut checks) = arguments.checks() else { return Ok(None) };
    checks.litmus |= arguments.emit_litmus.is_some();
    if arguments.threads.is_some_and(|threads| threads != 1) {
        return Err(Failure::usage(
            "--check takes no other number of host threads than 1: it has more where CTAs cannot order one another",
        ));
    }
    let suppressions = arguments.suppress.as_deref().map(suppressions).transpose()?.unwrap_or_default();
    let most = arguments.keep_going.unwrap_or(0) as usize;
    Ok(Some(Sanitizer::new(checks, suppressions).keeping_going(most).in_background()))
}

/// The suppressions of a file.
pub(crate) fn suppressions(path: &Path) -> Result<Suppressions, Failure> {
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))?;
    text.parse().map_err(|why| Failure::usage(format!("{}: {why}", path.display())))
}

/// Shows what was found, unless it is part of a report for programs, and writes the litmus tests.
pub(super) fn deliver(arguments: &Arguments, reports: &[Report], finished: bool) -> Result<Exit, Failure> {
    if !arguments.json {
        for report in reports {
            terminal::note(&format!("{}\n", report.text()));
        }
        terminal::note(&match reports.len() {
            0 if !finished => {
                "the checks found nothing before the kernel was stopped; what would have followed is not checked"
                    .to_owned()
            }
            0 => "the checks found nothing".to_owned(),
            count => format!("the checks found {}", terminal::count(count, "problem")),
        });
    }
    let values: Vec<Value> = reports.iter().map(with_text).collect();
    let name = arguments.request.file.to_string_lossy();
    let stopped = (!finished).then(|| "the kernel was stopped".to_owned());
    let findings = Findings { name: &name, reports: &values, cut_short: stopped.as_slice() };
    findings::write(&findings, arguments.junit.as_ref(), arguments.html.as_ref())?;
    if let Some(folder) = &arguments.emit_litmus {
        let failed = |error: std::io::Error| {
            Failure::usage(format!("cannot write litmus tests to {}: {error}", folder.display()))
        };
        fs::create_dir_all(folder).map_err(failed)?;
        let tests = reports.iter().enumerate().filter_map(|(i, report)| Some((i, report.litmus.as_ref()?)));
        for (number, (racy, repaired)) in tests {
            let file = |of: &str| folder.join(format!("race-{}{of}.ptx", number + 1));
            fs::write(file(""), racy).map_err(failed)?;
            fs::write(file("-repaired"), repaired).map_err(failed)?;
        }
    }
    Ok(if reports.is_empty() { Exit::Ok } else { Exit::Findings })
}

/// A report with the text that people read.
fn with_text(report: &Report) -> Value {
    let mut value = report.json();
    value["text"] = report.text().into();
    value
}

/// The reports for programs.
pub(super) fn json(reports: &[Report]) -> Value {
    reports.iter().map(Report::json).collect::<Vec<_>>().into()
}
