//! What the other end wants: the first line on the stream, as JSON.

use machine::SchedulerKind;
use sanitizer::Checks;
use serde_json::{Value, json};
use std::path::PathBuf;

/// How the two ends talk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    /// Lines of JSON: commands, and replies to them.
    Console,
    /// The Debug Adapter Protocol.
    Editor,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wishes {
    /// How the two ends talk.
    pub face: Face,
    /// Where source files are looked for, too.
    pub folders: Vec<PathBuf>,
    /// The kernel whose launches are debugged, if not all are.
    pub kernel: Option<String>,
    /// What is looked for.
    pub checks: Option<Checks>,
    /// Who runs next.
    pub scheduler: SchedulerKind,
    /// Warp instructions that a launch may issue.
    pub budget: Option<u64>,
}

impl Wishes {
    /// As JSON.
    pub fn json(&self) -> Value {
        json!({
            "face": match self.face { Face::Console => "console", Face::Editor => "editor" },
            "folders": self.folders.iter().map(|folder| folder.to_string_lossy()).collect::<Vec<_>>(),
            "kernel": self.kernel,
            "checks": self.checks.map(|checks| checks.to_string()),
            "scheduler": self.scheduler.to_string(),
            "budget": self.budget,
        })
    }

    /// From JSON; `None` if it is something else.
    pub fn read(value: &Value) -> Option<Self> {
        let face = match value["face"].as_str()? {
            "console" => Face::Console,
            "editor" => Face::Editor,
            _ => return None,
        };
        let folders = value["folders"].as_array()?.iter().filter_map(Value::as_str).map(PathBuf::from);
        Some(Self {
            face,
            folders: folders.collect(),
            kernel: value["kernel"].as_str().map(str::to_owned),
            checks: value["checks"].as_str().map(str::parse).transpose().ok()?,
            scheduler: value["scheduler"].as_str()?.parse().ok()?,
            budget: value["budget"].as_u64(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_arrive_as_they_were_sent() {
        let wishes = Wishes {
            face: Face::Console,
            folders: vec!["/src".into()],
            kernel: Some("sum".into()),
            checks: Some("race".parse().unwrap()),
            scheduler: "random:7".parse().unwrap(),
            budget: Some(9),
        };
        assert_eq!(Wishes::read(&wishes.json()), Some(wishes));
        assert_eq!(Wishes::read(&json!({ "face": "nose" })), None);
    }
}
