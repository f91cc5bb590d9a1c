//! The project's chores: `cargo xtask tidy`, `cargo xtask docs`, `cargo xtask corpus`, `cargo xtask record`.

mod corpus;
mod record;
mod tidy;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The project's chores.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Checks the rules that no compiler checks: who may use whom, documentation, sizes, words.
    Tidy,
    /// Rewrites generated documentation.
    Docs,
    /// Records what a GPU computes for every form of the instruction table, and compares the machine with it.
    Record(record::Arguments),
    /// Makes PTX with real compilers, and reads, checks and prints it.
    Corpus(corpus::Tools),
}

/// The repository's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Generated files: where they are and what they must say.
fn generated() -> Result<Vec<(PathBuf, String)>> {
    Ok(vec![(root().join("docs/isa-coverage.md"), recorded::coverage::page(&root())?)])
}

fn main() -> ExitCode {
    match run(Arguments::parse().chore) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: Chore) -> Result<()> {
    match chore {
        Chore::Tidy => tidy::run(),
        Chore::Docs => {
            for (path, text) in generated()? {
                fs::write(&path, text).with_context(|| path.display().to_string())?;
                println!("{}", path.display());
            }
            Ok(())
        }
        Chore::Record(arguments) => record::run(&arguments),
        Chore::Corpus(tools) => corpus::run(&tools),
    }
}
