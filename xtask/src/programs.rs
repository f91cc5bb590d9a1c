//! `cargo xtask programs`: CUDA C++ programs, compiled by nvcc and run on the libraries.
//!
//! Each file `crates/libcudart/tests/programs/NAME.cu` is a program that says `NAME: passed`, or what stands in
//! `NAME.out`. Its first line may be `// nvcc:` with more arguments for the compiler. Without nvcc nothing is tried, which is said.
//!
//! With `--check` they run once more, under `warploom exec --check all`, which must find nothing but what a program says
//! that it does wrong: lines `// finds: KIND`, one for each report, and `// stopped: kernel NAME` for each kernel that it lets stop
//! early, so that it is not checked to its end.

use crate::libraries;
use crate::root;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The compiler.
#[derive(Debug, clap::Args)]
pub(crate) struct Nvcc {
    /// The compiler of CUDA C++ programs.
    #[arg(long, env = "NVCC", default_value = "nvcc")]
    nvcc: PathBuf,
    /// More arguments for it, such as the folders of CUDA's headers.
    #[arg(long, env = "NVCC_APPEND", value_delimiter = ' ', allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// How to compile, and what to run.
#[derive(Debug, clap::Args)]
pub(crate) struct Compiler {
    #[command(flatten)]
    nvcc: Nvcc,
    /// Links the runtime into each program.
    #[arg(long = "static")]
    relinked: bool,
    /// Where the libraries are; without it they are built.
    #[arg(long)]
    libraries: Option<PathBuf>,
    /// Runs each program under the sanitizer, too.
    #[arg(long)]
    check: bool,
    /// The command that runs it so; without it it is built.
    #[arg(long, requires = "check")]
    warploom: Option<PathBuf>,
    /// More programs, such as those of other folders.
    #[arg(long = "source")]
    sources: Vec<PathBuf>,
    /// Programs by name; without any all of them.
    names: Vec<String>,
}

/// PTX alone: SASS is not executed.
const TARGET: &str = "arch=compute_90,code=compute_90";
/// How long a program may run.
const PATIENCE: Duration = Duration::from_secs(300);

pub(crate) fn run(compiler: &Compiler) -> Result<()> {
    if !compiler.nvcc.is_there() {
        eprintln!("SKIPPED: {} cannot be run; no program was compiled", compiler.nvcc);
        return Ok(());
    }
    let out = root().join("target/programs");
    fs::create_dir_all(&out)?;
    let folder = libraries::folder(compiler.libraries.as_deref())?;
    let sources = root().join("crates/libcudart/tests/programs");
    let mut programs: Vec<PathBuf> =
        fs::read_dir(&sources)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    programs.retain(|path| path.extension().is_some_and(|extension| extension == "cu"));
    programs.sort();
    programs.extend(compiler.sources.iter().cloned());
    let warploom = match (compiler.check, &compiler.warploom) {
        (false, _) => None,
        (true, Some(given)) => Some(fs::canonicalize(given)?),
        (true, None) => Some(libraries::command(false)?),
    };
    let (mut tried, mut failed) = (0, Vec::new());
    for source in programs {
        let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !compiler.names.is_empty() && !compiler.names.contains(&name) {
            continue;
        }
        tried += 1;
        let judged = || {
            compiler.nvcc.compile(&source, &folder, compiler.relinked, &out.join(&name))?;
            let alone = run_one(&source, &name, &folder, &out, None)?;
            let checked = warploom.as_deref().map(|path| run_one(&source, &name, &folder, &out, Some(path)));
            anyhow::Ok((alone, checked.transpose()?))
        };
        match judged() {
            Ok((alone, None)) => println!("{name}: passed, {:.1} s", alone.as_secs_f64()),
            Ok((alone, Some(checked))) => {
                let (alone, checked) = (alone.as_secs_f64(), checked.as_secs_f64());
                println!(
                    "{name}: passed, {alone:.2} s; checked, {checked:.2} s: {:.1} times",
                    checked / alone
                );
            }
            Err(error) => {
                println!("{name}: FAILED: {error:#}");
                failed.push(name);
            }
        }
    }
    ensure!(tried > 0, "no program has such a name");
    ensure!(failed.is_empty(), "{} of {tried} programs failed: {}", failed.len(), failed.join(", "));
    println!("{tried} programs passed");
    Ok(())
}

impl std::fmt::Display for Nvcc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.nvcc.display().fmt(f)
    }
}

