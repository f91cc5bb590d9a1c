//! `cargo xtask calls`: what calls of the driver and copies take, measured by a C program.
//!
//! The program is `crates/libcuda/benches/calls.c`. It is compiled against the libraries in the release profile.

use crate::libraries;
use crate::root;
use anyhow::{Context, Result, ensure};
use std::path::PathBuf;
use std::process::Command;

/// What to measure, and with which libraries.
#[derive(Debug, clap::Args)]
pub(crate) struct Choice {
    /// Where the libraries are; without it they are built.
    #[arg(long)]
    libraries: Option<PathBuf>,
    /// Leaves the copies out, which take 6 GiB of memory.
    #[arg(long)]
    no_copies: bool,
}

pub(crate) fn run(choice: &Choice) -> Result<()> {
    let folder = libraries::folder(choice.libraries.as_deref())?;
    let program = root().join("target/calls");
    let compiled = Command::new("cc")
        .args(["-std=c11", "-Wall", "-O2", "-o"])
        .args([&program, &root().join("crates/libcuda/benches/calls.c")])
        .arg("-L")
        .arg(&folder)
        .arg("-lcuda")
        .status()
        .context("cc")?;
    ensure!(compiled.success(), "cc: {compiled}");
    let status = Command::new(&program)
        .args(choice.no_copies.then_some("--no-copies"))
        .env("LD_LIBRARY_PATH", &folder)
        .status()
        .context("the program")?;
    ensure!(status.success(), "{status}");
    Ok(())
}
