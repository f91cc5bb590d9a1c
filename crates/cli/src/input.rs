//! Reading PTX files.

use crate::diagnostics::{self, Format};
use crate::failure::{Exit, Failure};
use ptx::diagnostic::Severity;
use ptx::module::{Checked, Module};
use ptx::source::Source;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// The bytes that an ELF file (a cubin, a host object) begins with.
const ELF: &[u8] = b"\x7fELF";
/// The bytes that a fat binary begins with.
const FATBIN: &[u8] = &0xba55_ed50_u32.to_le_bytes();

/// The text of a PTX file; `-` is standard input. Bytes that are not UTF-8 become replacement characters, which the
/// lexer reports unless they stand in a comment.
pub(crate) fn read(path: &Path) -> Result<Arc<Source>, Failure> {
    let standard_input = path == Path::new("-");
    let name = if standard_input { "<stdin>".to_owned() } else { path.display().to_string() };
    let bytes = if standard_input {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    let mut bytes = bytes.map_err(|error| Failure::usage(format!("cannot read {name}: {error}")))?;
    if bytes.starts_with(ELF) || bytes.starts_with(FATBIN) {
        let kind = if bytes.starts_with(ELF) { "an ELF file" } else { "a fat binary" };
        let hint = "extract the PTX first: `warploom fatbin extract --kind ptx`";
        return Err(Failure::usage(format!("{name} is {kind}, not PTX text")).hint(hint));
    }
    // The text in a fat binary ends with a zero byte, which extraction tools like to keep.
    while bytes.last() == Some(&0) {
        bytes.pop();
    }
    let text = String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    Ok(Source::new(name, text))
}

/// A file's module. Diagnostics go to standard error, warnings only if there is an error too.
pub(crate) fn module(path: &Path) -> Result<(Arc<Source>, Checked<Module>), Failure> {
    let source = read(path)?;
    match ptx::compile(&source).into_result() {
        Ok((module, _)) => Ok((source, module)),
        Err(diagnostics) => {
            let rendered = diagnostics.iter().map(|d| diagnostics::render(&source, d, Format::Text));
            crate::terminal::note(rendered.collect::<String>().trim_end());
            let errors = diagnostics.iter().filter(|d| d.severity == Severity::Error).count();
            let errors = crate::terminal::count(errors, "error");
            Err(Failure::new(Exit::Findings, format!("{} has {errors}", source.name())))
        }
    }
}
