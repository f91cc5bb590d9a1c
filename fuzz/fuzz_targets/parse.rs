//! Any text can be parsed, every constant in the result evaluated, and what has no syntax errors survives printing.
//!
//! `cargo +nightly fuzz run parse`. A finding becomes a file in `crates/ptx/tests/fuzz-findings/`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ptx::ast::ExprId;
use ptx::diagnostic::Diagnostic;
use ptx::source::Source;
use ptx::syntax::{codes, parse};

/// Instructions that the table lacks do not keep a text from being printed.
fn is_syntax_error(diagnostic: &Diagnostic) -> bool {
    diagnostic.code != codes::UNKNOWN_INSTRUCTION
}

fuzz_target!(|data: &[u8]| {
    let source = Source::new("fuzz", String::from_utf8_lossy(data));
    let parsed = parse(&source);
    for diagnostic in &parsed.diagnostics {
        // Spans lie in the text, between characters.
        let _ = source.slice(diagnostic.span);
    }
    for id in 0..parsed.module.expressions.len() {
        let _ = parsed.module.evaluate(ExprId(id as u32));
    }
    let printed = ptx::print::print(&parsed.module);
    if parsed.diagnostics.iter().any(is_syntax_error) {
        return;
    }
    let again = parse(&Source::new("printed", printed));
    assert!(!again.diagnostics.iter().any(is_syntax_error), "{:?}", again.diagnostics);
    assert!(parsed.module == again.module);
});
