//! Builds our libraries, and compresses them to become part of the command.
//!
//! A second cargo does it, with a target folder of its own, since the first holds the lock of the usual one. That takes
//! as long as the command itself, so it is done only for release builds with the feature `libraries`. A test of installing that has built the
//! workspace says so by `WARPLOOM_LIBRARIES_TARGET`: a target folder in which the dev profile's libraries stand, or are built.

use library_build::libraries::{LIBRARIES, assemble, build};
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The variable that names a target folder of the dev profile.
const TARGET: &str = "WARPLOOM_LIBRARIES_TARGET";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let variable = |name| env::var(name).unwrap_or_default();
    let workspace = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../..");
    let out = PathBuf::from(variable("OUT_DIR"));
    let released = variable("PROFILE") == "release" && cfg!(feature = "libraries");
    let table = match released {
        true if variable("HOST") != variable("TARGET") => without("they are built for this host only"),
        true if !workspace.join("crates/libcuda").is_dir() => without("their sources are not here"),
        true => embedded(&workspace, &out).unwrap_or_else(|error| panic!("the libraries: {error}")),
        false => table(None, ""),
    };
    fs::write(out.join("table.rs"), table).expect("OUT_DIR can be written");
}

/// A table without libraries, for a reason that is told.
fn without(reason: &str) -> String {
    println!("cargo:warning=the command brings no libraries: {reason}");
    table(None, "")
}

/// The constants that the crate includes: a name for the libraries, all of them compressed, and what they are.
fn table(found: Option<(&str, &Path)>, rows: &str) -> String {
    let content = found.map(|(content, _)| content);
    let compressed = found.map_or("&[]".to_owned(), |(_, file)| format!("include_bytes!({file:?})"));
    format!(
        "const CONTENT: Option<&str> = {content:?};\nstatic COMPRESSED: &[u8] = {compressed};\n\
         static EMBEDDED: &[Embedded] = &[{rows}];\n"
    )
}

/// Builds and compresses them; the table.
fn embedded(workspace: &Path, out: &Path) -> io::Result<String> {
    println!("cargo:rerun-if-env-changed={TARGET}");
    let built = match env::var_os(TARGET) {
        Some(target) => build(workspace, "dev", Path::new(&target))?,
        None => build(workspace, "release", &out.join("target"))?,
    };
    let folder = out.join("libraries");
    assemble(workspace, &built, &folder)?;
    watch(&built, out)?;
    let mut hasher = DefaultHasher::new();
    let mut rows = String::new();
    let compressed = out.join("libraries.xz");
    // One stream: the libraries have much in common.
    let mut encoder = packing::packer(fs::File::create(&compressed)?)?;
    for library in LIBRARIES {
        let [name, links @ ..] = library.names else { continue };
        let content = fs::read(folder.join(name))?;
        hasher.write(name.as_bytes());
        hasher.write(&content);
        encoder.write_all(&content)?;
        let bytes = content.len();
        writeln!(rows, "Embedded {{ name: {name:?}, links: &{links:?}, bytes: {bytes} }},")
            .expect("strings take everything");
    }
    encoder.finish()?;
    Ok(table(Some((&format!("{:016x}", hasher.finish()), &compressed)), &rows))
}

/// Has this script run again when a source of the libraries changes: cargo lists them beside what it builds.
fn watch(built: &Path, out: &Path) -> io::Result<()> {
    for entry in fs::read_dir(built)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "d") {
            continue;
        }
        let listed = fs::read_to_string(&path)?;
        let sources = listed.split_once(": ").map_or("", |(_, sources)| sources.trim_end());
        // What is made here changes whenever this script runs.
        for source in sources.replace("\\ ", "\0").split(' ').map(|source| source.replace('\0', " ")) {
            if !Path::new(&source).starts_with(out) {
                println!("cargo:rerun-if-changed={source}");
            }
        }
    }
    println!("cargo:rerun-if-changed=../../Cargo.lock");
    Ok(())
}
