//! `cargo xtask python`: the tests of the Python package, with the module as this workspace builds it.

use crate::root;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// What to test with.
#[derive(Debug, clap::Args)]
pub(crate) struct Tools {
    /// A Python that has numpy and pytest.
    #[arg(long, env = "PYTHON", default_value = "python3")]
    python: PathBuf,
    /// Builds the module optimised.
    #[arg(long)]
    release: bool,
    /// More arguments for pytest.
    #[arg(last = true)]
    pytest: Vec<String>,
}

/// Where Python looks for the module, beside the package's own files.
const MODULE: &str = "python/warploom/_warploom.abi3.so";

pub(crate) fn run(tools: &Tools) -> Result<()> {
    let profile = if tools.release { "release" } else { "dev" };
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--profile", profile, "--package", "warploom-python", "--target-dir"])
        .arg(&target)
        .current_dir(root())
        .status()
        .context("cargo")?;
    ensure!(status.success(), "the module does not build");
    let built = target.join(if tools.release { "release" } else { "debug" }).join("lib_warploom.so");
    let module = root().join(MODULE);
    // A process that has loaded the old one keeps it.
    let _ = fs::remove_file(&module);
    fs::copy(&built, &module).with_context(|| built.display().to_string())?;
    let status = Command::new(&tools.python)
        .args([
            "-m",
            "pytest",
            "--doctest-modules",
            "warploom",
            "tests",
            "../docs/python.md",
            "--doctest-glob=*.md",
        ])
        .args(&tools.pytest)
        .current_dir(root().join("python"))
        .env("PYTHONPATH", root().join("python"))
        .status()
        .with_context(|| tools.python.display().to_string())?;
    ensure!(status.success(), "pytest: {status}");
    Ok(())
}
