//! What the checks have found, for other programs and for browsers: JUnit XML and a page of HTML. Both are made of the reports as
//! JSON, which `exec` gets from the driver and `run` from the sanitizer.

mod html;
mod junit;
mod source;

pub use html::escaped;
use serde_json::Value;
pub use source::source_lines;

/// What was checked, and what came of it.
pub struct Findings<'a> {
    /// The program or the kernel.
    pub name: &'a str,
    /// The reports as JSON, each with its text for people in `text`.
    pub reports: &'a [Value],
    /// Why something was not checked to its end.
    pub cut_short: &'a [String],
}

impl Findings<'_> {
    /// As JUnit XML.
    ///
    /// # Errors
    /// What XML cannot say.
    pub fn junit(&self) -> Result<String, String> {
        junit::text_of(self)
    }

    /// As a page of HTML.
    pub fn html(&self) -> String {
        html::page(self)
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
