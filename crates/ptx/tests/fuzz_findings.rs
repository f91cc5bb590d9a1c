//! Every text that the fuzzer once broke something with: see `fuzz/fuzz_targets/parse.rs`, which checks the same.

use ptx::ast::ExprId;
use ptx::print::print;
use ptx::source::Source;
use ptx::syntax::{codes, parse};
use std::path::Path;

#[test]
fn findings() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz-findings");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read(&path).unwrap();
        let source = Source::new("fuzz", String::from_utf8_lossy(&text));
        let parsed = parse(&source);
        for diagnostic in &parsed.diagnostics {
            source.slice(diagnostic.span);
        }
        for id in 0..parsed.module.expressions.len() {
            let _ = parsed.module.evaluate(ExprId(id as u32));
        }
        let again = parse(&Source::new("printed", print(&parsed.module)));
        if parsed.diagnostics.iter().all(|d| d.code == codes::UNKNOWN_INSTRUCTION) {
            assert!(parsed.module == again.module, "{} changes when printed", path.display());
        }
        count += 1;
    }
    assert!(count > 0);
}
