//! Which lines machine code is of: what the cubin says, against the lines in which the PTX has the instructions.

use cubin::elf::Elf;
use debug_info::machine_code::{LineTable, PTX_LINES, PTX_TEXT, SOURCE_LINES};
use ptx::source::Source;
use ptxas::{Compiled, Level, Options};

const SQUARES: &str = include_str!("lines/squares.ptx");

fn compiled(text: &str, level: Level, max_registers: Option<u32>) -> Compiled {
    let module = ptx::compile(&Source::new("test.ptx", text)).module.expect("it is right");
    let options = Options { level, max_registers, lines: true, text: true, ..Options::default() };
    ptxas::compile_entries(&module, options, |_| true).expect("it is compiled")
}

fn section(cubin: &[u8], name: &str) -> (Vec<u8>, Vec<(u64, String)>) {
    let elf = Elf::parse(cubin).expect("a cubin");
    let number = elf.find(name).unwrap_or_else(|| panic!("no {name}"));
    (elf.sections[number as usize].data().to_vec(), elf.symbols_in(number))
}

fn table(cubin: &[u8], name: &str) -> LineTable {
    let (bytes, symbols) = section(cubin, name);
    LineTable::read(&bytes, &symbols)
}

/// The instructions of a kernel as cuasm, with their addresses.
fn instructions(compiled: &Compiled, kernel: &str) -> Vec<(u64, String)> {
    let mine = compiled.text.split("\t.kernel\t").find(|part| part.starts_with(&format!("\"{kernel}\"")));
    let all = mine.expect("the kernel").lines().filter(|line| line.starts_with('['));
    let text = all.map(|line| line.split_once("] ").expect("a control code").1.to_owned());
    text.enumerate().map(|(at, text)| (at as u64 * 16, text)).collect()
}

/// The line of the PTX that has a text, from 1.
fn line_of(text: &str) -> u64 {
    let mut found = SQUARES.lines().enumerate().filter(|(_, line)| line.contains(text));
    let (at, _) = found.next().unwrap_or_else(|| panic!("no {text}"));
    assert!(found.next().is_none(), "two of {text}");
    at as u64 + 1
}

#[test]
fn instructions_are_of_the_lines_that_they_were_made_for() {
    for level in [Level::Serial, Level::Overlapped] {
        let compiled = compiled(SQUARES, level, None);
        let (sources, ptx) = (table(&compiled.cubin, SOURCE_LINES), table(&compiled.cubin, PTX_LINES));
        // What of the PTX there is one of, what it becomes, and where `.loc` says that it comes from.
        for (kernel, written, becomes, file, line) in [
            ("squares", "ld.global.u32", "LDG.E", "/src/kernel.cu", 10),
            ("squares", "mul.lo.s32", "IMAD R", "/src/square.h", 3),
            ("squares", "st.global.u32", "STG.E", "/src/kernel.cu", 12),
            ("other", "ld.global.f64", "LDG.E.64", "/src/kernel.cu", 30),
            ("other", "add.f64", "DADD", "deep.h", 9),
            ("other", "st.global.f64", "STG.E.64", "/src/kernel.cu", 32),
        ] {
            let all = instructions(&compiled, kernel);
            let mine: Vec<_> = all.iter().filter(|(_, text)| text.starts_with(becomes)).collect();
            assert!(!mine.is_empty(), "{becomes}");
            for (address, text) in mine {
                let source = sources.line(kernel, *address).expect("a line");
                assert_eq!((source.file.as_str(), source.line), (file, line), "{text}");
                assert_eq!(ptx.line(kernel, *address).expect("a line").line, line_of(written), "{text}");
            }
        }
        // In front of the first `.loc` its line counts; the stack pointer is the kernel's own.
        assert_eq!(sources.line("squares", 0).map(|line| line.line), Some(7));
        assert_eq!(ptx.line("squares", 0).map(|line| line.line), Some(line_of("entry squares(")));
        let (text, _) = section(&compiled.cubin, PTX_TEXT);
        let lines: Vec<&[u8]> = text.split(|&byte| byte == 0).collect();
        assert_eq!(lines[line_of("st.global.u32") as usize - 1], b"\tst.global.u32 [%rd3], %r4;");
    }
}

