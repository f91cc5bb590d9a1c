//! Any text is assembled or refused, with places inside the text; what is assembled can be written as text again, which
//! assembles to the same bytes. Any bytes are a cubin that can be written as text, or refused.
//!
//! `cargo +nightly fuzz run cuasm`. A finding becomes a file in `crates/cuasm/tests/findings/`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ptx::source::Source;

fuzz_target!(|data: &[u8]| {
    let _ = cuasm::disassemble(data).map(|text| cuasm::assemble(&Source::new("bytes", text)));
    let source = Source::new("fuzz", String::from_utf8_lossy(data));
    match cuasm::assemble_with(&source, cuasm::Options { hazards: true }) {
        Err(found) => {
            assert!(!found.is_empty());
            for diagnostic in &found {
                // Spans lie in the text, between characters.
                let _ = source.slice(diagnostic.span);
            }
        }
        Ok(assembled) => {
            let Ok(text) = cuasm::disassemble(&assembled.bytes) else { return };
            match cuasm::assemble(&Source::new("again", text)) {
                Ok(again) => assert!(again.bytes == assembled.bytes, "other bytes"),
                Err(found) => panic!("{found:?}"),
            }
        }
    }
});
