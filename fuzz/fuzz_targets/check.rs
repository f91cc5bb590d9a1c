//! Any text can be compiled: no panic, spans in the text, a module only without errors, and operands as the table has
//! them.
//!
//! `cargo +nightly fuzz run check`. A finding becomes a file in `crates/ptx/tests/fuzz-findings/`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ptx::source::Source;

fuzz_target!(|data: &[u8]| {
    let source = Source::new("fuzz", String::from_utf8_lossy(data));
    let compiled = ptx::compile(&source);
    for diagnostic in &compiled.diagnostics {
        let _ = source.slice(diagnostic.span);
        for (span, _) in &diagnostic.related {
            let _ = source.slice(*span);
        }
        assert!(ptx::explain(diagnostic.code).is_some());
    }
    let Some(module) = compiled.module else { return };
    for body in module.functions.iter().filter_map(|function| function.body.as_ref()) {
        for instruction in &body.instructions {
            let specs = module.opcode(instruction).data().operands;
            assert_eq!(body.operands(instruction).len(), specs.len());
        }
    }
});
