//! A checked module never panics the machine: it runs, faults, is refused or runs out of budget.
//!
//! `cargo +nightly fuzz run machine`. The first byte decides: a program made from the bytes as choices (see
//! `filetest::generate`), or the bytes as PTX text. A finding becomes a file under `tests/run/`.

#![no_main]

use filetest::generate;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((mode, rest)) = data.split_first() else { return };
    let mut at = 0;
    // Two bytes a choice; zeros when they are used up, so that programs end soon.
    let mut choose = |below: u32| {
        let byte = |i: usize| u32::from(rest.get(i).copied().unwrap_or(0));
        let value = byte(at) | byte(at + 1) << 8;
        at += 2;
        value % below.max(1)
    };
    let text = match mode % 4 {
        0 => String::from_utf8_lossy(rest).into_owned(),
        _ => generate::program(&mut choose),
    };
    let _ = generate::run(&text, &mut choose);
});
