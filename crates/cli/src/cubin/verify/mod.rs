//! `warploom cubin verify`: every cubin in files and folders is read and written back.
//!
//! Of each cubin: the bytes come back; so do they after offsets and segments have been laid out anew; so do those of every
//! section of attributes, taken apart down to the payloads; with `--text`, so do those that come of its text. Of each
//! fatbin: its bytes come back, and its PTX and cubins unpack.
//!
//! Files are read in batches of bounded size; the cubins of a batch are shared out among threads, each of which
//! unpacks one at a time.

mod count;
mod cubin;

use crate::failure::{Exit, Failure};
use crate::{images, terminal};
use ::cubin::fatbin::{self, Container, Entry, Kind};
use count::Count;
use indicatif::{ProgressBar, ProgressStyle};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Files and folders; what holds no device code is passed over
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Also write each cubin as the text of `warploom disasm`, and read that back
    #[arg(long)]
    text: bool,
    /// Report control codes that break a dependence, as `warploom asm --lint` does
    #[arg(long, requires = "text")]
    lint: bool,
    /// How many cubins are worked on at a time; as many as the machine has processors, if not said
    #[arg(short, long, value_name = "N")]
    jobs: Option<NonZero<usize>>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What is done with each cubin.
#[derive(Clone, Copy)]
struct Checks {
    text: bool,
    lint: bool,
}

/// Bytes of files that are held at a time, unless one alone has more.
const BATCH: u64 = 256 << 20;

pub(super) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    let start = Instant::now();
    let files = files(&arguments.paths)?;
    let threads = arguments.jobs.or_else(|| std::thread::available_parallelism().ok());
    let threads = threads.map_or(1, NonZero::get);
    let checks = Checks { text: arguments.text, lint: arguments.lint };
    let bar = bar(files.iter().map(|(_, size)| size).sum());
    let mut total = Count::default();
    let mut held = 0;
    let mut rest = files.as_slice();
    while !rest.is_empty() {
        let mut size = 0;
        let fits = |(_, bytes): &&(PathBuf, u64)| {
            size += bytes;
            size <= BATCH
        };
        let (batch, others) = rest.split_at(rest.iter().take_while(fits).count().max(1));
        rest = others;
        for (mut count, (path, _)) in self::batch(batch, checks, threads, &bar)?.into_iter().zip(batch) {
            held += u64::from(count.cubins + count.ptx > 0);
            let name = path.display();
            for (_, message) in count.problems.iter_mut().chain(&mut count.hazards) {
                *message = format!("{name}: {message}");
            }
            total += count;
        }
        bar.set_position(files[..files.len() - rest.len()].iter().map(|(_, size)| size).sum());
    }
    bar.finish_and_clear();
    total.problems.iter().chain(&total.hazards).for_each(|(_, message)| terminal::note(message));
    if arguments.json {
        terminal::json(&total.value(held))?;
    } else {
        let seconds = start.elapsed().as_secs_f64();
        let n = terminal::thousands;
        terminal::result(&total.table())?;
        terminal::result(&format!(
            "files {}, fatbins {}, PTX {}, cubins {}, kernels {}, bytes {}: different {}\n",
            n(held),
            n(total.fatbins),
            n(total.ptx),
            n(total.cubins),
            n(total.kernels),
            n(total.bytes),
            n(total.problems.len() as u64)
        ))?;
        terminal::note(&format!("{:.0} MB/s", total.bytes as f64 / 1e6 / seconds));
    }
    let fine = total.problems.is_empty() && total.hazards.is_empty();
    Ok(if fine { Exit::Ok } else { Exit::Findings })
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

/// A part of a file that a thread takes: a cubin, or an entry of a fatbin with its number in the file.
enum Part<'b> {
    Cubin(&'b [u8]),
    Entry(usize, Entry<'b>),
}

/// What there is in each of some files.
fn batch(
    batch: &[(PathBuf, u64)],
    checks: Checks,
    threads: usize,
    bar: &ProgressBar,
) -> Result<Vec<Count>, Failure> {
    let files = batch.iter().map(|(path, _)| images::read(path)).collect::<Result<Vec<_>, _>>()?;
    let mut counts = Vec::new();
    let mut parts = Vec::new();
    for (number, bytes) in files.iter().enumerate() {
        counts.push(Mutex::new(Count::default()));
        let count = counts[number].get_mut().unwrap_or_else(|poisoned| poisoned.into_inner());
        parts.extend(self::parts(bytes, count).into_iter().map(|part| (number, part)));
    }
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((file, part)) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (found, size) = match part {
                Part::Cubin(bytes) => (cubin::check(bytes, 0, checks), bytes.len()),
                Part::Entry(place, entry) => (self::entry(entry, *place, checks), entry.packed_size()),
            };
            let mut count = counts[*file].lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            *count += found;
            bar.set_message(batch[*file].0.file_name().unwrap_or_default().to_string_lossy().into_owned());
            bar.inc(size as u64);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let sorted = |count: Mutex<Count>| {
        let mut count = count.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        count.problems.sort();
        count.hazards.sort_by_key(|(place, _)| *place);
        count
    };
    Ok(counts.into_iter().map(sorted).collect())
}

/// The parts of a file; its fatbins are counted, and what is wrong with them is noted.
fn parts<'b>(bytes: &'b [u8], count: &mut Count) -> Vec<Part<'b>> {
    if images::is_cubin(bytes) {
        return vec![Part::Cubin(bytes)];
    }
    let mut parts = Vec::new();
    // Other files than objects and archives have no fatbins.
    for found in images::fatbins(bytes).unwrap_or_default() {
        count.fatbins += 1;
        let place = parts.len();
        match entries(found.bytes) {
            Ok((entries, same)) => {
                if !same {
                    count.problems.push((place, "the fatbin is written differently".to_owned()));
                }
                let numbered = entries.into_iter().enumerate();
                parts.extend(numbered.map(|(number, entry)| Part::Entry(place + number, entry)));
            }
            Err(error) => count.problems.push((place, error.to_string())),
        }
    }
    parts
}

/// A fatbin's entries, and whether it is written as it was read.
fn entries(bytes: &[u8]) -> Result<(Vec<Entry<'_>>, bool), fatbin::Error> {
    let again = Container::parse(bytes)?.to_bytes();
    Ok((fatbin::entries(bytes)?, bytes.get(..again.len()) == Some(again.as_slice())))
}

fn entry(entry: &Entry<'_>, place: usize, checks: Checks) -> Count {
    let mut count = Count::default();
    // What is kept for a linker is not always packed in a way that is known.
    if matches!(entry.kind, Kind::Ptx | Kind::Elf) {
        match (entry.bytes(), entry.kind) {
            (Err(error), _) => count.problems.push((place, error.to_string())),
            (Ok(payload), Kind::Elf) => count = cubin::check(&payload, place, checks),
            (Ok(_), _) => count.ptx = 1,
        }
    }
    for (_, message) in count.problems.iter_mut().chain(&mut count.hazards) {
        *message = format!("entry {place}: {message}");
    }
    count
}
