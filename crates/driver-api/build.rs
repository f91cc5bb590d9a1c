//! Makes a Rust function for each function of `cuda.h`.
//!
//! Which symbols there are, and which of them have a twin for the per-thread default stream, says `libcuda`'s list.

use cuda_headers::cuda::FUNCTIONS;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

const SYMBOLS: &str = "../libcuda/api.txt";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={SYMBOLS}");
    let listed = fs::read_to_string(SYMBOLS).expect("libcuda has a list of symbols");
    let symbols: BTreeSet<&str> =
        library_build::source::names(&listed).filter_map(|line| line.split(' ').next()).collect();
    let mut calls = String::new();
    for function in FUNCTIONS.iter().filter(|function| symbols.contains(function.name)) {
        let name = function.name;
        let twin = ["ptsz", "ptds"].map(|suffix| format!("{name}_{suffix}"));
        let twin = twin.iter().find(|twin| symbols.contains(twin.as_str()));
        let twin = twin.map_or("None".to_owned(), |twin| format!("Some(c\"{twin}\")"));
        let typed = function.typed_parameters();
        let passed: String = function.parameters.iter().map(|(name, _)| format!("{name}, ")).collect();
        writeln!(calls, "crate::call! {{ {name}, c\"{name}\", {twin}, ({typed}), ({passed}) }}")
            .expect("strings take everything");
    }
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("calls.rs"), calls).expect("OUT_DIR can be written");
}
