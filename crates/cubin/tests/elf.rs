//! A small cubin made here: read, written, changed, damaged.

mod header;

use cubin::elf::{self, Contents, Covers, Elf, Error, Filler, Placement, Section, Segment, Symbol, section};
use header::header;
use proptest::prelude::*;

/// Names, strings, a symbol table with a kernel, its code, shared memory and constants; two segments.
fn cubin() -> Elf {
    let strings = || Section {
        kind: section::STRTAB,
        align: 1,
        contents: Contents::Bytes(vec![0]),
        ..Section::default()
    };
    let null = Section { contents: Contents::Reserved(0), ..Section::default() };
    let mut elf = Elf {
        header: header(),
        sections: vec![null, strings()],
        segments: Vec::new(),
        gap: 4,
        filler: Vec::new(),
    };
    elf.sections[1].name = elf.intern(1, ".shstrtab").unwrap();
    elf.insert_section(2, ".strtab", strings()).unwrap();
    let symtab = Section { kind: section::SYMTAB, link: 2, align: 8, entry_size: 24, ..Section::default() };
    elf.insert_section(3, ".symtab", symtab).unwrap();
    let text = Section {
        kind: section::PROGBITS,
        flags: section::ALLOC | section::EXECUTE,
        link: 3,
        info: 1,
        align: 128,
        contents: Contents::Bytes((0..=255).collect()),
        ..Section::default()
    };
    elf.insert_section(4, ".text.k", text).unwrap();
    let shared = Section {
        kind: section::NOBITS,
        flags: section::ALLOC | section::WRITE | section::INFO_LINK,
        info: 4,
        align: 16,
        contents: Contents::Reserved(0x400),
        ..Section::default()
    };
    elf.insert_section(5, ".nv.shared.k", shared).unwrap();
    let constants = Section {
        kind: section::PROGBITS,
        flags: section::ALLOC | section::INFO_LINK,
        info: 4,
        align: 4,
        contents: Contents::Bytes(vec![7; 0x214]),
        ..Section::default()
    };
    elf.insert_section(6, ".nv.constant0.k", constants).unwrap();
    elf.add_symbol("", Symbol::default()).unwrap();
    elf.add_symbol("k", Symbol { info: 0x12, other: 0x10, section: 4, size: 256, ..Symbol::default() })
        .unwrap();
    let segment = |kind, covers| Segment { kind, flags: 5, align: 8, covers, ..Segment::default() };
    elf.segments = vec![segment(6, Covers::Table), segment(1, Covers::Sections { first: 4, last: 5 })];
    elf.lay_out().unwrap();
    elf
}

#[test]
fn bytes_come_back() {
    let elf = cubin();
    let bytes = elf.to_bytes().unwrap();
    let again = Elf::parse(&bytes).unwrap();
    assert_eq!(again, elf);
    assert_eq!(again.to_bytes().unwrap(), bytes);
}

#[test]
fn things_lie_where_ptxas_puts_them() {
    let elf = cubin();
    let offsets: Vec<_> = elf.sections.iter().map(|section| section.offset).collect();
    // Strings at once behind the header; code at a multiple of 128, and reserved memory where the next would start.
    let names = ".shstrtab..strtab..symtab..text.k..nv.shared.k..nv.constant0.k.".len() as u64 + 1;
    assert_eq!(offsets[..4], [0, 64, 64 + names, (64 + names + 3).next_multiple_of(8)]);
    assert_eq!(offsets[4..], [256, 512, 512]);
    assert_eq!(elf.header.section_table, 512 + 0x214 + 4);
    assert_eq!(elf.header.segment_table, elf.header.section_table + 7 * 64);
    let [table, code] = elf.segments[..] else { panic!() };
    assert_eq!((table.offset, table.file_size, table.memory_size), (elf.header.segment_table, 112, 112));
    assert_eq!((code.offset, code.file_size, code.memory_size), (256, 256, 256 + 0x400));
}

#[test]
fn names_and_symbols_are_found() {
    let elf = cubin();
    assert_eq!(elf.find(".text.k"), Some(4));
    assert_eq!(elf.find(".text"), None);
    let symbols = elf.symbols().unwrap();
    assert_eq!(elf.symbol_name(&symbols[1]).unwrap(), b"k");
    assert_eq!((symbols[1].binding(), symbols[1].kind()), (1, 2));
    assert_eq!(elf.string(1, 1_000_000), Err(Error::String { section: 1, at: 1_000_000 }));
}

#[test]
fn numbers_follow_their_sections() {
    let mut elf = cubin();
    elf.insert_section(3, ".new", Section { align: 1, ..Section::default() }).unwrap();
    assert_eq!(elf.find(".text.k"), Some(5));
    assert_eq!((elf.section(4).unwrap().link, elf.section(5).unwrap().link), (2, 4));
    assert_eq!(elf.section(7).unwrap().info, 5);
    // The info of code is no section: it is the number of a symbol.
    assert_eq!(elf.section(5).unwrap().info, 1);
    assert_eq!(elf.symbols().unwrap()[1].section, 5);
    assert_eq!(elf.segments[1].covers, Covers::Sections { first: 5, last: 6 });
    elf.remove_section(3).unwrap();
    elf.lay_out().unwrap();
    let mut bytes = cubin();
    bytes.intern(1, ".new").unwrap();
    bytes.lay_out().unwrap();
    assert_eq!(elf, bytes);
    assert_eq!(elf.remove_section(0), Err(Error::NoSection(0)));
}

