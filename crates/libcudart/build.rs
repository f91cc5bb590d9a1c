//! Makes the functions that are not written in `src/api`.
//!
//! - `errors.rs`: names of errors.
//! - `exports.rs`: for every symbol of `exports-13.txt` and `exports-12.txt` that no file in `src/api` defines: what
//!   `forwards.txt` says; or another function with the per-thread default stream; or a function under the name that an
//!   older header gave it; or one that says that it is not supported.

use cuda_headers::{Function, cuda_runtime_api, cuda_runtime_api_12};
use library_build::source::{definitions, names};
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
    write("errors.rs", &errors());
    write("exports.rs", &exports());
}

fn write(name: &str, text: &str) {
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join(name), text).expect("OUT_DIR can be written");
}

fn read(name: &str) -> String {
    fs::read_to_string(name).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A table of errors' numbers and names.
fn errors() -> String {
    let errors = cuda_runtime_api::ENUMERATIONS.iter().find(|known| known.name == "cudaError");
    let constants = errors.expect("errors are an enumeration").constants;
    let rows = constants.iter().map(|name| format!("(crate::sys::{name}, c\"{name}\"),"));
    format!("static NAMES: &[(u32, &std::ffi::CStr)] = &[{}];", rows.collect::<String>())
}

/// The parameters of a function, typed: as the first of some headers says that declares it.
fn typed(name: &str, headers: [&[Function]; 2]) -> String {
    let mut declared = headers.iter().flat_map(|functions| functions.iter());
    let function = declared.find(|function| function.name == name);
    function.unwrap_or_else(|| panic!("{name} is in no header")).typed_parameters()
}

/// The functions that are not written by hand.
fn exports() -> String {
    let (forwards, listed) = (read("forwards.txt"), read("exports-13.txt") + &read("exports-12.txt"));
    let forwards: BTreeMap<&str, &str> =
        names(&forwards).map(|line| line.split_once(' ').expect("two names")).collect();
    let written = definitions(Path::new("src/api"));
    let exists = |name: &str| written.contains(name) || forwards.contains_key(name);
    let renamed = |name: &str| RENAMED.iter().find(|(old, _)| *old == name).map(|(_, new)| *new);
    let typed = |name| typed(name, [cuda_runtime_api::FUNCTIONS, cuda_runtime_api_12::FUNCTIONS]);
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "{text}").expect("strings take everything");
    let all: BTreeSet<&str> = names(&listed).collect();
    for name in all {
        if written.contains(name) {
            assert!(!forwards.contains_key(name), "{name} is written and forwarded");
            continue;
        }
        let base = name.strip_suffix("_ptsz").or(name.strip_suffix("_ptds"));
        let original = renamed(base.unwrap_or(name)).or(base);
        if let Some(target) = forwards.get(name) {
            let (target, context) = match target.split_once(' ') {
                Some((target, "any")) => (target, "crate::context::some"),
                Some((target, "none")) => (target, "driver_api::initialise"),
                Some((_, other)) => panic!("{name}: `{other}` is no kind of context"),
                None => (*target, "crate::context::ensure"),
            };
            line(format!("crate::ffi::forward! {{ {name}, {target}, {context}, ({}) }}", typed(name)));
        } else if let Some(original) = original.filter(|original| exists(original)) {
            let (per_thread, typed) = (base.is_some(), typed(original));
            line(format!("crate::ffi::twin! {{ {name}, {original}, {per_thread}, ({typed}) }}"));
        } else {
            line(format!("ffi::unsupported! {{ {name}, crate::error::Error::NOT_SUPPORTED.recorded() }}"));
        }
    }
    for twin in older_twins(&written) {
        line(twin);
    }
    out
}

/// The twins, for the per-thread default stream, of functions that CUDA 12 has in another form than CUDA 13.
fn older_twins(written: &BTreeSet<String>) -> Vec<String> {
    let listed = read("exports-12.txt");
    let listed: BTreeSet<&str> = names(&listed).collect();
    let twin = |name: &String| {
        let base = name.strip_prefix("cudart12_")?;
        listed.contains(format!("{base}_ptsz").as_str()).then(|| {
            let typed = typed(base, [cuda_runtime_api_12::FUNCTIONS, cuda_runtime_api::FUNCTIONS]);
            format!("crate::ffi::twin! {{ {name}_ptsz, {name}, true, ({typed}) }}")
        })
    };
    written.iter().filter_map(twin).collect()
}
