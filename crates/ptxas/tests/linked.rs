//! What a linker takes: symbols and relocations as nvlink reads them.

use cubin::elf::Elf;
use ptx::source::Source;

const TEXT: &str = ".version 8.0
.target sm_90
.address_size 64
.visible .const .align 8 .b64 table[2] = {7, 9};
.extern .const .align 4 .b32 other[4];
.extern .global .align 4 .u32 counter;
.extern .shared .align 16 .b8 open[];
.shared .align 16 .b8 common[32];
.extern .func (.param .b32 r) elsewhere(
    .param .b32 a, .param .align 16 .b8 s[16], .param .b32 b, .param .b64 c, .param .b64 d, .param .b64 e, .param .b32 f, .param .b64 g);
.visible .func (.param .b64 r) here(.param .b64 a)
{
    .reg .b64 %d<3>;
    .shared .align 4 .b32 mine;
    ld.param.b64 %d1, [a];
    st.shared.b32 [mine], 1;
    add.s64 %d1, %d1, 1;
    st.param.b64 [r], %d1;
    ret;
}
.visible .entry k(.param .u64 p)
{
    .reg .b64 %d<8>;
    .reg .b32 %r<8>;
    .shared .align 8 .b64 own[3];
    ld.param.u64 %d1, [p];
    ld.const.b64 %d2, [table+8];
    ld.const.b32 %r1, [other+4];
    ld.global.u32 %r2, [counter];
    st.shared.b64 [own+8], %d2;
    st.shared.b32 [common+4], %r1;
    st.shared.b32 [open], %r2;
    {
        .param .b32 a; .param .align 16 .b8 s[16]; .param .b32 b; .param .b32 r;
        .param .b64 c; .param .b64 d; .param .b64 e; .param .b32 f; .param .b64 g;
        st.param.b32 [a], %r1;
        st.param.v4.b32 [s], {%r1, %r2, %r1, %r2};
        st.param.b32 [b], %r2;
        st.param.b64 [c], %d1;
        st.param.b64 [d], %d1;
        st.param.b64 [e], %d1;
        st.param.b32 [f], %r1;
        st.param.b64 [g], %d1;
        call (r), elsewhere, (a, s, b, c, d, e, f, g);
        ld.param.b32 %r3, [r];
    }
    st.global.b32 [%d1], %r3;
    ret;
}
";

fn compile(text: &str, target: ptxas::Target) -> Result<ptxas::Compiled, Vec<ptx::diagnostic::Diagnostic>> {
    let module = ptx::compile(&Source::new("k.ptx", text)).module.expect("PTX without errors");
    let options = ptxas::Options {
        target,
        relocatable: true,
        text: true,
        level: ptxas::Level::Overlapped,
        ..ptxas::Options::default()
    };
    ptxas::compile_entries(&module, options, |_| true)
}

/// A symbol: its section, none if another module has it, the bits that say in which memory it is, its value and size.
fn symbol(elf: &Elf, name: &str) -> (Option<String>, u8, u64, u64) {
    let symbols = elf.symbols().expect("a table of symbols");
    // Names of blocks have a number behind them.
    let is_it = |found: &[u8]| {
        let rest = found.strip_prefix(name.as_bytes());
        rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'$')
    };
    let found = symbols.iter().find(|symbol| elf.symbol_name(symbol).is_ok_and(is_it));
    let symbol = found.unwrap_or_else(|| panic!("a symbol {name}"));
    let section =
        (0..elf.sections.len() as u32).find(|&number| number != 0 && number == symbol.section.into());
    let section =
        section.map(|number| String::from_utf8_lossy(elf.section_name(number).expect("a name")).into_owned());
    (section, symbol.other, symbol.value, symbol.size)
}

/// Kinds of relocations: all 32 bits of an address, its halves, and the address in a call.
const ALL: u32 = 0x37;
const LOW: u32 = 0x38;
const HIGH: u32 = 0x39;
const CALL: u32 = 0x4b;

