//! Rules that no compiler checks. All of them are looked at before any failure is reported.

use crate::headers::MADE;
use crate::{generated, laws, root};
use anyhow::{Context, Result, bail};
use cargo_metadata::{DependencyKind, MetadataCommand, Package};
use std::collections::BTreeSet;
use std::fs;

use walkdir::WalkDir;

/// Who may use whom of the workspace: dependencies point downwards only. A crate that is not here is a mistake.
const MAY_USE: &[(&str, &[&str])] = &[
    ("warploom-numerics", &[]),
    ("warploom-ptx", &[]),
    ("warploom-ir", &["warploom-numerics", "warploom-ptx"]),
    ("warploom-machine", &["warploom-ir", "warploom-numerics", "warploom-ptx"]),
    (
        "warploom-jit",
        &["warploom-ir", "warploom-machine", "warploom-numerics", "warploom-packing", "warploom-ptx"],
    ),
    ("warploom-cubin", &[]),
    ("warploom-sass-table", &[]),
    ("warploom-sass", &["warploom-sass-table"]),
    ("warploom-sass-learn", &["warploom-cubin", "warploom-sass", "warploom-sass-table"]),
    ("warploom-cuasm", &["warploom-cubin", "warploom-ptx", "warploom-sass"]),
    (
        "warploom-ptxas",
        &[
            "warploom-cuasm",
            "warploom-debug-info",
            "warploom-ir",
            "warploom-numerics",
            "warploom-ptx",
            "warploom-sass",
        ],
    ),
    (
        "warploom-sass-machine",
        &["warploom-cubin", "warploom-ir", "warploom-machine", "warploom-numerics", "warploom-sass"],
    ),
    ("warploom-sim", &["warploom-sass", "warploom-sass-machine"]),
    ("warploom-abi", &["warploom-ptx"]),
    ("warploom-debug-info", &["warploom-ptx"]),
    ("warploom-memory-model", &["warploom-abi", "warploom-ir", "warploom-ptx"]),
    (
        "warploom-sanitizer",
        &[
            "warploom-abi",
            "warploom-debug-info",
            "warploom-ir",
            "warploom-machine",
            "warploom-memory-model",
            "warploom-ptx",
        ],
    ),
    (
        "warploom-debugger",
        &["warploom-abi", "warploom-debug-info", "warploom-machine", "warploom-ptx", "warploom-sanitizer"],
    ),
    ("warploom-link", &["warploom-ptx"]),
    ("warploom-reports", &["warploom-abi", "warploom-machine", "warploom-memory-model", "warploom-ptx"]),
    (
        "warploom-python",
        &[
            "warploom-cuasm",
            "warploom-driver-api",
            "warploom-jit",
            "warploom-machine",
            "warploom-memory-model",
            "warploom-ptx",
            "warploom-reports",
            "warploom-sanitizer",
        ],
    ),
    (
        "warploom-lsp",
        &["warploom-cuasm", "warploom-ir", "warploom-memory-model", "warploom-ptx", "warploom-sass"],
    ),
    (
        "warploom-driver",
        &[
            "warploom-abi",
            "warploom-cubin",
            "warploom-link",
            "warploom-machine",
            "warploom-ptx",
            "warploom-sanitizer",
        ],
    ),
    ("warploom-library-build", &[]),
    ("warploom-cuda-headers", &[]),
    ("warploom-packing", &[]),
    ("warploom-bundle", &["warploom-library-build", "warploom-packing"]),
    ("warploom-ffi", &[]),
    ("warploom-driver-api", &["warploom-library-build", "warploom-cuda-headers"]),
    (
        "warploom-libcuda",
        &[
            "warploom-ffi",
            "warploom-library-build",
            "warploom-cuda-headers",
            "warploom-abi",
            "warploom-debugger",
            "warploom-driver",
            "warploom-jit",
            "warploom-machine",
            "warploom-ptx",
            "warploom-ptxas",
            "warploom-sanitizer",
            "warploom-sass-machine",
            "warploom-sim",
        ],
    ),
    (
        "warploom-libcudart",
        &["warploom-ffi", "warploom-library-build", "warploom-driver-api", "warploom-cuda-headers"],
    ),
    (
        "warploom-libnvml",
        &["warploom-ffi", "warploom-library-build", "warploom-driver-api", "warploom-cuda-headers"],
    ),
    ("warploom-libcupti", &["warploom-ffi", "warploom-library-build"]),
    (
        "warploom-libnvjitlink",
        &[
            "warploom-cubin",
            "warploom-driver-api",
            "warploom-ffi",
            "warploom-library-build",
            "warploom-libcuda",
        ],
    ),
    ("warploom-libgpuocelot", &["warploom-driver-api", "warploom-ffi", "warploom-libcuda"]),
    ("warploom-libcudnn", &["warploom-ffi", "warploom-library-build"]),
    ("warploom-redirect", &[]),
    ("warploom-device-files", &[]),
    ("warploom", ALL),
    ("warploom-examples", ALL),
    ("warploom-filetest", ALL),
    ("warploom-real-gpu", &["warploom-driver-api", "warploom-machine"]),
    ("warploom-replay", &["warploom-machine", "warploom-numerics", "warploom-ptx"]),
    ("warploom-bench-kernels", &["warploom-machine", "warploom-ptx"]),
    ("warploom-conformance", &["warploom-ir", "warploom-machine", "warploom-ptx", "warploom-real-gpu"]),
    (
        "warploom-kernel-fuzz",
        &[
            "warploom-conformance",
            "warploom-debug-info",
            "warploom-jit",
            "warploom-machine",
            "warploom-ptx",
            "warploom-ptxas",
            "warploom-real-gpu",
            "warploom-sass-machine",
        ],
    ),
    (
        "xtask",
        &[
            "warploom-abi",
            "warploom-cuasm",
            "warploom-jit",
            "warploom-kernel-fuzz",
            "warploom-library-build",
            "warploom-machine",
            "warploom-memory-model",
            "warploom-numerics",
            "warploom-packing",
            "warploom-ptx",
            "warploom-ptxas",
            "warploom-conformance",
            "warploom-replay",
            "warploom-real-gpu",
            "warploom-sass-machine",
            "warploom-sim",
        ],
    ),
];

