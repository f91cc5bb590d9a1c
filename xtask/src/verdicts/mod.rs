//! `cargo xtask verdicts`: what ptxas accepts and what the checker accepts, for every opcode of the instruction table
//! and everything one step around it.
//!
//! `ask` generates the questions, asks a ptxas of CUDA 13.0 and writes its verdicts into `crates/ptx/tests/verdicts`;
//! a test of `warploom-ptx` replays them without ptxas. `compare` shows where the checker disagrees.
//!
//! | file | stage |
//! | --- | --- |
//! | `canonical` | an instruction of the table in one writing |
//! | `questions` | combinations of modifiers, operands, versions and targets |
//! | `directives` | the same for what is not an instruction |
//! | `ptxas` | the answers |
//! | `replay::verdicts` | the notation of the answers, shared with the test |

mod canonical;
mod directives;
mod ptxas;
mod questions;

use crate::root;
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use flate2::Compression;
use flate2::write::GzEncoder;
use ptxas::{Ptxas, Question};
use replay::verdicts::{self as recording, Block, Exception, Judged};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// `version/target` and text, one of them with a `$`.
type Template = (String, String);

/// What to do about verdicts.
#[derive(Args)]
pub(crate) struct Verdicts {
    #[command(subcommand)]
    step: Step,
}

#[derive(Subcommand)]
enum Step {
    /// Asks ptxas everything and writes down what it says.
    Ask {
        /// ptxas of CUDA 13.0.
        #[arg(long, env = "WARPLOOM_PTXAS")]
        ptxas: PathBuf,
        /// Where the recordings go.
        #[arg(long)]
        out: Option<PathBuf>,
        /// Many more questions than are worth keeping: also around all legal opcodes.
        #[arg(long)]
        deep: bool,
        /// Only the files whose names contain this.
        #[arg(long, default_value = "")]
        only: String,
        /// Ask about this target and PTX 9.0, whatever a question is about otherwise.
        #[arg(long)]
        target: Option<String>,
        /// Only one template in so many.
        #[arg(long, default_value_t = 1)]
        every: usize,
    },
    /// Shows where the checker disagrees with the recordings.
    Compare {
        /// Where the recordings are.
        #[arg(long)]
        recordings: Option<PathBuf>,
        /// Only instructions that contain this.
        #[arg(long, default_value = "")]
        only: String,
        /// Disagreements shown of each mnemonic.
        #[arg(long, default_value_t = 10)]
        show: usize,
    },
}

pub(crate) fn run(verdicts: &Verdicts) -> Result<()> {
    let folder = || root().join("crates/ptx/tests/verdicts");
    match &verdicts.step {
        Step::Ask { ptxas, out, deep, only, target, every } => {
            let chosen = Chosen { deep: *deep, only, target: target.as_deref(), every: (*every).max(1) };
            ask(ptxas, &out.clone().unwrap_or_else(folder), &chosen)
        }
        Step::Compare { recordings, only, show } => {
            compare(&recordings.clone().unwrap_or_else(folder), only, *show)
        }
    }
}

/// Which questions are asked.
struct Chosen<'a> {
    deep: bool,
    only: &'a str,
    target: Option<&'a str>,
    every: usize,
}

