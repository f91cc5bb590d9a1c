//! The wheel: the Python package, the command as a script, and LLVM and the pages as data.

use super::stage::Stage;
use super::{GLIBC, must, version};
use crate::root;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Has maturin make it.
pub(super) fn make(stage: &Stage, to: &Path) -> Result<PathBuf> {
    let base = root().join(to);
    // The schemes of a wheel: scripts go beside Python, data below the prefix that Python is in.
    let data = root().join("target/dist/data");
    if data.exists() {
        fs::remove_dir_all(&data)?;
    }
    fs::create_dir_all(data.join("scripts"))?;
    fs::create_dir_all(data.join("data"))?;
    fs::copy(stage.folder.join("bin/warploom"), data.join("scripts/warploom"))?;
    for part in ["lib", "share"] {
        must(Command::new("cp").arg("--recursive").arg(stage.folder.join(part)).arg(data.join("data")))?;
    }
    let wheels = base.join("wheels");
    let mut maturin = Command::new("maturin");
    maturin.args(["build", "--release", "--compatibility", &format!("manylinux_{}_{}", GLIBC.0, GLIBC.1)]);
    maturin.args(["--compression-level", "9"]);
    maturin.arg("--target-dir").arg(root().join("target")).arg("--out").arg(&wheels);
    must(maturin.current_dir(root().join("python"))).context("`pip install maturin` brings it")?;
    let wheel = fs::read_dir(&wheels)?.filter_map(|entry| Some(entry.ok()?.path())).find(|path| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(&format!("warploom-{}-", version())))
    });
    wheel.context("maturin has made no wheel")
}