/// The relocations of a section of code: kinds and the first letters of symbols' names.
fn relocations(elf: &Elf, code: &str) -> Vec<(u32, String)> {
    let number = elf.find(code).expect("code");
    let symbols = elf.symbols().expect("symbols");
    let tables = (0..elf.sections.len() as u32).filter_map(|table| {
        let is_its = elf.sections[table as usize].info == number;
        elf.relocations(table).ok().filter(|_| is_its)
    });
    let named = tables.flatten().map(|relocation| {
        let name = elf.symbol_name(&symbols[relocation.symbol as usize]).expect("a name");
        let name = String::from_utf8_lossy(name).into_owned();
        (relocation.kind, name.split('$').next().unwrap_or_default().to_owned())
    });
    let mut all: Vec<_> = named.collect();
    all.sort();
    all.dedup();
    all
}

/// As in what ptxas 13.0 makes with `-c`, and nvlink 13.0 links: a shared variable's value is how it is aligned.
#[test]
fn variables_are_what_a_linker_looks_for() {
    let done = compile(TEXT, ptxas::Target::default()).expect("a cubin");
    let elf = Elf::parse(&done.cubin).expect("a cubin");
    let placed = |section: &str| Some(section.to_owned());
    assert_eq!(symbol(&elf, "table"), (placed(".nv.constant3"), 0x80, 0, 16));
    assert_eq!(symbol(&elf, "other"), (None, 0x80, 0, 16));
    assert_eq!(symbol(&elf, "counter"), (None, 0x20, 0, 4));
    assert_eq!(symbol(&elf, "open"), (None, 0x40, 0, 0));
    assert_eq!(symbol(&elf, "own"), (placed(".nv.shared.k"), 0x40, 8, 24));
    assert_eq!(symbol(&elf, "common"), (placed(".nv_debug.shared"), 0x40, 16, 32));
    assert_eq!(symbol(&elf, "mine"), (placed(".nv_debug.shared"), 0x40, 4, 4));
    assert_eq!(symbol(&elf, "here").0, placed(".text.here"));
    assert_eq!(symbol(&elf, "elsewhere").0, None);
    let named = |kind: u32, name: &str| (kind, name.to_owned());
    let expected = [
        named(ALL, "common"),
        named(ALL, "open"),
        named(ALL, "other"),
        named(ALL, "own"),
        named(ALL, "table"),
        named(LOW, "counter"),
        named(HIGH, "counter"),
        named(CALL, "elsewhere"),
    ];
    assert_eq!(relocations(&elf, ".text.k"), expected);
    // A linker finds out how much stack a kernel needs, if nobody says so before.
    let told = |attribute: u8| {
        let number = elf.find(".nv.info").expect("what is said of functions");
        elf.sections[number as usize].data().windows(4).any(|it| it == [4, attribute, 8, 0])
    };
    assert!(told(0x23) && !told(0x12));
    // nvlink takes a call graph behind the notes alone. It begins with a pair that says so, and has each caller with whom it calls.
    assert!(elf.find(".nv.callgraph") > elf.find(".note.nv.cuinfo"));
    let more = TEXT.replace(
        ".visible .entry k(",
        ".visible .func m() { .param .b64 x; .reg .b64 %d<2>; call (x), far, (); ret; }\n.visible .entry k(",
    );
    let more = more.replace(".extern .func", ".extern .func (.param .b64 r) far();\n.extern .func");
    let done = compile(&more, ptxas::Target::default()).expect("a cubin");
    let elf = Elf::parse(&done.cubin).expect("a cubin");
    let graph = elf.sections[elf.find(".nv.callgraph").expect("calls") as usize].data().to_vec();
    let words: Vec<u32> = graph.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    assert_eq!((&words[..2], words.len()), (&[0, u32::MAX][..], 12));
    assert!(words[2..6].iter().all(|&word| word != 0), "{words:x?}");
}

