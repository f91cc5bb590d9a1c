//! Texts and cubins: what goes through both ways, what an edit moves, and where errors point. No instruction table is needed:
//! instructions stand as raw words.

use proptest::prelude::*;
use ptx::source::Source;

/// `EXIT`, `NOP` and a branch to itself, without control codes.
const EXIT: &str = "[B------:R-:W-:-:S05] .raw 0x3800000000000000000794d ;\n";
const NOP: &str = "[B------:R-:W-:-:S01] .raw 0x7918 ;\n";

fn assemble(text: &str) -> Vec<u8> {
    let source = Source::new("test", text);
    match cuasm::assemble(&source) {
        Ok(assembled) => assembled.bytes,
        Err(found) => panic!("{found:#?}\n{text}"),
    }
}

/// What an error of a code points at.
fn place_of(text: &str, code: &str) -> String {
    let source = Source::new("test", text);
    let found = cuasm::assemble(&source).expect_err("an error");
    let found = found.iter().find(|found| found.code == code).unwrap_or_else(|| panic!("{found:#?}"));
    source.slice(found.span).to_owned()
}

/// A kernel of raw words, whose number of registers has to be said.
fn kernel(code: &str) -> String {
    format!("\t.target sm_90\n\t.kernel k, 8, 4\n{code}")
}

#[test]
fn a_kernel_from_nothing_is_a_cubin_that_goes_through_text() {
    let bytes = assemble(&kernel(&format!("{NOP}{EXIT}")));
    let elf = cubin::elf::Elf::parse(&bytes).expect("a cubin");
    for section in
        [".nv.info.k", ".nv.constant0.k", ".text.k", ".note.nv.tkinfo", ".note.nv.cuinfo", ".symtab"]
    {
        assert!(elf.find(section).is_some(), "{section}");
    }
    let constants = elf.section(elf.find(".nv.constant0.k").unwrap()).unwrap();
    // Parameters begin at 0x210: 8 bytes, then 4.
    assert_eq!(constants.size(), 0x210 + 12);
    let symbols = elf.symbols().unwrap();
    let function = symbols.iter().find(|symbol| elf.symbol_name(symbol) == Ok(b"k")).unwrap();
    assert_eq!((function.kind(), function.binding(), function.size), (2, 1, 32));
    let text = cuasm::disassemble(&bytes).unwrap();
    assert_eq!(assemble(&text), bytes, "{text}");
}

#[test]
fn an_inserted_instruction_moves_exits_sizes_and_offsets() {
    let before = assemble(&kernel(&format!("{NOP}{EXIT}")));
    let text = cuasm::disassemble(&before).unwrap();
    assert!(text.contains("EIATTR_EXIT_INSTR_OFFSETS, auto"), "{text}");
    let at = text.find("[B").unwrap();
    let edited = format!(
        "{}{NOP}.CUASM_OFFSET_LABEL.k.EIATTR_COOP_GROUP_INSTR_OFFSETS.#:\n{}",
        &text[..at],
        &text[at..]
    );
    let edited = edited.replace(
        "\t.attr\tEIATTR_EXIT_INSTR_OFFSETS, auto\n",
        "\t.attr\tEIATTR_EXIT_INSTR_OFFSETS, auto\n\t.attr\tEIATTR_COOP_GROUP_INSTR_OFFSETS, offsets\n",
    );
    let elf = cubin::elf::Elf::parse(&assemble(&edited)).unwrap();
    let info = elf.section(elf.find(".nv.info.k").unwrap()).unwrap();
    let attributes = cubin::info::decode(info.data()).unwrap();
    let offsets = |code: u8| match &attributes.iter().find(|attribute| attribute.code == code).unwrap().value
    {
        cubin::info::Value::Sized(bytes) => u32::from_le_bytes(bytes[..].try_into().unwrap()),
        other => panic!("{other:?}"),
    };
    assert_eq!((offsets(0x1c), offsets(0x28)), (0x20, 0x10));
    let symbols = elf.symbols().unwrap();
    let function = symbols.iter().find(|symbol| elf.symbol_name(symbol) == Ok(b"k")).unwrap();
    assert_eq!(function.size, 0x30);
}

