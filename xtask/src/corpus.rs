//! PTX as real compilers write it, made on the spot into `target/corpus`: clang and nvcc from our sources (nvcc's
//! include the CUB headers), Triton from our kernels. Every file must be read, checked, keep the ABI, be printed and read again
//! without a difference. What nvcc made of `tests/nvcc` also runs on the machine, with known answers, and what it made of
//! `tests/sanitizer/nvcc` is judged by `cargo test -p warploom-sanitizer`.
//!
//! Compiler outputs other than clang's are never committed.

use crate::root;
use anyhow::{Context, Result, bail};
use clap::Args;
use ptx::diagnostic::Severity;
use ptx::source::Source;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use walkdir::WalkDir;

/// Where the compilers are.
#[derive(Args)]
pub(crate) struct Tools {
    /// clang with the NVPTX back end, 22 or later.
    #[arg(long, env = "CLANG", default_value = "clang-22")]
    clang: PathBuf,
    /// CUDA's nvcc, 13.0 or later; its headers lie beside it.
    #[arg(long, env = "NVCC")]
    nvcc: Option<PathBuf>,
    /// A Python that has Triton.
    #[arg(long, env = "TRITON_PYTHON")]
    triton: Option<PathBuf>,
}

/// What one compiler gave.
struct Batch {
    compiler: &'static str,
    files: Vec<PathBuf>,
}

pub(crate) fn run(tools: &Tools) -> Result<()> {
    let out = root().join("target/corpus");
    let _ = fs::remove_dir_all(&out);
    fs::create_dir_all(&out)?;
    let mut batches = Vec::new();
    let mut missing = Vec::new();
    if works(&tools.clang, "--version") {
        batches.push(clang(&tools.clang, &out.join("clang"))?);
    } else {
        missing.push(format!("clang ({})", tools.clang.display()));
    }
    match tools.nvcc.as_deref().filter(|nvcc| works(nvcc, "--version")) {
        Some(tool) => batches.push(nvcc(tool, &out.join("nvcc"))?),
        None => missing.push("nvcc (--nvcc PATH)".to_owned()),
    }
    match tools.triton.as_deref().filter(|python| works(python, "--version")) {
        Some(python) => batches.push(triton(python, &out.join("triton"))?),
        None => missing.push("Triton (--triton PYTHON)".to_owned()),
    }
    let mut wrong = Vec::new();
    for batch in &batches {
        judge(batch, &mut wrong)?;
    }
    for tool in &missing {
        println!("corpus: SKIPPED, missing: {tool}");
    }
    println!("corpus: {} of 3 compilers, {} skipped", batches.len(), missing.len());
    if !wrong.is_empty() {
        bail!("{} files are not as they should be:\n{}", wrong.len(), wrong.join("\n"));
    }
    if batches.is_empty() {
        bail!("no compiler was found");
    }
    if batches.iter().any(|batch| batch.compiler == "nvcc") {
        run_on_the_machine(&out.join("nvcc"))?;
    }
    Ok(())
}

fn works(tool: &Path, argument: &str) -> bool {
    Command::new(tool).arg(argument).output().is_ok_and(|output| output.status.success())
}

