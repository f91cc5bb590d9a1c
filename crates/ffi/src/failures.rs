//! Errors of calls that the program takes no notice of, for the checks (`WARPLOOM_CHECK_API_ERRORS`).
//!
//! That nobody looks at what a call returns cannot be seen. What can: a thread whose call has failed, and that goes on with another
//! one without having asked what the error is. Where the error is handled in silence that is told, too. That work is not ready yet
//! is no error.

use crate::host::Frames;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Names the file for what is found.
const FILE: &str = "WARPLOOM_CHECK_REPORT";

/// Whether such errors are told.
static WANTED: LazyLock<bool> =
    LazyLock::new(|| std::env::var("WARPLOOM_CHECK_API_ERRORS").is_ok_and(|text| text == "1"));

/// Errors that were told, by function, name and place: each is told once.
static TOLD: Mutex<Option<HashSet<(String, String, usize)>>> = Mutex::new(None);

/// Errors that are told, at most.
const MOST: usize = 1000;

thread_local! {
    /// The last call of this thread, if it has failed.
    static FAILED: RefCell<Option<Failed>> = const { RefCell::new(None) };
}

struct Failed {
    function: String,
    error: String,
    frames: Frames,
}

/// A thread calls a function: whatever its last call returned, it goes on.
pub(crate) fn called(function: &str) {
    if *WANTED {
        // A thread that ends has none any more.
        let failed = FAILED.try_with(|failed| failed.take()).ok().flatten();
        if let Some(failed) = failed.filter(|_| !asks(function)) {
            tell(failed);
        }
    }
}

/// A call has failed.
pub(crate) fn failed(function: &str, error: impl FnOnce() -> String) {
    if !*WANTED || asks(function) {
        return;
    }
    let (error, frames) = (error(), Frames::capture());
    let waits = error.to_ascii_lowercase().replace('_', "").contains("notready");
    if !waits && !frames.are_of_runtime() {
        let failed = Failed { function: function.to_owned(), error, frames };
        let _ = FAILED.try_with(|last| last.replace(Some(failed)));
    }
}

/// Whether a function tells what an error is: `cudaGetLastError`, `cuGetErrorString`, and the like.
fn asks(function: &str) -> bool {
    function.contains("Error")
}

fn tell(Failed { function, error, frames }: Failed) {
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    let told = told.get_or_insert_default();
    if told.len() >= MOST || !told.insert((function.clone(), error.clone(), frames.caller())) {
        return;
    }
    let number = told.len();
    let title = format!("{function} returned {error}, and the program goes on without asking what that is");
    let host = frames.lines();
    let text = std::iter::once(format!("api-error: {title}"))
        .chain(host.iter().map(|line| format!("  host: {line}")));
    let text = text.collect::<Vec<_>>().join("\n");
    let report = json!({
        "kind": "api-error",
        "title": title,
        "missing": null,
        "explanation": null,
        "accesses": [],
        "allocation": null,
        "host": host,
        "count": 1,
        "pairs": 1,
        "seen": "in this run",
        "text": text,
        "process": std::process::id(),
        "number": format!("{function} {number}"),
    });
    if !write(&report) {
        log::error!("{text}");
    }
}

/// Adds a line to the file for what the checks find, if there is one.
pub fn write(line: &Value) -> bool {
    let path = std::env::var(FILE).ok().filter(|text| !text.trim().is_empty());
    let Some(path) = path else { return false };
    let file = OpenOptions::new().append(true).create(true).open(Path::new(&path));
    if let Err(error) = file.and_then(|mut file| writeln!(file, "{line}")) {
        log::error!("{FILE}: {path}: {error}");
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_no_calls_that_go_on() {
        assert!(asks("cudaGetLastError") && asks("cuGetErrorName") && asks("cudaPeekAtLastError"));
        assert!(!asks("cuMemAlloc_v2"));
    }
}
