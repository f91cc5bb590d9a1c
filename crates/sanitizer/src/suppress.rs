//! Suppressions: findings that are known and are not to be reported.
//!
//! A file has a line for each: a kind (or `*`) and then conditions that must all hold. `#` begins a comment.
//!
//! ```text
//! race kernel=histogram                 # every race in a kernel
//! race line=120 line=88                 # both PTX lines, in any order
//! unwritten source=padding.cuh:40       # the line that `.loc` tells
//! * function=legacy_*                   # a star stands for anything
//! ```

use crate::report::{Actor, Report};

/// The lines of a suppression file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suppressions {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    kind: String,
    conditions: Vec<(Field, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Kernel,
    Line,
    Source,
    Instruction,
    Missing,
}

impl std::str::FromStr for Suppressions {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut rules = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let mut words = line.split_whitespace();
            let Some(kind) = words.next() else { continue };
            let condition = |word: &str| {
                let (field, pattern) = word.split_once('=').ok_or(())?;
                let field = match field {
                    "kernel" => Field::Kernel,
                    "line" => Field::Line,
                    "source" => Field::Source,
                    "instruction" => Field::Instruction,
                    "missing" => Field::Missing,
                    _ => return Err(()),
                };
                Ok((field, pattern.to_owned()))
            };
            let conditions = words.map(|word| {
                condition(word).map_err(|()| {
                    format!(
                        "line {}: `{word}` is none of kernel=, line=, source=, instruction=, missing=",
                        number + 1
                    )
                })
            });
            rules.push(Rule { kind: kind.to_owned(), conditions: conditions.collect::<Result<_, _>>()? });
        }
        Ok(Self { rules })
    }
}

impl Suppressions {
    /// Whether a report is not to be made.
    pub(crate) fn matches(&self, report: &Report) -> bool {
        self.rules.iter().any(|rule| rule.matches(report))
    }
}

impl Rule {
    fn matches(&self, report: &Report) -> bool {
        like(&self.kind, report.kind)
            && self.conditions.iter().all(|(field, pattern)| match field {
                Field::Missing => report.missing.as_ref().is_some_and(|(name, _)| like(pattern, name)),
                _ => report.actors.iter().any(|actor| holds(*field, pattern, actor)),
            })
    }
}

fn holds(field: Field, pattern: &str, actor: &Actor) -> bool {
    let location = &actor.location;
    match field {
        Field::Kernel => like(pattern, &actor.kernel),
        Field::Line => location.ptx.as_ref().is_some_and(|ptx| like(pattern, &ptx.line.to_string())),
        Field::Source => location.source.as_ref().is_some_and(|source| {
            let place = source.to_string();
            like(pattern, &place) || place.ends_with(&format!("/{pattern}"))
        }),
        Field::Instruction => location.text.as_ref().is_some_and(|text| like(pattern, text.trim())),
        Field::Missing => false,
    }
}

/// Whether a text is what a pattern says, in which stars stand for anything.
fn like(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Location;

    fn report(kernel: &str, line: u32) -> Report {
        let ptx = Some(machine::SourceLocation { file: "k.ptx".into(), line, column: 1 });
        let location = Location {
            ptx,
            text: Some("st.global.u32 [%rd1], 1;".into()),
            source: None,
            inlined: Vec::new(),
        };
        let actor = Actor {
            what: String::new(),
            kernel: kernel.into(),
            location,
            block: [0; 3],
            thread: [0; 3],
            host: Vec::new(),
        };
        let missing = Some(("barrier", String::new()));
        Report { missing, ..Report::new("race", String::new(), vec![actor]) }
    }

    #[test]
    fn rules_match_what_they_name() {
        let rules = |text: &str| text.parse::<Suppressions>().unwrap();
        let hist = report("histogram_u8", 40);
        for text in [
            "race",
            "*",
            "race kernel=hist*",
            "* line=40 kernel=*_u8",
            "race missing=barrier # yes",
            "race instruction=st.*",
        ] {
            assert!(rules(text).matches(&hist), "{text}");
        }
        for text in ["", "unwritten", "race line=4", "race kernel=histogram", "race line=40 kernel=x*"] {
            assert!(!rules(text).matches(&hist), "{text}");
        }
        assert!("race kernl=x".parse::<Suppressions>().is_err());
    }
}
