//! The libraries that stand in for NVIDIA's: what they are called, what they are built from, how they are put together.
//!
//! `cargo xtask libraries`, the build script of the crate `bundle` and the command all go by the table here: who adds a
//! library adds a row.

pub use crate::link::{DEVICE_FILES, REDIRECT};
use crate::link::{Named, Shared, auditor, device_files, linkers, networks, profilers, runtimes};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// A library of ours.
#[derive(Clone, Copy, Debug)]
pub struct Library {
    /// What it stands in for.
    pub role: &'static str,
    /// The names that programs load it by; the first is its soname, and the file's.
    pub names: &'static [&'static str],
    /// The package that it is built from.
    pub package: &'static str,
    /// How it becomes a file of that name.
    pub made: Made,
}

/// How a library is made of what cargo builds.
#[derive(Clone, Copy, Debug)]
pub enum Made {
    /// It is cargo's shared library of this name.
    Shared(&'static str),
    /// It is linked from cargo's static library of this name.
    Linked(&'static str, Linker),
}

/// Links the library of a name from an archive into a folder; the first path is the workspace's.
pub type Linker = fn(name: &str, workspace: &Path, archive: &Path, folder: &Path) -> io::Result<()>;

/// All of them. Without the first there is nothing to run a program with.
pub const LIBRARIES: [Library; 12] = [
    Library {
        role: "the CUDA driver",
        names: &["libcuda.so.1", "libcuda.so"],
        package: "warploom-libcuda",
        made: Made::Shared("libcuda.so"),
    },
    Library {
        role: "the CUDA runtime",
        names: &["libcudart.so.13", "libcudart.so"],
        package: "warploom-libcudart",
        made: Made::Linked("libcudart.a", runtime),
    },
    Library {
        role: "the runtime of CUDA 12",
        names: &["libcudart.so.12"],
        package: "warploom-libcudart",
        made: Made::Linked("libcudart.a", runtime),
    },
    Library {
        role: "NVML",
        names: &["libnvidia-ml.so.1", "libnvidia-ml.so"],
        package: "warploom-libnvml",
        made: Made::Shared("libnvml.so"),
    },
    Library {
        role: "CUPTI",
        names: &["libcupti.so.13", "libcupti.so"],
        package: "warploom-libcupti",
        made: Made::Linked("libcupti.a", profiler),
    },
    Library {
        role: "CUPTI of CUDA 12",
        names: &["libcupti.so.12"],
        package: "warploom-libcupti",
        made: Made::Linked("libcupti.a", profiler),
    },
    Library {
        role: "nvJitLink",
        names: &["libnvJitLink.so.13", "libnvJitLink.so"],
        package: "warploom-libnvjitlink",
        made: Made::Linked("libnvjitlink.a", linker),
    },
    Library {
        role: "nvJitLink of CUDA 12",
        names: &["libnvJitLink.so.12"],
        package: "warploom-libnvjitlink",
        made: Made::Linked("libnvjitlink.a", linker),
    },
    Library {
        role: "cuDNN",
        names: &["libcudnn.so.9", "libcudnn.so"],
        package: "warploom-libcudnn",
        made: Made::Linked("libcudnn.a", network),
    },
    Library {
        role: "gpuocelot, for tinygrad's mock of a GPU",
        names: &["libgpuocelot.so"],
        package: "warploom-libgpuocelot",
        made: Made::Shared("libgpuocelot.so"),
    },
    Library {
        role: "what redirects programs to these libraries",
        names: &[REDIRECT],
        package: "warploom-redirect",
        made: Made::Linked("libredirect.a", redirect),
    },
    Library {
        role: "NVIDIA's device files, for who asks",
        names: &[DEVICE_FILES],
        package: "warploom-device-files",
        made: Made::Linked("libdevice_files.a", devices),
    },
];

fn runtime(name: &str, workspace: &Path, archive: &Path, folder: &Path) -> io::Result<()> {
    versioned(&runtimes(&workspace.join("crates/libcudart")), name, archive, folder)
}

fn profiler(name: &str, workspace: &Path, archive: &Path, folder: &Path) -> io::Result<()> {
    versioned(&profilers(&workspace.join("crates/libcupti")), name, archive, folder)
}

fn linker(name: &str, workspace: &Path, archive: &Path, folder: &Path) -> io::Result<()> {
    versioned(&linkers(&workspace.join("crates/libnvjitlink")), name, archive, folder)
}

fn network(name: &str, workspace: &Path, archive: &Path, folder: &Path) -> io::Result<()> {
    versioned(&[networks(&workspace.join("crates/libcudnn"))], name, archive, folder)
}

fn devices(_: &str, _: &Path, archive: &Path, folder: &Path) -> io::Result<()> {
    device_files(archive, folder).map(drop)
}

fn redirect(_: &str, _: &Path, archive: &Path, folder: &Path) -> io::Result<()> {
    auditor(archive, folder).map(drop)
}

/// Links the one of some libraries that has a name.
fn versioned(known: &[Named], name: &str, archive: &Path, folder: &Path) -> io::Result<()> {
    let found = known.iter().find(|(known, ..)| *known == name);
    let (name, symbols, aliases) = found.ok_or_else(|| io::Error::other(format!("there is no {name}")))?;
    let symbols: Vec<&str> = symbols.iter().map(String::as_str).collect();
    let aliases: Vec<(&str, &str)> = aliases.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    Shared { name, symbols: &symbols, aliases: &aliases }.link(archive, folder).map(drop)
}

impl Library {
    /// Its file in a folder: one that we have put together, or one that cargo builds into.
    pub fn within(&self, folder: &Path) -> Option<PathBuf> {
        let cargo = match self.made {
            Made::Shared(file) => Some(file),
            Made::Linked(..) => None,
        };
        let names = self.names.iter().copied().chain(cargo);
        names.map(|name| folder.join(name)).find(|path| path.is_file())
    }

    /// Puts it, under all its names, into a folder, from what cargo has built.
    pub fn put(&self, workspace: &Path, built: &Path, folder: &Path) -> io::Result<()> {
        let [name, links @ ..] = self.names else { return Ok(()) };
        let file = folder.join(name);
        // A program that has mapped the old file keeps it: writing into it would pull the code from under it.
        remove(&file)?;
        match self.made {
            Made::Shared(library) => drop(fs::copy(built.join(library), file)?),
            Made::Linked(archive, link) => link(name, workspace, &built.join(archive), folder)?,
        }
        for other in links {
            let other = folder.join(other);
            remove(&other)?;
            symlink(name, other)?;
        }
        Ok(())
    }
}

/// Removes a file if it is there.
fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Has cargo build the libraries' packages with a profile into a target folder; the folder that their files are in.
///
/// The processes that cargo starts share the limit of a cargo that this one was started by.
pub fn build(workspace: &Path, profile: &str, target: &Path) -> io::Result<PathBuf> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // Whoever checks the command with clippy does not check the libraries by that.
    cargo.env_remove("RUSTC_WORKSPACE_WRAPPER");
    cargo.current_dir(workspace).args(["build", "--profile", profile, "--target-dir"]).arg(target);
    for library in LIBRARIES {
        cargo.args(["--package", library.package]);
    }
    let status = cargo.status()?;
    if !status.success() {
        return Err(io::Error::other(format!("cargo: {status}")));
    }
    Ok(target.join(if profile == "dev" { "debug" } else { profile }))
}

/// Puts all libraries under the names that programs look for into a folder, from what cargo has built.
pub fn assemble(workspace: &Path, built: &Path, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    LIBRARIES.iter().try_for_each(|library| library.put(workspace, built, folder))
}
