//! Object files that are kept on disk, for the next process that compiles the same.
//!
//! A file's name is the digest of all that decides what is in it: the text, which has the kernel and the shape of its blocks, how it
//! is compiled, the host's CPU, the file of LLVM, our version. Before the object stands the digest of both; what does not
//! agree with it is not used. Files appear whole, by renaming, so that any number of processes may use a folder at a time.
//!
//! What stands in the folder is executed, so it must be the user's own: the folder is made for nobody else, and neither it
//! nor a file is used that another user owns or may write. When there is too much, what was not used for longest goes.
//!
//! Which LLVM there is, is known only when it is open, and to open it takes longer than all the rest. So the folder notes which
//! file it was last, and as long as that is there unchanged the objects made by it are used.

use crate::llvm::{self, Effort, Host};
use rustix::fs::{Mode, OFlags};
use sha2::{Digest, Sha256};
use std::fs::{self, DirBuilder, File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

/// Bytes that all objects have at most.
const LIMIT: u64 = 256 << 20;

/// Bytes of the largest object that is kept.
const LARGEST: u64 = 16 << 20;

/// How often a process that stores looks whether there is too much.
const EVERY: u32 = 32;

/// How old the time of a file's last use may become before it is brought up to date.
const STALE: Duration = Duration::from_secs(24 * 3600);

/// How an object's file begins and how its name ends. A file of another form has another beginning.
const MAGIC: &[u8] = b"warploom object 1\n";
const SUFFIX: &str = "object";

/// How names of libraries with LLVM begin, before what tells their content.
const LIBRARY: &str = "libwarploom-llvm-";

/// The name of the note about LLVM.
const NOTE: &str = "llvm";

/// Bytes of a digest.
const DIGEST: usize = 32;

/// A folder with objects.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    /// Objects that this process has stored.
    stored: AtomicU32,
}

/// What is in a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Objects.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What decides about an object.
pub(crate) struct Key([u8; DIGEST]);

impl Key {
    /// That of a text and what is put into it, if it is known which LLVM would compile it.
    pub(crate) fn of(text: &str, effort: Effort, cache: &Cache) -> Option<Self> {
        let library = llvm::opened_file().and_then(|path| Library::at(&path)).or_else(|| cache.noted())?;
        let mut digest = Sha256::new();
        let version = env!("CARGO_PKG_VERSION");
        for part in [version, effort.options(), &Host::this().to_string(), &library.to_string(), text] {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        Some(Self(digest.finalize().into()))
    }

    fn file(&self) -> String {
        format!("{}.{SUFFIX}", digits(&self.0))
    }

    /// What stands before an object.
    fn seal(&self, object: &[u8]) -> [u8; DIGEST] {
        Sha256::new().chain_update(self.0).chain_update(object).finalize().into()
    }
}

/// A file of LLVM's, as it was when it was looked at.
#[derive(PartialEq, Eq)]
struct Library {
    path: PathBuf,
    bytes: u64,
    seconds: i64,
    nanoseconds: i64,
}

impl Library {
    fn at(path: &Path) -> Option<Self> {
        let of = fs::metadata(path).ok()?;
        let (bytes, seconds, nanoseconds) = (of.len(), of.mtime(), of.mtime_nsec());
        Some(Self { path: path.to_owned(), bytes, seconds, nanoseconds })
    }
}

impl std::fmt::Display for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\n{} {}.{:09}\n", self.path.display(), self.bytes, self.seconds, self.nanoseconds)
    }
}

impl Cache {
    /// The cache that the environment names: `WARPLOOM_CACHE_DIR`, or a folder in the user's folder for caches; none if
    /// `WARPLOOM_CACHE` is 0.
    pub fn from_environment() -> Option<Self> {
        if std::env::var_os("WARPLOOM_CACHE").is_some_and(|wish| wish == "0") {
            return None;
        }
        Self::of_libraries()
    }

