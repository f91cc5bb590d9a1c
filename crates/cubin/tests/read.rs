//! A cubin made by hand, with what ptxas would put into it, and what is read of it. It is kept as `data/hand.cubin` (and with
//! the tests of the command); `BLESS=1` writes it anew.

mod header;

use cubin::elf::{Contents, Covers, Elf, Relocation, Section, Segment, Symbol, relocation, section, symbol};
use cubin::info::{Attribute, Bank, Parameter, Payload, Value, encode, table};
use cubin::read::{Architecture, Call, CudaInfo, Program, calls, notes, prototypes};
use header::header;

const KEPT: [&str; 2] = ["tests/data/hand.cubin", "../cli/tests/commands/cubin.in/hand.cubin"];

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn sized(name: &str, payload: &Payload) -> Attribute {
    Attribute { code: table::code(name).unwrap(), value: Value::Sized(payload.encode()) }
}

fn note(kind: u32, description: &[u8]) -> Vec<u8> {
    [&words(&[12, description.len() as u32, kind]), b"NVIDIA Corp\0".as_slice(), description].concat()
}

fn section(kind: u32, flags: u64, align: u64, contents: Vec<u8>) -> Section {
    Section { kind, flags, align, contents: Contents::Bytes(contents), ..Section::default() }
}

/// For sm_90a: a kernel `twice(int *p, int n)` that calls `helper`, one barrier, 1 KiB and 16 bytes of shared memory.
fn made() -> Elf {
    let null = Section { contents: Contents::Reserved(0), ..Section::default() };
    let strings = || section(section::STRTAB, 0, 1, vec![0]);
    let mut elf = Elf {
        header: header(),
        sections: vec![null, strings()],
        segments: Vec::new(),
        gap: 0,
        filler: Vec::new(),
    };
    elf.sections[1].name = elf.intern(1, ".shstrtab").unwrap();
    let add = |elf: &mut Elf, name: &str, section| {
        elf.insert_section(elf.sections.len() as u32, name, section).unwrap()
    };
    add(&mut elf, ".strtab", strings());
    add(
        &mut elf,
        ".symtab",
        Section { link: 2, entry_size: 24, ..section(section::SYMTAB, 0, 8, Vec::new()) },
    );
    let strings = b"\0ptxas\0release 13.0\0Build\0-arch sm_90a \0";
    let tool = [words(&[2, 0, 1, 7, 20, 26]), strings.to_vec()].concat();
    add(&mut elf, ".note.nv.tkinfo", section(section::NOTE, 0, 4, note(2000, &tool)));
    add(&mut elf, ".note.nv.cuinfo", section(section::NOTE, 0, 4, note(1000, &words(&[0x5a_0002, 130]))));
    let code = |symbol| Section {
        link: 3,
        info: symbol,
        ..section(section::PROGBITS, section::ALLOC | section::EXECUTE, 128, vec![0x18; 256])
    };
    // The symbols' numbers: twice is 1, helper 2, the bank of constants 3.
    let twice = add(&mut elf, ".text.twice", code(1));
    let helper = add(&mut elf, ".text.helper", code(2));
    let of =
        |code, section: Section| Section { info: code, flags: section.flags | section::INFO_LINK, ..section };
    let about = [
        sized("EIATTR_REGCOUNT", &Payload::SymbolNumber { symbol: 1, number: 12 }),
        sized("EIATTR_FRAME_SIZE", &Payload::SymbolNumber { symbol: 1, number: 32 }),
        sized("EIATTR_MIN_STACK_SIZE", &Payload::SymbolNumber { symbol: 1, number: 48 }),
        sized("EIATTR_REGCOUNT", &Payload::SymbolNumber { symbol: 2, number: 8 }),
    ];
    add(
        &mut elf,
        ".nv.info",
        Section { link: 3, ..section(section::CUDA_INFO, 0, 4, encode(&about).unwrap()) },
    );
    let parameter = |ordinal, offset, size| {
        let unused = Parameter {
            index: 0,
            ordinal,
            offset,
            size,
            shared: false,
            bank: 0x1f,
            space: 0,
            log_alignment: 0,
        };
        sized("EIATTR_KPARAM_INFO", &Payload::Parameter(unused))
    };
    let barriers = Attribute { code: table::code("EIATTR_NUM_BARRIERS").unwrap(), value: Value::Byte(1, 0) };
    let own = [
        parameter(1, 8, 4),
        parameter(0, 0, 8),
        barriers,
        sized("EIATTR_EXIT_INSTR_OFFSETS", &Payload::Offsets(vec![0x70])),
        sized("EIATTR_PARAM_CBANK", &Payload::Bank(Bank { symbol: 3, offset: 0x210, size: 12 })),
    ];
    let own = Section { link: 3, ..section(section::CUDA_INFO, 0, 4, encode(&own).unwrap()) };
    add(&mut elf, ".nv.info.twice", of(twice, own));
    let compatibility = [Attribute { code: 9, value: Value::Byte(1, 0) }];
    add(&mut elf, ".nv.compat", section(section::CUDA_COMPAT_INFO, 0, 4, encode(&compatibility).unwrap()));
    let graph = words(&[0, !0, 1, 2, 0, !1, 0, !2, 1, 7, 0, !3]);
    add(
        &mut elf,
        ".nv.callgraph",
        Section { entry_size: 8, ..section(section::CUDA_CALLGRAPH, 0, 4, graph) },
    );
    add(
        &mut elf,
        ".nv.prototype",
        Section { entry_size: 8, ..section(section::CUDA_PROTOTYPE, 0, 4, words(&[2, 7])) },
    );
    let table = Section { link: 3, entry_size: 24, ..section(section::RELA, 0, 8, Vec::new()) };
    let table = add(&mut elf, ".rela.text.twice", of(twice, table));
    let call = Relocation { offset: 0x20, kind: 0x38, symbol: 2, addend: Some(0x10) };
    elf.set_relocations(table, &[call]).unwrap();
    let shared =
        Section { contents: Contents::Reserved(0x410), ..section(section::NOBITS, 3, 16, Vec::new()) };
    add(&mut elf, ".nv.shared.twice", of(twice, shared));
    let constants =
        add(&mut elf, ".nv.constant0.twice", of(twice, section(section::PROGBITS, 2, 4, vec![0; 0x21c])));
    elf.add_symbol("", Symbol::default()).unwrap();
    let function = |section, other| Symbol {
        info: 0x12,
        other,
        section: section as u16,
        size: 256,
        ..Symbol::default()
    };
    elf.add_symbol("twice", function(twice, 0x10)).unwrap();
    elf.add_symbol("helper", function(helper, 0)).unwrap();
    elf.add_symbol(".nv.constant0.twice", Symbol { info: 3, section: constants as u16, ..Symbol::default() })
        .unwrap();
    let segment = |kind, flags, covers| Segment { kind, flags, align: 8, covers, ..Segment::default() };
    elf.segments = vec![
        segment(6, 4, Covers::Table),
        segment(1, 5, Covers::Sections { first: twice, last: helper }),
        segment(1, 4, Covers::Sections { first: constants, last: constants }),
    ];
    elf.lay_out().unwrap();
    elf
}

