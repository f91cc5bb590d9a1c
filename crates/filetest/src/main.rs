//! Runs file tests by name, on the machine or on a real GPU, and records what the GPU gives.
//!
//! `cargo test -p warploom-filetest` runs all of them on the machine; this program is for choosing, and for hosts with a
//! GPU, where it needs nothing but the files.

use clap::{Parser, ValueEnum};
use filetest::schedule::Choice;
use filetest::{
    Level, Options, Target, record, run_file, run_file_as_cubin_on_gpu, run_file_on_gpu, run_file_on_sass,
};
use real_gpu::Gpu;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use walkdir::WalkDir;

/// Runs file tests.
#[derive(Parser)]
struct Arguments {
    /// What runs the kernels.
    #[arg(long, value_enum, default_value_t)]
    engine: Engine,
    /// Writes the GPU's results into the files as expected values.
    #[arg(long)]
    record: bool,
    /// What our ptxas does for speed, for the engines that run its code: `-O0`, or what it does otherwise.
    #[arg(short = 'O', default_value_t = 3)]
    optimise: u8,
    /// The most registers that our ptxas gives kernels that say nothing of it.
    #[arg(long)]
    maxrregcount: Option<u32>,
    /// The device that our ptxas makes code for, which the machine for SASS executes.
    #[arg(long, default_value_t)]
    arch: Target,
    /// The machine for SASS honours control codes, and a dependence that they break is an error.
    #[arg(long)]
    timed: bool,
    /// Files, and folders of files.
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Engine {
    /// The virtual GPU.
    #[default]
    Machine,
    /// This machine's NVIDIA GPU.
    Cuda,
    /// The same by what our ptxas makes of the kernels, instead of NVIDIA's.
    CudaSass,
    /// The virtual GPU's machine for SASS, on what our ptxas makes of the kernels.
    Sass,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(failed) => {
            eprintln!("{failed} files failed");
            ExitCode::FAILURE
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// Files with directives; a test in CUDA C++ has its program beside it.
fn files(given: &[PathBuf]) -> Vec<(PathBuf, PathBuf)> {
    let entries = given.iter().flat_map(|path| WalkDir::new(path).sort_by_file_name());
    let paths: Vec<_> = entries.filter_map(Result::ok).map(walkdir::DirEntry::into_path).collect();
    let with = |extension: &'static str| {
        paths.iter().filter(move |path| path.extension().is_some_and(|e| e == extension))
    };
    let compiled = with("cu").map(|file| (file.clone(), file.with_extension("ptx")));
    let own = with("ptx").filter(|file| !file.with_extension("cu").exists()).map(|f| (f.clone(), f.clone()));
    compiled.chain(own).collect()
}

fn run(arguments: &Arguments) -> Result<usize, String> {
    let level = if arguments.optimise == 0 { Level::Serial } else { Level::Overlapped };
    let options = Options {
        level,
        max_registers: arguments.maxrregcount,
        target: arguments.arch,
        ..Options::default()
    };
    let files = files(&arguments.files);
    if files.is_empty() {
        return Err("no such files".into());
    }
    let mut failed = 0;
    match arguments.engine {
        Engine::Machine | Engine::Sass | Engine::CudaSass if arguments.record => {
            return Err("values are recorded from a GPU: --engine cuda".into());
        }
        Engine::Machine => {
            let schedules = Choice::from_environment()?;
            for (file, ptx) in &files {
                failed += usize::from(!told(file, run_file(file, ptx, &schedules).map(|()| "ok".into())));
            }
        }
        Engine::Sass => {
            for (file, ptx) in &files {
                let run = run_file_on_sass(file, ptx, options, arguments.timed);
                let how = run.map(|count| format!("{} passed, {} skipped", count.passed, count.skipped));
                failed += usize::from(!told(file, how));
            }
        }
        Engine::Cuda | Engine::CudaSass => {
            let sass = arguments.engine == Engine::CudaSass;
            let gpu = Gpu::open().map_err(|error| error.to_string())?;
            for (file, ptx) in &files {
                let passed = match (files.len(), arguments.record) {
                    (1, true) => told(file, record_file(file, &gpu)),
                    (1, false) => {
                        let run = match sass {
                            true => run_file_as_cubin_on_gpu(file, ptx, options, &gpu),
                            false => run_file_on_gpu(file, ptx, &gpu),
                        };
                        told(
                            file,
                            run.map(|count| format!("{} passed, {} skipped", count.passed, count.skipped)),
                        )
                    }
                    (_, record) => alone(file, arguments, record)?,
                };
                failed += usize::from(!passed);
            }
        }
    }
    Ok(failed)
}

/// Runs a file on the GPU in a process of its own, since a fault of a kernel leaves the driver useless to its process;
/// whether it passed.
fn alone(file: &Path, arguments: &Arguments, record: bool) -> Result<bool, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    let engine = if arguments.engine == Engine::CudaSass { "cuda-sass" } else { "cuda" };
    command
        .args(["--engine", engine, &format!("-O{}", arguments.optimise)])
        .args(arguments.maxrregcount.map(|most| format!("--maxrregcount={most}")))
        .args(record.then_some("--record"))
        .arg(file);
    // It says itself how many files failed, where there is one.
    let output =
        command.stdin(Stdio::null()).stderr(Stdio::null()).output().map_err(|error| error.to_string())?;
    print!("{}", String::from_utf8_lossy(&output.stdout));
    Ok(output.status.success())
}

fn told(file: &Path, done: Result<String, String>) -> bool {
    match done {
        Ok(how) => {
            println!("{}: {how}", file.display());
            true
        }
        Err(why) => {
            println!("{}: FAILED\n{why}", file.display());
            false
        }
    }
}

fn record_file(file: &Path, gpu: &Gpu) -> Result<String, String> {
    let text = record::record(file, gpu)?;
    std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok("recorded".into())
}
