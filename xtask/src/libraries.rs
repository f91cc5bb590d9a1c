//! `cargo xtask libraries`: a folder that programs made for CUDA can be run with.

use crate::root;
use anyhow::{Context, Result, ensure};
use library_build::libraries;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What to make, and where.
#[derive(Debug, clap::Args)]
pub(crate) struct Wanted {
    /// Without optimisation: to try something out.
    #[arg(long)]
    pub(crate) debug: bool,
    /// The folder.
    #[arg(long, default_value = "target/cuda")]
    pub(crate) to: PathBuf,
}

pub(crate) fn run(wanted: &Wanted) -> Result<()> {
    make(wanted)?;
    println!("LD_LIBRARY_PATH={}", fs::canonicalize(&wanted.to)?.display());
    Ok(())
}

/// A folder with the libraries: the one given, or one that they are built into; its full path.
pub(crate) fn folder(given: Option<&Path>) -> Result<PathBuf> {
    let folder = match given {
        Some(folder) => folder.to_owned(),
        None => {
            let folder = root().join("target/cuda");
            make(&Wanted { debug: false, to: folder.clone() })?;
            folder
        }
    };
    fs::canonicalize(&folder).with_context(|| folder.display().to_string())
}

/// The `warploom` command, which is built. It brings no libraries: those of `target/cuda` are there.
pub(crate) fn command(debug: bool) -> Result<PathBuf> {
    let (profile, folder) = if debug { ("dev", "debug") } else { ("release", "release") };
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--profile", profile, "--package", "warploom", "--no-default-features"])
        .arg("--target-dir")
        .arg(root().join("target"))
        .current_dir(root())
        .status()
        .context("cargo")?;
    ensure!(status.success(), "`warploom` does not build");
    Ok(root().join("target").join(folder).join("warploom"))
}

/// Builds all libraries and puts them under the names that programs look for; beside them the static runtime, for
/// programs that are linked again.
pub(crate) fn make(wanted: &Wanted) -> Result<()> {
    let profile = if wanted.debug { "dev" } else { "release" };
    let built = libraries::build(&root(), profile, &root().join("target"))?;
    libraries::assemble(&root(), &built, &wanted.to)?;
    fs::copy(built.join("libcudart.a"), wanted.to.join("libcudart_static.a")).context("libcudart.a")?;
    Ok(())
}
