//! The file that is compiled to.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Writes a file. One that is there is written over and gets its new length last: of a file that was cut to nothing ext4 sends the new bytes to the disk
/// when it is closed, which took a tenth of the time of compiling a small file.
pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::options().write(true).create(true).truncate(false).open(path)?;
    let written = file.write_all(bytes);
    // Nobody takes half a file for a whole one.
    let length = if written.is_ok() { bytes.len() as u64 } else { 0 };
    // What is no file has none.
    if file.metadata()?.len() > length {
        file.set_len(length)?;
    }
    written
}

#[cfg(test)]
mod tests {
    use super::write;

    #[test]
    fn nothing_is_left_of_what_was_there() {
        let path = std::env::temp_dir().join(format!("warploom-output-{}", std::process::id()));
        for bytes in [&b"long and old"[..], b"new", b"", b"longer than that"] {
            write(&path, bytes).expect("written");
            assert_eq!(std::fs::read(&path).expect("read"), bytes);
        }
        std::fs::remove_file(&path).expect("removed");
        write("/dev/null".as_ref(), b"bytes").expect("written to what has no length");
    }
}