#[test]
fn sections_symbols_and_relocations_can_be_added() {
    let text = kernel(&format!(
        "{EXIT}\t.section .nv.global.init,\"aw\",@progbits\n\t.align 8\n\t.global table\n\t.type table,@object\n\
         \t.size table,(.L_end - table)\ntable:\n\t.dword k + 16, table\n\t.word (.L_end - table), 7\n.L_end:\n"
    ));
    let bytes = assemble(&text);
    let elf = cubin::elf::Elf::parse(&bytes).unwrap();
    let table = elf.find(".rela.nv.global.init").expect("a table of relocations");
    let found = elf.relocations(table).unwrap();
    let [high, low] = &found[..] else { panic!("{found:?}") };
    assert_eq!((high.offset, high.addend, low.offset, low.addend), (8, Some(0), 0, Some(16)));
    let data = elf.section(elf.find(".nv.global.init").unwrap()).unwrap().data();
    assert_eq!(data[16..], [24, 0, 0, 0, 7, 0, 0, 0]);
    let again = cuasm::disassemble(&bytes).unwrap();
    assert_eq!(assemble(&again), bytes, "{again}");
}

/// What the driver reads to link a function of its own: as in a cubin of ptxas 13.0 that calls `vprintf`.
#[test]
fn functions_of_the_driver_are_named() {
    let text = format!(
        "\t.target sm_90\n\t.kernel k, extern@(vprintf)\n\
         [B------:R-:W-:-:S04] MOV R2, 32@lo(vprintf) ;\n\
         .CUASM_OFFSET_LABEL.k.EIATTR_SYSCALL_OFFSETS.#:\n[B------:R-:W-:-:S05] CALL.ABS.NOINC R2 ;\n{EXIT}"
    );
    let bytes = assemble(&text);
    let elf = cubin::elf::Elf::parse(&bytes).unwrap();
    let symbols = elf.symbols().unwrap();
    let number = |name: &[u8]| symbols.iter().position(|it| elf.symbol_name(it).unwrap() == name).unwrap();
    let (caller, callee) = (number(b"k"), number(b"vprintf"));
    assert_eq!((symbols[callee].section, symbols[callee].kind()), (0, 2));
    let words = |section: &str| {
        let data = elf.section(elf.find(section).unwrap()).unwrap().data();
        data.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect::<Vec<_>>()
    };
    let none = |kind: u32| [0, kind.wrapping_neg()];
    let edge = [caller as u32, callee as u32];
    assert_eq!(words(".nv.callgraph"), [none(1), edge, none(2), none(3), none(4)].concat());
    let text = cuasm::disassemble(&bytes).unwrap();
    for line in [".attr\tEIATTR_EXTERNS, index@(vprintf)", ".attr\tEIATTR_SYSCALL_OFFSETS, offsets"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert_eq!(assemble(&text), bytes, "{text}");
}

/// A section that comes to a cubin later lies in a segment, as the driver needs it.
#[test]
fn segments_follow_new_sections() {
    let text = cuasm::disassemble(&assemble(&kernel(EXIT))).unwrap();
    assert!(!text.contains(".__segment"), "{text}");
    let count = |text: &str| cubin::elf::Elf::parse(&assemble(text)).unwrap().segments.len();
    let more = format!("{text}\t.section .nv.global.init,\"aw\",@progbits\n\t.dword 7\n");
    assert_eq!(count(&more), count(&text) + 1);
    let none = format!("{text}\t.__without_segments\n");
    assert_eq!(count(&none), 0);
    let again = cuasm::disassemble(&assemble(&none)).unwrap();
    assert_eq!(assemble(&again), assemble(&none), "{again}");
}

#[test]
fn errors_point_at_the_word() {
    for (text, code, word) in [
        ("\t.byte 1\n".to_owned(), "A0103", ".byte"),
        (kernel("[B------:R-:W-:-:S16] NOP ;\n"), "A0005", "6"),
        (kernel("[B------:R-:W-:-:S12] NOP ;\n"), "A0005", "[B------:R-:W-:-:S12]"),
        (kernel("[B------:R-:W-:-:S01] IADD3 R256, R1, R2, RZ ;\n"), "A0202", "R256"),
        (kernel("[B------:R-:W-:-:S01] IADD3 R5, R1, 0x100000000, RZ ;\n"), "A0202", "0x100000000"),
        (kernel("[B------:R-:W-:-:S01] @P9 EXIT ;\n"), "A0202", "@P9"),
        (kernel("[B------:R-:W-:-:S01] LDG.E.64 R3, desc[UR4][R4.64] ;\n"), "A0202", "R3"),
        (kernel("[B------:R-:W-:-:S01] BRA 0x114 ;\n"), "A0202", "0x114"),
        (kernel("[B------:R-:W-:-:S01] FROB R1 ;\n"), "A0201", "FROB"),
        (kernel("\t.byte 256\n"), "A0106", "256"),
        (kernel("\t.dword nothing\n"), "A0105", "nothing"),
        (kernel("\t.frob 1\n"), "A0101", ".frob"),
        (kernel("\t.align 3\n"), "A0106", "3"),
        (kernel("k:\n"), "A0104", "k:"),
        (kernel("\t.zero 0xffffffffff\n"), "A0107", ".section"),
        (kernel("\t.string \"a\n"), "A0002", "\"a"),
        (kernel("\t.word (((((((((((((((((((((((((((((((((((((1\n"), "A0006", "("),
    ] {
        let place = place_of(&text, code);
        // The size of the file is a section's fault, which the kernel's directive has opened.
        let word = if code == "A0107" { ".kernel" } else { word };
        assert_eq!(place, word, "{text}");
    }
}

#[test]
fn codes_are_listed() {
    assert!(cuasm::codes::CATALOGUE.iter().any(|row| row.0 == "A0107"));
}

/// What fuzzers found, as the fuzzer takes it: as a text and as a cubin.
#[test]
fn findings_stay_fixed() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/findings");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let bytes = std::fs::read(entry.expect("an entry").path()).expect("a file");
        let source = Source::new("finding", String::from_utf8_lossy(&bytes));
        if let Ok(assembled) = cuasm::assemble_with(&source, cuasm::Options { hazards: true })
            && let Ok(text) = cuasm::disassemble(&assembled.bytes)
        {
            assert_eq!(assemble(&text), assembled.bytes);
        }
        if let Ok(text) = cuasm::disassemble(&bytes) {
            assert_eq!(assemble(&text), bytes);
        }
        seen += 1;
    }
    assert!(seen > 0);
}

