//! The project's chores: `cargo xtask` with `tidy`, `docs`, `clients`, `corpus`, `record`, `fingerprints`, `tables`,
//! `verdicts`, `libraries`, `dist`, `wheel`, `python`, `programs`, `calls`, `bench-peers`,
//! `fuzz-engines`, `sanitize`, `headers`, `modules`, `terminal`, `litmus-silicon` or `measure`.

mod bench_peers;
mod calls;
mod clients;
mod corpus;
mod dist;
mod exhaustive;
mod fingerprints;
mod fuzz_engines;
mod headers;
mod laws;
mod libraries;
mod litmus;
mod measure;
mod modules;
mod programs;
mod python;
mod record;
mod sanitize;
mod tables;
mod terminal;
mod tidy;
mod verdicts;

use anyhow::{Context, Result, ensure};
use clap::{Parser, Subcommand};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

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
    /// Records what a GPU computes, and compares the machine with it.
    Record(record::Arguments),
    /// Runs the test suites of real programs on the virtual GPU.
    Clients(clients::Choice),
    /// Makes PTX with real compilers, and reads, checks and prints it.
    Corpus(corpus::Tools),
    /// Checks every result of the approximate functions against fingerprints of an H200's.
    Fingerprints(fingerprints::Choice),
    /// Compares the engines, and a GPU, on random kernels.
    FuzzEngines(fuzz_engines::Choice),
    /// Finds the special-function unit's coefficients from recordings of a GPU.
    Tables(tables::Recordings),
    /// Makes a folder with the libraries that programs made for CUDA are run with.
    Libraries(libraries::Wanted),
    /// Makes a tarball and a Debian package.
    Dist(dist::Options),
    /// Makes the wheel: the Python module, the command and all that it needs.
    Wheel(dist::Options),
    /// Tests the Python package.
    Python(python::Tools),
    /// Compiles CUDA C++ programs with nvcc and runs them on the libraries.
    Programs(programs::Compiler),
    /// Measures what calls of the driver and copies take.
    Calls(calls::Choice),
    /// Measures kernels on both engines, on PoCL and as plain C++.
    BenchPeers(bench_peers::Choice),
    /// Runs the tests of the driver's streams under ThreadSanitizer.
    Sanitize,
    /// Compares the checker with ptxas, over all of the instruction table.
    Verdicts(verdicts::Verdicts),
    /// Makes the files of the crate `cuda-headers` from NVIDIA's headers.
    Headers(headers::Folders),
    /// Shows which files of a crate use which, and their circles.
    Modules(modules::Choice),
    /// Makes a picture of what a command prints, for the documentation.
    Terminal(terminal::Choice),
    /// Runs litmus tests on a GPU, and asks the memory model about what was seen.
    LitmusSilicon(litmus::Choice),
    /// Measures a GPU for the cycle model.
    Measure(measure::Choice),
}

/// The repository's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Generated files: where they are and what they must say.
fn generated() -> Result<Vec<(PathBuf, String)>> {
    let mut files = vec![(root().join("docs/isa-coverage.md"), conformance::coverage::page(&root())?)];
    for name in modules::DRAWN {
        let path = root().join(format!("docs/images/modules-{name}.svg"));
        files.push((path, modules::picture(name, &modules::Modules::of(name)?)));
    }
    Ok(files)
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
        Chore::Clients(choice) => clients::run(&choice),
        Chore::Corpus(tools) => corpus::run(&tools),
        // What is measured is what is released.
        Chore::BenchPeers(_) if cfg!(debug_assertions) => again_in_release(),
        Chore::BenchPeers(choice) => bench_peers::run(&choice),
        // Hours in a build that is not optimised.
        Chore::Fingerprints(_) | Chore::Tables(_) if cfg!(debug_assertions) => again_in_release(),
        Chore::Fingerprints(choice) => fingerprints::run(&choice),
        Chore::Tables(recordings) => tables::run(&recordings),
        Chore::Libraries(wanted) => libraries::run(&wanted),
        Chore::Dist(options) => dist::packages(&options),
        Chore::Wheel(options) => dist::wheel(&options),
        Chore::Python(tools) => python::run(&tools),
        Chore::Programs(compiler) => programs::run(&compiler),
        Chore::Calls(choice) => calls::run(&choice),
        Chore::FuzzEngines(choice) => fuzz_engines::run(&choice),
        Chore::Sanitize => sanitize::run(),
        Chore::Verdicts(verdicts) => verdicts::run(&verdicts),
        Chore::Headers(folders) => headers::run(&folders),
        Chore::Modules(choice) => modules::run(&choice),
        Chore::Terminal(choice) => terminal::run(&choice),
        Chore::Measure(choice) => measure::run(&choice),
        Chore::LitmusSilicon(choice) => litmus::run(&choice),
    }
}

/// Runs this very command in the release profile.
fn again_in_release() -> Result<()> {
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["run", "--quiet", "--release", "--package", "xtask", "--"])
        .args(std::env::args_os().skip(1))
        .current_dir(root())
        .status()
        .context("cargo")?;
    ensure!(status.success(), "{status}");
    Ok(())
}