/// Runs a compiler; what it says is part of the error.
fn compile(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

fn sources(folder: &str, extension: &str) -> Vec<PathBuf> {
    let entries = WalkDir::new(root().join(folder)).sort_by_file_name().into_iter().filter_map(Result::ok);
    let paths = entries.map(walkdir::DirEntry::into_path);
    paths.filter(|path| path.extension().is_some_and(|e| e == extension)).collect()
}

fn stem(path: &Path) -> String {
    // Examples are called after their folder: all are `kernels.cu`.
    let stem =
        |path: &Path| path.file_stem().map_or(String::new(), |stem| stem.to_string_lossy().into_owned());
    match stem(path).as_str() {
        "kernels" => path.parent().map_or(String::new(), stem),
        other => other.to_owned(),
    }
}

/// Optimised and not, with and without debug information, for old and new targets.
fn clang(tool: &Path, out: &Path) -> Result<Batch> {
    fs::create_dir_all(out)?;
    let mut files = Vec::new();
    let targets = [("sm_70", "+ptx74"), ("sm_80", "+ptx80"), ("sm_90a", "+ptx83"), ("sm_100a", "+ptx86")];
    let options: [&[&str]; 4] =
        [&["-O0", "-g"], &["-O1"], &["-O2", "-gline-directives-only"], &["-O3", "-ffast-math"]];
    let tests = root().join("tests/clang/device.h");
    let examples = root().join("examples/include/device.h");
    let headed = [("tests/clang", tests), ("examples", examples)];
    for (folder, header) in headed {
        for source in sources(folder, "cu") {
            for (i, options) in options.iter().enumerate() {
                for (arch, version) in targets {
                    let file = out.join(format!("{}-{arch}-{i}.ptx", stem(&source)));
                    let mut command = Command::new(tool);
                    command.args([
                        "-x",
                        "cuda",
                        "--cuda-device-only",
                        "-nocudainc",
                        "-nocudalib",
                        "-fms-extensions",
                        "-S",
                    ]);
                    command.arg(format!("--cuda-gpu-arch={arch}")).arg(format!("--cuda-feature={version}"));
                    command.args(*options).arg("-include").arg(&header).arg(&source).arg("-o").arg(&file);
                    compile(&mut command)?;
                    files.push(file);
                }
            }
        }
    }
    Ok(Batch { compiler: "clang", files })
}

fn nvcc(tool: &Path, out: &Path) -> Result<Batch> {
    fs::create_dir_all(out)?;
    let include = tool.parent().and_then(Path::parent).map(|base| base.join("include")).unwrap_or_default();
    let mut files = Vec::new();
    for source in sources("tests/nvcc", "cu").into_iter().chain(sources("tests/sanitizer/nvcc", "cu")) {
        // The plain name is what runs on the machine.
        let of_blackwell = source.parent().is_some_and(|folder| folder.ends_with("blackwell"));
        let archs: &[_] = match of_blackwell {
            true => &[("compute_100a", "")],
            false => {
                &[("compute_90", ""), ("compute_80", "-80"), ("compute_75", "-75"), ("compute_100", "-100")]
            }
        };
        for (arch, suffix) in archs {
            let file = out.join(format!("{}{suffix}.ptx", stem(&source)));
            let mut command = Command::new(tool);
            command.args(["-ptx", "-std=c++17", "--extended-lambda", "-lineinfo", "-arch", arch]);
            command
                .arg("-I")
                .arg(include.join("cccl"))
                .arg("-I")
                .arg(&include)
                .arg(&source)
                .arg("-o")
                .arg(&file);
            compile(&mut command)?;
            files.push(file);
        }
    }
    Ok(Batch { compiler: "nvcc", files })
}

fn triton(python: &Path, out: &Path) -> Result<Batch> {
    fs::create_dir_all(out)?;
    compile(Command::new(python).arg(root().join("tests/triton/kernels.py")).arg(out))?;
    let entries = WalkDir::new(out).sort_by_file_name().into_iter().filter_map(Result::ok);
    let files: Vec<_> = entries.map(walkdir::DirEntry::into_path).filter(|path| path.is_file()).collect();
    match files.is_empty() {
        true => bail!("tests/triton/kernels.py wrote nothing"),
        false => Ok(Batch { compiler: "triton", files }),
    }
}

/// Reads, checks, prints and reads again every file of a batch.
fn judge(batch: &Batch, wrong: &mut Vec<String>) -> Result<()> {
    let (mut bytes, mut reading, mut checking) = (0, Duration::ZERO, Duration::ZERO);
    for file in &batch.files {
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        bytes += text.len();
        let source = Source::new(file.display().to_string(), text);
        let started = Instant::now();
        let parsed = ptx::syntax::parse(&source);
        reading += started.elapsed();
        let started = Instant::now();
        let compiled = ptx::check(&parsed.module);
        checking += started.elapsed();
        let of_abi = compiled.module.as_ref().map(|module| abi::check::check(module)).unwrap_or_default();
        let found = parsed.diagnostics.iter().chain(&compiled.diagnostics).chain(&of_abi);
        if let Some(first) = found.clone().find(|d| d.severity == Severity::Error) {
            let (line, column) = source.line_column(first.span.start);
            let count = found.filter(|d| d.severity == Severity::Error).count();
            wrong.push(format!(
                "{}:{line}:{column}: {} {} ({count} in all)",
                source.name(),
                first.code,
                first.message
            ));
            continue;
        }
        wrong.extend(round_trip(&source, &parsed.module).err());
    }
    let rate = |time: Duration| bytes as f64 / 1e6 / time.as_secs_f64().max(1e-9);
    println!(
        "corpus: {}: {} files, {:.1} MB; parsed at {:.0} MB/s, resolved and checked at {:.0} MB/s",
        batch.compiler,
        batch.files.len(),
        bytes as f64 / 1e6,
        rate(reading),
        rate(checking),
    );
    Ok(())
}

fn round_trip(source: &Arc<Source>, module: &ptx::ast::Module) -> Result<(), String> {
    let printed = ptx::print::print(module);
    let again = ptx::syntax::parse(&Source::new("printed", printed.as_str()));
    match again.diagnostics.is_empty()
        && again.module == *module
        && ptx::print::print(&again.module) == printed
    {
        true => Ok(()),
        false => Err(format!("{}: changes when printed", source.name())),
    }
}

/// Runs what nvcc made of `tests/nvcc` with the runner of the file tests.
fn run_on_the_machine(ptx: &Path) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut tests = Command::new(cargo);
    tests.current_dir(root()).args([
        "test",
        "-p",
        "warploom-filetest",
        "--test",
        "files",
        "--",
        "tests/nvcc",
    ]);
    let status = tests.env("WARPLOOM_NVCC_PTX", fs::canonicalize(ptx)?).status()?;
    if !status.success() {
        bail!("programs that nvcc compiled fail on the machine");
    }
    Ok(())
}
