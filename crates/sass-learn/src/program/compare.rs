//! `sass-learn compare`: the built-in table against nvdisasm.

use crate::{Asked, Findings};
use anyhow::{Context, Error, Result, bail};
use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use sass_learn::{Example, Fault, Nvdisasm, Report, compare, compare_code, sections};
use serde_json::json;
use std::collections::HashMap;
use std::fmt::Write;
use std::path::PathBuf;

/// Compare the built-in table with nvdisasm (needs NVIDIA's nvdisasm)
///
/// Without files: random words, half of them with legal codes in all fields, half of random bits, of every form alike. With
/// files: the code in cubins, fatbins, objects, programs, libraries and archives, each different word once. Every word that both
/// have is also made again from its text. What differs is listed in groups: by opcode, what is wrong, and where the texts differ. The
/// exit code is 1 if anything differs.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
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
    /// How many examples of each group of differences
    #[arg(long, value_name = "N", default_value_t = 1)]
    examples: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Files with code
    files: Vec<PathBuf>,
}

pub(crate) fn execute(arguments: &Arguments) -> Result<Findings> {
    let oracle = arguments.asked.open()?;
    if arguments.files.is_empty() { random(arguments, &oracle) } else { files(arguments, &oracle) }
}

fn random(arguments: &Arguments, oracle: &Nvdisasm) -> Result<Findings> {
    /// Words of every form in a round.
    const EACH: usize = 40;
    let (arch, tables) = (arguments.asked.arch, arguments.asked.tables()?);
    let template = "{msg} [{wide_bar}] {human_pos}/{human_len} words, {elapsed} + {eta}";
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::new(arguments.words as u64).with_style(style.progress_chars("=> "));
    bar.set_message(arch.to_string());
    let mut report = Report::default();
    let mut round = 0;
    while report.legal < arguments.words {
        let seed = arguments.seed.wrapping_add(round << 32);
        let before = report.legal;
        compare(oracle, &tables, arch, EACH, seed, arguments.examples, &mut report).map_err(Error::msg)?;
        if report.legal == before {
            bail!("nvdisasm takes none of the words made for {arch}");
        }
        bar.set_position((report.legal as u64).min(arguments.words as u64));
        round += 1;
    }
    bar.finish_and_clear();
    print(arguments, &report);
    Ok(Findings::unless(report.groups.is_empty()))
}

fn files(arguments: &Arguments, oracle: &Nvdisasm) -> Result<Findings> {
    let arch = arguments.asked.arch;
    let mut uses: HashMap<u128, u64> = HashMap::new();
    for path in &arguments.files {
        let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
        let found = sections(&bytes, arch).map_err(Error::msg);
        let Some(sections) = found.with_context(|| path.display().to_string())? else {
            bail!("{} holds no device code", path.display());
        };
        sections.into_iter().flatten().for_each(|word| *uses.entry(word).or_default() += 1);
    }
    if uses.is_empty() {
        bail!("there is no code for {arch} in these files");
    }
    let mut words: Vec<(u128, u64)> = uses.into_iter().collect();
    words.sort_unstable();
    eprintln!("{} different words", HumanCount(words.len() as u64));
    let report =
        compare_code(oracle, arch, &words, arguments.each, arguments.examples).map_err(Error::msg)?;
    print(arguments, &report);
    Ok(Findings::unless(report.groups.is_empty()))
}

/// Every kind of difference, with its name in JSON and in text.
const FAULTS: [(Fault, &str, &str); 4] = [
    (Fault::Unknown, "unknown", "is unknown"),
    (Fault::OtherText, "other_text", "has another text"),
    (Fault::OnlyOurs, "extra", "is legal for the table only"),
    (Fault::NotBack, "not_back", "does not come back from its text"),
];

fn print(arguments: &Arguments, report: &Report) {
    let arch = arguments.asked.arch;
    if arguments.json {
        let groups: Vec<_> = report
            .sorted()
            .iter()
            .map(|it| {
                let fault = FAULTS.iter().find(|known| known.0 == it.fault).map_or("", |known| known.1);
                let example = |Example { word, ours, theirs }: &Example| json!({ "word": format!("{word:#034x}"), "ours": ours, "oracle": theirs });
                json!({
                    "opcode": format!("{:#x}", it.opcode),
                    "fault": fault,
                    "ours": it.difference.0,
                    "oracle": it.difference.1,
                    "words": it.words,
                    "uses": it.uses,
                    "examples": it.examples.iter().map(example).collect::<Vec<_>>(),
                })
            })
            .collect();
        let counts: serde_json::Map<_, _> = FAULTS
            .iter()
            .map(|(fault, name, _)| ((*name).to_owned(), json!(report.count(*fault).0)))
            .collect();
        let report = json!({
            "arch": arch.to_string(),
            "words": report.words,
            "uses": report.uses,
            "asked": report.asked,
            "legal": report.legal,
            "same": report.same,
            "residues": report.residues,
            "faults": counts,
            "differences": groups,
        });
        println!("{report}");
        return;
    }
    let n = HumanCount;
    let mut out = String::new();
    for (fault, _, what) in FAULTS {
        for it in report.sorted().iter().filter(|it| it.fault == fault) {
            let (ours, theirs) = &it.difference;
            let difference = match fault {
                Fault::OtherText => format!("`{ours}` for `{theirs}`"),
                Fault::Unknown => theirs.clone(),
                Fault::OnlyOurs | Fault::NotBack => ours.clone(),
            };
            let _ = writeln!(
                out,
                "{:#06x} {what}: {difference}: {} words, {} uses",
                it.opcode,
                n(it.words as u64),
                n(it.uses)
            );
            for Example { word, ours, theirs } in &it.examples {
                let _ = writeln!(out, "  {word:#034x}");
                for (who, text) in [("ours", ours), ("nvdisasm", theirs)] {
                    if !text.is_empty() {
                        let _ = writeln!(out, "    {who:<9} {text}");
                    }
                }
            }
        }
    }
    let _ = write!(
        out,
        "{arch}: {} words with {} uses, nvdisasm asked about {}; it takes {}: same text and same bits {}",
        n(report.words as u64),
        n(report.uses),
        n(report.asked as u64),
        n(report.legal as u64),
        n(report.same as u64),
    );
    for (fault, name, _) in FAULTS {
        let (words, uses) = report.count(fault);
        let _ = write!(out, "; {} {} ({} uses)", name.replace('_', " "), n(words as u64), n(uses));
    }
    let _ = writeln!(out, "; with a residue {}", n(report.residues as u64));
    print!("{out}");
}
