//! `warploom sass compare`: the built-in table against nvdisasm.

use super::{Asked, Oracle, code};
use crate::failure::{Exit, Failure};
use crate::{images, terminal};
use ::sass::learn::{Fault, Report, Verdict, compare, compare_code};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use std::collections::HashMap;
use std::fmt::Write;
use std::path::PathBuf;

/// Compare the built-in table with nvdisasm (needs NVIDIA's nvdisasm)
///
/// Without files: random words, half of them with legal codes in all fields, half of random bits, of every form alike. With
/// files: the code in cubins, fatbins, objects, programs, libraries and archives, each different word once. The exit code is 1
/// if anything differs.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    asked: Asked,
    /// How many random words that nvdisasm takes
    #[arg(long, value_name = "N", default_value_t = 100_000, conflicts_with = "files")]
    words: usize,
    /// Another number gives other random words
    #[arg(long, default_value_t = 1, conflicts_with = "files")]
    seed: u64,
    /// Of a file's words with the same modifiers and kinds of operands, ask about so many; 0 is all
    #[arg(long, value_name = "N", default_value_t = 0, requires = "files")]
    each: usize,
    /// How many examples of each kind of difference
    #[arg(long, value_name = "N", default_value_t = 5)]
    examples: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Files with code
    files: Vec<PathBuf>,
}

pub(super) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    let oracle = arguments.asked.open()?;
    if arguments.files.is_empty() { random(arguments, &oracle) } else { files(arguments, &oracle) }
}

fn random(arguments: &Arguments, oracle: &Oracle) -> Result<Exit, Failure> {
    /// Words of every form in a round.
    const EACH: usize = 40;
    let arch = arguments.asked.arch;
    let template = "{msg} [{wide_bar}] {human_pos}/{human_len} words, {elapsed} + {eta}";
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::new(arguments.words as u64).with_style(style.progress_chars("=> "));
    bar.set_message(arch.to_string());
    let mut all = Verdict::default();
    let taken = |it: &Verdict| it.same + it.different.len() + it.missing.len();
    let mut round = 0;
    while taken(&all) < arguments.words {
        let verdict = compare(&oracle.nvdisasm, arch, EACH, arguments.seed.wrapping_add(round << 32))
            .map_err(Failure::usage)?;
        if taken(&verdict) == 0 {
            return Err(Failure::usage(format!("nvdisasm takes none of the words made for {arch}")));
        }
        all.same += verdict.same;
        all.different.extend(verdict.different);
        all.missing.extend(verdict.missing);
        all.extra.extend(verdict.extra);
        bar.set_position((taken(&all) as u64).min(arguments.words as u64));
        round += 1;
    }
    bar.finish_and_clear();
    let (different, missing, extra) = (all.different.len(), all.missing.len(), all.extra.len());
    if arguments.json {
        let hex = |word: u128| format!("{word:#034x}");
        let few = arguments.examples;
        terminal::json(&json!({
            "arch": arch.to_string(),
            "words": taken(&all),
            "same": all.same,
            "different": different,
            "missing": missing,
            "extra": extra,
            "examples": {
                "different": all.different.iter().take(few)
                    .map(|(word, ours, theirs)| json!({ "word": hex(*word), "ours": ours, "oracle": theirs }))
                    .collect::<Vec<_>>(),
                "missing": all.missing.iter().take(few)
                    .map(|(word, theirs)| json!({ "word": hex(*word), "oracle": theirs })).collect::<Vec<_>>(),
                "extra": all.extra.iter().take(few)
                    .map(|(word, ours)| json!({ "word": hex(*word), "ours": ours })).collect::<Vec<_>>(),
            },
        }))?;
    } else {
        let mut out = String::new();
        for (word, ours, theirs) in spread(&all.different, arguments.examples) {
            let _ = writeln!(out, "{word:#034x} has another text\n  ours      {ours}\n  nvdisasm  {theirs}");
        }
        for (word, theirs) in spread(&all.missing, arguments.examples) {
            let _ = writeln!(out, "{word:#034x} is missing\n  nvdisasm  {theirs}");
        }
        for (word, ours) in spread(&all.extra, arguments.examples) {
            let _ = writeln!(out, "{word:#034x} is legal for the table only\n  ours      {ours}");
        }
        let n = |it: usize| terminal::thousands(it as u64);
        let _ = writeln!(
            out,
            "{arch}: {} words that nvdisasm takes: same text {}, another {}, missing {}; legal for the table only {}",
            n(taken(&all)),
            n(all.same),
            n(different),
            n(missing),
            n(extra)
        );
        terminal::result(&out)?;
    }
    Ok(if different + missing + extra == 0 { Exit::Ok } else { Exit::Findings })
}

