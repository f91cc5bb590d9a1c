//! A repository as a file: the samples that it needs, one a line, from which everything else follows.
//!
//! `sass-repository ARCH` comes first; then lines of `WORD ADDRESS TEXT`, grouped by key. Comments begin with `#`; those before a
//! key's samples say what follows from them, and are not read back.

use std::fmt::Write;

use super::listing::Sample;
use super::repository::{Repository, Update};
use super::summary::Weight;
use sass::Arch;

/// What the first line begins with.
const MAGIC: &str = "sass-repository ";

/// The text is not that of a repository.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct BadRepository {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

impl Repository {
    /// Its text.
    pub fn save(&self) -> String {
        let mut text = format!("{MAGIC}{}\n", self.arch);
        for (key, encoder) in &self.keys {
            let summary = encoder.summary(key);
            let _ = writeln!(text, "\n# {key}: {}", summary.model);
            if summary.hidden != 0 {
                let _ = writeln!(text, "#   not in the text: bits {:#x}", summary.hidden);
            }
            for (feature, weight) in &summary.weights {
                if *weight != Weight::Open {
                    let _ = writeln!(text, "#   {feature}: {weight}");
                }
            }
            let open: Vec<&str> =
                summary.weights.iter().filter(|it| it.1 == Weight::Open).map(|it| it.0).collect();
            if !open.is_empty() {
                let _ = writeln!(text, "#   open: {}", open.join(" | "));
            }
            for sample in &encoder.samples {
                let _ = writeln!(text, "{:#034x} {:#x} {}", sample.word, sample.address, sample.text);
            }
        }
        text
    }

    /// Reads what [`Repository::save`] wrote, and solves it anew.
    pub fn load(text: &str) -> Result<(Repository, Update), BadRepository> {
        let wrong =
            |line: usize, message: &str| BadRepository { line: line + 1, message: message.to_string() };
        let first = text.lines().next().and_then(|it| it.strip_prefix(MAGIC));
        let arch: Arch = first
            .ok_or_else(|| wrong(0, "this is no repository of SASS samples"))?
            .trim()
            .parse()
            .map_err(|error: sass::UnknownArch| wrong(0, &error.to_string()))?;
        let mut samples = Vec::new();
        for (number, line) in text.lines().enumerate().skip(1) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let mut parts = line.splitn(3, ' ');
            let mut hexadecimal = || u128::from_str_radix(parts.next()?.strip_prefix("0x")?, 16).ok();
            let word = hexadecimal().ok_or_else(|| wrong(number, "a hexadecimal word should come first"))?;
            let address = hexadecimal()
                .and_then(|it| u64::try_from(it).ok())
                .ok_or_else(|| wrong(number, "a hexadecimal address should come second"))?;
            let text = parts.next().ok_or_else(|| wrong(number, "the text is missing"))?;
            samples.push(Sample { function: 0, address, text: text.into(), word });
        }
        let mut repository = Repository::new(arch);
        let update = repository.update(&samples);
        Ok((repository, update))
    }
}
