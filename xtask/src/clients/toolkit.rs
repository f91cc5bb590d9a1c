//! A folder in the shape of a CUDA toolkit: NVIDIA's compilers and headers from packages of Python, our assembler and our
//! libraries.
//!
//! ```text
//! bin/     what the packages have there, but our ptxas
//! include  nvvm  links to the packages'
//! lib64/   the packages' libraries under the names that linkers look for; ours in the place of NVIDIA's
//! ```
//!
//! nvcc takes the ptxas from the folder that it was called in, so links to its files are enough.

use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Makes the folder anew.
pub(super) fn make(to: &Path, environment: &Path, libraries: &Path, command: &Path) -> Result<()> {
    let _ = fs::remove_dir_all(to);
    for folder in ["bin", "lib64"] {
        fs::create_dir_all(to.join(folder))?;
    }
    if let Some(packages) = packages(environment) {
        for folder in ["include", "nvvm"] {
            link(&packages.join(folder), &to.join(folder))?;
        }
        for (name, path) in files(&packages.join("bin"))? {
            link(&path, &to.join("bin").join(name))?;
        }
        for (name, path) in files(&packages.join("lib"))? {
            link(&path, &to.join("lib64").join(&name))?;
            if let Some((stem, _)) = name.split_once(".so.") {
                link(&path, &to.join("lib64").join(format!("{stem}.so")))?;
            }
        }
    }
    link(command, &to.join("bin/ptxas"))?;
    for (name, path) in files(libraries)? {
        link(&path, &to.join("lib64").join(name))?;
    }
    Ok(())
}

/// Where NVIDIA's packages of CUDA 13 have their files.
fn packages(environment: &Path) -> Option<PathBuf> {
    let versions = fs::read_dir(environment.join("lib")).ok()?;
    let found = versions.flatten().map(|version| version.path().join("site-packages/nvidia/cu13"));
    found.into_iter().find(|folder| folder.is_dir())
}

/// The files in a folder; none if it is not there.
fn files(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().and_then(OsStr::to_str).map(str::to_owned);
        found.extend(name.map(|name| (name, path)));
    }
    Ok(found)
}

/// Makes a link in the place of what is there.
fn link(file: &Path, name: &Path) -> Result<()> {
    let _ = fs::remove_file(name);
    symlink(file, name).with_context(|| name.display().to_string())
}