    /// The same, whether objects are to be kept or not.
    pub(crate) fn of_libraries() -> Option<Self> {
        let named = std::env::var_os("WARPLOOM_CACHE_DIR").filter(|name| !name.is_empty());
        let folder = named.map(PathBuf::from).or_else(|| Some(dirs::cache_dir()?.join("warploom")))?;
        Some(Self::at(folder))
    }

    /// The cache in a folder, which is made when something is to be kept.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), stored: AtomicU32::new(0) }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// An object, if it is there and as it was stored.
    pub(crate) fn load(&self, key: &Key) -> Option<Vec<u8>> {
        if !self.is_own() {
            return None;
        }
        let (file, bytes) = self.read(&key.file(), LARGEST)?;
        let Some((seal, object)) =
            bytes.strip_prefix(MAGIC).and_then(|rest| rest.split_first_chunk::<DIGEST>())
        else {
            log::debug!("{} is no object", key.file());
            return None;
        };
        if *seal != key.seal(object) {
            log::debug!("{} is damaged", key.file());
            return None;
        }
        let used = file.metadata().and_then(|of| of.modified()).ok();
        if used.and_then(|used| used.elapsed().ok()).is_some_and(|age| age > STALE) {
            let _ = file.set_modified(SystemTime::now());
        }
        Some(object.to_vec())
    }

    /// Keeps an object. That it cannot is no error.
    pub(crate) fn store(&self, key: &Key, object: &[u8]) {
        if object.len() as u64 + (MAGIC.len() + DIGEST) as u64 > LARGEST {
            return;
        }
        let done = self.make().and_then(|()| {
            self.note()?;
            self.write(&key.file(), &[MAGIC, &key.seal(object), object])
        });
        match done {
            Ok(()) if self.stored.fetch_add(1, Ordering::Relaxed).is_multiple_of(EVERY) => self.shrink(LIMIT),
            Ok(()) => {}
            Err(error) => log::debug!("{}: {error}", self.folder.display()),
        }
    }

    /// The file of a library with this content, of as many bytes. If it is not there it is made, by whatever unpacks it.
    pub(crate) fn keep_library(
        &self,
        content: &str,
        bytes: u64,
        unpack: impl FnOnce() -> io::Result<Vec<u8>>,
    ) -> io::Result<PathBuf> {
        self.make()?;
        let name = format!("{LIBRARY}{content}.so");
        let path = self.folder.join(&name);
        match self.open(&name, bytes) {
            Some((_, of)) if of.len() == bytes => return Ok(path),
            // Another user's, or damaged.
            _ => gone(fs::remove_file(&path))?,
        }
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(&unpack()?)?;
        // No digest is compared before it is executed: it must be whole even if the host loses its power.
        file.as_file().sync_all()?;
        match file.persist_noclobber(&path) {
            // Another process was faster, with the same.
            Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
            _ => Ok(path),
        }
    }

    /// What is in it.
    ///
    /// # Errors
    /// The folder is there and cannot be read.
    pub fn kept(&self) -> io::Result<Kept> {
        let add = |kept: Kept, (_, of): (PathBuf, Metadata)| Kept {
            files: kept.files + 1,
            bytes: kept.bytes + of.len(),
        };
        Ok(self.objects()?.into_iter().fold(Kept::default(), add))
    }

