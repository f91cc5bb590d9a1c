//! Makes the types of `nvml.h` from the source of the crate `nvml-wrapper-sys`, and for each of its functions that
//! `src/api` does not define one that says that it is not supported.

use cabi::header::{Selection, source_of};
use cabi::source::definitions;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/api");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libnvidia-ml.so.1");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--enable-new-dtags,-rpath,$ORIGIN");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    let none = BTreeSet::new();
    let selection = Selection { version: None, prefix: "nvml", also: &none };
    let header = selection.read(&source_of("nvml-wrapper-sys", "src/bindings.rs"));
    let written = definitions(Path::new("src/api"), &["api"]);
    let others = header.parameters.keys().filter(|name| !written.contains_key(*name));
    let exports: String = others.map(|name| format!("crate::border::unsupported! {{ {name} }}\n")).collect();
    fs::write(out.join("sys.rs"), header.module("pub(crate) mod sys", "The types of `nvml.h`."))
        .expect("OUT_DIR can be written");
    fs::write(out.join("exports.rs"), exports).expect("OUT_DIR can be written");
}