#[test]
fn gaps_shared_bytes_and_filler_are_kept() {
    let mut elf = cubin();
    elf.sections[2].place = Placement::Behind { gap: 9 };
    let copy = Section { place: Placement::On(6), ..elf.sections[6].clone() };
    elf.insert_section(7, ".nv.merc.copy", copy).unwrap();
    elf.lay_out().unwrap();
    assert_eq!(elf.sections[7].offset, elf.sections[6].offset);
    let mut bytes = elf.to_bytes().unwrap();
    bytes.extend([0, 0, 1]);
    // In the gap.
    bytes[elf.sections[2].offset as usize - 1] = 0xcc;
    let again = Elf::parse(&bytes).unwrap();
    assert_eq!(again.to_bytes().unwrap(), bytes);
    assert_eq!(again.sections, elf.sections);
    let offsets: Vec<_> = again.filler.iter().map(|Filler { offset, data }| (*offset, data.len())).collect();
    assert_eq!(offsets, [(elf.sections[2].offset - 9, 9), (bytes.len() as u64 - 3, 3)]);
    // Where the bytes are no longer the same, they cannot be shared.
    elf.sections[6].contents = Contents::Bytes(vec![8; 0x214]);
    elf.lay_out().unwrap();
    assert_eq!(elf.sections[7].offset, elf.sections[6].offset + 0x214);
}

#[test]
fn more_sections_than_the_header_counts() {
    let mut elf = cubin();
    let name = elf.intern(1, ".many").unwrap();
    let extra = Section { name, kind: section::PROGBITS, align: 1, ..Section::default() };
    elf.sections.resize(70_000, extra);
    assert!(matches!(elf.to_bytes(), Err(Error::TooLarge { .. })));
    elf.lay_out().unwrap();
    let bytes = elf.to_bytes().unwrap();
    assert_eq!(Elf::parse(&bytes).unwrap(), elf);
}

#[test]
fn damage_has_a_name() {
    let bytes = cubin().to_bytes().unwrap();
    assert_eq!(Elf::parse(b"PTX"), Err(Error::NotElf));
    assert!(matches!(Elf::parse(&bytes[..40]), Err(Error::CutOff { needs: 64, size: 40, .. })));
    assert!(matches!(Elf::parse(&bytes[..bytes.len() - 1]), Err(Error::CutOff { .. })));
    let changed = |at: usize, value: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = value;
        Elf::parse(&bytes)
    };
    assert_eq!(changed(4, 1), Err(Error::Class { class: 1, data: 1 }));
    assert_eq!(changed(0x12, 62), Err(Error::Machine(62)));
    // Found by fuzzing: numbers that ELF reserves.
    assert_eq!(changed(0x3f, 0xff), Err(Error::Header { field: "e_shstrndx", value: 0xff01 }));
    assert_eq!(changed(0x3d, 0xff), Err(Error::Header { field: "e_shnum", value: 0xff07 }));
    assert!(matches!(changed(0x3a, 40), Err(Error::Header { field: "e_shentsize", value: 40 })));
    // Many sections that all are the whole file.
    let mut elf = cubin();
    let all =
        Section { kind: section::PROGBITS, contents: Contents::Bytes(vec![1; 2000]), ..Section::default() };
    elf.sections.resize(40, all);
    elf.header.section_table = 2048;
    let bytes = elf.to_bytes().unwrap();
    assert!(matches!(Elf::parse(&bytes), Err(Error::Overlap { .. })));
}

#[test]
fn an_offset_by_mistake_allocates_nothing() {
    let mut elf = cubin();
    elf.sections[4].offset = 1 << 60;
    assert!(matches!(elf.to_bytes(), Err(Error::TooFar { .. })));
}

/// Found by fuzzing: only reserved memory may stand anywhere, and what follows it then has no place.
#[test]
fn reserved_memory_at_the_end_of_all_offsets() {
    for offset in [u64::MAX, u64::MAX - 100] {
        let mut elf = cubin();
        elf.sections[5].offset = offset;
        let mut again = Elf::parse(&elf.to_bytes().unwrap()).unwrap();
        again.lay_out().unwrap();
        assert!(matches!(again.to_bytes(), Err(Error::TooFar { .. })));
    }
}

#[test]
fn relocations_come_back() {
    let mut elf = cubin();
    for (kind, entry_size, addend) in [(section::REL, 16, None), (section::RELA, 24, Some(-8))] {
        let table = Section { kind, entry_size, align: 8, link: 3, info: 4, ..Section::default() };
        let at = elf.insert_section(5, ".rel.text.k", table).unwrap();
        let relocations = [elf::Relocation { offset: 0x20, kind: 0x38, symbol: 1, addend }; 3];
        elf.set_relocations(at, &relocations).unwrap();
        assert_eq!(elf.relocations(at).unwrap(), relocations);
        assert_eq!(elf.section(at).unwrap().size(), 3 * entry_size);
    }
    assert!(matches!(elf.relocations(4), Err(Error::WrongSection { section: 4, .. })));
}

proptest! {
    /// Whatever the bytes: an error, or a file that is written back as it was.
    #[test]
    fn any_bytes_have_an_answer(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = cubin().to_bytes().unwrap();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(mut elf) = Elf::parse(&bytes) {
            prop_assert!(elf.to_bytes().unwrap() == bytes);
            if elf.lay_out().is_ok() {
                let _ = elf.to_bytes();
            }
        }
    }
}
