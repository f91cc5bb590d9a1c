//! Makes the types of `cuda_runtime_api.h` and the functions that are not written in `src/api`.
//!
//! - `sys.rs`, `sys12.rs`: the types of CUDA 13.0 and 12.9, from the source of the crate `cudarc`.
//! - `errors.rs`: names of errors.
//! - `exports.rs`: for every symbol of `exports-13.txt` and `exports-12.txt` that no file in `src/api` defines: what
//!   `forwards.txt` says; or another function with the per-thread default stream; or a function under the name that an
//!   older header gave it; or one that says that it is not supported.

use cabi::header::{Header, Selection, source_of};
use cabi::source::{definitions, names};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Symbols of 12.9 that are what a symbol of 13.0 is.
const RENAMED: [(&str, &str); 17] = [
    ("cudaEventElapsedTime_v2", "cudaEventElapsedTime"),
    ("cudaGraphAddDependencies_v2", "cudaGraphAddDependencies"),
    ("cudaGraphAddNode_v2", "cudaGraphAddNode"),
    ("cudaGraphGetEdges_v2", "cudaGraphGetEdges"),
    ("cudaGraphNodeGetDependencies_v2", "cudaGraphNodeGetDependencies"),
    ("cudaGraphNodeGetDependentNodes_v2", "cudaGraphNodeGetDependentNodes"),
    ("cudaGraphRemoveDependencies_v2", "cudaGraphRemoveDependencies"),
    ("cudaMemAdvise_v2", "cudaMemAdvise"),
    ("cudaMemPrefetchAsync_v2", "cudaMemPrefetchAsync"),
    ("cudaStreamGetCaptureInfo_v3", "cudaStreamGetCaptureInfo"),
    ("cudaStreamUpdateCaptureDependencies_v2", "cudaStreamUpdateCaptureDependencies"),
    ("cudaThreadExit", "cudaDeviceReset"),
    ("cudaThreadSynchronize", "cudaDeviceSynchronize"),
    ("cudaThreadGetLimit", "cudaDeviceGetLimit"),
    ("cudaThreadSetLimit", "cudaDeviceSetLimit"),
    ("cudaThreadGetCacheConfig", "cudaDeviceGetCacheConfig"),
    ("cudaThreadSetCacheConfig", "cudaDeviceSetCacheConfig"),
];

fn main() {
    for file in ["build.rs", "exports-13.txt", "exports-12.txt", "forwards.txt", "src/api"] {
        println!("cargo:rerun-if-changed={file}");
    }
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcudart.so");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--enable-new-dtags,-rpath,$ORIGIN");
    let bindings = source_of("cudarc", "src/runtime/sys/mod.rs");
    let none = BTreeSet::new();
    let header = |version| Selection { version: Some(version), prefix: "cuda", also: &none }.read(&bindings);
    let (new, old) = (header("cuda-13000"), header("cuda-12090"));
    write("sys.rs", &new.module("pub(crate) mod sys", "The types of CUDA 13.0."));
    write("sys12.rs", &old.module("pub(crate) mod sys12", "The types of CUDA 12.9."));
    write("errors.rs", &errors(&new));
    write("exports.rs", &exports(&new));
}

fn write(name: &str, text: &str) {
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join(name), text).expect("OUT_DIR can be written");
}

fn read(name: &str) -> String {
    fs::read_to_string(name).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A table of errors' numbers and names.
fn errors(header: &Header) -> String {
    let constants = &header.enumerations["cudaError"];
    let rows = constants.iter().map(|name| format!("(crate::sys::{name}, c\"{name}\"),"));
    format!("static NAMES: &[(u32, &std::ffi::CStr)] = &[{}];", rows.collect::<String>())
}

/// The functions that are not written by hand.
fn exports(header: &Header) -> String {
    let (forwards, listed) = (read("forwards.txt"), read("exports-13.txt") + &read("exports-12.txt"));
    let forwards: BTreeMap<&str, &str> =
        names(&forwards).map(|line| line.split_once(' ').expect("two names")).collect();
    let written = definitions(Path::new("src/api"), &["api", "define"]);
    let known = |name: &str| header.parameters.get(name).or_else(|| written.get(name));
    let exists = |name: &str| written.contains_key(name) || forwards.contains_key(name);
    let renamed = |name: &str| RENAMED.iter().find(|(old, _)| *old == name).map(|(_, new)| *new);
    let typed = |name: &str| -> String {
        let types = known(name).unwrap_or_else(|| panic!("{name} is in no header")).iter().enumerate();
        types.map(|(i, ty)| format!("a{i}: {ty}, ")).collect()
    };
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "{text}").expect("strings take everything");
    let all: BTreeSet<&str> = names(&listed).collect();
    for name in all {
        if written.contains_key(name) {
            assert!(!forwards.contains_key(name), "{name} is written and forwarded");
            continue;
        }
        let base = name.strip_suffix("_ptsz").or(name.strip_suffix("_ptds"));
        let original = renamed(base.unwrap_or(name)).or(base);
        if let Some(target) = forwards.get(name) {
            let contextual = !["cuDevice", "cuLibrary", "cuLogs"].iter().any(|none| target.starts_with(none));
            line(format!("crate::border::forward! {{ {name}, {target}, {contextual}, ({}) }}", typed(name)));
        } else if let Some(original) = original.filter(|original| exists(original)) {
            let (per_thread, typed) = (base.is_some(), typed(original));
            line(format!("crate::border::twin! {{ {name}, {original}, {per_thread}, ({typed}) }}"));
        } else {
            line(format!("border::unsupported! {{ {name}, crate::error::Error::NOT_SUPPORTED.recorded() }}"));
        }
    }
    for twin in older_twins(&written) {
        line(twin);
    }
    out
}

/// The twins, for the per-thread default stream, of functions that CUDA 12 has in another form than CUDA 13.
fn older_twins(written: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let listed = read("exports-12.txt");
    let listed: BTreeSet<&str> = names(&listed).collect();
    let twin = |(name, types): (&String, &Vec<String>)| {
        let base = name.strip_prefix("cudart12_")?;
        let wanted = listed.contains(format!("{base}_ptsz").as_str());
        let typed: String = types.iter().enumerate().map(|(i, ty)| format!("a{i}: {ty}, ")).collect();
        wanted.then(|| format!("crate::border::twin! {{ {name}_ptsz, {name}, true, ({typed}) }}"))
    };
    written.iter().filter_map(twin).collect()
}
