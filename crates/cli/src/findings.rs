//! What the checks have found, as the files that the command line asks for.

use crate::failure::Failure;
use reports::findings::Findings;
use std::fs;
use std::path::{Path, PathBuf};

/// Writes JUnit XML and a page of HTML.
pub(crate) fn write(
    findings: &Findings<'_>,
    junit: Option<&PathBuf>,
    html: Option<&PathBuf>,
) -> Result<(), Failure> {
    let write = |path: &Path, text: String| {
        fs::write(path, text)
            .map_err(|error| Failure::usage(format!("cannot write {}: {error}", path.display())))
    };
    if let Some(path) = junit {
        write(path, findings.junit().map_err(Failure::usage)?)?;
    }
    if let Some(path) = html {
        write(path, findings.html())?;
    }
    Ok(())
}