/// Four words that are aligned for it come to R8, the next arguments to the gap behind the first, and what is left over to the stack.
#[test]
fn arguments_stand_where_the_convention_has_them() {
    for target in ptxas::Target::all().filter(|target| target.sm() < 100) {
        let done = compile(TEXT, target).unwrap_or_else(|why| panic!("{target}: {why:?}"));
        let code = |name: &str| {
            let kernel = done.kernels.iter().find(|kernel| kernel.name == name).expect("it is compiled");
            kernel.instructions.iter().map(|made| made.text.clone()).collect::<Vec<_>>()
        };
        let caller = code("k");
        let call = caller.iter().position(|text| text.contains("CALL.ABS.NOINC")).expect("a call");
        let loaded =
            |register: &str| caller[..call].iter().any(|text| text.contains(&format!("LDL {register},")));
        for register in ["R4", "R8", "R9", "R10", "R11", "R5"] {
            assert!(loaded(register), "{target}: {register} in {caller:#?}");
        }
        let deep = caller[..call].iter().any(|text| text.contains("STL [R1+0x8],"));
        assert!(deep && loaded("R15"), "{target}: {caller:#?}");
        let callee = code("here");
        let has = |what: &str| callee.iter().any(|text| text.contains(what));
        assert!(has("RET.ABS.NODEC R20 0x0") && has(", R4 ;") && has(", R5 ;"), "{target}: {callee:#?}");
    }
}

/// R2, R16 to R31, and of those behind the upper four of each eight, are the caller's.
#[test]
fn a_function_leaves_its_callers_registers_alone() {
    const COUNT: usize = 90;
    let mut text = String::from(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .func (.param .b32 r) f(.param .b64 a)\n{\n\
         .reg .b64 %d<2>;\n.reg .b32 %r<100>;\nld.param.b64 %d1, [a];\n",
    );
    for value in 0..COUNT {
        text.push_str(&format!("ld.global.u32 %r{value}, [%d1+{}];\n", 4 * value));
    }
    for value in 1..COUNT {
        text.push_str(&format!("mad.lo.u32 %r0, %r0, 3, %r{};\n", COUNT - value));
    }
    text.push_str("st.param.b32 [r], %r0;\nret;\n}\n");
    let done = compile(&text, ptxas::Target::default()).expect("a cubin");
    let [function] = done.kernels.as_slice() else { panic!("one function") };
    assert!(function.registers > 64, "{}", function.registers);
    let mut named = std::collections::BTreeSet::new();
    for made in &function.instructions {
        for word in made.text.split(|letter: char| !letter.is_ascii_alphanumeric()) {
            named.extend(word.strip_prefix('R').and_then(|number| number.parse::<u32>().ok()));
        }
    }
    // R20 and R21 have the address to return to.
    let callers =
        |&number: &u32| number == 2 || (16..32).contains(&number) || number >= 32 && number % 8 >= 4;
    let touched: Vec<u32> = named.into_iter().filter(callers).collect();
    assert_eq!(touched, [20, 21]);
}

#[test]
fn what_no_linker_could_make_right_is_refused_by_name() {
    let refused = |text: &str| {
        let why = compile(text, ptxas::Target::default()).expect_err("no cubin");
        why.into_iter().map(|it| format!("{} {}", it.message, it.label)).collect::<Vec<_>>().join("\n")
    };
    let address = TEXT.replace("st.global.b32 [%d1], %r3;", "mov.u64 %d2, here;\nst.global.b64 [%d1], %d2;");
    assert!(refused(&address).contains("the address of a function that other modules may call"));
    let stored = TEXT.replace(".visible .entry", ".visible .global .u64 f = here;\n.visible .entry");
    assert!(refused(&stored).contains("the variable `f`"));
    let blackwell = ptxas::Target::all().find(|target| target.sm() == 100).expect("it is known");
    let why = compile(TEXT, blackwell).expect_err("no cubin");
    assert!(why[0].message.contains("code of sm_100 for a linker"));
    let large = TEXT.replace("(.param .b64 r) here", "(.param .align 8 .b8 r[56]) here");
    assert!(refused(&large).contains("a larger result than registers have place for"));
}
