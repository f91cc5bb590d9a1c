//! Code as a program hands it over: PTX text, a fatbin, or a cubin.
//!
//! SASS is not executed: a fatbin or cubin with nothing else is "no kernel image for this device". Our stand-in for ptxas
//! makes cubins that [carry PTX](cubin::carrier); several modules in one are what a linker has put together.

use crate::error::Error;
use cubin::carrier;
use cubin::fatbin::{self, Entry, Kind, Reach, Target};
use machine::Profile;
use machine::profile::PROFILES;
use ptx::diagnostic::{Diagnostic, Severity};
use ptx::source::Source;

pub use carrier::size as cubin_size;
pub use cubin::elf::HEADER_SIZE as CUBIN_HEADER;
pub use fatbin::{CONTAINER_HEADER, CONTAINER_MAGIC, WRAPPER_ADDRESS, WRAPPER_MAGIC};

/// Bytes of the fatbin that starts with this header.
pub fn fatbin_size(header: &[u8; CONTAINER_HEADER]) -> Result<u64, Error> {
    fatbin::container_size(header).map_err(|_| Error::InvalidImage)
}

/// Code as a program hands it over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Image {
    /// PTX text.
    Ptx(String),
    /// A fatbin container.
    Fatbin(Vec<u8>),
    /// An ELF file: a cubin.
    Elf(Vec<u8>),
}

/// Why code cannot be loaded, with what there is to say about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadFailure {
    /// The error.
    pub error: Error,
    /// For the program's error log.
    pub log: String,
}

impl LoadFailure {
    pub(crate) fn new(error: Error, log: impl Into<String>) -> Self {
        Self { error, log: log.into() }
    }

    fn invalid(error: &fatbin::Error) -> Self {
        Self::new(Error::InvalidImage, error.to_string())
    }
}

impl From<LoadFailure> for Error {
    fn from(failure: LoadFailure) -> Self {
        failure.error
    }
}

/// A line for every diagnostic.
pub(crate) fn log(source: &Source, diagnostics: &[Diagnostic]) -> String {
    let line = |d: &Diagnostic| {
        let (line, column) = source.line_column(d.span.start);
        let severity = if d.severity == Severity::Error { "error" } else { "warning" };
        let hint = d.hint.as_ref().map_or(String::new(), |hint| format!(" ({hint})"));
        let name = source.name();
        format!("{name}, line {line}, column {column}: {severity} {}: {}{hint}\n", d.code, d.message)
    };
    diagnostics.iter().map(line).collect()
}

impl Image {
    /// The modules of PTX that suit a device; at least one.
    pub(crate) fn modules(&self, profile: &Profile) -> Result<Vec<String>, LoadFailure> {
        match self {
            Self::Ptx(text) => Ok(vec![text.clone()]),
            Self::Elf(bytes) => match carrier::fatbins(bytes) {
                fatbins if fatbins.is_empty() => Err(LoadFailure::new(Error::NoBinaryForGpu, ONLY_SASS)),
                fatbins => fatbins.iter().map(|fatbin| text_of(fatbin, profile)).collect(),
            },
            Self::Fatbin(bytes) => {
                let entries = fatbin::entries(bytes).map_err(|error| LoadFailure::invalid(&error))?;
                if let Some(entry) = fatbin::best_ptx(&entries, target(profile)) {
                    return Ok(vec![entry.text().map_err(|error| LoadFailure::invalid(&error))?]);
                }
                // The latest one first: it is for the latest device.
                let cubins = entries.iter().rev().filter(|entry| entry.kind == Kind::Elf);
                for entry in cubins.filter(|entry| entry.sm <= profile.sm.into()) {
                    let bytes = entry.bytes().map_err(|error| LoadFailure::invalid(&error))?;
                    let modules = Self::Elf(bytes.into_owned()).modules(profile);
                    if modules.is_ok() {
                        return modules;
                    }
                }
                Err(LoadFailure::new(Error::NoBinaryForGpu, missing(&entries, profile)))
            }
        }
    }
}

/// What a device runs.
fn target(profile: &Profile) -> Target {
    Target { sm: profile.sm.into(), arch_specific: profile.arch_specific }
}

/// The PTX of a carried fatbin.
fn text_of(bytes: &[u8], profile: &Profile) -> Result<String, LoadFailure> {
    let entries = fatbin::entries(bytes).map_err(|error| LoadFailure::invalid(&error))?;
    match fatbin::best_ptx(&entries, target(profile)) {
        Some(entry) => entry.text().map_err(|error| LoadFailure::invalid(&error)),
        None => Err(LoadFailure::new(Error::NoBinaryForGpu, missing(&entries, profile))),
    }
}

/// Why entries have nothing for a device, and what to do.
fn missing(entries: &[Entry<'_>], profile: &Profile) -> String {
    let ptx: Vec<&Entry<'_>> = entries.iter().filter(|entry| entry.kind == Kind::Ptx).collect();
    if ptx.is_empty() {
        return ONLY_SASS.to_owned();
    }
    let found: Vec<String> = ptx.iter().map(|entry| name(entry)).collect();
    let fits = |device: &&Profile| fatbin::best_ptx(entries, target(device)).is_some();
    let advice = PROFILES.iter().find(fits).map_or(String::new(), |device| {
        let name = device.name;
        format!("; WARPLOOM_DEVICES={name} (warploom exec --device {name}) is a device that runs it")
    });
    format!("no PTX for sm_{} among PTX for {}{advice}", profile.sm, found.join(", "))
}

/// The target of an entry as PTX writes it.
fn name(entry: &Entry<'_>) -> String {
    let suffix = match entry.reach {
        Reach::Base => "",
        Reach::Family => "f",
        Reach::Specific => "a",
    };
    format!("sm_{}{suffix}", entry.sm)
}

const ONLY_SASS: &str = "the image holds SASS only, which is not executed; compile with PTX, for example \
                         -gencode arch=compute_90,code=compute_90";
