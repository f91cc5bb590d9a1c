//! `warploom sass table`: work on a table that is there.

use super::learn::{opcode, text};
use super::{Asked, arch, code};
use crate::failure::{Exit, Failure};
use crate::{images, terminal};
use ::sass::Arch;
use ::sass_learn::{check, opcodes, renew, samples, settle};
use std::path::{Path, PathBuf};

/// Work on a table: put what was learned into it, check it, complete it
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
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
    #[arg(long, value_parser = arch)]
    arch: Arch,
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

pub(super) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    match &arguments.command {
        Command::Renew(it) => {
            let oracle = it.asked.open()?;
            let renewed =
                renew(&oracle.nvdisasm, &text(&it.table)?, &text(&it.learned)?).map_err(Failure::usage)?;
            renewed.outcome.open.iter().for_each(|line| terminal::note(line));
            let kept: Vec<String> = renewed.kept.iter().map(|it| format!("{it:#x}")).collect();
            terminal::note(&format!("kept as they were: {} ({})", kept.join(" "), kept.len()));
            if let Some(path) = &it.hints {
                write(Some(path), &renewed.hints)?;
            }
            write(it.output.as_deref(), &renewed.outcome.table)?;
            Ok(Exit::Ok)
        }
        Command::Check(it) => checked(it),
        Command::Settle(it) => {
            let mut words = Vec::new();
            for path in &it.files {
                let sections = code::sections(&images::read(path)?, path, it.arch)?;
                words.extend(sections.into_iter().flatten().flatten());
            }
            let table = settle(it.arch, &words).map_err(Failure::usage)?;
            write(it.output.as_deref(), &table)?;
            Ok(Exit::Ok)
        }
        Command::Samples(it) => {
            let oracle = it.asked.open()?;
            terminal::result(&samples(&oracle.nvdisasm, it.asked.arch).map_err(Failure::usage)?)?;
            Ok(Exit::Ok)
        }
    }
}

fn checked(arguments: &Check) -> Result<Exit, Failure> {
    let oracle = arguments.asked.open()?;
    let arch = arguments.asked.arch;
    let opcodes = match &arguments.opcode[..] {
        [] => opcodes(&oracle.nvdisasm, arch).map_err(Failure::usage)?,
        some => some.to_vec(),
    };
    let checked =
        check(&oracle.nvdisasm, arch, &opcodes, &|line| terminal::note(line)).map_err(Failure::usage)?;
    let other: Vec<String> =
        checked.iter().filter(|it| !it.same()).map(|it| format!("{:#x}", it.opcode)).collect();
    let same = checked.len() - other.len();
    terminal::result(&format!("{arch}: {same} of {} opcodes come out as they are\n", checked.len()))?;
    if !other.is_empty() {
        terminal::result(&format!("other: {}\n", other.join(" ")))?;
    }
    Ok(if other.is_empty() { Exit::Ok } else { Exit::Findings })
}

fn write(output: Option<&Path>, table: &str) -> Result<(), Failure> {
    match output {
        Some(path) => std::fs::write(path, table)
            .map_err(|error| Failure::usage(format!("cannot write {}: {error}", path.display()))),
        None => terminal::result(table),
    }
}