/// What the command, the examples and the tests may use.
const ALL: &[&str] = &[
    "warploom-abi",
    "warploom-bundle",
    "warploom-library-build",
    "warploom-cuasm",
    "warploom-cubin",
    "warploom-ffi",
    "warploom-ir",
    "warploom-jit",
    "warploom-debug-info",
    "warploom-debugger",
    "warploom-link",
    "warploom-machine",
    "warploom-memory-model",
    "warploom-numerics",
    "warploom-ptx",
    "warploom-ptxas",
    "warploom-reports",
    "warploom-sass",
    "warploom-lsp",
    "warploom-sass-learn",
    "warploom-sass-machine",
    "warploom-sim",
    "warploom-sanitizer",
    "warploom-real-gpu",
];

/// The most lines of a file written by hand.
const LONGEST: usize = 800;

/// What stands for code that is not there; split, so that this file does not contain it.
const UNFINISHED: [&str; 3] = [concat!("todo", "!("), concat!("unimplemented", "!("), concat!("dbg", "!(")];

pub(crate) fn run() -> Result<()> {
    let metadata = MetadataCommand::new().manifest_path(root().join("Cargo.toml")).exec()?;
    let packages = metadata.workspace_packages();
    let mut wrong = Vec::new();
    dependencies(&packages, &mut wrong);
    external(&packages, &mut wrong);
    for package in &packages {
        documentation(package, &mut wrong);
    }
    for (path, text) in generated()? {
        if fs::read_to_string(&path).ok().as_deref() != Some(text.as_str()) {
            wrong.push(format!("{} is not what `cargo xtask docs` writes", path.display()));
        }
    }
    sources(&mut wrong)?;
    laws::check(&mut wrong)?;
    if !wrong.is_empty() {
        bail!("{} things are not tidy:\n  {}", wrong.len(), wrong.join("\n  "));
    }
    println!("tidy: {} crates", packages.len());
    Ok(())
}

fn dependencies(packages: &[&Package], wrong: &mut Vec<String>) {
    for package in packages {
        let name = package.name.as_str();
        let Some((_, allowed)) = MAY_USE.iter().find(|(known, _)| *known == name) else {
            wrong.push(format!("crate {name} is not in the table of xtask/src/tidy.rs"));
            continue;
        };
        // What tests use is their own business.
        let used = package.dependencies.iter().filter(|d| d.kind != DependencyKind::Development);
        for dependency in used.filter(|d| d.path.is_some() && !allowed.contains(&d.name.as_str())) {
            wrong.push(format!("crate {name} may not use {}", dependency.name));
        }
    }
}

/// Every crate from outside is named in ARCHITECTURE.md, in backquotes.
fn external(packages: &[&Package], wrong: &mut Vec<String>) {
    let named = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap_or_default();
    let used: BTreeSet<&str> = packages
        .iter()
        .flat_map(|package| &package.dependencies)
        .filter(|dependency| dependency.path.is_none())
        .map(|dependency| dependency.name.as_str())
        .collect();
    for name in used.into_iter().filter(|name| !named.contains(&format!("`{name}`"))) {
        wrong.push(format!("ARCHITECTURE.md does not say why `{name}` is used"));
    }
}

/// The root of every library and program starts with its documentation.
fn documentation(package: &Package, wrong: &mut Vec<String>) {
    for target in package.targets.iter().filter(|target| target.is_lib() || target.is_bin()) {
        let text = fs::read_to_string(&target.src_path).unwrap_or_default();
        if !text.starts_with("//!") {
            wrong.push(format!("{} does not start with its documentation", target.src_path));
        }
    }
}

/// Lengths and words of every Rust file that is not generated.
fn sources(wrong: &mut Vec<String>) -> Result<()> {
    let root = root();
    let folders = ["crates", "xtask", "examples", "fuzz/fuzz_targets"].map(|folder| root.join(folder));
    let entries = folders
        .iter()
        .filter(|folder| folder.exists())
        .flat_map(|folder| WalkDir::new(folder).sort_by_file_name());
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let name = path.strip_prefix(&root).unwrap_or(path);
        let lines = text.lines().count();
        if lines > LONGEST && !text.contains(MADE) {
            wrong.push(format!("{} has {lines} lines; {LONGEST} are the most", name.display()));
        }
        for word in UNFINISHED.iter().filter(|word| text.contains(**word)) {
            wrong.push(format!("{} says `{word}...)`", name.display()));
        }
    }
    Ok(())
}
