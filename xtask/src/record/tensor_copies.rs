//! `cargo xtask record tensor-copies`: tensor maps, tensor copies and bulk reductions.
//!
//! A kernel that faults ends what a process can do with the GPU. So cases are dealt to several processes, which read cases
//! and write a result for each; one that met a fault says so and ends, and another goes on behind the case at fault.

use super::{Files, launch, open};
use anyhow::{Context, Result, anyhow, ensure};
use clap::Args;
use machine::memory::Buffers;
use real_gpu::{Error, Gpu, Launch, Module, TensorMap, TensorMode};
use replay::tensor_copies::{Bench, Engine, Failure, Map, Mode, module};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

/// Processes at a time.
const PROCESSES: usize = 12;

#[derive(Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    files: Files,
    /// Reads cases of this recording from standard input and writes their results.
    #[arg(long, hide = true)]
    answer: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    if let Some(recording) = &arguments.answer {
        return answer(&replay::read(recording)?);
    }
    drop(open()?);
    arguments.files.again("crates/machine/tests/hardware/tensor_copies.gz", |text| {
        let folder = std::env::temp_dir().join(format!("warploom-record-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let recording = folder.join("cases.txt");
        std::fs::write(&recording, text)?;
        let made = record(text, &recording);
        let _ = std::fs::remove_dir_all(folder);
        made
    })
}

/// The recording with new results, in the order of its lines.
fn record(text: &str, recording: &Path) -> Result<String> {
    let all: Vec<&str> = text.lines().filter(|line| line.contains(" = ")).collect();
    let parts: Vec<Result<Vec<String>>> = thread::scope(|scope| {
        let all = &all;
        let own = |part: usize| all.iter().skip(part).step_by(PROCESSES).copied().collect::<Vec<_>>();
        let threads: Vec<_> =
            (0..PROCESSES).map(|part| scope.spawn(move || answers(&own(part), recording))).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|_| Err(anyhow!("a thread ended early")))
        };
        threads.into_iter().map(join).collect()
    });
    let parts: Vec<Vec<String>> = parts.into_iter().collect::<Result<_>>()?;
    let mut parts: Vec<_> = parts.into_iter().map(Vec::into_iter).collect();
    let mut results = (0..all.len()).map(|i| parts[i % PROCESSES].next().unwrap_or_default());
    let line = |line: &str| match line.split_once(" = ") {
        Some((case, _)) => format!("{case} = {}\n", results.next().unwrap_or_default()),
        None => format!("{line}\n"),
    };
    Ok(text.lines().map(line).collect())
}

/// The results of cases, lines of a recording, from as many processes as it takes.
fn answers(cases: &[&str], recording: &Path) -> Result<Vec<String>> {
    let mut results: Vec<String> = Vec::new();
    while results.len() < cases.len() {
        let before = results.len();
        let mut process = Command::new(std::env::current_exe()?)
            .args(["record", "tensor-copies", "--answer"])
            .arg(recording)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut input = process.stdin.take().context("an input")?;
        let rest = cases[before..].join("\n");
        // The process may end before it has read everything.
        let feeder = thread::spawn(move || input.write_all(rest.as_bytes()));
        for line in BufReader::new(process.stdout.take().context("an output")?).lines() {
            results.push(line?);
        }
        process.wait()?;
        drop(feeder.join());
        ensure!(results.len() > before, "no result for {}", cases[before]);
    }
    Ok(results)
}

/// Answers cases until there are none, or one has faulted.
fn answer(recording: &str) -> Result<()> {
    let gpu = Gpu::open()?;
    let module = gpu.load(module(recording).as_bytes())?;
    let bench = Bench::new(Silicon { gpu: &gpu, module }, recording);
    let bench = bench.map_err(|why| anyhow!("{why:?}"))?;
    for line in std::io::stdin().lines() {
        let line = line?;
        let (case, recorded) = line.split_once(" = ").context("a case")?;
        let result = bench.result(case, recorded).unwrap_or_else(|why| format!("failed: {why}"));
        println!("{result}");
        if result == "illegal" || result.starts_with("failed") {
            break;
        }
    }
    Ok(())
}

/// A GPU with the kernels.
struct Silicon<'g> {
    gpu: &'g Gpu,
    module: Module<'g>,
}

fn failure(error: impl ToString) -> Failure {
    Failure::Other(error.to_string())
}

impl Engine for Silicon<'_> {
    fn encode(&self, map: &Map, base: u64) -> Option<[u8; 128]> {
        let [interleave, swizzle, promotion, fill] = map.enums;
        let mode = match &map.mode {
            Mode::Tiled(tile) => TensorMode::Tiled(tile),
            &Mode::Im2col { ref lower, ref upper, channels, pixels } => {
                TensorMode::Im2col { lower, upper, channels, pixels }
            }
        };
        let map = TensorMap {
            ty: map.ty,
            address: base.wrapping_add(map.address),
            sizes: &map.sizes,
            strides: &map.strides,
            element_strides: &map.element_strides,
            interleave,
            swizzle,
            promotion,
            fill,
            mode,
        };
        self.gpu.tensor_map(&map).ok()
    }

    fn allocate(&self, bytes: usize) -> Result<u64, Failure> {
        self.gpu.allocate(bytes as u64).map_err(failure)
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Failure> {
        self.gpu.write(address, bytes).map_err(failure)
    }

    fn read(&self, address: u64, bytes: usize) -> Result<Vec<u8>, Failure> {
        let mut read = vec![0; bytes];
        self.gpu.read(address, &mut read).map(|()| read).map_err(failure)
    }

    fn run(&self, kernel: &str, shared: u32, parameters: &[&[u8]]) -> Result<(), Failure> {
        let mut params = Vec::new();
        for (i, parameter) in parameters.iter().enumerate() {
            let offset = self.module.parameter_offset(kernel, i).map_err(failure)?;
            params.resize(offset, 0);
            params.extend_from_slice(parameter);
        }
        let launch = Launch { dynamic_shared: shared, ..launch(kernel, [1, 32], &params) };
        self.module.launch(&launch).map_err(|error| match error {
            Error::Call { name, .. } if name == "CUDA_ERROR_ILLEGAL_INSTRUCTION" => Failure::Illegal,
            error => failure(error),
        })
    }
}
