//! `cargo xtask programs`: CUDA C++ programs, compiled by nvcc and run on the libraries.
//!
//! Each file `crates/libcudart/tests/programs/NAME.cu` is a program that says `NAME: passed`, or what stands in
//! `NAME.out`. Its first line may be `// nvcc:` with more arguments for the compiler. Without nvcc nothing is tried, which is said.

use crate::libraries;
use crate::root;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How to compile, and what to run.
#[derive(Debug, clap::Args)]
pub(crate) struct Compiler {
    /// The compiler.
    #[arg(long, env = "NVCC", default_value = "nvcc")]
    nvcc: PathBuf,
    /// More arguments for it, such as the folders of CUDA's headers.
    #[arg(long, env = "NVCC_APPEND", value_delimiter = ' ', allow_hyphen_values = true)]
    arguments: Vec<String>,
    /// Links the runtime into each program.
    #[arg(long = "static")]
    relinked: bool,
    /// Where the libraries are; without it they are built.
    #[arg(long)]
    libraries: Option<PathBuf>,
    /// Programs by name; without any all of them.
    names: Vec<String>,
}

/// PTX alone: SASS is not executed.
const TARGET: &str = "arch=compute_90,code=compute_90";
/// How long a program may run.
const PATIENCE: Duration = Duration::from_secs(300);

pub(crate) fn run(compiler: &Compiler) -> Result<()> {
    let version = Command::new(&compiler.nvcc).arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: {} cannot be run; no program was compiled", compiler.nvcc.display());
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
    let (mut tried, mut failed) = (0, Vec::new());
    for source in programs {
        let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !compiler.names.is_empty() && !compiler.names.contains(&name) {
            continue;
        }
        tried += 1;
        let start = Instant::now();
        match program(compiler, &source, &name, &folder, &out) {
            Ok(()) => println!("{name}: passed, {:.1} s", start.elapsed().as_secs_f64()),
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

/// Compiles and runs one program, and compares what it says.
fn program(compiler: &Compiler, source: &Path, name: &str, libraries: &Path, out: &Path) -> Result<()> {
    let program = out.join(name);
    let text = fs::read_to_string(source)?;
    let own = text.lines().next().and_then(|line| line.strip_prefix("// nvcc:")).unwrap_or_default();
    let compiled = Command::new(&compiler.nvcc)
        .args(["-std=c++17", "-gencode", TARGET])
        .args(["-cudart", if compiler.relinked { "static" } else { "shared" }, "-L"])
        .arg(libraries)
        .args(own.split_whitespace())
        .args(&compiler.arguments)
        .arg("-o")
        .args([program.as_os_str(), source.as_os_str()])
        .output()
        .context("nvcc")?;
    ensure!(compiled.status.success(), "nvcc: {}", String::from_utf8_lossy(&compiled.stderr));
    let said_to = out.join(format!("{name}.said"));
    let errors_to = out.join(format!("{name}.errors"));
    let mut running = Command::new(&program)
        .env("LD_LIBRARY_PATH", libraries)
        .stdin(Stdio::null())
        .stdout(fs::File::create(&said_to)?)
        .stderr(fs::File::create(&errors_to)?)
        .spawn()
        .context("the program")?;
    let start = Instant::now();
    let status = loop {
        if let Some(status) = running.try_wait()? {
            break status;
        }
        if start.elapsed() > PATIENCE {
            running.kill()?;
            running.wait()?;
            anyhow::bail!("it ran for more than {} s", PATIENCE.as_secs());
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let (said, errors) = (fs::read_to_string(said_to)?, fs::read_to_string(errors_to)?);
    let expected = source.with_extension("out");
    let expected =
        if expected.exists() { fs::read_to_string(expected)? } else { format!("{name}: passed\n") };
    ensure!(status.success() && said == expected, "{status}\n{said}{errors}");
    Ok(())
}
