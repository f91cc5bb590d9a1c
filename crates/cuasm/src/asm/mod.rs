//! Text as a cubin, in four steps, each over the whole file.
//!
//! | step | what is known behind it |
//! | --- | --- |
//! | [`read`] | the [`draft`]: which sections, symbols and labels there are, and what they hold, as written |
//! | [`sizes`] | how large everything is, so what every label is |
//! | [`emit`] | bytes, and relocations |
//! | [`tables`] | symbols, strings, references between sections, segments |
//!
//! A [`Program`] is a file whose code its writer has, so that it need not become text first.
//!
//! All go on after an error, so that one run finds all of them.

mod align;
mod arguments;
mod attributes;
mod draft;
mod emit;
mod encode;
mod evaluate;
mod file;
mod kernel;
mod lint;
mod payload;
mod program;
mod read;
mod relocations;
mod sizes;
mod symbols;
mod tables;

use crate::codes::{self, Findings};
use crate::syntax::{self, Line};
pub use kernel::{parameter_offset, parameters_at};
pub use program::{Program, Wrong};
use ptx::diagnostic::{Diagnostic, Severity};
use ptx::source::{Source, Span};

/// A cubin that has been assembled.
#[derive(Debug)]
pub struct Assembled {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Warnings.
    pub warnings: Vec<Diagnostic>,
}

/// What else the assembler does.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Warn of control codes that break a dependence, where the device's latencies have been measured.
    pub hazards: bool,
}

/// Assembles a text.
///
/// # Errors
/// What is wrong with the text, in the order of its places; warnings are among it.
pub fn assemble(source: &Source) -> Result<Assembled, Vec<Diagnostic>> {
    assemble_with(source, Options::default())
}

/// Assembles a text, and does what is asked for.
///
/// # Errors
/// As [`assemble`].
pub fn assemble_with(source: &Source, options: Options) -> Result<Assembled, Vec<Diagnostic>> {
    let mut findings = Findings::default();
    let lines = syntax::parse(source.text(), &mut findings);
    let bytes = build(lines, options, &mut findings);
    let mut found = findings.list;
    found.sort_by_key(|diagnostic| diagnostic.span);
    let failed = found.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    match bytes {
        Some(bytes) if !failed => Ok(Assembled { bytes, warnings: found }),
        _ => Err(found),
    }
}

fn build(lines: Vec<Line>, options: Options, findings: &mut Findings) -> Option<Vec<u8>> {
    let mut draft = draft::Draft::default();
    file::begin(&mut draft, &lines);
    read::read(&mut draft, lines, findings);
    file::complete(&mut draft);
    let places = sizes::measure(&draft, findings)?;
    let emitted = emit::emit(&draft, &places, findings);
    if options.hazards {
        lint::hazards(&draft, &emitted, findings);
    }
    let elf = tables::build(&draft, &places, emitted, findings)?;
    match elf.to_bytes() {
        Ok(bytes) => Some(bytes),
        Err(error) => {
            findings.error(codes::SIZE, Span::default(), error.to_string());
            None
        }
    }
}
