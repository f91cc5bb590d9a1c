//! What was recorded: a line for each case in a compressed text, and whole results in files that are not committed.
//!
//! A line is `results inputs rows first... | name`: the digests of all results and of all inputs, the number of rows,
//! and the results of the first row, all hexadecimal. `refused | name` is a case that ptxas did not take. Lines that start
//! with `#` say what was recorded on.

use crate::case::Case;
use crate::random::digest;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// What a case gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The digest of all results.
    pub results: u64,
    /// The digest of the inputs: if it is another than today's, the case must be recorded again.
    pub inputs: u64,
    /// How many rows there are.
    pub rows: usize,
    /// The results of the first row.
    pub first: Vec<u64>,
}

impl Entry {
    /// The entry of a case with these inputs and results.
    pub fn new(case: &Case, rows: &[u64], results: &[u64]) -> Self {
        Self {
            results: digest(results.iter().copied()),
            inputs: digest(rows.iter().copied()),
            rows: case.inputs.count(rows),
            first: results.iter().copied().take(case.kernel.results()).collect(),
        }
    }
}

/// A recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// On what and with what it was made.
    pub remarks: Vec<String>,
    /// What each case gave, by its name.
    pub entries: BTreeMap<String, Entry>,
    /// The names of cases that ptxas refused.
    pub refused: BTreeSet<String>,
}

/// How the line of a refused case begins.
const REFUSED: &str = "refused | ";

impl Recording {
    /// Where the recording of an H200 is kept, from the root of the repository.
    pub const PATH: &'static str = "crates/conformance/recordings/sm_90a.gz";

    /// Reads a recording.
    ///
    /// # Errors
    /// If the file cannot be read or is no recording.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut text = String::new();
        GzDecoder::new(File::open(path)?).read_to_string(&mut text)?;
        let mut recording = Self::default();
        for line in text.lines() {
            if let Some(remark) = line.strip_prefix("# ") {
                recording.remarks.push(remark.to_owned());
                continue;
            }
            if let Some(name) = line.strip_prefix(REFUSED) {
                recording.refused.insert(name.to_owned());
                continue;
            }
            let wrong = || io::Error::new(io::ErrorKind::InvalidData, format!("not a recorded case: {line}"));
            let (numbers, name) = line.split_once(" | ").ok_or_else(wrong)?;
            let numbers = numbers.split(' ').map(|word| u64::from_str_radix(word, 16).map_err(|_| wrong()));
            let numbers = numbers.collect::<io::Result<Vec<u64>>>()?;
            let [results, inputs, rows, ref first @ ..] = numbers[..] else { return Err(wrong()) };
            let entry = Entry { results, inputs, rows: rows as usize, first: first.to_vec() };
            recording.entries.insert(name.to_owned(), entry);
        }
        Ok(recording)
    }

    /// Writes the recording.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        // Under another name until it is whole: what is cut off in the middle must not pass for a recording.
        let unfinished = path.with_extension("unfinished");
        let mut file = GzEncoder::new(BufWriter::new(File::create(&unfinished)?), Compression::best());
        for remark in &self.remarks {
            writeln!(file, "# {remark}")?;
        }
        for (name, entry) in &self.entries {
            write!(file, "{:x} {:x} {:x}", entry.results, entry.inputs, entry.rows)?;
            entry.first.iter().try_for_each(|word| write!(file, " {word:x}"))?;
            writeln!(file, " | {name}")?;
        }
        for name in &self.refused {
            writeln!(file, "{REFUSED}{name}")?;
        }
        file.finish()?.flush()?;
        std::fs::rename(unfinished, path)
    }
}

/// Whole results, in as many compressed files as a size asks for.
#[derive(Debug)]
pub struct Whole {
    folder: PathBuf,
    file: Option<GzEncoder<BufWriter<File>>>,
    path: PathBuf,
    files: usize,
}

/// Bytes of a file, compressed, after which another is begun.
const LARGEST: u64 = 14 << 20;

impl Whole {
    /// Results to be written to a folder, behind those that it has.
    pub fn to(folder: &Path) -> Self {
        let mut whole = Self { folder: folder.to_owned(), file: None, path: PathBuf::new(), files: 0 };
        while whole.file_number(whole.files).exists() {
            whole.files += 1;
        }
        whole
    }

    fn file_number(&self, number: usize) -> PathBuf {
        self.folder.join(format!("whole-{number}.gz"))
    }

    /// Adds the results of a case.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn add(&mut self, name: &str, results: &[u64]) -> io::Result<()> {
        if let Some(file) = &mut self.file {
            file.flush()?;
            if std::fs::metadata(&self.path)?.len() > LARGEST
                && let Some(file) = self.file.take()
            {
                file.finish()?.flush()?;
            }
        }
        let next = self.file_number(self.files);
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                self.path = next;
                self.files += 1;
                none.insert(GzEncoder::new(BufWriter::new(File::create(&self.path)?), Compression::default()))
            }
        };
        writeln!(file, "{} {name}", results.len())?;
        results.iter().try_for_each(|word| file.write_all(&word.to_le_bytes()))
    }

    /// Ends the last file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(self) -> io::Result<()> {
        self.file.map_or(Ok(()), |file| file.finish()?.flush())
    }

    /// The whole results of the cases in a folder whose name `wanted` takes.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn read(folder: &Path, wanted: impl Fn(&str) -> bool) -> io::Result<Vec<(String, Vec<u64>)>> {
        let mut found = Vec::new();
        for number in 0.. {
            let Ok(file) = File::open(folder.join(format!("whole-{number}.gz"))) else { break };
            let mut file = BufReader::new(GzDecoder::new(file));
            let mut line = Vec::new();
            while io::BufRead::read_until(&mut file, b'\n', &mut line)? > 0 {
                let text = String::from_utf8_lossy(&line);
                let (count, name) = text.trim_end().split_once(' ').unwrap_or(("0", ""));
                let count: usize =
                    count.parse().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
                let mut words = vec![0; 8];
                let mut results = Vec::new();
                for _ in 0..count {
                    file.read_exact(&mut words)?;
                    results.push(words.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)));
                }
                if wanted(name) {
                    found.push((name.to_owned(), results));
                }
                line.clear();
            }
        }
        Ok(found)
    }
}
