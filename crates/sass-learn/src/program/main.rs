//! `sass-learn`: work on the tables of `sass`, with NVIDIA's nvdisasm as the oracle.

mod compare;
mod learn;
mod table;

use anyhow::{Context, Error, Result};
use clap::Parser;
use sass::Arch;
use sass_learn::{Nvdisasm, Tables};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Work on the tables of SASS: learn them from nvdisasm, compare them with it, complete them.
#[derive(Parser)]
enum Arguments {
    Compare(compare::Arguments),
    Learn(learn::Arguments),
    Table(table::Arguments),
}

/// Whether there was something to find fault with: the exit code is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Findings {
    None,
    Some,
}

impl Findings {
    fn unless(none: bool) -> Self {
        if none { Self::None } else { Self::Some }
    }
}

/// What a command is told that asks nvdisasm.
#[derive(Debug, clap::Args)]
struct Asked {
    /// The architecture: sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_120
    #[arg(long)]
    arch: Arch,
    /// The path of nvdisasm
    #[arg(long, value_name = "PATH")]
    oracle: PathBuf,
    /// The folder of the tables
    #[arg(long, value_name = "FOLDER", default_value_os_t = folder())]
    tables: PathBuf,
}

impl Asked {
    fn open(&self) -> Result<Nvdisasm> {
        Nvdisasm::open(&self.oracle, self.arch).map_err(Error::msg)
    }

    fn tables(&self) -> Result<Tables> {
        Tables::open(&self.tables).map_err(Error::msg)
    }
}

/// Where the tables are in the repository.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../sass/isa")
}

/// Writes a table to a file, or to standard output.
fn write(output: Option<&Path>, table: &str) -> Result<()> {
    match output {
        Some(path) => {
            std::fs::write(path, table).with_context(|| format!("cannot write {}", path.display()))?;
        }
        None => print!("{table}"),
    }
    Ok(())
}

fn main() -> ExitCode {
    let done = match Arguments::parse() {
        Arguments::Compare(arguments) => compare::execute(&arguments),
        Arguments::Learn(arguments) => learn::execute(&arguments),
        Arguments::Table(arguments) => table::execute(&arguments),
    };
    match done {
        Ok(Findings::None) => ExitCode::SUCCESS,
        Ok(Findings::Some) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
