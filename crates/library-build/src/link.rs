//! The last step to a shared library that stands in for another one: its name, and a version for its symbols.
//!
//! A program that was linked with a library says in which version of it a symbol must be. rustc writes a version script
//! of its own for a `cdylib`, with which no other can be combined; so such a library is linked here, from the static
//! library that rustc made, by the C compiler.

use crate::source::{definitions, names};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

/// A library to be linked.
#[derive(Clone, Copy, Debug)]
pub struct Shared<'a> {
    /// The name that programs have written down, and the version of its symbols.
    pub name: &'a str,
    /// All symbols that it shall have.
    pub symbols: &'a [&'a str],
    /// Symbols that stand for other ones of the static library.
    pub aliases: &'a [(&'a str, &'a str)],
}

/// A library of some version of CUDA: its name, its symbols, and those that stand for others.
pub type Named = (&'static str, Vec<String>, Vec<(String, String)>);

/// The libraries of the CUDA runtime, as the crate in `folder` has them.
///
/// # Panics
/// When the crate's files are not there.
pub fn runtimes(folder: &Path) -> [Named; 2] {
    versions(folder, ["libcudart.so.13", "libcudart.so.12"], "cudart12_")
}

/// The libraries of CUPTI, as the crate in `folder` has them.
///
/// # Panics
/// When the crate's files are not there.
pub fn profilers(folder: &Path) -> [Named; 2] {
    versions(folder, ["libcupti.so.13", "libcupti.so.12"], "cupti12_")
}

/// The library of cuDNN, as the crate in `folder` has it.
///
/// # Panics
/// When the crate's files are not there.
pub fn networks(folder: &Path) -> Named {
    ("libcudnn.so.9", symbols(&folder.join("exports-9.txt")), Vec::new())
}

/// The libraries of nvJitLink, as the crate in `folder` has them: each function once for every minor version, and once without.
///
/// # Panics
/// When the crate's files are not there.
pub fn linkers(folder: &Path) -> [Named; 2] {
    let functions = symbols(&folder.join("functions.txt"));
    let library = |name, major: u32| -> Named {
        let versions = functions.iter().flat_map(|function| {
            (0..10).map(move |minor| (format!("__{function}_{major}_{minor}"), function.clone()))
        });
        let aliases: Vec<(String, String)> = versions.collect();
        let names = functions.iter().cloned().chain(aliases.iter().map(|(name, _)| name.clone()));
        (name, names.collect(), aliases)
    };
    [library("libnvJitLink.so.13", 13), library("libnvJitLink.so.12", 12)]
}

/// The names in a list.
fn symbols(list: &Path) -> Vec<String> {
    let text = fs::read_to_string(list).expect("the list of symbols is there");
    names(&text).map(str::to_owned).collect()
}

/// The libraries of CUDA 13 and 12 that the lists and the source of a crate describe: in that of CUDA 12, functions whose names
/// begin with `older` stand under their names without it.
fn versions(folder: &Path, [newest, previous]: [&'static str; 2], older: &str) -> [Named; 2] {
    let [new, old] = ["exports-13.txt", "exports-12.txt"].map(|list| symbols(&folder.join(list)));
    let written = definitions(&folder.join("src/api"));
    let changed = written.iter().filter_map(|name| Some((name.strip_prefix(older)?, name)));
    let twin = |(name, target): (&str, &String)| {
        ["", "_ptsz"].map(|suffix| (format!("{name}{suffix}"), format!("{target}{suffix}")))
    };
    let aliases = changed.flat_map(twin).filter(|(name, _)| old.contains(name)).collect();
    [(newest, new, Vec::new()), (previous, old, aliases)]
}

/// A library of ours for the dynamic linker, whose symbols have no version: small, and complete but for what `options` link.
struct Bare<'a> {
    name: &'a str,
    symbols: &'a [&'a str],
    options: &'a [&'a str],
}

/// The auditor of the dynamic linker. It redirects to the folder that it lies in.
pub const REDIRECT: &str = "libwarploom_redirect.so";

/// What is preloaded to answer questions about NVIDIA's device files.
pub const DEVICE_FILES: &str = "libwarploom_device_files.so";

/// What the linker calls of the crate `redirect`, which needs no C library.
const AUDITOR: Bare<'static> =
    Bare { name: REDIRECT, symbols: &["la_version", "la_objsearch"], options: &[] };

/// What the crate `device-files` defines before the C library, under all names that its versions have.
const PRELOADED: Bare<'static> = Bare {
    name: DEVICE_FILES,
    symbols: &[
        "stat",
        "stat64",
        "__xstat",
        "__xstat64",
        "lstat",
        "lstat64",
        "__lxstat",
        "__lxstat64",
        "fstatat",
        "fstatat64",
        "__fxstatat",
        "__fxstatat64",
        "statx",
        "access",
        "faccessat",
    ],
    options: &["-lc"],
};

/// Links the auditor into a folder; the path of the library.
pub fn auditor(archive: &Path, folder: &Path) -> io::Result<PathBuf> {
    AUDITOR.link(archive, folder)
}

/// Links the library that answers for NVIDIA's device files into a folder; its path.
pub fn device_files(archive: &Path, folder: &Path) -> io::Result<PathBuf> {
    PRELOADED.link(archive, folder)
}

impl Bare<'_> {
    fn link(&self, archive: &Path, folder: &Path) -> io::Result<PathBuf> {
        // What is missing is an error: a part of Rust's library has come in that needs more than this may.
        let options = [&["-nostdlib", "-Wl,-z,defs", "-Wl,--strip-all"], self.options].concat();
        link(self.name, &script("", self.symbols), archive, folder, &options)
    }
}

impl Shared<'_> {
    /// Links it into a folder; the path of the library.
    pub fn link(&self, archive: &Path, folder: &Path) -> io::Result<PathBuf> {
        let aliases = self.aliases.iter().map(|(name, target)| format!("-Wl,--defsym={name}={target}"));
        let aliases: Vec<String> = aliases.collect();
        // A driver library that lies beside it is found, unless the environment names another. The debug information would
        // be that of Rust's library, and most of the file.
        let mut options = vec![
            "-Wl,--enable-new-dtags",
            "-Wl,-rpath,$ORIGIN",
            "-Wl,--strip-debug",
            "-ldl",
            "-lpthread",
            "-lm",
        ];
        options.extend(aliases.iter().map(String::as_str));
        link(self.name, &script(self.name, self.symbols), archive, folder, &options)
    }
}

/// Links a library with a linker script into a folder; its path.
fn link(name: &str, script: &str, archive: &Path, folder: &Path, options: &[&str]) -> io::Result<PathBuf> {
    let file = folder.join(format!("{name}.ld"));
    fs::write(&file, script)?;
    let library = folder.join(name);
    let mut linker = Command::new("cc");
    linker.args(["-shared", "-o"]).args([library.as_os_str(), file.as_os_str(), archive.as_os_str()]);
    linker.args([format!("-Wl,-soname,{name}").as_str(), "-Wl,--gc-sections"]).args(options);
    let output = linker.output()?;
    fs::remove_file(&file)?;
    if output.status.success() {
        Ok(library)
    } else {
        Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()))
    }
}

/// What takes symbols out of an archive, gives them a version, or none, and hides all others.
fn script(version: &str, symbols: &[&str]) -> String {
    let mut script = format!("EXTERN({})\nVERSION {{ {version} {{ global:", symbols.join(" "));
    for symbol in symbols {
        let _ = write!(script, " {symbol};");
    }
    script.push_str(" local: *; }; }\n");
    script
}
