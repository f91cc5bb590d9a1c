//! `cargo xtask dist` and `wheel`: what people install who have no compiler.
//!
//! ```text
//! LLVM's archives ──llvm, pack──▶ lib/warploom/libwarploom-llvm.so.xz ─┐
//! cargo ──▶ bin/warploom ──man, completions──▶ share/ ─────────────────┴─▶ stage ──▶ tarball, .deb
//!                                                                            └─data─▶ maturin ──▶ wheel
//! ```
//!
//! All three hold the same tree. The command finds LLVM from its own place, and brings the libraries that stand for NVIDIA's; all of these
//! are packed as xz does it, and unpacked to the user's cache.

mod archive;
mod llvm;
mod stage;
mod wheel;

use anyhow::{Context, Result, ensure};
use stage::Stage;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where packages go, and what they are made of.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The folder for packages.
    #[arg(long, default_value = "target/dist")]
    to: PathBuf,
    /// The `llvm-config` of the LLVM whose static archives become the library that compiles kernels.
    #[arg(long, env = "LLVM_CONFIG", default_value = "llvm-config-19")]
    llvm_config: PathBuf,
    /// Takes this library with LLVM, which was made before.
    #[arg(long, conflicts_with = "llvm_config")]
    llvm: Option<PathBuf>,
}

/// The oldest C library that programs of ours run with: Debian 12, Ubuntu 22.04, and what is as new.
const GLIBC: (u32, u32) = (2, 34);

/// A tarball and a Debian package.
pub(crate) fn packages(options: &Options) -> Result<()> {
    let stage = Stage::make(options)?;
    for package in [archive::tarball(&stage, &options.to)?, archive::debian(&stage, &options.to)?] {
        told(&package)?;
    }
    Ok(())
}

/// A wheel.
pub(crate) fn wheel(options: &Options) -> Result<()> {
    let stage = Stage::make(options)?;
    told(&wheel::make(&stage, &options.to)?)
}

/// Says where a package is, and how large.
fn told(package: &Path) -> Result<()> {
    let bytes = std::fs::metadata(package)?.len();
    println!("{} ({:.1} MB)", package.display(), bytes as f64 / 1e6);
    Ok(())
}

/// The profile of Cargo.toml that packages are made with.
const PROFILE: &str = "packaged";

/// Has a cargo leave out functions that are the same as others. LLVM's linker, which Rust brings and uses on x86-64, can.
fn smaller(cargo: &mut Command) -> &mut Command {
    match std::env::consts::ARCH {
        "x86_64" => cargo.env("RUSTFLAGS", "-Clink-arg=-Wl,--icf=all"),
        _ => cargo,
    }
}

/// Runs a program to its end.
fn must(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("cannot run {name}"))?;
    ensure!(status.success(), "{name}: {status}");
    Ok(())
}

/// The project's version.
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// That a program needs no newer C library than packages promise. The versions of symbols stand in it as text.
fn runs_with_old_libraries(file: &Path) -> Result<()> {
    let bytes = std::fs::read(file).with_context(|| file.display().to_string())?;
    let prefix = format!("GLIBC_{}.", GLIBC.0);
    let numbers = bytes.windows(prefix.len()).enumerate().filter(|(_, text)| *text == prefix.as_bytes());
    let newest = numbers.filter_map(|(at, _)| {
        let rest = &bytes[at + prefix.len()..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        std::str::from_utf8(&rest[..digits]).ok()?.parse::<u32>().ok()
    });
    let newest = newest.max().unwrap_or(0);
    ensure!(newest <= GLIBC.1, "{} needs glibc {}.{newest}", file.display(), GLIBC.0);
    Ok(())
}
