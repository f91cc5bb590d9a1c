//! `WARPLOOM_CHECK`: the sanitizer, where its reports go, and what it leaves out.

use driver::check::{Checking, News};
use ffi::failures::write;
use ffi::host::Frames;
use sanitizer::{Checks, Host, Sanitizer, Suppressions};
use serde_json::json;
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
    write(&json!({ "begun": std::process::id() }));
    let tell = move |news: &News<'_>| match news {
        News::Found(number, report) | News::Counted(number, report) => {
            let mut value = report.json();
            value["text"] = report.text().into();
            (value["process"], value["number"]) = (std::process::id().into(), (*number).into());
            let (racy, repaired) = report.litmus.clone().unzip();
            (value["litmus"], value["repaired"]) = (racy.into(), repaired.into());
            if !write(&value) && matches!(news, News::Found(..)) {
                log::error!("{}", report.text());
            }
        }
        News::CutShort(why) => {
            if !write(&json!({ "cut_short": why })) {
                log::error!("not checked to the end: {why}");
            }
        }
    };
    let schedules = number("WARPLOOM_CHECK_SCHEDULES").unwrap_or(1);
    let most = number("WARPLOOM_CHECK_KEEP_GOING").unwrap_or(0);
    let sanitizer = Sanitizer::new(checks, suppressions).keeping_going(most as usize).in_background();
    let checking = Checking::new(sanitizer, Box::new(tell));
    let frames = || {
        let frames = Frames::capture();
        Arc::new(move || frames.lines()) as Host
    };
    Some((checks, Arc::new(checking.with_schedules(schedules).with_hosts(Box::new(frames)))))
}

/// The process ends, and all that it has done is checked.
pub(crate) fn ended() {
    write(&json!({ "ended": std::process::id() }));
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.trim().is_empty())
}

/// The number that a variable has. What is none is logged.
fn number(name: &str) -> Option<u32> {
    let text = variable(name)?;
    text.trim().parse().inspect_err(|_| log::error!("{name} is not a number")).ok()
}

fn suppressions(path: &str) -> Result<Suppressions, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?.parse()
}
