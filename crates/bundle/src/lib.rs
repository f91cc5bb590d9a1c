//! The libraries that the command brings along: `cargo install` leaves a program alone, and `warploom exec` needs more.
//!
//! The build script builds all libraries of `cabi`'s table, links them as `cargo xtask libraries` does, and compresses
//! them; they become part of the program. Before a program is run they are written to a folder. Builds for development
//! and those without the feature `libraries` bring none: they use what `cargo xtask libraries` has made.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::symlink;
use std::path::Path;

/// A library.
struct Embedded {
    /// The file's name.
    name: &'static str,
    /// Names of links to it.
    links: &'static [&'static str],
    /// Its size. The libraries follow one another.
    bytes: u64,
}

include!(concat!(env!("OUT_DIR"), "/table.rs"));

/// A name for what the libraries contain, for a folder that holds them; none if there are no libraries.
pub fn content() -> Option<&'static str> {
    CONTENT
}

/// Writes the libraries, under all their names, into a folder that has none of them.
pub fn write(folder: &Path) -> io::Result<()> {
    let mut all = packing::unpacker(COMPRESSED);
    for library in EMBEDDED {
        let mut file = File::create_new(folder.join(library.name))?;
        let written = io::copy(&mut all.by_ref().take(library.bytes), &mut file)?;
        if written != library.bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for link in library.links {
            symlink(library.name, folder.join(link))?;
        }
    }
    Ok(())
}
