//! What was found as one page of HTML that needs nothing else: a table of what there is, then each report with its accesses and the
//! source around them.

use super::source::Sources;
use super::{Findings, place, text};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;

const STYLE: &str = "\
body{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color:#222;background:#fff}
h1{font-size:1.4em}h2{font-size:1.05em;margin:0}
article{border:1px solid #ccc;border-left:6px solid #888;border-radius:4px;padding:.8em 1em;margin:1em 0}
.race{border-left-color:#c0392b}.out-of-bounds,.use-after-free,.misaligned{border-left-color:#8e44ad}
.unwritten{border-left-color:#d68910}.leak{border-left-color:#2874a6}
.kind{font-weight:bold}.count,.where{color:#666}
.missing{background:#fdf3d8;padding:.3em .6em;border-radius:4px}
.accesses{display:grid;grid-template-columns:repeat(auto-fit,minmax(26em,1fr));gap:1em}
pre{background:#f6f6f6;padding:.5em;overflow-x:auto;margin:.3em 0;font-size:13px;line-height:1.35}
mark{background:#ffd9d3;display:block}td,th{padding:.1em 1em .1em 0;text-align:left}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#1b1b1b}pre{background:#262626}mark{background:#5a2a25;color:#fff}
.missing{background:#4a3f1d}.count,.where{color:#999}article{border-color:#444}}";

pub(super) fn page(findings: &Findings<'_>) -> String {
    let name = escaped(findings.name);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{name}: what the checks found</title>\n\
         <meta name=\"viewport\" content=\"width=device-width\"><style>\n{STYLE}\n</style></head><body>\n\
         <h1>{name}: what the checks found</h1>\n"
    );
    let mut kinds: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for report in findings.reports {
        let known = kinds.entry(text(report, "kind")).or_default();
        *known = (known.0 + 1, known.1 + count(report));
    }
    // Writing to a string cannot fail.
    if kinds.is_empty() {
        page += "<p>Nothing.</p>\n";
    } else {
        page += "<table><tr><th>kind</th><th>places</th><th>times</th></tr>\n";
        for (kind, (places, times)) in kinds {
            let _ = writeln!(page, "<tr><td>{}</td><td>{places}</td><td>{times}</td></tr>", escaped(kind));
        }
        page += "</table>\n";
    }
    for why in findings.cut_short {
        let _ = writeln!(page, "<p class=\"missing\">Not checked to the end: {}</p>", escaped(why));
    }
    let mut sources = Sources::default();
    findings.reports.iter().for_each(|report| article(&mut page, report, &mut sources));
    page + "</body></html>\n"
}

fn count(report: &Value) -> u64 {
    report["count"].as_u64().unwrap_or(1)
}

fn article(page: &mut String, report: &Value, sources: &mut Sources) {
    let kind = escaped(text(report, "kind"));
    let _ = write!(
        page,
        "<article class=\"{kind}\"><h2><span class=\"kind\">{kind}</span>: {}</h2>\n<p class=\"count\">found {} times, {}",
        escaped(text(report, "title")),
        count(report),
        escaped(text(report, "seen")),
    );
    let allocation = &report["allocation"];
    if let (Some(offset), Some(bytes)) = (allocation["offset"].as_u64(), allocation["bytes"].as_u64()) {
        let _ = match allocation["variable"].as_str() {
            Some(name) => write!(page, ", at byte {offset} of the variable <code>{}</code>", escaped(name)),
            None => write!(page, ", at byte {offset} of an allocation of {bytes}"),
        };
    }
    *page += "</p>\n";
    let missing = text(report, "explanation");
    if !missing.is_empty() {
        let _ = writeln!(page, "<p class=\"missing\">missing: {}</p>", escaped(missing));
    }
    *page += "<div class=\"accesses\">\n";
    for access in report["accesses"].as_array().into_iter().flatten() {
        self::access(page, access, sources);
    }
    *page += "</div></article>\n";
}

fn access(page: &mut String, access: &Value, sources: &mut Sources) {
    let index = |key: &str| {
        let numbers = access[key].as_array().into_iter().flatten().filter_map(Value::as_u64);
        numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(", ")
    };
    let _ = writeln!(
        page,
        "<div><p>{} by block ({}), thread ({}) of <code>{}</code></p>",
        escaped(text(access, "what")),
        index("block"),
        index("thread"),
        escaped(text(access, "name")),
    );
    if let Some((file, line)) = place(access) {
        let _ = writeln!(page, "<p class=\"where\">{}:{line}</p>", escaped(file));
        let lines = sources.around(file, line);
        if !lines.is_empty() {
            *page += "<pre>";
            for (number, source) in lines {
                let row = format!("{number:5}  {}", escaped(source));
                *page += &if number as u64 == line { format!("<mark>{row}</mark>") } else { row + "\n" };
            }
            *page += "</pre>\n";
        }
    }
    let instruction = text(access, "instruction");
    if !instruction.is_empty() {
        let _ = writeln!(page, "<pre>{}</pre>", escaped(instruction.trim()));
    }
    *page += "</div>\n";
}

/// A text that means itself in HTML.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '&' => escaped += "&amp;",
            '"' => escaped += "&quot;",
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_page_shows_the_source_and_no_markup_of_others() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let lines: Vec<String> = (1..=40).map(|line| format!("a{line} < b && \"c\";")).collect();
        std::fs::write(file.path(), lines.join("\n")).expect("the file is written");
        let path = file.path().to_string_lossy().into_owned();
        let reports = [json!({
            "kind": "race", "title": "<script>", "explanation": "a barrier", "count": 3, "seen": "in this run",
            "accesses": [{ "what": "read", "name": "k<int>", "block": [1, 0, 0], "thread": [2, 0, 0],
                "source": { "file": path, "line": 20 }, "inlined_at": [] }],
        })];
        let cut_short = ["a & b".to_owned()];
        let page = page(&Findings { name: "p", reports: &reports, cut_short: &cut_short });
        for part in [
            "&lt;script&gt;",
            "k&lt;int&gt;",
            "a &amp; b",
            "found 3 times",
            "<mark>   20  a20 &lt; b &amp;&amp; &quot;c&quot;;</mark>",
            "   16  a16",
            "   24  a24",
            "block (1, 0, 0)",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
        assert!(!page.contains("<script>") && !page.contains("a15 ") && !page.contains("a25 "), "{page}");
    }
}