fn ask(program: &Path, out: &Path, chosen: &Chosen<'_>) -> Result<()> {
    let mut files: BTreeMap<String, BTreeMap<Template, BTreeSet<String>>> = BTreeMap::new();
    for ((file, header, template), fills) in questions::all(chosen.deep) {
        let header = chosen.target.map_or(header, |target| format!("9.0/{target}"));
        files.entry(file).or_default().entry((header, template)).or_default().extend(fills);
    }
    files.retain(|file, _| file.contains(chosen.only));
    let files = files.into_iter().map(|(file, questions)| {
        let questions: Vec<_> = questions.into_iter().step_by(chosen.every).collect();
        (file, questions)
    });
    fs::create_dir_all(out)?;
    let folder = std::env::temp_dir().join(format!("warploom-verdicts-{}", std::process::id()));
    let ptxas = Ptxas { program, folder };
    for (file, questions) in files {
        let asked: BTreeSet<Question> = questions
            .iter()
            .flat_map(|(template, fills)| fills.iter().map(|fill| recording::filled(template, fill)))
            .collect();
        let answers = ptxas.ask(&asked)?;
        let mut blocks: BTreeMap<Vec<(String, bool)>, Vec<Template>> = BTreeMap::new();
        for (template, fills) in questions {
            let answer =
                |fill: &String| Some((fill.clone(), *answers.get(&recording::filled(&template, fill))?));
            let fills: Vec<_> = fills.iter().filter_map(answer).collect();
            if !fills.is_empty() {
                blocks.entry(fills).or_default().push(template);
            }
        }
        let mut blocks: Vec<Block> =
            blocks.into_iter().map(|(fills, templates)| Block { templates, fills }).collect();
        blocks.sort();
        let path = out.join(format!("{file}.txt.gz"));
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(written(&blocks).as_bytes())?;
        fs::write(&path, packed.finish()?).with_context(|| path.display().to_string())?;
        let accepted = answers.values().filter(|accepted| **accepted).count();
        println!(
            "verdicts: {file}: {} questions, {} answers, {accepted} accepted",
            asked.len(),
            answers.len()
        );
    }
    Ok(())
}

/// The text of a file.
fn written(blocks: &[Block]) -> String {
    let mut text = String::from(
        "# What ptxas of CUDA 13.0 says; see recording.rs. Written by `cargo xtask verdicts ask`.\n",
    );
    for block in blocks {
        text.push('\n');
        for (header, template) in &block.templates {
            let _ = writeln!(text, "{header}  {template}");
        }
        for (sign, verdict) in [('+', true), ('-', false)] {
            let mut line = String::new();
            for (fill, _) in block.fills.iter().filter(|(_, accepted)| *accepted == verdict) {
                if line.len() + fill.len() > 118 {
                    let _ = writeln!(text, "{line}");
                    line.clear();
                }
                if line.is_empty() {
                    line = format!("{sign} {fill}");
                } else {
                    let _ = write!(line, "  {fill}");
                }
            }
            if !line.is_empty() {
                let _ = writeln!(text, "{line}");
            }
        }
    }
    text
}

fn compare(recordings: &Path, only: &str, show: usize) -> Result<()> {
    let judged = recording::judge(recordings, &|text| text.contains(only));
    let exceptions = fs::read_to_string(recordings.join("exceptions.txt")).unwrap_or_default();
    let exceptions = Exception::read(&exceptions);
    let disagreements = judged.iter().filter(|verdict| verdict.ours != verdict.theirs);
    let class = |verdict: &&Judged| exceptions.iter().position(|exception| exception.covers(verdict));
    let (excepted, others): (Vec<_>, Vec<_>) = disagreements.partition(|verdict| class(verdict).is_some());
    for (i, exception) in exceptions.iter().enumerate() {
        let count = excepted.iter().filter(|verdict| class(verdict) == Some(i)).count();
        if only.is_empty() && count != exception.count {
            println!("{} ({}): {count}, not {}", exception.pattern, exception.reason, exception.count);
        }
    }
    let mut wrong: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for verdict in others {
        let what = if verdict.theirs { "should be accepted" } else { "should be rejected" };
        let name = verdict.text.split(['.', ' ']).next().unwrap_or_default();
        let line = format!("{}  {}  {}", verdict.header, verdict.text, verdict.said);
        wrong.entry(format!("{} {name}: {what}", verdict.file)).or_default().push(line);
    }
    for (class, lines) in &wrong {
        println!("{class}: {}", lines.len());
        for line in lines.iter().take(show) {
            println!("    {line}");
        }
    }
    let count: usize = wrong.values().map(Vec::len).sum();
    let share = |count: usize| 100.0 - 100.0 * count as f64 / judged.len().max(1) as f64;
    println!(
        "verdicts: {} compared, {count} disagree, {:.3} % agree, {:.3} % without {} excepted ones",
        judged.len(),
        share(count + excepted.len()),
        share(count),
        excepted.len(),
    );
    Ok(())
}