/// Some of many, from all over.
fn spread<T>(all: &[T], few: usize) -> impl Iterator<Item = &T> {
    all.iter().step_by(all.len().div_ceil(few.max(1)).max(1)).take(few)
}

fn files(arguments: &Arguments, oracle: &Oracle) -> Result<Exit, Failure> {
    let arch = arguments.asked.arch;
    let mut uses: HashMap<u128, u64> = HashMap::new();
    for path in &arguments.files {
        let bytes = images::read(path)?;
        let Some(sections) = code::sections(&bytes, path, arch)? else {
            return Err(Failure::usage(format!("{} holds no device code", path.display())));
        };
        sections.into_iter().flatten().for_each(|word| *uses.entry(word).or_default() += 1);
    }
    if uses.is_empty() {
        return Err(Failure::usage(format!("there is no code for {arch} in these files")));
    }
    let mut words: Vec<(u128, u64)> = uses.into_iter().collect();
    words.sort_unstable();
    terminal::note(&format!("{} different words", terminal::thousands(words.len() as u64)));
    let report = compare_code(&oracle.nvdisasm, arch, &words, arguments.each).map_err(Failure::usage)?;
    print(arguments, &report)?;
    Ok(if report.groups.is_empty() { Exit::Ok } else { Exit::Findings })
}

/// Every kind of difference, with its name in JSON and in text.
const FAULTS: [(Fault, &str, &str); 4] = [
    (Fault::Unknown, "unknown", "is unknown"),
    (Fault::OtherText, "other_text", "has another text"),
    (Fault::OnlyOurs, "extra", "is legal for the table only"),
    (Fault::NotBack, "not_back", "does not come back from its text"),
];

fn print(arguments: &Arguments, report: &Report) -> Result<(), Failure> {
    if arguments.json {
        let groups: Vec<_> = report
            .groups
            .iter()
            .map(|it| {
                let fault = FAULTS.iter().find(|known| known.0 == it.fault).map_or("", |known| known.1);
                let (word, ours, theirs) = &it.example;
                json!({
                    "opcode": format!("{:#x}", it.opcode),
                    "fault": fault,
                    "words": it.words,
                    "uses": it.uses,
                    "example": { "word": format!("{word:#034x}"), "ours": ours, "oracle": theirs },
                })
            })
            .collect();
        return terminal::json(&json!({
            "arch": arguments.asked.arch.to_string(),
            "words": report.words,
            "uses": report.uses,
            "asked": report.asked,
            "residues": report.residues,
            "differences": groups,
        }));
    }
    let n = |it: u64| terminal::thousands(it);
    let mut out = String::new();
    for (fault, _, what) in FAULTS {
        for it in report.groups.iter().filter(|it| it.fault == fault).take(arguments.examples) {
            let (word, ours, theirs) = &it.example;
            let _ = writeln!(
                out,
                "{word:#034x} {what} ({} words of opcode {:#x}, {} uses)\n  ours      {ours}\n  nvdisasm  {theirs}",
                n(it.words as u64),
                it.opcode,
                n(it.uses)
            );
        }
    }
    let _ = write!(
        out,
        "{}: {} words with {} uses, nvdisasm asked about {}; with a residue {}",
        arguments.asked.arch,
        n(report.words as u64),
        n(report.uses),
        n(report.asked as u64),
        n(report.residues as u64)
    );
    for (fault, name, _) in FAULTS {
        let (words, uses) = report.count(fault);
        let _ = write!(out, "; {} {} ({} uses)", name.replace('_', " "), n(words as u64), n(uses));
    }
    out.push('\n');
    terminal::result(&out)
}
