//! `sass-learn table`: work on a table that is there.

use crate::learn::{opcode, text};
use crate::{Asked, Findings, folder, write};
use anyhow::{Context, Error, Result};
use sass::Arch;
use sass_learn::{Tables, check, opcodes, renew, samples, sections, settle};
use std::path::PathBuf;

/// Work on a table: put what was learned into it, check it, complete it
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Renew(Renew),
    Check(Check),
    Settle(Settle),
    Samples(Samples),
}

/// Put learned opcodes into a table where they read random words as well as what it has, or better (needs NVIDIA's nvdisasm)
///
/// Where the two read words differently, nvdisasm says which is right. All other opcodes stay as they are, and so do bits that the
/// table sets where the text does not say.
#[derive(Debug, clap::Args)]
struct Renew {
    #[command(flatten)]
    asked: Asked,
    /// The table
    table: PathBuf,
    /// What was learned
    learned: PathBuf,
    /// Where to write the forms that were learned worse than they are in the table: the learner needs them as hints
    #[arg(long, value_name = "FILE")]
    hints: Option<PathBuf>,
    /// Where the new table goes [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Learn opcodes from nothing but nvdisasm and the hints: does the built-in table come out? (needs NVIDIA's nvdisasm)
///
/// Says for each opcode whether the forms are the same, but for the bits that come from compiled code. The exit code is 1 if any differs.
#[derive(Debug, clap::Args)]
struct Check {
    #[command(flatten)]
    asked: Asked,
    /// These opcodes, hexadecimal, of 13 bits [default: all]
    #[arg(long, value_name = "OPCODE", num_args = 1.., value_delimiter = ',', value_parser = opcode)]
    opcode: Vec<usize>,
}

/// The built-in table with the bits that compiled code has where the text does not say
#[derive(Debug, clap::Args)]
struct Settle {
    /// The architecture: sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_120
    #[arg(long)]
    arch: Arch,
    /// The folder of the tables
    #[arg(long, value_name = "FOLDER", default_value_os_t = folder())]
    tables: PathBuf,
    /// Where the new table goes [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Files with code
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

/// A word of each form of the built-in table with nvdisasm's text, as tests have it (needs NVIDIA's nvdisasm)
#[derive(Debug, clap::Args)]
struct Samples {
    #[command(flatten)]
    asked: Asked,
}

pub(crate) fn execute(arguments: &Arguments) -> Result<Findings> {
    match &arguments.command {
        Command::Renew(it) => {
            let (oracle, tables) = (it.asked.open()?, it.asked.tables()?);
            let renewed =
                renew(&oracle, &tables, &text(&it.table)?, &text(&it.learned)?).map_err(Error::msg)?;
            renewed.outcome.open.iter().for_each(|line| eprintln!("{line}"));
            let kept: Vec<String> = renewed.kept.iter().map(|it| format!("{it:#x}")).collect();
            eprintln!("kept as they were: {} ({})", kept.join(" "), kept.len());
            if let Some(path) = &it.hints {
                write(Some(path), &renewed.hints)?;
            }
            write(it.output.as_deref(), &renewed.outcome.table)?;
            Ok(Findings::None)
        }
        Command::Check(it) => checked(it),
        Command::Settle(it) => {
            let mut words = Vec::new();
            for path in &it.files {
                let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
                let sections = sections(&bytes, it.arch).map_err(Error::msg);
                let sections = sections.with_context(|| path.display().to_string())?;
                words.extend(sections.into_iter().flatten().flatten());
            }
            let tables = Tables::open(&it.tables).map_err(Error::msg)?;
            let table = settle(&tables, it.arch, &words).map_err(Error::msg)?;
            write(it.output.as_deref(), &table)?;
            Ok(Findings::None)
        }
        Command::Samples(it) => {
            let (oracle, tables) = (it.asked.open()?, it.asked.tables()?);
            print!("{}", samples(&oracle, &tables, it.asked.arch).map_err(Error::msg)?);
            Ok(Findings::None)
        }
    }
}

fn checked(arguments: &Check) -> Result<Findings> {
    let (oracle, tables) = (arguments.asked.open()?, arguments.asked.tables()?);
    let arch = arguments.asked.arch;
    let opcodes = match &arguments.opcode[..] {
        [] => opcodes(&oracle, &tables, arch).map_err(Error::msg)?,
        some => some.to_vec(),
    };
    let checked = check(&oracle, &tables, arch, &opcodes, &|line| eprintln!("{line}")).map_err(Error::msg)?;
    let other: Vec<String> =
        checked.iter().filter(|it| !it.same()).map(|it| format!("{:#x}", it.opcode)).collect();
    let same = checked.len() - other.len();
    println!("{arch}: {same} of {} opcodes come out as they are", checked.len());
    if !other.is_empty() {
        println!("other: {}", other.join(" "));
    }
    Ok(Findings::unless(other.is_empty()))
}
