//! Makes the functions that no file in `src/api` defines.
//!
//! `exports.rs` has, for every symbol of `api.txt` that is not defined, either the same function with the per-thread
//! default stream, if it is one of those twins, or an older form that is what a newer one is, or a function that says
//! that it is not supported; and a table of all symbols.

use cuda_headers::cuda::FUNCTIONS;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Older forms whose parameters are those of a newer one.
const OLDER: [(&str, &str); 13] = [
    ("cuCtxDestroy", "cuCtxDestroy_v2"),
    ("cuCtxPopCurrent", "cuCtxPopCurrent_v2"),
    ("cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRelease_v2"),
    ("cuDevicePrimaryCtxReset", "cuDevicePrimaryCtxReset_v2"),
    ("cuEventDestroy", "cuEventDestroy_v2"),
    ("cuEventElapsedTime", "cuEventElapsedTime_v2"),
    ("cuStreamDestroy", "cuStreamDestroy_v2"),
    ("cuMemHostRegister", "cuMemHostRegister_v2"),
    ("cuLinkCreate", "cuLinkCreate_v2"),
    ("cuLinkAddData", "cuLinkAddData_v2"),
    ("cuDeviceGetUuid", "cuDeviceGetUuid_v2"),
    ("cuIpcOpenMemHandle", "cuIpcOpenMemHandle_v2"),
    ("cuTexRefSetAddress2D_v2", "cuTexRefSetAddress2D_v3"),
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=api.txt");
    println!("cargo:rerun-if-changed=src/api");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    let implemented = library_build::source::definitions(Path::new("src/api"));
    fs::write(out.join("exports.rs"), exports(&implemented)).expect("OUT_DIR can be written");
}

fn exports(implemented: &BTreeSet<String>) -> String {
    let mut out = String::new();
    let mut table = String::new();
    let listed = fs::read_to_string("api.txt").expect("api.txt is there");
    let mut symbols: Vec<(&str, u32)> = listed
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let (symbol, version) = line.split_once(' ').expect("a symbol and a version");
            (symbol, version.parse().expect("a version"))
        })
        .collect();
    // Newer symbols than those of the list are in no table of versions; there are none as long as both are of 13.0.
    symbols.sort_unstable();
    for (symbol, version) in symbols {
        let twin = symbol.strip_suffix("_ptsz").or(symbol.strip_suffix("_ptds"));
        let plain = twin.unwrap_or(symbol);
        let newer = OLDER.iter().find(|(older, _)| *older == plain).map(|(_, newer)| *newer);
        let same = [twin, newer].into_iter().flatten().find(|same| implemented.contains(*same));
        if let Some(original) = same.filter(|_| !implemented.contains(symbol)) {
            let function = FUNCTIONS.iter().find(|function| function.name == original);
            let typed = function.unwrap_or_else(|| panic!("{original} is in no header")).typed_parameters();
            writeln!(out, "crate::ffi::twin! {{ {symbol}, {original}, {}, ({typed}) }}", twin.is_some())
                .expect("strings take everything");
        } else if !implemented.contains(symbol) {
            writeln!(out, "crate::ffi::unsupported! {{ {symbol} }}").expect("strings take everything");
        }
        let stem = symbol.trim_end_matches("_ptsz").trim_end_matches("_ptds");
        let name = match stem.rsplit_once("_v") {
            Some((name, number)) if number.bytes().all(|b| b.is_ascii_digit()) => name,
            _ => stem,
        };
        let per_thread = twin.is_some();
        writeln!(
            table,
            "Symbol {{ name: \"{name}\", version: {version}, per_thread: {per_thread}, address: {} as *const () }},",
            if implemented.contains(symbol) { format!("crate::api::{symbol}") } else { symbol.to_owned() }
        )
        .expect("strings take everything");
    }
    format!(
        "{out}\n/// Every symbol, by name.\npub(crate) static SYMBOLS: Symbols = Symbols(&[\n{table}]);\n"
    )
}
