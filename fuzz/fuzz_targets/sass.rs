//! Any text is an instruction or refused, with a place inside the text; what is an instruction has a text that becomes it again.
//! So has any word. The first byte chooses the architecture.
//!
//! `cargo +nightly fuzz run sass`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sass::{Arch, Control, Instruction, NoSymbols, decode, parse};

fn comes_back(instruction: Instruction, address: u64) {
    let mut text = String::new();
    instruction.print_exact(address, &mut text, |_, _| false);
    let back = parse(instruction.arch(), &text, instruction.control(), address, &mut NoSymbols);
    assert_eq!(back.map(|it| it.word()), Ok(instruction.word()), "{text}");
}

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else { return };
    let arch = Arch::ALL[usize::from(*first) % Arch::ALL.len()];
    let address = 16 * u64::from(*first);
    if let Some(word) = rest.first_chunk().copied().map(u128::from_le_bytes)
        && let Some(instruction) = decode(arch, word)
    {
        comes_back(instruction, address);
    }
    let text = String::from_utf8_lossy(rest);
    let _ = text.parse::<Control>();
    match parse(arch, &text, Control::default(), address, &mut NoSymbols) {
        Ok(instruction) => comes_back(instruction, address),
        Err(error) => assert!(text.get(error.span.clone()).is_some(), "{error:?}"),
    }
});