proptest! {
    /// Any text is assembled or refused, with places inside it.
    #[test]
    fn no_text_panics(lines in prop::collection::vec(line(), 0..20)) {
        let text = lines.concat();
        let source = Source::new("any", text);
        match cuasm::assemble_with(&source, cuasm::Options { hazards: true }) {
            Err(found) => found.iter().for_each(|diagnostic| drop(source.slice(diagnostic.span).to_owned())),
            Ok(assembled) => {
                if let Ok(text) = cuasm::disassemble(&assembled.bytes) {
                    let again = cuasm::assemble(&Source::new("again", text.clone()));
                    prop_assert_eq!(again.map(|again| again.bytes).ok(), Some(assembled.bytes), "{}", text);
                }
            }
        }
    }

    /// A damaged cubin is written as text that reads back, or refused.
    #[test]
    fn damaged_cubins_read_back_or_are_refused(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = assemble(&kernel(EXIT));
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(text) = cuasm::disassemble(&bytes) {
            let again = cuasm::assemble(&Source::new("again", text.clone()));
            prop_assert_eq!(again.map(|again| again.bytes).ok(), Some(bytes), "{}", text);
        }
    }
}

/// Lines that are right, nearly right, or anything.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("\t.kernel k, 8\n".to_owned()),
        Just("\t.section .data,\"aw\",@progbits\n".to_owned()),
        Just("\t.global a\na:\n".to_owned()),
        Just("\t.dword a, b - a, 3\n".to_owned()),
        Just(NOP.to_owned()),
        Just("\t.reloc R_CUDA_64, a\n".to_owned()),
        Just("\t.size a,(b - a)\nb:\n".to_owned()),
        "\\.[a-z_]{1,12} [a-z0-9@(),\"+-]{0,12}\n",
        "[B0-9:RWSY \\[\\]-]{0,24}[A-Z0-9 ,`();.@x]{0,16};?\n",
        "\\PC{0,20}\n",
    ]
}
