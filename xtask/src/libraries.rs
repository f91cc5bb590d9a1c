//! `cargo xtask libraries`: a folder that programs made for CUDA can be run with.

use crate::root;
use anyhow::{Context, Result, ensure};
use cabi::link::{Named, Shared, auditor, profilers, runtimes};
use std::fs;
use std::os::unix::fs::symlink;
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

/// Names under which compilers look for a library.
const LINKS: [(&str, &str); 4] = [
    ("libcuda.so", "libcuda.so.1"),
    ("libcudart.so", "libcudart.so.13"),
    ("libcupti.so", "libcupti.so.13"),
    ("libnvidia-ml.so", "libnvidia-ml.so.1"),
];

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

/// The `warploom` command, which is built.
pub(crate) fn command(debug: bool) -> Result<PathBuf> {
    let (profile, folder) = if debug { ("dev", "debug") } else { ("release", "release") };
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--profile", profile, "--package", "warploom"])
        .current_dir(root())
        .status()
        .context("cargo")?;
    ensure!(status.success(), "`warploom` does not build");
    Ok(root().join("target").join(folder).join("warploom"))
}

/// Builds all libraries and puts them under the names that programs look for.
pub(crate) fn make(wanted: &Wanted) -> Result<()> {
    let profile = if wanted.debug { "dev" } else { "release" };
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--profile", profile])
        .args(["-p", "warploom-libcuda", "-p", "warploom-libcudart", "-p", "warploom-libnvml"])
        .args(["-p", "warploom-libcupti", "-p", "warploom-redirect"])
        .current_dir(root())
        .status()
        .context("cargo")?;
    ensure!(status.success(), "cargo: {status}");
    let built = root().join("target").join(if wanted.debug { "debug" } else { "release" });
    fs::create_dir_all(&wanted.to)?;
    let copy = |from: &str, to: &str| -> Result<()> {
        let to = wanted.to.join(to);
        // A program that has mapped the old file keeps it: writing into it would pull the code from under it.
        let _ = fs::remove_file(&to);
        fs::copy(built.join(from), to).with_context(|| from.to_owned())?;
        Ok(())
    };
    copy("libcuda.so", "libcuda.so.1")?;
    copy("libnvml.so", "libnvidia-ml.so.1")?;
    copy("libcudart.a", "libcudart_static.a")?;
    versioned(runtimes(&root().join("crates/libcudart")), &built.join("libcudart.a"), &wanted.to)?;
    versioned(profilers(&root().join("crates/libcupti")), &built.join("libcupti.a"), &wanted.to)?;
    auditor(&built.join("libredirect.a"), &wanted.to)?;
    for (name, target) in LINKS {
        let link = wanted.to.join(name);
        if link.symlink_metadata().is_ok() {
            fs::remove_file(&link)?;
        }
        symlink(target, link)?;
    }
    Ok(())
}

/// Links what has versions of its symbols.
fn versioned(libraries: impl IntoIterator<Item = Named>, archive: &Path, folder: &Path) -> Result<()> {
    for (name, symbols, aliases) in libraries {
        let symbols: Vec<&str> = symbols.iter().map(String::as_str).collect();
        let aliases: Vec<(&str, &str)> = aliases.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        Shared { name, symbols: &symbols, aliases: &aliases }.link(archive, folder)?;
    }
    Ok(())
}
