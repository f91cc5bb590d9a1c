//! `sass-learn learn`: a table made by asking nvdisasm.
//!
//! Opcodes are learned in portions; each portion's forms go into a folder beside the output as soon as they are known, so that
//! a run that was stopped goes on where it was. At the end the portions are joined, and judged once more on random words.

use crate::{Asked, Findings, write};
use anyhow::{Context, Error, Result};
use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use sass_learn::{self as learning, Oracle, learn, merge};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Learn an architecture's table from nvdisasm (needs NVIDIA's nvdisasm; takes about ten minutes)
///
/// Scans the opcodes, flips the bits of a legal word of each, tries every code of every field, and predicts random words until
/// hundreds in a row are right, with the hints that are built in. What stays undetermined is said, and stands in the table as a comment. With -o, what is learned is kept
/// in FILE.parts until all of it is: the same command goes on with a run that was stopped.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    asked: Asked,
    /// Only these opcodes, hexadecimal, of 13 bits
    #[arg(long, value_name = "OPCODE", num_args = 1.., value_delimiter = ',', value_parser = opcode)]
    opcode: Vec<usize>,
    /// Tables whose forms are taken over where they are right
    #[arg(long, value_name = "TABLE", num_args = 1..)]
    like: Vec<PathBuf>,
    /// How many opcodes are learned side by side
    #[arg(long, value_name = "N", default_value_t = 400, value_parser = clap::value_parser!(u16).range(1..=1000))]
    portion: u16,
    /// Where the table goes [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn opcode(text: &str) -> Result<usize, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let number = usize::from_str_radix(digits, 16).ok().filter(|&it| it < 1 << 13);
    number.ok_or_else(|| "an opcode is a hexadecimal number of 13 bits".to_owned())
}

/// What counts the words that go to nvdisasm.
struct Counting<'a> {
    oracle: &'a dyn Oracle,
    asked: AtomicU64,
}

impl Oracle for Counting<'_> {
    fn ask(&self, words: &[u128], first: usize) -> Result<Vec<Option<String>>, String> {
        self.asked.fetch_add(words.len() as u64, Relaxed);
        self.oracle.ask(words, first)
    }
}

pub(crate) fn execute(arguments: &Arguments) -> Result<Findings> {
    let nvdisasm = arguments.asked.open()?;
    let oracle = Counting { oracle: &nvdisasm, asked: AtomicU64::new(0) };
    let folder = arguments.asked.tables()?;
    let mut like = folder.hints(arguments.asked.arch).map_err(Error::msg)?.to_vec();
    for path in &arguments.like {
        like.push(text(path)?);
    }
    let opcodes: Vec<usize> = if arguments.opcode.is_empty() {
        eprintln!("scanning the opcodes of {}", arguments.asked.arch);
        learning::opcodes(&oracle, &folder, arguments.asked.arch).map_err(Error::msg)?
    } else {
        let all: BTreeSet<usize> = arguments.opcode.iter().copied().collect();
        all.into_iter().collect()
    };
    let parts = Parts::open(arguments.output.as_deref())?;
    let left: Vec<usize> = opcodes.iter().copied().filter(|it| !parts.known.contains(it)).collect();
    if left.len() < opcodes.len() {
        let known = opcodes.len() - left.len();
        eprintln!("learned before: {known} opcodes");
    }
    let mut tables = parts.tables.clone();
    let bar = bar(opcodes.len() as u64);
    bar.set_position((opcodes.len() - left.len()) as u64);
    for portion in left.chunks(arguments.portion.into()) {
        let note = |line: &str| bar.set_message(line.to_owned());
        let outcome = learn(&oracle, &folder, portion, &like, &note).map_err(Error::msg)?;
        parts.keep(portion, &outcome.table)?;
        tables.push(outcome.table);
        bar.inc(portion.len() as u64);
    }
    bar.finish_and_clear();
    tables.extend(like);
    let outcome = merge(&oracle, &folder, &opcodes, &tables).map_err(Error::msg)?;
    write(arguments.output.as_deref(), &outcome.table)?;
    parts.remove();
    let mut report = String::new();
    outcome.open.iter().for_each(|line| {
        let _ = writeln!(report, "{line}");
    });
    let _ = write!(
        report,
        "{}: {} opcodes, {} not fully known, {} words asked for",
        arguments.asked.arch,
        opcodes.len(),
        outcome.open.len(),
        HumanCount(oracle.asked.load(Relaxed))
    );
    eprintln!("{report}");
    Ok(Findings::unless(outcome.open.is_empty()))
}

pub(crate) fn text(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn bar(opcodes: u64) -> ProgressBar {
    let template = "{pos}/{len} opcodes [{wide_bar}] {elapsed}\n{msg}";
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::new(opcodes).with_style(style.progress_chars("=> "));
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

/// The portions of a run, a file each, in a folder beside the output.
struct Parts {
    folder: Option<PathBuf>,
    tables: Vec<String>,
    /// Opcodes that the portions are about, learned or not.
    known: BTreeSet<usize>,
}

/// The comment in a portion's file that lists its opcodes.
const OPCODES: &str = "# opcodes ";

impl Parts {
    fn open(output: Option<&Path>) -> Result<Self> {
        let mut parts = Self { folder: None, tables: Vec::new(), known: BTreeSet::new() };
        let Some(output) = output else { return Ok(parts) };
        let mut name = output.as_os_str().to_owned();
        name.push(".parts");
        let folder = PathBuf::from(name);
        let failed = || format!("cannot use {}", folder.display());
        std::fs::create_dir_all(&folder).with_context(failed)?;
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(&folder).with_context(failed)? {
            paths.push(entry.with_context(failed)?.path());
        }
        paths.sort();
        for path in paths.iter().filter(|it| it.extension().is_some_and(|it| it == "sass")) {
            let table = text(path)?;
            let listed = table.lines().next().and_then(|it| it.strip_prefix(OPCODES)).unwrap_or("");
            parts.known.extend(listed.split(' ').filter_map(|it| opcode(it).ok()));
            parts.tables.push(table);
        }
        parts.folder = Some(folder);
        Ok(parts)
    }

    fn keep(&self, opcodes: &[usize], table: &str) -> Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let listed: Vec<String> = opcodes.iter().map(|it| format!("{it:#x}")).collect();
        let path = folder.join(format!("{:04x}.sass", opcodes.first().copied().unwrap_or_default()));
        let part = path.with_extension("new");
        let text = format!("{OPCODES}{}\n{table}", listed.join(" "));
        // A name that appears when the file is whole: a run may be stopped while it is written.
        std::fs::write(&part, text)
            .and_then(|()| std::fs::rename(&part, &path))
            .with_context(|| format!("cannot write {}", path.display()))
    }

    fn remove(&self) {
        if let Some(folder) = &self.folder {
            // The table is written; portions that stay would only be used again.
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}