impl Nvcc {
    /// Whether it can be run.
    pub(crate) fn is_there(&self) -> bool {
        let version = Command::new(&self.nvcc).arg("--version").output();
        version.is_ok_and(|output| output.status.success())
    }

    /// Compiles one program, with the runtime linked into it if it is to be.
    pub(crate) fn compile(
        &self,
        source: &Path,
        libraries: &Path,
        relinked: bool,
        program: &Path,
    ) -> Result<()> {
        let text = fs::read_to_string(source)?;
        let own = text.lines().next().and_then(|line| line.strip_prefix("// nvcc:")).unwrap_or_default();
        let compiled = Command::new(&self.nvcc)
            .args(["-std=c++17", "-gencode", TARGET])
            .args(["-cudart", if relinked { "static" } else { "shared" }, "-L"])
            .arg(libraries)
            .args(own.split_whitespace())
            .args(&self.arguments)
            .arg("-o")
            .args([program.as_os_str(), source.as_os_str()])
            .output()
            .context("nvcc")?;
        ensure!(compiled.status.success(), "nvcc: {}", String::from_utf8_lossy(&compiled.stderr));
        Ok(())
    }
}

/// Runs one program, with `warploom` under the sanitizer, and compares what it says and what is found. How long it took.
fn run_one(
    source: &Path,
    name: &str,
    libraries: &Path,
    out: &Path,
    warploom: Option<&Path>,
) -> Result<Duration> {
    let program = out.join(name);
    let said_to = out.join(format!("{name}.said"));
    let errors_to = out.join(format!("{name}.errors"));
    let mut command = match warploom {
        None => Command::new(&program),
        Some(warploom) => {
            let mut command = Command::new(warploom);
            command.args(["exec", "--check", "all", "--"]).arg(&program).env("WARPLOOM_LIB", libraries);
            command
        }
    };
    let start = Instant::now();
    let mut running = command
        .env("LD_LIBRARY_PATH", libraries)
        .stdin(Stdio::null())
        .stdout(fs::File::create(&said_to)?)
        .stderr(fs::File::create(&errors_to)?)
        .spawn()
        .context("the program")?;
    let status = loop {
        if let Some(status) = running.try_wait()? {
            break status;
        }
        if start.elapsed() > PATIENCE {
            running.kill()?;
            running.wait()?;
            anyhow::bail!("it ran for more than {} s", PATIENCE.as_secs());
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let took = start.elapsed();
    let (said, errors) = (fs::read_to_string(said_to)?, fs::read_to_string(errors_to)?);
    let expected = source.with_extension("out");
    let expected =
        if expected.exists() { fs::read_to_string(expected)? } else { format!("{name}: passed\n") };
    let text = fs::read_to_string(source)?;
    let lines = |prefix| match warploom {
        Some(_) => text.lines().filter_map(|line| line.strip_prefix(prefix)).collect(),
        None => Vec::new(),
    };
    let (finds, stopped): (Vec<&str>, Vec<&str>) = (lines("// finds: "), lines("// stopped: "));
    let succeeds = match finds.is_empty() && stopped.is_empty() {
        true => status.success(),
        false => status.code() == Some(1),
    };
    ensure!(succeeds && said == expected, "{status}\n{said}{errors}");
    if !finds.is_empty() {
        let mut found: Vec<&str> = errors.lines().filter_map(|line| Some(line.split_once(": ")?.0)).collect();
        found.retain(|kind| KINDS.contains(kind));
        ensure!(found == finds, "other reports than {finds:?}\n{errors}");
    }
    let told: Vec<&str> = errors
        .lines()
        .filter_map(|line| Some(line.strip_prefix("not checked to the end: ")?.split_once(" was stopped")?.0))
        .collect();
    ensure!(warploom.is_none() || told == stopped, "stopped are others than {stopped:?}\n{errors}");
    Ok(took)
}

/// What reports begin with.
const KINDS: [&str; 9] = [
    "race",
    "unwritten",
    "out-of-bounds",
    "use-after-free",
    "misaligned",
    "leak",
    "barrier-invalid",
    "barrier-exited",
    "barrier-divergent",
];