/// All of a kernel's instructions have an origin but those that begin it.
#[test]
fn what_is_spilled_belongs_to_what_needs_it() {
    let mut text = String::from(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry many(.param .u64 p)\n{\n.reg .b32 %r<64>;\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\n",
    );
    let first = text.lines().count();
    (0..60).for_each(|n| text += &format!("ld.volatile.global.u32 %r{n}, [%rd1+{}];\n", 4 * n));
    (0..60).for_each(|n| text += &format!("st.volatile.global.u32 [%rd1+{}], %r{n};\n", 4 * (59 - n)));
    text += "ret;\n}\n";
    let compiled = compiled(&text, Level::Overlapped, Some(24));
    let usage = &compiled.kernels[0];
    let all = instructions(&compiled, "many");
    let ptx = table(&compiled.cubin, PTX_LINES);
    let module = ptx::compile(&Source::new("test.ptx", text.as_str())).module.expect("it is right");
    let mut spills = 0;
    for ((address, text), made) in all.iter().zip(&usage.instructions) {
        let origin = made.origin.and_then(|origin| origin.line(&module)).map(u64::from);
        assert_eq!(made.spills, text.starts_with("STL") || text.starts_with("LDL"), "{text}");
        if made.spills {
            spills += 1;
            let line = origin.expect("a spill is for an instruction");
            assert_eq!(ptx.line("many", *address).map(|line| line.line), Some(line));
            // Loaded values are stored in the first half of the code, and loaded again in the second.
            assert_eq!(text.starts_with("STL"), (line as usize) <= first + 60, "{line} {text}");
        }
    }
    assert!(spills > 40, "{spills}");
}

/// The rows, byte for byte, that another reader of DWARF needs: calls that were inlined name the row of their caller.
#[test]
fn an_inlined_call_names_the_row_of_its_caller() {
    let compiled = compiled(SQUARES, Level::Overlapped, None);
    let (lines, _) = section(&compiled.cubin, SOURCE_LINES);
    let (names, _) = section(&compiled.cubin, ".debug_str");
    assert_eq!(names, b"square\0outer\0inner\0");
    let calls: Vec<&[u8]> = lines.windows(5).filter(|bytes| bytes.starts_with(&[0, 3, 0x90])).collect();
    let named: Vec<(u8, u8)> =
        calls.iter().map(|bytes| (bytes[3], bytes[4])).filter(|call| call.0 != 0).collect();
    // `square` from line 11, which has a row; `outer` at 7, `inner` at 13 of the strings, one called by the other.
    assert_eq!(named.iter().map(|call| call.1).collect::<Vec<_>>(), [0, 7, 13]);
    assert_eq!(named[2].0, named[1].0 + 1);
}

#[test]
fn a_cubin_with_lines_comes_back_from_text() {
    let compiled = compiled(SQUARES, Level::Overlapped, None);
    let text = cuasm::disassemble(&compiled.cubin).expect("text");
    let again = cuasm::assemble(&Source::new("again.cuasm", text)).expect("a cubin");
    assert!(again.bytes == compiled.cubin);
}

#[test]
fn nothing_is_said_without_being_asked() {
    let module = ptx::compile(&Source::new("test.ptx", SQUARES)).module.expect("it is right");
    let compiled = ptxas::compile(&module).expect("it is compiled");
    let elf = Elf::parse(&compiled.cubin).expect("a cubin");
    assert_eq!([SOURCE_LINES, PTX_LINES, PTX_TEXT].map(|name| elf.find(name)), [None; 3]);
}
