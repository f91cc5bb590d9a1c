//! The wheel: the Python package, the command as a script, and LLVM and the pages as data.

use super::stage::Stage;
use super::{GLIBC, PROFILE, must, smaller, version};
use crate::root;
use anyhow::{Context, Result};
use indicatif::ProgressBar;
use rayon::prelude::*;
use std::fs::{self, File};
use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

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
    maturin.args(["build", "--profile", PROFILE]);
    maturin.args(["--compatibility", &format!("manylinux_{}_{}", GLIBC.0, GLIBC.1)]);
    // It is packed anew below.
    maturin.args(["--compression-level", "1"]);
    maturin.arg("--target-dir").arg(root().join("target")).arg("--out").arg(&wheels);
    must(smaller(&mut maturin).current_dir(root().join("python")))
        .context("`pip install maturin` brings it")?;
    let wheel = fs::read_dir(&wheels)?.filter_map(|entry| Some(entry.ok()?.path())).find(|path| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(&format!("warploom-{}-", version())))
    });
    let wheel = wheel.context("maturin has made no wheel")?;
    repack(&wheel)?;
    Ok(wheel)
}

/// The level that `zip` has for five iterations of Zopfli.
const LEVEL: i64 = 14;

/// Packs the files of a wheel by Zopfli: 5 % less than deflate's usual search finds, for whoever reads deflate.
fn repack(wheel: &Path) -> Result<()> {
    let packed = fs::read(wheel)?;
    let files = ZipArchive::new(Cursor::new(&packed[..]))?.len();
    let bar = ProgressBar::new(files as u64).with_message("packing the wheel");
    let one = |number: usize| -> Result<Vec<u8>> {
        let mut archive = ZipArchive::new(Cursor::new(&packed[..]))?;
        let mut file = archive.by_index(number)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(LEVEL))
            .with_zopfli_buffer(Some(1 << 20))
            .last_modified_time(file.last_modified().unwrap_or_default())
            .unix_permissions(file.unix_mode().unwrap_or(0o644));
        let mut alone = ZipWriter::new(Cursor::new(Vec::new()));
        alone.start_file(file.name()?, options)?;
        alone.write_all(&text)?;
        let alone = alone.finish()?.into_inner();
        bar.inc(1);
        Ok(alone)
    };
    let each = (0..files).into_par_iter().map(one).collect::<Result<Vec<_>>>()?;
    bar.finish_and_clear();
    let mut whole = ZipWriter::new(File::create(wheel)?);
    for alone in each {
        whole.raw_copy_file(ZipArchive::new(Cursor::new(alone))?.by_index_raw(0)?)?;
    }
    whole.finish()?;
    Ok(())
}
