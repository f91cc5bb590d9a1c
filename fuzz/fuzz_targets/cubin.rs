//! Any bytes are an ELF cubin that is written back as it was, or an error; what is read of it has no panic, and a cubin that
//! was laid out anew can be read again.
//!
//! `cargo +nightly fuzz run cubin`. A finding becomes a file in `crates/cubin/tests/findings/`.

#![no_main]

use cubin::elf::Elf;
use cubin::info;
use cubin::read::{Program, calls, notes, prototypes};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(mut elf) = Elf::parse(data) else { return };
    assert!(elf.to_bytes().expect("what was read can be written") == data);
    for number in 0..elf.sections.len() as u32 {
        let _ = elf.section_name(number);
        let _ = elf.relocations(number);
        if let Ok(attributes) = info::decode(elf.sections[number as usize].data()) {
            for attribute in &attributes {
                let _ = attribute.payload().encode();
            }
            assert!(info::encode(&attributes).expect("fits") == elf.sections[number as usize].data());
        }
    }
    let program = Program::new(&elf);
    let _ = (program.architecture(), program.functions(), program.compatibility(), program.attributes());
    let _ = (calls(&elf), prototypes(&elf));
    for note in notes(&elf).unwrap_or_default() {
        let _ = (note.tool(), note.cuda());
    }
    if elf.sections.len() > 2 {
        let _ = elf.remove_section(elf.sections.len() as u32 / 2);
    }
    if elf.lay_out().is_ok()
        && let Ok(bytes) = elf.to_bytes()
    {
        let _ = Elf::parse(&bytes);
    }
});
