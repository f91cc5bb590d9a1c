//! What there was in files, and what did not come back.

use crate::terminal;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::time::Duration;

/// What there was in a file, or in all.
#[derive(Default)]
pub(super) struct Count {
    pub(super) fatbins: u64,
    pub(super) ptx: u64,
    pub(super) cubins: u64,
    pub(super) kernels: u64,
    pub(super) bytes: u64,
    /// What went through text, by device.
    pub(super) texts: BTreeMap<u32, Texts>,
    /// What did not come back, or could not be read, with the place of its entry.
    pub(super) problems: Vec<(usize, String)>,
    /// Broken dependences.
    pub(super) hazards: Vec<(usize, String)>,
}

/// What went through text.
#[derive(Clone, Copy, Default)]
pub(super) struct Texts {
    pub(super) cubins: u64,
    pub(super) kernels: u64,
    pub(super) words: u64,
    pub(super) unknown: u64,
    pub(super) residues: u64,
    pub(super) hazards: u64,
    pub(super) different: u64,
    pub(super) text: u64,
    pub(super) writing: Duration,
    pub(super) reading: Duration,
}

impl AddAssign for Texts {
    fn add_assign(&mut self, other: Self) {
        self.cubins += other.cubins;
        self.kernels += other.kernels;
        self.words += other.words;
        self.unknown += other.unknown;
        self.residues += other.residues;
        self.hazards += other.hazards;
        self.different += other.different;
        self.text += other.text;
        self.writing += other.writing;
        self.reading += other.reading;
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.fatbins += other.fatbins;
        self.ptx += other.ptx;
        self.cubins += other.cubins;
        self.kernels += other.kernels;
        self.bytes += other.bytes;
        for (sm, texts) in other.texts {
            *self.texts.entry(sm).or_default() += texts;
        }
        self.problems.extend(other.problems);
        self.hazards.extend(other.hazards);
    }
}

impl Texts {
    fn value(&self) -> Value {
        json!({
            "cubins": self.cubins,
            "kernels": self.kernels,
            "instructions": self.words,
            "unknown": self.unknown,
            "residues": self.residues,
            "hazards": self.hazards,
            "different": self.different,
            "text_bytes": self.text,
            "to_text_seconds": self.writing.as_secs_f64(),
            "to_cubin_seconds": self.reading.as_secs_f64(),
        })
    }

    fn row(&self, name: String) -> Vec<String> {
        let counts = [
            self.cubins,
            self.kernels,
            self.words,
            self.unknown,
            self.residues,
            self.hazards,
            self.different,
        ];
        let rates = [self.writing, self.reading].map(|time| match time.is_zero() {
            true => "-".to_owned(),
            false => terminal::thousands((self.words as f64 / time.as_secs_f64()) as u64),
        });
        [name].into_iter().chain(counts.map(terminal::thousands)).chain(rates).collect()
    }
}

impl Count {
    pub(super) fn value(&self, files: u64) -> Value {
        let texts = |messages: &[(usize, String)]| messages.iter().map(|(_, text)| json!(text)).collect();
        let problems: Value = texts(&self.problems);
        let hazards: Value = texts(&self.hazards);
        let by_device: serde_json::Map<_, _> =
            self.texts.iter().map(|(sm, texts)| (format!("sm_{sm}"), texts.value())).collect();
        json!({
            "files": files,
            "fatbins": self.fatbins,
            "ptx": self.ptx,
            "cubins": self.cubins,
            "kernels": self.kernels,
            "bytes": self.bytes,
            "different": self.problems.len(),
            "problems": problems,
            "texts": by_device,
            "hazards": hazards,
        })
    }

    /// What went through text, a line for each device; empty if nothing did.
    pub(super) fn table(&self) -> String {
        if self.texts.is_empty() {
            return String::new();
        }
        let header = [
            "device",
            "cubins",
            "kernels",
            "instructions",
            "unknown",
            "residues",
            "hazards",
            "different",
            "to text/s",
            "to cubin/s",
        ];
        let mut all = Texts::default();
        self.texts.values().for_each(|texts| all += *texts);
        let mut rows: Vec<_> = self.texts.iter().map(|(sm, texts)| texts.row(format!("sm_{sm}"))).collect();
        rows.push(all.row("all".to_owned()));
        terminal::table(&header, rows, true)
    }
}
