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

/// The libraries of CUDA 13 and 12 that the lists and the source of a crate describe: in that of CUDA 12, functions whose names
/// begin with `older` stand under their names without it.
fn versions(folder: &Path, [newest, previous]: [&'static str; 2], older: &str) -> [Named; 2] {
    let symbols = |list: &str| -> Vec<String> {
        let text = fs::read_to_string(folder.join(list)).expect("the list of symbols is there");
        names(&text).map(str::to_owned).collect()
    };
    let (new, old) = (symbols("exports-13.txt"), symbols("exports-12.txt"));
    let written = definitions(&folder.join("src/api"));
    let changed = written.iter().filter_map(|name| Some((name.strip_prefix(older)?, name)));
    let twin = |(name, target): (&str, &String)| {
        ["", "_ptsz"].map(|suffix| (format!("{name}{suffix}"), format!("{target}{suffix}")))
    };
    let aliases = changed.flat_map(twin).filter(|(name, _)| old.contains(name)).collect();
    [(newest, new, Vec::new()), (previous, old, aliases)]
}

/// The dynamic linker's auditor, which the crate `redirect` is: its name, and what the linker calls.
const AUDITOR: Shared<'static> =
    Shared { name: "libwarploom_redirect.so", symbols: &["la_version", "la_objsearch"], aliases: &[] };

/// Links the auditor into a folder; the path of the library. It is complete by itself: a symbol that a C library would have
/// to give is an error.
pub fn auditor(archive: &Path, folder: &Path) -> io::Result<PathBuf> {
    AUDITOR.link_with(archive, folder, &["-nostdlib", "-Wl,-z,defs", "-Wl,--strip-all"])
}

impl Shared<'_> {
    /// Links it into a folder; the path of the library.
    pub fn link(&self, archive: &Path, folder: &Path) -> io::Result<PathBuf> {
        // A driver library that lies beside it is found, unless the environment names another.
        let options = ["-Wl,--enable-new-dtags", "-Wl,-rpath,$ORIGIN", "-ldl", "-lpthread", "-lm"];
        self.link_with(archive, folder, &options)
    }

    fn link_with(&self, archive: &Path, folder: &Path, options: &[&str]) -> io::Result<PathBuf> {
        let script = folder.join(format!("{}.ld", self.name));
        fs::write(&script, self.script())?;
        let library = folder.join(self.name);
        let mut linker = Command::new("cc");
        linker.args(["-shared", "-o"]).args([library.as_os_str(), script.as_os_str(), archive.as_os_str()]);
        linker.args([format!("-Wl,-soname,{}", self.name).as_str(), "-Wl,--gc-sections"]);
        linker.args(self.aliases.iter().map(|(name, target)| format!("-Wl,--defsym={name}={target}")));
        linker.args(options);
        let output = linker.output()?;
        fs::remove_file(&script)?;
        if output.status.success() {
            Ok(library)
        } else {
            Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()))
        }
    }

    /// What takes the symbols out of the archive, gives them their version, and hides all others.
    fn script(&self) -> String {
        let mut script = format!("EXTERN({})\nVERSION {{ {} {{ global:", self.symbols.join(" "), self.name);
        for symbol in self.symbols {
            let _ = write!(script, " {symbol};");
        }
        script.push_str(" local: *; }; }\n");
        script
    }
}
