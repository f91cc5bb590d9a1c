//! `WARPLOOM_CHECK`: the sanitizer, where its reports go, and what it leaves out.

use driver::check::{Checking, News};
use sanitizer::{Checks, Sanitizer, Suppressions};
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// The checks that the environment asks for. What cannot be understood is logged, and nothing is checked then.
pub(crate) fn wanted() -> Option<(Checks, Arc<Checking>)> {
    let checks: Checks = match variable("WARPLOOM_CHECK")?.parse() {
        Ok(checks) => checks,
        Err(why) => {
            log::error!("WARPLOOM_CHECK: {why}");
            return None;
        }
    };
    let suppressions = match variable("WARPLOOM_CHECK_SUPPRESS").map(|path| suppressions(&path)) {
        None => Suppressions::default(),
        Some(Ok(suppressions)) => suppressions,
        Some(Err(why)) => {
            log::error!("WARPLOOM_CHECK_SUPPRESS: {why}");
            return None;
        }
    };
    let file = variable(FILE);
    write(file.as_deref(), &json!({ "begun": std::process::id() }));
    let tell = move |news: &News<'_>| match news {
        News::Found(number, report) | News::Counted(number, report) => {
            let mut value = report.json();
            value["text"] = report.text().into();
            (value["process"], value["number"]) = (std::process::id().into(), (*number).into());
            let (racy, repaired) = report.litmus.clone().unzip();
            (value["litmus"], value["repaired"]) = (racy.into(), repaired.into());
            if !write(file.as_deref(), &value) && matches!(news, News::Found(..)) {
                log::error!("{}", report.text());
            }
        }
        News::CutShort(why) => {
            if !write(file.as_deref(), &json!({ "cut_short": why })) {
                log::error!("not checked to the end: {why}");
            }
        }
    };
    let schedules = variable("WARPLOOM_CHECK_SCHEDULES").map_or(Ok(1), |text| text.parse());
    let schedules = schedules.unwrap_or_else(|_| {
        log::error!("WARPLOOM_CHECK_SCHEDULES is not a number");
        1
    });
    let checking = Checking::new(Sanitizer::new(checks, suppressions).in_background(), Box::new(tell));
    Some((checks, Arc::new(checking.with_schedules(schedules))))
}

/// The process ends, and all that it has done is checked.
pub(crate) fn ended() {
    write(variable(FILE).as_deref(), &json!({ "ended": std::process::id() }));
}

/// Names the file for what is found.
const FILE: &str = "WARPLOOM_CHECK_REPORT";

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.trim().is_empty())
}

/// Adds a line to the file for what is found, if there is one.
fn write(file: Option<&str>, line: &Value) -> bool {
    let Some(path) = file.map(Path::new) else { return false };
    let file = OpenOptions::new().append(true).create(true).open(path);
    if let Err(error) = file.and_then(|mut file| writeln!(file, "{line}")) {
        log::error!("{FILE}: {}: {error}", path.display());
    }
    true
}

fn suppressions(path: &str) -> Result<Suppressions, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?.parse()
}
