//! Where our libraries are, and a folder in which they have the names that programs look for.
//!
//! An installed command brings them with it ([`bundle`]) and writes them once, to the user's cache. Folders that are named
//! or lie beside the command come first: they are what a developer has just built.

use crate::failure::Failure;
use library_build::libraries::{DEVICE_FILES, LIBRARIES, REDIRECT};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// The libraries that there are.
pub(crate) struct Installation {
    /// The folder that they are in.
    pub(crate) folder: PathBuf,
    /// The file of each of [`LIBRARIES`].
    pub(crate) files: [Option<PathBuf>; LIBRARIES.len()],
}

/// What a program's environment points to.
pub(crate) struct Prepared {
    /// A folder with the libraries under the names that programs look for, and nothing else: whatever is in it, programs get.
    pub(crate) libraries: PathBuf,
    /// What redirects programs to it.
    pub(crate) redirect: Option<PathBuf>,
    /// What answers questions about NVIDIA's device files.
    pub(crate) preload: Option<PathBuf>,
    /// A folder in the shape of a CUDA toolkit: those libraries are its `lib64`, this program is its `bin/ptxas`. Headers and
    /// libdevice are NVIDIA's, and not there.
    pub(crate) toolkit: Option<PathBuf>,
    /// A folder with the tools that programs look for in the search path, and nothing else.
    pub(crate) tools: PathBuf,
}

/// Where libraries are looked for, best first.
fn candidates() -> Vec<PathBuf> {
    if let Some(folder) = env::var_os("WARPLOOM_LIB") {
        return vec![folder.into()];
    }
    let Some(beside) = own_path().and_then(|path| path.parent().map(Path::to_owned)) else {
        return Vec::new();
    };
    // `cargo xtask libraries` makes the first.
    vec![
        beside.join("../cuda"),
        beside.clone(),
        beside.join("lib"),
        beside.join("../lib/warploom"),
        beside.join("../lib"),
    ]
}

/// This program's file, with links followed.
fn own_path() -> Option<PathBuf> {
    env::current_exe().and_then(fs::canonicalize).ok()
}

impl Installation {
    /// Looks for the libraries.
    pub(crate) fn find() -> Result<Self, Failure> {
        let candidates = candidates();
        for folder in &candidates {
            let files = LIBRARIES.each_ref().map(|library| library.within(folder));
            if files[0].is_some() {
                let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.clone());
                return Ok(Self { folder, files });
            }
        }
        if let Some(folder) = unpacked()? {
            let files = LIBRARIES.each_ref().map(|library| library.within(&folder));
            return Ok(Self { folder, files });
        }
        let places: Vec<String> = candidates.iter().map(|folder| folder.display().to_string()).collect();
        let message = format!("there is no {} in {}", LIBRARIES[0].names[0], places.join(", "));
        Err(Failure::usage(message).hint(
            "a release build of this command brings it; `cargo xtask libraries` makes it, in target/cuda; \
             WARPLOOM_LIB names another folder",
        ))
    }

    /// Whether the dynamic linker of this host takes our auditor: tried with a program that shows what is loaded into it.
    pub(crate) fn redirects(&self) -> bool {
        let shown = |auditor: &Path| {
            let output = Command::new("cat").arg("/proc/self/maps").env("LD_AUDIT", auditor).output().ok()?;
            let name = auditor.file_name()?.as_encoded_bytes();
            Some(memchr::memmem::find(&output.stdout, name).is_some())
        };
        let auditor = LIBRARIES.iter().zip(&self.files).find(|(library, _)| library.names == [REDIRECT]);
        auditor.and_then(|(_, file)| shown(file.as_deref()?)).unwrap_or(false)
    }

    /// Makes what a program's environment needs.
    pub(crate) fn prepare(&self) -> Result<Prepared, Failure> {
        let mut hasher = DefaultHasher::new();
        (&self.folder, own_path()).hash(&mut hasher);
        let folder = cache()?.join(format!("{:016x}", hasher.finish()));
        let failed =
            |error: io::Error| Failure::usage(format!("cannot make links in {}: {error}", folder.display()));
        own_folder(&folder).map_err(failed)?;
        let (libraries, programs, tools) = (folder.join("lib64"), folder.join("bin"), folder.join("tools"));
        for folder in [&libraries, &programs, &tools] {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let toolkit = match own_path() {
            Some(program) => {
                link(&program, &programs.join(crate::ptxas::NAME)).map_err(failed)?;
                link(&program, &tools.join(crate::smi::NAME)).map_err(failed)?;
                Some(folder.clone())
            }
            None => None,
        };
        for (library, file) in LIBRARIES.iter().zip(&self.files) {
            for name in library.names {
                let name = libraries.join(name);
                match file {
                    Some(file) => link(file, &name).map_err(failed)?,
                    // What is no longer built must not be found.
                    None => drop(fs::remove_file(&name)),
                }
            }
        }
        let built = |name| Some(libraries.join(name)).filter(|file| file.is_file());
        let (redirect, preload) = (built(REDIRECT), built(DEVICE_FILES));
        Ok(Prepared { libraries, redirect, preload, toolkit, tools })
    }
}

/// The folder with the libraries that this command brings, if it does, named after what they contain.
fn unpacked() -> Result<Option<PathBuf>, Failure> {
    let Some(content) = bundle::content().filter(|_| env::var_os("WARPLOOM_LIB").is_none()) else {
        return Ok(None);
    };
    let cache = cache()?;
    let folder = cache.join(format!("libraries-{content}"));
    let write = || -> io::Result<()> {
        own_folder(&cache)?;
        if folder.is_dir() {
            return own_folder(&folder);
        }
        // A folder is complete or not there: programs may start at the same moment, or stop half-way.
        let partial = cache.join(format!("libraries-{content}.{}", std::process::id()));
        let _ = fs::remove_dir_all(&partial);
        own_folder(&partial)?;
        bundle::write(&partial)?;
        let renamed = fs::rename(&partial, &folder);
        if renamed.is_err() && folder.is_dir() {
            fs::remove_dir_all(&partial)?;
            return own_folder(&folder);
        }
        renamed
    };
    let failed =
        |error: io::Error| Failure::usage(format!("cannot write libraries to {}: {error}", folder.display()));
    write().map_err(failed)?;
    Ok(Some(folder))
}

/// A folder of this user's for what can be made again at any time.
fn cache() -> Result<PathBuf, Failure> {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")));
    cache
        .map(|cache| cache.join("warploom"))
        .ok_or_else(|| Failure::usage("neither XDG_CACHE_HOME nor HOME is set").hint("set one of them"))
}

/// Makes a folder that only this user can change: programs will load code from it.
fn own_folder(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let (made, process) = (fs::metadata(folder)?, fs::metadata("/proc/self")?);
    match made.uid() == process.uid() && made.mode() & 0o022 == 0 {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::PermissionDenied, "others can change this folder")),
    }
}

/// Makes a link, in one step, so that programs that start at the same moment find the old or the new one.
fn link(file: &Path, name: &Path) -> io::Result<()> {
    let file = fs::canonicalize(file)?;
    if fs::read_link(name).is_ok_and(|before| before == file) {
        return Ok(());
    }
    let mut other = name.as_os_str().to_owned();
    other.push(format!(".{}", std::process::id()));
    let other = PathBuf::from(other);
    drop(fs::remove_file(&other));
    symlink(&file, &other)?;
    fs::rename(&other, name)
}
