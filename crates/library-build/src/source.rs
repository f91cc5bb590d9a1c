//! Lists of symbols, and which of them our own source defines.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The names of the functions that the files of a folder define: what stands behind `fn`, in macros such as
/// `api! { fn cudaFree(pointer: *mut c_void) { … } }` as elsewhere. Nobody asks for the names of other functions.
///
/// # Panics
/// When a file cannot be read: build scripts end so.
pub fn definitions(folder: &Path) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("the folder of sources can be listed") {
        let path = entry.expect("the folder of sources can be listed").path();
        let text = fs::read_to_string(&path).expect("sources are text");
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let names = code.filter_map(|line| line.split_once("fn ")?.1.split_once(['(', '<']));
        all.extend(names.map(|(name, _)| name.to_owned()));
    }
    all
}

/// The names in a list: one a line, with a comment behind `#`.
pub fn names(list: &str) -> impl Iterator<Item = &str> {
    list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}
