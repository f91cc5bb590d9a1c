//! `warploom cubin verify`: every cubin in files and folders is read and written back.
//!
//! Of each cubin: the bytes come back; so do they after offsets and segments have been laid out anew; so do those of every
//! section of attributes, taken apart down to the payloads. Of each fatbin: its bytes come back, and every entry unpacks.

use crate::failure::{Exit, Failure};
use crate::{images, terminal};
use ::cubin::elf::section::{CUDA_COMPAT_INFO, CUDA_INFO};
use ::cubin::elf::{Contents, Elf};
use ::cubin::fatbin::{self, Container, Kind};
use ::cubin::info;
use ::cubin::read::Program;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use std::ops::AddAssign;
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Files and folders; what holds no device code is passed over
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What there was in a file, or in all.
#[derive(Default)]
struct Count {
    fatbins: u64,
    ptx: u64,
    cubins: u64,
    kernels: u64,
    bytes: u64,
    /// What did not come back, or could not be read.
    problems: Vec<String>,
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.fatbins += other.fatbins;
        self.ptx += other.ptx;
        self.cubins += other.cubins;
        self.kernels += other.kernels;
        self.bytes += other.bytes;
        self.problems.extend(other.problems);
    }
}

pub(super) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    let start = Instant::now();
    let files = files(&arguments.paths)?;
    let bar = bar(files.iter().map(|(_, size)| size).sum());
    let mut total = Count::default();
    let mut held = 0;
    for (path, size) in &files {
        bar.set_message(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
        let mut count = file(path)?;
        bar.inc(*size);
        held += u64::from(count.cubins + count.ptx > 0);
        let name = path.display();
        count.problems.iter_mut().for_each(|problem| *problem = format!("{name}: {problem}"));
        total += count;
    }
    bar.finish_and_clear();
    total.problems.iter().for_each(|problem| terminal::note(problem));
    if arguments.json {
        terminal::json(&value(&total, held))?;
    } else {
        let rate = total.bytes as f64 / 1e6 / start.elapsed().as_secs_f64();
        let n = terminal::thousands;
        terminal::result(&format!(
            "{} files, {} fatbins, {} PTX, {} cubins, {} kernels, {} bytes: {} different\n",
            n(held),
            n(total.fatbins),
            n(total.ptx),
            n(total.cubins),
            n(total.kernels),
            n(total.bytes),
            n(total.problems.len() as u64)
        ))?;
        terminal::note(&format!("{rate:.0} MB/s"));
    }
    Ok(if total.problems.is_empty() { Exit::Ok } else { Exit::Findings })
}

fn value(count: &Count, files: u64) -> Value {
    json!({
        "files": files,
        "fatbins": count.fatbins,
        "ptx": count.ptx,
        "cubins": count.cubins,
        "kernels": count.kernels,
        "bytes": count.bytes,
        "different": count.problems.len(),
        "problems": count.problems,
    })
}

/// All files under paths, with their sizes, in order.
fn files(paths: &[PathBuf]) -> Result<Vec<(PathBuf, u64)>, Failure> {
    let mut files = Vec::new();
    let mut open = paths.to_vec();
    let unreadable = |path: &Path, error| Failure::usage(format!("cannot read {}: {error}", path.display()));
    while let Some(path) = open.pop() {
        let metadata = std::fs::metadata(&path).map_err(|error| unreadable(&path, error))?;
        if !metadata.is_dir() {
            files.push((path, metadata.len()));
            continue;
        }
        for entry in std::fs::read_dir(&path).map_err(|error| unreadable(&path, error))? {
            let entry = entry.map_err(|error| unreadable(&path, error))?;
            // A link to a folder may lead back; one to a file is another name of it.
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                open.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}

fn bar(bytes: u64) -> ProgressBar {
    let template = "{msg} [{wide_bar}] {bytes}/{total_bytes}, {elapsed} + {eta}";
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(bytes).with_style(style.progress_chars("=> "))
}

fn file(path: &Path) -> Result<Count, Failure> {
    let bytes = images::read(path)?;
    let mut count = Count::default();
    if images::is_cubin(&bytes) {
        cubin(&bytes, &mut count);
        return Ok(count);
    }
    // Other files than objects and archives have no fatbins.
    for found in images::fatbins(&bytes).unwrap_or_default() {
        count.fatbins += 1;
        if let Err(error) = container(found.bytes, &mut count) {
            count.problems.push(error.to_string());
        }
    }
    Ok(count)
}

fn container(bytes: &[u8], count: &mut Count) -> Result<(), fatbin::Error> {
    let container = Container::parse(bytes)?;
    let again = container.to_bytes();
    if bytes.get(..again.len()) != Some(again.as_slice()) {
        count.problems.push("the fatbin is written differently".to_owned());
    }
    for item in &container.items {
        let entry = item.entry();
        let payload = entry.bytes()?;
        match entry.kind {
            Kind::Ptx => count.ptx += 1,
            Kind::Elf => cubin(&payload, count),
            Kind::Lto | Kind::Other(_) => {}
        }
    }
    Ok(())
}

fn cubin(bytes: &[u8], count: &mut Count) {
    count.cubins += 1;
    count.bytes += bytes.len() as u64;
    let different = match Elf::parse(bytes) {
        Ok(elf) => {
            count.kernels +=
                Program::new(&elf).functions().iter().filter(|function| function.entry).count() as u64;
            different(&elf, bytes)
        }
        Err(error) => Some(error.to_string()),
    };
    let number = count.cubins;
    count.problems.extend(different.map(|what| format!("cubin {number}: {what}")));
}

/// What of a cubin does not come back.
fn different(elf: &Elf, bytes: &[u8]) -> Option<String> {
    let same = |elf: &Elf| elf.to_bytes().is_ok_and(|again| again == bytes);
    if !same(elf) {
        return Some("it is written differently".to_owned());
    }
    let mut again = elf.clone();
    for section in again.sections.iter_mut().filter(|s| matches!(s.kind, CUDA_INFO | CUDA_COMPAT_INFO)) {
        let Ok(mut attributes) = info::decode(section.data()) else {
            return Some("its attributes cannot be read".to_owned());
        };
        for attribute in &mut attributes {
            attribute.set_payload(&attribute.payload());
        }
        section.contents = Contents::Bytes(info::encode(&attributes).unwrap_or_default());
    }
    if again != *elf {
        return Some("its attributes are written differently".to_owned());
    }
    match again.lay_out() {
        Ok(()) if same(&again) => None,
        Ok(()) => Some("it is laid out differently".to_owned()),
        Err(error) => Some(error.to_string()),
    }
}
