//! `warploom ptxas`, as compilers call it.

use cubin::elf::Elf;
use cubin::{carrier, fatbin};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const INPUTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/commands");

fn ptxas(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warploom"));
    command.arg("ptxas").args(words).current_dir(folder).output().unwrap()
}

fn input(name: &str) -> String {
    PathBuf::from(INPUTS).join(name).display().to_string()
}

/// The modules in a file that was written.
fn modules(file: &Path) -> Vec<String> {
    let fatbins = carrier::fatbins(&std::fs::read(file).unwrap());
    fatbins.iter().map(|bytes| fatbin::entries(bytes).unwrap()[0].text().unwrap()).collect()
}

/// What a call that fails says.
fn refused(words: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let output = ptxas(folder.path(), words);
    assert!(matches!(output.status.code(), Some(1 | 2)), "{output:?}");
    assert!(!folder.path().join("elf.o").exists());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_cubin_carries_its_modules() {
    let folder = tempfile::tempdir().unwrap();
    let good = input("run.in/add.ptx");
    let text = std::fs::read_to_string(&good).unwrap();
    for (words, kind, names) in [
        (&["-arch=sm_90a", &good, "-o", "out"][..], 2, "out"),
        (&["-arch=sm_90a", "-c", &good], 1, "elf.o"),
        (&["--input-as-string", &text], 2, "elf.o"),
    ] {
        let output = ptxas(folder.path(), words);
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        let file = folder.path().join(names);
        assert_eq!(modules(&file), [text.trim_end_matches('\0')]);
        assert_eq!(Elf::parse(&std::fs::read(file).unwrap()).unwrap().header.kind, kind);
    }
    let two = ptxas(folder.path(), &[&good, "-ias", ".version 8.0\n.target sm_80\n", "-o", "two"]);
    assert!(two.status.success(), "{two:?}");
    assert_eq!(modules(&folder.path().join("two")).len(), 2);
}

#[test]
fn an_architecture_without_devices_only_checks() {
    let folder = tempfile::tempdir().unwrap();
    let output = ptxas(folder.path(), &["-arch=compute_90", &input("run.in/add.ptx")]);
    assert!(output.status.success(), "{output:?}");
    assert!(!folder.path().join("elf.o").exists());
}

/// The words are those of ptxas 13.0, where it has the same to say.
#[test]
fn errors_have_the_form_of_ptxas() {
    let header = |version: &str, target: &str| format!(".version {version}\n.target {target}\n");
    let version = refused(&["--input-as-string", &header("99.99", "sm_50")]);
    assert_eq!(
        version.lines().next(),
        Some(
            "ptxas application ptx input, line 1; fatal   : Unsupported .version 99.99; current version is '9.0'"
        )
    );
    let target = refused(&["--input-as-string", &header("9.0", "sm_999")]);
    assert!(
        target.starts_with("ptxas application ptx input, line 2; fatal   : Unsupported .target 'sm_999'\n")
    );
    let wrong = input("check.in/wrong.ptx");
    let errors = refused(&[&wrong]);
    assert!(errors.lines().next().unwrap().starts_with(&format!("ptxas {wrong}, line ")), "{errors}");
    assert!(errors.contains("; error   : "), "{errors}");
    assert!(errors.ends_with("ptxas fatal   : Ptx assembly aborted due to errors\n"), "{errors}");
    for (words, message) in [
        (&["-arch=sm_777", "k.ptx"][..], "Value 'sm_777' is not defined for option 'gpu-name'"),
        (&["no-such.ptx"], "Input file 'no-such.ptx' could not be opened"),
        (
            &["-arch=sm_80", "-ias", &header("9.0", "sm_90")],
            "SM version specified by .target is higher than default SM version assumed",
        ),
        (
            &["-arch=sm_90", "-ias", &header("9.0", "sm_90a")],
            "PTX with .target 'sm_90a' cannot be compiled for architecture 'sm_90'",
        ),
        (
            &["-arch=sm_100", "-ias", &header("9.0", "sm_90a")],
            "Program with .target 'sm_90a' cannot be compiled to future architecture",
        ),
    ] {
        assert_eq!(refused(words), format!("ptxas fatal   : {message}\n"), "{words:?}");
    }
}

#[test]
fn the_report_is_one_that_tools_take_apart() {
    let folder = tempfile::tempdir().unwrap();
    let output = ptxas(folder.path(), &["-v", "-arch=sm_90", &input("run.in/add.ptx")]);
    let report = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<&str> = report.lines().collect();
    assert_eq!(lines[0], "ptxas info    : 0 bytes gmem");
    assert_eq!(lines[1], "ptxas info    : Compiling entry function 'add' for 'sm_90'");
    assert_eq!(lines[2], "ptxas info    : Function properties for add");
    assert_eq!(lines[3], "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads");
    assert!(lines[4].starts_with("ptxas info    : Used ") && lines[4].contains(" registers, "), "{report}");
}

#[test]
fn versions_have_the_form_of_ptxas() {
    let folder = tempfile::tempdir().unwrap();
    let said = |word| String::from_utf8(ptxas(folder.path(), &[word]).stdout).unwrap();
    // Triton looks for "release 13.0", XLA for "V13.0.0".
    assert!(said("--version").contains(", release 13.0, V13.0."));
}

#[test]
fn machine_code_is_made_if_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let good = input("run.in/add.ptx");
    let output = ptxas(folder.path(), &["--sass", "-O3", "-v", "-arch=sm_90", &good, "-o", "out"]);
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("ptxas info    : Used "), "{said}");
    let file = folder.path().join("out");
    assert!(modules(&file).is_empty());
    let bytes = std::fs::read(file).unwrap();
    assert_eq!(Elf::parse(&bytes).unwrap().header.kind, 2);
    assert!(bytes.windows(10).any(|window| window == b".text.add\0"));
}

