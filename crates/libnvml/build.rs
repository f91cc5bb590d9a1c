//! Makes, for each function of `nvml.h` that `src/api` does not define, one that says that it is not supported.

use library_build::source::definitions;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/api");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libnvidia-ml.so.1");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--enable-new-dtags,-rpath,$ORIGIN");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    let written = definitions(Path::new("src/api"));
    let declared = cuda_headers::nvml::FUNCTIONS.iter().map(|function| function.name);
    let exports = declared
        .filter(|name| !written.contains(*name))
        .map(|name| format!("crate::ffi::unsupported! {{ {name} }}\n"));
    fs::write(out.join("exports.rs"), exports.collect::<String>()).expect("OUT_DIR can be written");
}
