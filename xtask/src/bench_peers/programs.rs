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
use rayon::prelude::*;
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

pub(super) const ENGINES: [&str; 3] = ["interp", "jit", "auto"];
const ROUNDS: usize = 5;

/// A program's medians.
#[derive(Serialize)]
pub(super) struct Program {
    pub(super) name: &'static str,
    /// Milliseconds, by engine.
    pub(super) milliseconds: BTreeMap<&'static str, f64>,
    /// Engines with which it fails.
    pub(super) failed: BTreeMap<&'static str, String>,
}

/// Compiles and times them.
///
/// # Errors
/// There is no nvcc, or it does not compile one of them.
pub(super) fn run(choice: &Choice, names: &[&'static str], bar: &ProgressBar) -> Result<Vec<Program>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    ensure!(choice.nvcc.is_there(), "{} cannot be run", choice.nvcc);
    let folder = libraries::folder(choice.libraries.as_deref())?;
    let out = root().join("target/peers");
    bar.set_message("compiling programs");
    names.par_iter().try_for_each(|name| {
        let source = root().join(format!("crates/libcudart/tests/programs/{name}.cu"));
        choice.nvcc.compile(&source, &folder, false, &out.join(name))
    })?;
    let mut all = Vec::new();
    for &name in names {
        bar.set_message(name);
        let program = out.join(name);
        let mut times: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
        let mut failed = BTreeMap::new();
        for _ in 0..ROUNDS {
            for engine in ENGINES {
                match time(&program, engine, &folder) {
                    Ok(took) => times.entry(engine).or_default().push(took),
                    Err(why) => drop(failed.insert(engine, format!("{why:#}"))),
                }
            }
        }
        fs::remove_file(program)?;
        times.retain(|engine, _| !failed.contains_key(engine));
        let medians = times.into_iter().filter_map(|(engine, times)| Some((engine, median(times)?)));
        all.push(Program { name, milliseconds: medians.collect(), failed });
        bar.inc(1);
    }
    Ok(all)
}

fn time(program: &Path, engine: &str, libraries: &Path) -> Result<f64> {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", libraries).env("WARPLOOM_ENGINE", engine).env("WARPLOOM_CACHE", "0");
    command.stdin(Stdio::null());
    let begun = Instant::now();
    let output = command.output()?;
    let took = begun.elapsed().as_secs_f64() * 1e3;
    ensure!(output.status.success(), "{}, {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    Ok(took)
}