#[test]
fn machine_code_is_made_for_the_device_that_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let good = input("run.in/add.ptx");
    assert!(
        refused(&["--sass", "-arch=sm_75", &good])
            .contains("for sm_80, sm_86, sm_89, sm_90, sm_100, sm_120 alone")
    );
    for number in [80, 86, 89, 90, 100, 120] {
        let output = ptxas(folder.path(), &["--sass", &format!("-arch=sm_{number}"), &good, "-o", "out"]);
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        let elf = Elf::parse(&std::fs::read(folder.path().join("out")).unwrap()).unwrap();
        assert_eq!(cubin::read::Program::new(&elf).architecture().sm, number);
    }
}

#[test]
fn a_page_shows_what_became_of_each_line() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html").display().to_string();
    let good = input("run.in/add.ptx");
    let words = ["--sass", "-lineinfo", "-arch=sm_90", "--explain", &page, &good, "-o", "out"];
    let output = ptxas(folder.path(), &words);
    assert!(output.status.success(), "{output:?}");
    let text = std::fs::read_to_string(&good).unwrap();
    let line = 1 + text.lines().position(|line| line.contains("add.f32")).unwrap();
    let page = std::fs::read_to_string(page).unwrap();
    let rows: Vec<&str> = page.lines().filter(|row| row.contains(&format!("data-g=\"p{line}\""))).collect();
    let [ptx, ir, code] = rows[..] else { panic!("{rows:?}") };
    assert!(ptx.contains("add.f32") && ir.contains("add_float") && code.contains("FADD"), "{rows:?}");
    let bytes = std::fs::read(folder.path().join("out")).unwrap();
    let elf = Elf::parse(&bytes).unwrap();
    assert!(elf.find(".nv_debug_line_sass").is_some() && elf.find(".debug_line").is_none());
    assert!(refused(&["--explain", "page.html", &good]).contains("--sass"));
}

#[test]
fn machine_code_is_compared_with_its_ptx() {
    let folder = tempfile::tempdir().unwrap();
    let good = input("run.in/add.ptx");
    let output = ptxas(folder.path(), &["--sass", "--verify", "-arch=sm_90", &good, "-o", "out"]);
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, "ptxas info    : 'add' leaves the same memory as its PTX on 4 random inputs\n");
    assert!(refused(&["--verify", &good]).contains("--sass"));
}

#[test]
fn relocatable_machine_code_is_made_of_what_can_be_linked() {
    let folder = tempfile::tempdir().unwrap();
    let good = input("run.in/add.ptx");
    let output = ptxas(folder.path(), &["--sass", "-c", "-arch=sm_90", &good, "-o", "out"]);
    assert!(output.status.success(), "{output:?}");
    let elf = Elf::parse(&std::fs::read(folder.path().join("out")).unwrap()).unwrap();
    assert_eq!((elf.header.kind, elf.segments.len()), (1, 0));
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .func f() { ret; }\n.func g() { ret; }\n\
                .visible .global .u64 a = f;\n.visible .global .u64 b = g;\n.visible .entry k() { ret; }\n";
    let said = refused(&["--sass", "-c", "-ias", text]);
    assert!(said.contains("the variable `a`") && !said.contains("the variable `b`"), "{said}");
}

/// `-g` is for debuggers: without another level nothing overlaps, and variables are told at each.
#[test]
fn debuggers_are_told_of_variables() {
    let folder = tempfile::tempdir().unwrap();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/debug/weighted.ptx");
    let section = |words: &[&str], name: &str| {
        let words = [&["--sass", "-arch=sm_90", source, "-o", "out"], words].concat();
        let output = ptxas(folder.path(), &words);
        assert!(output.status.success(), "{output:?}");
        let elf = Elf::parse(&std::fs::read(folder.path().join("out")).unwrap()).unwrap();
        elf.find(name).map(|number| elf.sections[number as usize].data().to_vec())
    };
    let code = |words: &[&str]| section(words, ".text._Z5scalePiPKiii").unwrap();
    assert_eq!(code(&["-g"]), code(&["-O0"]));
    assert_eq!(code(&["-g", "-O3"]), code(&[]));
    let registers = |words: &[&str]| section(words, ".nv_debug_info_reg_sass").map_or(0, |bytes| bytes.len());
    assert!(registers(&["-g"]) > registers(&["-O3", "-g"]) && registers(&["-O3", "-g"]) > 0);
    assert_eq!(registers(&["-lineinfo"]), 0);
}