#[test]
fn what_is_kept_is_what_is_made_here() {
    let bytes = made().to_bytes().unwrap();
    assert_eq!(Elf::parse(&bytes).unwrap(), made());
    for path in KEPT {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &bytes).unwrap();
        }
        assert!(std::fs::read(&path).unwrap() == bytes, "{}", path.display());
    }
}

#[test]
fn functions_have_what_they_take() {
    let elf = made();
    let program = Program::new(&elf);
    assert_eq!(program.architecture(), Architecture { sm: 90, specific: Some(true) });
    let [twice, helper] = &program.functions()[..] else { panic!() };
    assert_eq!(
        (twice.name.as_str(), twice.entry, twice.size, twice.registers),
        ("twice", true, 256, Some(12))
    );
    assert_eq!((twice.frame, twice.stack, twice.barriers), (Some(32), Some(48), 1));
    assert_eq!((twice.shared, twice.constants), (0x410, 0x21c));
    let parameters: Vec<_> = twice.parameters.iter().map(|p| (p.offset, p.size)).collect();
    assert_eq!(parameters, [(0, 8), (8, 4)]);
    assert_eq!((helper.name.as_str(), helper.entry, helper.registers), ("helper", false, Some(8)));
    assert_eq!(helper.frame, None);
}

#[test]
fn notes_and_calls_are_read() {
    let elf = made();
    let [tool, cuda] = notes(&elf).unwrap()[..] else { panic!() };
    let tool = tool.tool().unwrap();
    assert_eq!(
        (tool.tool.as_str(), tool.tool_version.as_str(), tool.branch.as_str()),
        ("ptxas", "release 13.0", "Build")
    );
    assert_eq!(tool.arguments, "-arch sm_90a ");
    assert_eq!(cuda.cuda(), Some(CudaInfo { version: 2, virtual_sm: 90, toolkit: 130 }));
    assert_eq!((cuda.owner, cuda.tool()), (b"NVIDIA Corp".as_slice(), None));
    assert_eq!(calls(&elf), [Call { part: 1, caller: 1, callee: 2 }, Call { part: 3, caller: 1, callee: 7 }]);
    assert_eq!(prototypes(&elf), [(2, 7)]);
}

#[test]
fn numbers_have_the_names_that_tools_print() {
    // As cuobjdump shows them for cubins of ptxas 13.0.
    assert_eq!(section::kind_name(0x7000_0086), Some("CUDA_COMPAT_INFO"));
    assert_eq!(section::kind_name(0x7000_00ff), None);
    assert_eq!(
        [0x02, 0x38, 0x39].map(relocation::kind_name),
        ["R_CUDA_64", "R_CUDA_ABS32_LO_32", "R_CUDA_ABS32_HI_32"].map(Some)
    );
    assert_eq!([0, 0x1_0002].map(relocation::kind_name), [None; 2]);
    assert_eq!(symbol::other_names(2, 0x10), ["ENTRY"]);
    assert_eq!(symbol::other_names(13, 0x50), ["SHARED", "UNIFIED_OBJECT"]);
}
