//! `cargo xtask bench-peers`: the same kernels on Warploom, on PoCL and as plain C++ with OpenMP, in one run.
//!
//! `benches/peers/kernels` has each kernel in CUDA, OpenCL and C++, by the same algorithm as far as that means something on a processor;
//! [`kernels`] says how they are launched. A peer is a process that runs a kernel when a line asks it to and answers how long it
//! took (`frame/protocol.h`); Warploom runs in this process. All read the same files. Each result is compared with that of plain C++ before
//! anything is timed, and all peers take turns, so that what else the host does meets all of them. A peer that cannot be built or
//! started is left out by name.

mod agreement;
pub(crate) mod compile;
pub(crate) mod inputs;
pub(crate) mod kernels;
mod measure;
mod peers;
mod plots;
mod programs;
mod report;
mod sweeps;

use crate::programs::Nvcc;
use crate::root;
use anyhow::{Result, ensure};
use indicatif::{ProgressBar, ProgressStyle};
use kernels::{KERNELS, Kernel};
use measure::{Clock, Effort, measure};
use peers::{Task, Workshop};
use report::{Host, Report};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is measured.
#[derive(Debug, clap::Args)]
pub(crate) struct Choice {
    /// Only kernels and programs whose names contain one of these; no curves.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Kernels only, three times each.
    #[arg(long)]
    quick: bool,
    /// How often each peer runs each kernel, at most; the median counts.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Which times are compared.
    #[arg(long, value_enum, default_value_t = Clock::Wall)]
    clock: Clock,
    /// Host threads of all peers; 0 for one a core.
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// What makes PTX of the kernels: clang or nvcc.
    #[arg(long, env = "WARPLOOM_CLANG", default_value = "clang-22")]
    compiler: PathBuf,
    /// What compiles whole programs.
    #[command(flatten)]
    nvcc: Nvcc,
    /// Where the libraries for these are; without it they are built.
    #[arg(long)]
    libraries: Option<PathBuf>,
    /// A file for all figures.
    #[arg(long)]
    json: Option<PathBuf>,
    /// A folder for the plots.
    #[arg(long, default_value = "target/peers")]
    plots: PathBuf,
}

impl Choice {
    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| name.contains(part.as_str()))
    }

    /// Whether curves are drawn.
    fn sweeps(&self) -> bool {
        !self.quick && self.only.is_empty()
    }
}

/// How long rounds of one kernel may begin.
const PATIENCE: Duration = Duration::from_secs(8);
/// The same for a point of a curve.
const POINT: Duration = Duration::from_millis(1500);

pub(crate) fn run(choice: &Choice) -> Result<()> {
    let folder = root().join("target/peers");
    fs::create_dir_all(&folder)?;
    let folder = fs::canonicalize(folder)?;
    let chosen: Vec<&Kernel> = KERNELS.iter().filter(|kernel| choice.wants(kernel.name)).collect();
    let programs: Vec<&str> = programs::PROGRAMS.into_iter().filter(|name| choice.wants(name)).collect();
    let programs = if choice.quick { Vec::new() } else { programs };
    ensure!(!chosen.is_empty() || !programs.is_empty(), "no kernel and no program has such a name");
    let threads = match choice.threads {
        0 => std::thread::available_parallelism()?.get(),
        threads => threads,
    };
    let mut load = vec![report::load()];
    let curves = if choice.sweeps() { sweeps::swept().len() } else { 0 };
    let style = ProgressStyle::with_template("{msg:32} {bar:40} {pos}/{len}, {elapsed} so far")?;
    let bar = ProgressBar::new((chosen.len() + curves + programs.len()) as u64).with_style(style);
    bar.set_message("compiling");
    bar.enable_steady_tick(Duration::from_millis(200));

    let workshop = Workshop::open(&folder, &choice.compiler, &chosen)?;
    let mut peers = workshop.peers(threads)?;
    for skipped in &peers.skipped {
        bar.suspend(|| eprintln!("SKIPPED: {skipped}"));
    }
    let rounds = if choice.quick { 3 } else { choice.rounds };
    let effort = Effort { clock: choice.clock, rounds, patience: PATIENCE };
    let mut kernels = Vec::new();
    for kernel in &chosen {
        bar.set_message(kernel.name);
        let task = Task { kernel, n: kernel.n, block: kernel.block };
        kernels.push((kernel.name, measure(&task, &mut peers, effort)));
        bar.inc(1);
    }
    let (names, mut skipped) = (peers.all.iter().map(|(name, _)| *name).collect(), peers.skipped);
    drop(peers.all);
    let curves = match choice.sweeps() {
        true => sweeps::run(&workshop, threads, Effort { patience: POINT, ..effort }, &bar)?,
        false => Vec::new(),
    };
    let programs = programs::run(choice, &programs, &bar).unwrap_or_else(|why| {
        bar.suspend(|| eprintln!("SKIPPED: whole programs: {why:#}"));
        skipped.push(format!("whole programs: {why:#}"));
        Vec::new()
    });
    bar.finish_and_clear();

    load.push(report::load());
    let compilers = [choice.compiler.as_path(), Path::new("g++")].into_iter().filter_map(report::version);
    let host = Host {
        processor: report::processor(),
        threads,
        clock: choice.clock,
        load,
        compilers: compilers.collect(),
    };
    let report = Report { host, peers: names, skipped, kernels, curves, programs };
    print!("{}{}", report.markdown(KERNELS), report::agreements(KERNELS, &report.kernels));
    if let Some(path) = &choice.json {
        fs::write(path, serde_json::to_string_pretty(&report)?)?;
    }
    plots::draw(&report, &choice.plots)?;
    let failures = report.failures();
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}
