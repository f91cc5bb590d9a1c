//! Makes a function that says that it is not supported for each symbol of the lists that `src/api` does not define.

use library_build::source::{definitions, names};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let lists = ["exports-13.txt", "exports-12.txt"];
    for file in lists.iter().chain(&["build.rs", "src/api"]) {
        println!("cargo:rerun-if-changed={file}");
    }
    let text: String =
        lists.iter().map(|list| fs::read_to_string(list).expect("the list is there")).collect();
    let written = definitions(Path::new("src/api"));
    let others: BTreeSet<&str> = names(&text).filter(|name| !written.contains(*name)).collect();
    let exports = others.iter().map(|name| format!("ffi::unsupported! {{ {name}, crate::NOT_SUPPORTED }}\n"));
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("exports.rs"), exports.collect::<String>()).expect("OUT_DIR can be written");
}
