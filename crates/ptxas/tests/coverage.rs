//! What of the project's PTX is refused, by opcode and reason. `refused.txt` has the list; BLESS=1 writes it anew, and says how many files
//! are compiled.

use ptx::source::Source;
use ptxas::Level;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

mod corpus;

#[test]
fn what_is_refused_is_listed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let keep = std::env::var_os("PTXAS_CUBINS").map(PathBuf::from);
    let mut mistakes = Vec::new();
    let (mut compiled, mut total) = (0, 0);
    let mut refused = BTreeSet::new();
    for (name, text) in corpus::all(&root) {
        // Tests of what is wrong with PTX are none of this crate's.
        let Some(module) = ptx::compile(&Source::new(name.as_str(), text.as_str())).module else { continue };
        if module.entries().next().is_none() {
            continue;
        }
        total += 1;
        let at = |level| {
            let options = ptxas::Options { level, text: keep.is_some(), ..ptxas::Options::default() };
            ptxas::compile_entries(&module, options, |_| true)
        };
        match at(Level::Serial) {
            Ok(done) => {
                compiled += 1;
                // The check of hazards judges the other level's control codes too.
                let other = at(Level::Overlapped).map_err(|why| {
                    mistakes.extend(why.iter().map(|diagnostic| format!("{name}: {}", diagnostic.message)));
                });
                if let Some(keep) = &keep {
                    let flat = name.replace('/', "__").replace(".ptx", "");
                    for (level, done) in [("O0", Some(done)), ("O3", other.ok())] {
                        let Some(done) = done else { continue };
                        for (extension, bytes) in
                            [("cubin", &done.cubin[..]), ("cuasm", done.text.as_bytes())]
                        {
                            fs::write(keep.join(format!("{flat}.{level}.{extension}")), bytes)
                                .expect("a folder");
                        }
                    }
                }
            }
            Err(why) => {
                for diagnostic in why {
                    if diagnostic.code == ptxas::codes::INTERNAL {
                        mistakes.push(format!("{name}: {}", diagnostic.message));
                    }
                    println!("{name}: {}", corpus::reason(&diagnostic));
                    refused.insert(corpus::reason(&diagnostic));
                }
            }
        }
    }
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
    println!("{compiled} of {total} files are compiled");
    corpus::compare("refused.txt", &refused);
}

/// A kernel with one instruction of its own.
fn kernel(instruction: &str) -> String {
    format!(
        ".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a)\n{{\n.reg .b64 %d<4>;\n.reg .f64 %f<4>;\n\
         ld.param.u64 %d1, [a];\nld.global.f64 %f1, [%d1];\n{instruction}\nst.global.f64 [%d1], %f2;\nret;\n}}\n"
    )
}

fn compile(text: &str) -> Result<ptxas::Compiled, Vec<ptx::diagnostic::Diagnostic>> {
    let compiled = ptx::compile(&Source::new("k.ptx", text));
    let options = ptxas::Options { text: true, ..ptxas::Options::default() };
    ptxas::compile_entries(&compiled.module.expect("PTX without errors"), options, |_| true)
}

#[test]
fn a_kernel_takes_what_it_needs() {
    let done = compile(&kernel("add.rn.f64 %f2, %f1, %f1;")).expect("a cubin");
    let [usage] = done.kernels.as_slice() else { panic!("one kernel: {:?}", done.kernels) };
    // The address and one value, each a pair, beside R0 and the stack pointer.
    assert_eq!((usage.name.as_str(), usage.frame, usage.shared), ("k", 0, 0));
    assert!((4..=8).contains(&usage.registers), "{}", usage.registers);
    assert_eq!(&done.cubin[..4], b"\x7fELF");
}

/// Parameters begin at 0x210, which is no multiple of 64.
#[test]
fn a_parameter_is_aligned_in_the_bank() {
    let parameters = "(.param .u64 a, .param .align 64 .b8 map[64])";
    let text = kernel("ld.param.f64 %f2, [map];").replace("(.param .u64 a)", parameters);
    let done = compile(&text).expect("a cubin");
    assert!(done.text.contains("c[0x0][0x240]"), "{}", done.text);
    let elf = cubin::elf::Elf::parse(&done.cubin).expect("a cubin");
    let number = elf.find(".nv.info.k").expect("what is said of the kernel");
    // The number of the parameter and its distance from the first.
    let told = elf.sections[number as usize].data().windows(4).any(|it| it == [1, 0, 0x30, 0]);
    assert!(told, "the driver is told another place");
}

#[test]
fn what_is_refused_is_named_at_its_place() {
    let declared = ".extern .func (.reg .b64 r) elsewhere(.reg .b64 f, .reg .b64 a);\n.visible";
    let instruction = "call (%d2), elsewhere, (%d1, %d1);";
    let text = kernel(instruction).replace(".visible", declared);
    let refused = compile(&text).expect_err("no cubin");
    let [only] = refused.as_slice() else { panic!("one refusal: {refused:?}") };
    assert_eq!(only.code, ptxas::codes::INSTRUCTION);
    assert_eq!(&text[only.span.start as usize..only.span.end as usize], instruction);
    assert!(only.message.contains("`call`"), "{}", only.message);
}

#[test]
fn what_is_too_much_is_spilled() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/run/memory/more-than-registers.ptx");
    let text = fs::read_to_string(path).expect("a test of this repository");
    let module = ptx::compile(&Source::new("k.ptx", text.as_str())).module.expect("PTX without errors");
    let with = |max_registers, level| {
        let done = ptxas::compile_entries(
            &module,
            ptxas::Options { level, max_registers, ..ptxas::Options::default() },
            |name| name == "many",
        );
        done.expect("a cubin").kernels.pop().expect("a kernel")
    };
    for level in [Level::Serial, Level::Overlapped] {
        // 140 values of 8 bytes: each that is stored is loaded, and at most what does not fit is. In another order they fit.
        let all = with(None, level);
        let least = if level == Level::Serial { 140 * 8 - 255 * 4 } else { 0 };
        assert!(all.registers <= 255 && all.spilled.stores >= least, "{all:?}");
        assert!(all.spilled.loads >= all.spilled.stores && all.frame >= all.spilled.stores, "{all:?}");
        let few = with(Some(40), level);
        assert!(few.registers <= 40 && few.spilled.stores > all.spilled.stores, "{few:?}");
    }
    // What the kernel says goes before what the caller says.
    let bound = |bounds: &str| {
        let text = text.replacen("(.param .u64 d)", &format!("(.param .u64 d) {bounds}"), 1);
        let module = ptx::compile(&Source::new("k.ptx", text.as_str())).module.expect("PTX without errors");
        let options =
            ptxas::Options { level: Level::Serial, max_registers: Some(48), ..ptxas::Options::default() };
        let done = ptxas::compile_entries(&module, options, |name| name == "many");
        done.expect("a cubin").kernels[0].registers
    };
    for (bounds, least, most) in [
        ("", 40, 48),
        (".maxnreg 32", 24, 32),
        (".maxntid 256 .minnctapersm 2", 120, 128),
        (".maxntid 1024", 56, 64),
        (".minnctapersm 8", 40, 48),
    ] {
        let registers = bound(bounds);
        assert!((least..=most).contains(&registers), "{bounds}: {registers}");
    }
}
