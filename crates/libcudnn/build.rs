//! Makes a function that says that it is not supported for each symbol of the list that `src/api` does not define.

use library_build::source::{definitions, names};
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    for file in ["exports-9.txt", "build.rs", "src/api"] {
        println!("cargo:rerun-if-changed={file}");
    }
    let text = fs::read_to_string("exports-9.txt").expect("the list is there");
    let written = definitions(Path::new("src/api"));
    let others = names(&text).filter(|name| !written.contains(*name));
    let exports = others.map(|name| format!("ffi::unsupported! {{ {name}, crate::NOT_SUPPORTED }}\n"));
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("exports.rs"), exports.collect::<String>()).expect("OUT_DIR can be written");
}
