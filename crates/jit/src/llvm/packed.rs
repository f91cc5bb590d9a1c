//! An LLVM that is compressed, as packages of this project bring it: a quarter of its size.
//!
//! It is unpacked when a kernel is first compiled, and kept for all processes after that in the folder of the [`Cache`], under the
//! digest of what it was unpacked from. Where nothing can be kept, or what is kept cannot be executed, each process unpacks it
//! into memory, which takes it a second.

use crate::cache::{Cache, digits};
use rustix::fs::{MemfdFlags, memfd_create};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// How names of packed libraries end.
const SUFFIX: &str = "xz";

/// Bytes of the largest library: all of LLVM, for all of its targets, has a quarter of that.
const LARGEST: u64 = 1 << 30;

/// A packed library, as it was read.
pub(super) struct Packed(Vec<u8>);

/// Where the LLVM that is open comes from.
#[derive(Clone, Debug)]
pub struct Unpacked {
    /// What it was unpacked from.
    pub from: PathBuf,
    /// Why it is not kept.
    pub not_kept: Option<String>,
}

static UNPACKED: OnceLock<Unpacked> = OnceLock::new();

/// Notes that a library that was packed is open.
pub(super) fn opened(unpacked: Unpacked) {
    // Libraries are opened once.
    let _ = UNPACKED.set(unpacked);
}

/// Where the LLVM that is open was unpacked from; none if it was not packed.
pub(crate) fn unpacked() -> Option<&'static Unpacked> {
    UNPACKED.get()
}

impl Packed {
    /// What is in a file; none if its name is not that of a packed library.
    pub(super) fn at(path: &Path) -> Option<io::Result<Self>> {
        path.extension().is_some_and(|suffix| suffix == SUFFIX).then(|| fs::read(path).map(Self))
    }

    /// Its file in the user's cache, where it may have been before.
    pub(super) fn keep(&self) -> io::Result<PathBuf> {
        self.keep_in(&Cache::of_libraries().ok_or_else(|| io::Error::other("there is no home folder"))?)
    }

    fn keep_in(&self, cache: &Cache) -> io::Result<PathBuf> {
        let content = digits(&Sha256::digest(&self.0)[..8]);
        cache.keep_library(&content, self.size()?, || self.content())
    }

    /// It, in memory.
    pub(super) fn in_memory(&self) -> io::Result<File> {
        let mut memory = File::from(memfd_create("warploom-llvm", MemfdFlags::CLOEXEC)?);
        memory.write_all(&self.content()?)?;
        Ok(memory)
    }

    /// Bytes of it, unpacked.
    fn size(&self) -> io::Result<u64> {
        match packing::unpacked_size(Cursor::new(&self.0))? {
            bytes if bytes > LARGEST => Err(io::ErrorKind::FileTooLarge.into()),
            bytes => Ok(bytes),
        }
    }

    fn content(&self) -> io::Result<Vec<u8>> {
        let bytes = self.size()?;
        let mut content = Vec::new();
        // One more than there may be, so that the end is read, where the sum of all stands.
        packing::unpacker(&self.0[..]).take(bytes + 1).read_to_end(&mut content)?;
        match content.len() as u64 == bytes {
            true => Ok(content),
            false => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

#[cfg(test)]
mod tests;
