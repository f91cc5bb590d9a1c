//! What the checks have found, for other programs and for browsers: JUnit XML and a page of HTML. Both are made of the reports as
//! JSON, which `exec` gets from the driver and `run` from the sanitizer.

mod html;
mod junit;
mod source;

use crate::failure::Failure;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// What was checked, and what came of it.
pub(crate) struct Findings<'a> {
    /// The program or the kernel.
    pub(crate) name: &'a str,
    pub(crate) reports: &'a [Value],
    /// Why something was not checked to its end.
    pub(crate) cut_short: &'a [String],
}

impl Findings<'_> {
    /// Writes the files that the command line asks for.
    pub(crate) fn write(&self, junit: Option<&PathBuf>, html: Option<&PathBuf>) -> Result<(), Failure> {
        let write = |path: &Path, text: String| {
            fs::write(path, text)
                .map_err(|error| Failure::usage(format!("cannot write {}: {error}", path.display())))
        };
        if let Some(path) = junit {
            write(path, junit::text_of(self)?)?;
        }
        if let Some(path) = html {
            write(path, html::page(self))?;
        }
        Ok(())
    }
}

/// A text of a value; nothing if it has none.
fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

/// The place that an access is told to be at: its source's if there is one, of the outermost call if it was inlined.
fn place(access: &Value) -> Option<(&str, u64)> {
    let outermost = access["inlined_at"].as_array().and_then(|calls| calls.last());
    let places = [outermost, Some(&access["source"]), Some(&access["ptx"])];
    places.into_iter().flatten().find_map(|place| Some((place["file"].as_str()?, place["line"].as_u64()?)))
}
