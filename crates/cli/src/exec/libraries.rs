//! Where our libraries are, and a folder in which they have the names that programs look for.

use crate::failure::Failure;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// A library of ours.
pub(crate) struct Library {
    /// What it stands in for.
    pub(crate) role: &'static str,
    /// The names that programs load it by; the first is its soname.
    pub(crate) names: &'static [&'static str],
    /// What the build calls it.
    built: &'static str,
}

/// All of them. Without the first there is nothing to run a program with.
pub(crate) const LIBRARIES: [Library; 7] = [
    Library { role: "the CUDA driver", names: &["libcuda.so.1", "libcuda.so"], built: "libcuda.so" },
    Library {
        role: "the CUDA runtime",
        names: &["libcudart.so.13", "libcudart.so"],
        built: "libcudart.so.13",
    },
    Library { role: "the runtime of CUDA 12", names: &["libcudart.so.12"], built: "libcudart.so.12" },
    Library { role: "NVML", names: &["libnvidia-ml.so.1", "libnvidia-ml.so"], built: "libnvml.so" },
    Library { role: "CUPTI", names: &["libcupti.so.13", "libcupti.so"], built: "libcupti.so.13" },
    Library { role: "CUPTI of CUDA 12", names: &["libcupti.so.12"], built: "libcupti.so.12" },
    Library { role: "what redirects programs to these libraries", names: &[REDIRECT], built: REDIRECT },
];

/// The auditor of the dynamic linker. It redirects to the folder that it lies in.
const REDIRECT: &str = "libwarploom_redirect.so";

impl Library {
    /// Its file in a folder.
    fn within(&self, folder: &Path) -> Option<PathBuf> {
        let names = self.names.iter().copied().chain([self.built]);
        names.map(|name| folder.join(name)).find(|path| path.is_file())
    }
}

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
    /// A folder in the shape of a CUDA toolkit: those libraries are its `lib64`, this program is its `bin/ptxas`. Headers and
    /// libdevice are NVIDIA's, and not there.
    pub(crate) toolkit: Option<PathBuf>,
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
        let places: Vec<String> = candidates.iter().map(|folder| folder.display().to_string()).collect();
        let message = format!("there is no {} in {}", LIBRARIES[0].built, places.join(", "));
        Err(Failure::usage(message)
            .hint("`cargo xtask libraries` makes it, in target/cuda; WARPLOOM_LIB names another folder"))
    }

    /// Whether the dynamic linker of this host takes our auditor: tried with a program that shows what is loaded into it.
    pub(crate) fn redirects(&self) -> bool {
        let shown = |auditor: &Path| {
            let output = Command::new("cat").arg("/proc/self/maps").env("LD_AUDIT", auditor).output().ok()?;
            let name = auditor.file_name()?.as_encoded_bytes();
            Some(memchr::memmem::find(&output.stdout, name).is_some())
        };
        let auditor = LIBRARIES.iter().zip(&self.files).find(|(library, _)| library.built == REDIRECT);
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
        let (libraries, programs) = (folder.join("lib64"), folder.join("bin"));
        for folder in [&libraries, &programs] {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let toolkit = match own_path() {
            Some(program) => {
                link(&program, &programs.join(crate::ptxas::NAME)).map_err(failed)?;
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
        let redirect = Some(libraries.join(REDIRECT)).filter(|file| file.is_file());
        Ok(Prepared { libraries, redirect, toolkit })
    }
}

/// A folder of this user's for links that can be made again at any time.
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
