//! A tarball that is unpacked anywhere, and a package for Debian and what is made of it.

use super::stage::Stage;
use super::{GLIBC, must, version};
use crate::root;
use anyhow::Result;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `warploom-VERSION-x86_64-linux.tar.gz`: the tree in a folder.
pub(super) fn tarball(stage: &Stage, to: &Path) -> Result<PathBuf> {
    let name = format!("warploom-{}-{}-linux", version(), std::env::consts::ARCH);
    let package = root().join(to).join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.arg("--create").arg("--gzip").arg("--file").arg(&package).arg("--directory").arg(&stage.folder);
    // The same content gives the same file but for times.
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.arg(format!("--transform=s,^[.],{name},")).arg(".");
    must(&mut tar)?;
    Ok(package)
}

/// `warploom_VERSION_amd64.deb`: the tree below `/usr`.
pub(super) fn debian(stage: &Stage, to: &Path) -> Result<PathBuf> {
    let architecture = if std::env::consts::ARCH == "aarch64" { "arm64" } else { "amd64" };
    let tree = root().join(to).join("debian");
    if tree.exists() {
        fs::remove_dir_all(&tree)?;
    }
    fs::create_dir_all(tree.join("DEBIAN"))?;
    must(Command::new("cp").arg("--recursive").arg(&stage.folder).arg(tree.join("usr")))?;
    let control = format!(
        "Package: warploom\nVersion: {}\nArchitecture: {architecture}\nSection: devel\nPriority: optional\n\
         Maintainer: The Warploom project <warploom@users.noreply.github.com>\n\
         Depends: libc6 (>= {}.{}), libgcc-s1\n\
         Description: open PTX toolchain and virtual GPU\n \
         Checks PTX, runs CUDA programs without a GPU, finds races in kernels, reads and writes cubins.\n",
        version(),
        GLIBC.0,
        GLIBC.1
    );
    fs::write(tree.join("DEBIAN/control"), control)?;
    let package = root().join(to).join(format!("warploom_{}_{architecture}.deb", version()));
    let mut build = Command::new("dpkg-deb");
    build.args(["--root-owner-group", "--build"]).arg(&tree).arg(&package);
    must(&mut build)?;
    fs::remove_dir_all(tree)?;
    Ok(package)
}
