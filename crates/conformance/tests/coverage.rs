//! `docs/isa-coverage.md` says what the instruction table and the recordings say; `BLESS=1` rewrites it.

use std::path::Path;
use std::{env, fs};

#[test]
fn the_page_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("docs/isa-coverage.md");
    let page = conformance::coverage::page(&root).expect("the recordings are in the repository");
    if env::var_os("BLESS").is_some() {
        fs::write(&path, &page).expect("the page can be written");
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "docs/isa-coverage.md is out of date: run `cargo xtask docs`");
}
