//! Files that are written in one step, so that nobody sees half of one, and a full disk does not cost the old one.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Puts a file in the place of another, if there is one: `write` makes it, under the name that it gets, beside it.
pub(crate) fn replace(path: &Path, write: impl FnOnce(&Path) -> io::Result<File>) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = write(&temporary).and_then(|file| {
        file.sync_all()?;
        fs::rename(&temporary, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}
