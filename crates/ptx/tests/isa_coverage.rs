//! `docs/isa-coverage.md` says what the instruction table says; `BLESS=1` rewrites it.

use ptx::isa::coverage_markdown;
use std::path::Path;
use std::{env, fs};

#[test]
fn the_page_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/isa-coverage.md");
    let page = coverage_markdown();
    if env::var_os("BLESS").is_some() {
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("the folder can be made");
        fs::write(&path, &page).expect("the page can be written");
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "docs/isa-coverage.md is out of date: run this test with BLESS=1");
}
