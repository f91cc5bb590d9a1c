//! Whole CUDA programs, from start to exit, with each engine.
//!
//! They are programs of `crates/libcudart/tests/programs`, compiled by nvcc; the engine is chosen by `WARPLOOM_ENGINE`, as a user
//! would. Most of them work little: what is measured is what starting, loading and ending cost, and what an engine adds to that.
//! Compiled code is not kept between runs.

use super::Choice;
use super::measure::median;
use crate::{libraries, root};
use anyhow::{Result, ensure};
use indicatif::ProgressBar;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Which programs: those that launch kernels to compute something.
pub(super) const PROGRAMS: [&str; 10] = [
    "cub_device",
    "device_runtime",
    "graphs",
    "groups",
    "managed",
    "quicksort",
    "streams",
    "templates",
    "textures",
    "vector_add",
];

const ENGINES: [&str; 3] = ["interp", "jit", "auto"];
const ROUNDS: usize = 5;

/// A program's medians.
#[derive(Serialize)]
pub(super) struct Program {
    pub(super) name: &'static str,
    /// Milliseconds, by engine.
    pub(super) milliseconds: BTreeMap<&'static str, f64>,
}

/// Compiles and times them.
///
/// # Errors
/// There is no nvcc, or a program fails.
pub(super) fn run(choice: &Choice, names: &[&'static str], bar: &ProgressBar) -> Result<Vec<Program>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    ensure!(choice.nvcc.is_there(), "{} cannot be run", choice.nvcc);
    let folder = libraries::folder(choice.libraries.as_deref())?;
    let out = root().join("target/peers");
    let mut all = Vec::new();
    for &name in names {
        bar.set_message(name);
        let source = root().join(format!("crates/libcudart/tests/programs/{name}.cu"));
        let program = out.join(name);
        choice.nvcc.compile(&source, &folder, false, &program)?;
        let mut times: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
        for _ in 0..ROUNDS {
            for engine in ENGINES {
                times.entry(engine).or_default().push(time(&program, engine, &folder)?);
            }
        }
        fs::remove_file(program)?;
        let medians = times.into_iter().filter_map(|(engine, times)| Some((engine, median(times)?)));
        all.push(Program { name, milliseconds: medians.collect() });
        bar.inc(1);
    }
    Ok(all)
}

fn time(program: &Path, engine: &str, libraries: &Path) -> Result<f64> {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", libraries).env("WARPLOOM_ENGINE", engine).env("WARPLOOM_CACHE", "0");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let begun = Instant::now();
    let status = command.status()?;
    let took = begun.elapsed().as_secs_f64() * 1e3;
    ensure!(status.success(), "{}, {engine}: {status}", program.display());
    Ok(took)
}