    /// Removes all objects, and libraries with LLVM; which objects were there.
    ///
    /// # Errors
    /// The folder is there and cannot be read, or an object cannot be removed.
    pub fn clear(&self) -> io::Result<Kept> {
        let kept = self.kept()?;
        for (path, _) in self.objects()? {
            gone(fs::remove_file(path))?;
        }
        for path in self.entries()? {
            if path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(LIBRARY.as_bytes())) {
                gone(fs::remove_file(path))?;
            }
        }
        gone(fs::remove_file(self.folder.join(NOTE)))?;
        Ok(kept)
    }

    /// All objects, those used last at the end.
    fn objects(&self) -> io::Result<Vec<(PathBuf, Metadata)>> {
        let objects = self
            .entries()?
            .into_iter()
            .filter(|path| path.extension().is_some_and(|suffix| suffix == SUFFIX));
        let mut objects: Vec<_> =
            objects.filter_map(|path| path.symlink_metadata().ok().map(|of| (path, of))).collect();
        objects.sort_by_key(|(_, of)| (of.mtime(), of.mtime_nsec()));
        Ok(objects)
    }

    /// All that is in the folder.
    fn entries(&self) -> io::Result<Vec<PathBuf>> {
        match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            entries => Ok(entries?.filter_map(Result::ok).map(|entry| entry.path()).collect()),
        }
    }

    /// Removes what was not used for longest, until three quarters of the limit are left.
    fn shrink(&self, limit: u64) {
        let Ok(objects) = self.objects() else { return };
        let mut bytes: u64 = objects.iter().map(|(_, of)| of.len()).sum();
        let enough = if bytes > limit { limit / 4 * 3 } else { limit };
        for (path, of) in objects {
            if bytes <= enough {
                break;
            }
            bytes -= of.len();
            let _ = fs::remove_file(path);
        }
    }

    /// Makes the folder.
    fn make(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        match self.is_own() {
            true => Ok(()),
            false => Err(io::Error::other("the folder is another user's, or others may write to it")),
        }
    }

    fn is_own(&self) -> bool {
        self.folder.metadata().is_ok_and(|of| of.is_dir() && is_own(&of))
    }

    /// A file of ours.
    fn open(&self, name: &str, most: u64) -> Option<(File, Metadata)> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = File::from(rustix::fs::open(self.folder.join(name), flags, Mode::empty()).ok()?);
        let of = file.metadata().ok()?;
        if !of.is_file() || !is_own(&of) || of.len() > most {
            log::debug!("{name} is not used: it is another user's, or too large");
            return None;
        }
        Some((file, of))
    }

    /// A file of ours, and what is in it.
    fn read(&self, name: &str, most: u64) -> Option<(File, Vec<u8>)> {
        let (mut file, _) = self.open(name, most)?;
        let mut bytes = Vec::new();
        (&mut file).take(most).read_to_end(&mut bytes).ok()?;
        Some((file, bytes))
    }

    /// Writes a file, which appears when it is whole.
    fn write(&self, name: &str, parts: &[&[u8]]) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        parts.iter().try_for_each(|part| file.write_all(part))?;
        file.persist(self.folder.join(name))?;
        Ok(())
    }

    /// The LLVM that was open when something was last stored, if it is still there and the one that is wanted.
    fn noted(&self) -> Option<Library> {
        if !self.is_own() {
            return None;
        }
        let (_, bytes) = self.read(NOTE, 1 << 16)?;
        let note = String::from_utf8(bytes).ok()?;
        let (wish, note) = note.split_once('\n')?;
        let library = Library::at(Path::new(note.lines().next()?))?;
        (wish == wished() && note == library.to_string()).then_some(library)
    }

    /// Notes which LLVM is open.
    fn note(&self) -> io::Result<()> {
        let opened = llvm::opened_file().and_then(|path| Library::at(&path));
        match opened {
            Some(library) if self.noted().as_ref() != Some(&library) => {
                self.write(NOTE, &[format!("{}\n{library}", wished()).as_bytes()])
            }
            _ => Ok(()),
        }
    }
}

/// The LLVM that comes before those of distributions, in a line, as it is now: what is open may be what was unpacked from it.
fn wished() -> String {
    let wish = llvm::wish();
    Library::at(Path::new(&wish)).map_or(wish, |library| library.to_string().replace('\n', " "))
}

/// Bytes as digits.
pub(crate) fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether something is the user's, and no other may write it.
fn is_own(of: &Metadata) -> bool {
    of.uid() == rustix::process::geteuid().as_raw() && of.mode() & 0o022 == 0
}

/// What another process has removed meanwhile is removed.
fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests;
