//! Makes the types of `cuda.h`, and a Rust function for each of its functions, from the source of the crate `cudarc`.
//!
//! Which symbols there are, and which of them have a twin for the per-thread default stream, says `libcuda`'s list.

use cabi::header::{Selection, source_of};
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
        cabi::source::names(&listed).filter_map(|line| line.split(' ').next()).collect();
    let none = BTreeSet::new();
    let selection = Selection { version: Some("cuda-13000"), prefix: "cu", also: &none };
    let header = selection.read(&source_of("cudarc", "src/driver/sys/mod.rs"));
    let mut calls = String::new();
    for (name, types) in header.parameters.iter().filter(|(name, _)| symbols.contains(name.as_str())) {
        let twin = ["ptsz", "ptds"].map(|suffix| format!("{name}_{suffix}"));
        let twin = twin.iter().find(|twin| symbols.contains(twin.as_str()));
        let twin = twin.map_or("None".to_owned(), |twin| format!("Some(c\"{twin}\")"));
        let typed: String = types.iter().enumerate().map(|(i, ty)| format!("a{i}: {ty}, ")).collect();
        let passed: String = (0..types.len()).map(|i| format!("a{i}, ")).collect();
        writeln!(calls, "crate::call! {{ {name}, c\"{name}\", {twin}, ({typed}), ({passed}) }}")
            .expect("strings take everything");
    }
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("sys.rs"), header.module("pub mod sys", "The types of `cuda.h`."))
        .expect("OUT_DIR can be written");
    fs::write(out.join("calls.rs"), calls).expect("OUT_DIR can be written");
}
