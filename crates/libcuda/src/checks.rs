//! `WARPLOOM_CHECK`: the sanitizer, where its reports go, and what it leaves out.

use driver::check::Checking;
use sanitizer::{Checks, Report, Sanitizer, Suppressions};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

/// The checks that the environment asks for. What cannot be understood is logged, and nothing is checked then.
pub(crate) fn wanted() -> Option<(Checks, Arc<Checking>)> {
    let variable = |name| std::env::var(name).ok().filter(|text| !text.trim().is_empty());
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
    let file = variable("WARPLOOM_CHECK_REPORT").map(PathBuf::from);
    let tell = move |report: &Report| match &file {
        None => log::error!("{}", report.text()),
        Some(path) => {
            let mut value = report.json();
            value["text"] = report.text().into();
            let (racy, repaired) = report.litmus.clone().unzip();
            (value["litmus"], value["repaired"]) = (racy.into(), repaired.into());
            let file = OpenOptions::new().append(true).create(true).open(path);
            if let Err(error) = file.and_then(|mut file| writeln!(file, "{value}")) {
                log::error!("WARPLOOM_CHECK_REPORT: {}: {error}", path.display());
            }
        }
    };
    Some((checks, Arc::new(Checking::new(Sanitizer::new(checks, suppressions), Box::new(tell)))))
}

fn suppressions(path: &str) -> Result<Suppressions, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?.parse()
}
