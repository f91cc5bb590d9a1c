//! Resolution and checks by example.
//!
//! - `tests/check/errors`: modules with their diagnostics as comments under the offending tokens. `BLESS=1` rewrites
//!   the comments; read what changed.
//! - `tests/check/verdicts`: many small snippets with the verdict, accept or reject. Each file is a frame with a
//!   `//SNIPPET` line, and snippets after `//- accept` or `//- reject` lines. Where ptxas, which the verdicts come from,
//!   disagrees, the line says so and why. With `WARPLOOM_PTXAS` naming a ptxas of CUDA 13.0, it is asked again.

mod annotations;

use annotations::{annotate, bare};
use ptx::diagnostic::Severity;
use ptx::source::Source;
use ptx::{Compiled, check, compile, explain, isa, resolve};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/check").join(folder);
    let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|e| e == "ptx")).collect();
    files.sort();
    assert!(!files.is_empty(), "no tests in {}", folder.display());
    files
}

fn compile_text(text: &str) -> Compiled {
    compile(&Source::new("test", text))
}

fn describe(compiled: &Compiled, source: &Source) -> String {
    let lines = compiled.diagnostics.iter().take(20).map(|d| {
        let (line, column) = source.line_column(d.span.start);
        format!("{line}:{column}: {} {} ({})\n", d.code, d.message, d.label)
    });
    lines.collect()
}

#[test]
fn errors() {
    let mut different = Vec::new();
    for path in files("errors") {
        let text = std::fs::read_to_string(&path).unwrap();
        let source = Source::new("test", bare(&text));
        let compiled = compile(&source);
        assert!(
            compiled.module.is_none() || compiled.diagnostics.iter().all(|d| d.severity == Severity::Warning)
        );
        let found = annotate(&source, &compiled.diagnostics);
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, found).unwrap();
        } else if text != found {
            different.push(format!("{} differs; found:\n{found}", path.display()));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn every_code_has_a_test() {
    let texts: Vec<_> = files("errors").iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let tested = |code: &str| texts.iter().any(|text| text.contains(&format!("^ {code} ")));
    let all = resolve::codes::CATALOGUE.iter().chain(check::codes::CATALOGUE);
    let untested: BTreeSet<_> = all.map(|(code, _)| *code).filter(|code| !tested(code)).collect();
    assert_eq!(untested, BTreeSet::new());
}

#[test]
fn every_code_is_explained() {
    assert!(explain("R0101").is_some_and(|text| text.contains("declare")));
    assert!(explain("C0201").is_some());
    assert!(explain("P0001").is_some());
    assert_eq!(explain("C9999"), None);
}

/// A snippet with its frame and verdict.
struct Snippet {
    place: String,
    text: String,
    accept: bool,
    /// ptxas has the other verdict.
    disputed: bool,
}

fn snippets() -> Vec<Snippet> {
    let mut snippets = Vec::new();
    for path in files("verdicts") {
        let text = std::fs::read_to_string(&path).unwrap();
        let (frame, rest) = text.split_once("//- ").unwrap();
        for part in rest.split("//- ") {
            let (verdict, snippet) = part.split_once('\n').unwrap();
            let accept = verdict.starts_with("accept");
            assert!(accept || verdict.starts_with("reject"), "{verdict}");
            snippets.push(Snippet {
                place: format!("{}: {}", path.file_stem().unwrap().display(), snippet.trim()),
                text: frame.replace("//SNIPPET", snippet),
                accept,
                disputed: verdict.contains("ptxas"),
            });
        }
    }
    snippets
}

#[test]
fn verdicts() {
    let mut wrong = Vec::new();
    for snippet in snippets() {
        let source = Source::new("test", snippet.text.clone());
        let compiled = compile(&source);
        if compiled.module.is_some() != snippet.accept {
            let what = if snippet.accept { "is rejected" } else { "is accepted" };
            wrong.push(format!("{} {what}\n{}", snippet.place, describe(&compiled, &source)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn verdicts_are_those_of_ptxas() {
    let Some(ptxas) = std::env::var_os("WARPLOOM_PTXAS") else {
        eprintln!("SKIPPED: {} snippets, because WARPLOOM_PTXAS is not set", snippets().len());
        return;
    };
    let folder = std::env::temp_dir().join(format!("warploom-verdicts-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut wrong = Vec::new();
    for (i, snippet) in snippets().iter().enumerate() {
        let file = folder.join(format!("{i}.ptx"));
        std::fs::write(&file, &snippet.text).unwrap();
        let after = snippet.text.split(".target ").nth(1).unwrap_or_default();
        let arch =
            after.split([',', '\n', ' ']).next().filter(|arch| arch.starts_with("sm_")).unwrap_or("sm_90a");
        let output = Command::new(&ptxas)
            .args(["-c", "-arch", arch, "-o"])
            .arg(folder.join("out"))
            .arg(&file)
            .output();
        let accepts = output.unwrap().status.success();
        if accepts != (snippet.accept != snippet.disputed) {
            wrong.push(format!("{}: ptxas {}", snippet.place, if accepts { "accepts" } else { "rejects" }));
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every form of the instruction table, in many choices of its modifiers, is accepted where the table says that it
/// is legal, and has its operands in the resolved module.
#[test]
fn instruction_table() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for form in isa::FormId::all() {
        for opcode in isa::sample_opcodes(form) {
            // The instances have 64-bit addresses.
            if opcode.mnemonic() == isa::Mnemonic::Cvta && opcode.has(isa::Modifier::U32) {
                continue;
            }
            for full in [false, true] {
                let Some(text) = isa::instance(&opcode, full) else { continue };
                count += 1;
                let source = Source::new("test", text);
                let compiled = compile(&source);
                if !compiled.diagnostics.is_empty() {
                    wrong.push(format!("{}: {}", opcode.text(), describe(&compiled, &source)));
                    continue;
                }
                let module = compiled.module.unwrap();
                let entry = module.entries().next().unwrap().1;
                let body = entry.body.as_ref().unwrap();
                let instruction = &body.instructions[0];
                let found = module.opcode(instruction);
                let operands = body.operands(instruction).len();
                assert_eq!(operands, found.data().operands.len(), "{}", opcode.text());
            }
        }
    }
    assert!(count > 1000, "{count}");
    let shown: String = wrong.iter().take(60).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} of {count} instances have diagnostics, such as:\n{shown}", wrong.len());
}

/// Whatever is left of a module when some of it is missing: no panic, and some diagnostic or none.
#[test]
fn damaged_modules() {
    let errors = files("errors").into_iter().map(|path| bare(&std::fs::read_to_string(path).unwrap()));
    let snippets = snippets().into_iter().step_by(7).map(|snippet| snippet.text);
    for text in errors.chain(snippets) {
        let tokens: Vec<_> = text.split_inclusive([' ', '\n', ',', ';', '[', '{', '(']).collect();
        let step = tokens.len() / 40 + 1;
        for skipped in (0..tokens.len()).step_by(step) {
            let without: String =
                tokens.iter().enumerate().filter(|(i, _)| *i != skipped).map(|(_, t)| *t).collect();
            let twice: String = tokens[..=skipped].iter().chain(&tokens[skipped..]).copied().collect();
            let _ = (compile_text(&without), compile_text(&twice), compile_text(&tokens[..skipped].concat()));
        }
    }
}

#[test]
fn an_unknown_name_is_reported_once() {
    let uses = "add.u32 r, r, missing;\n".repeat(100);
    let text =
        format!(".version 9.0\n.target sm_90\n.entry k() {{ .reg .u32 r; {uses} bad.u32 r; add.f32 r, r; }}");
    let diagnostics = compile_text(&text).diagnostics;
    let codes: Vec<_> = diagnostics.iter().map(|d| d.code).collect();
    assert_eq!(codes, ["R0101", "P0008", "C0101"]);
    assert!(diagnostics[0].label.contains("99 more times"), "{}", diagnostics[0].label);
}

#[test]
fn huge_declarations_cost_nothing() {
    let text = ".version 9.0\n.target sm_90\n.global .u8 big[1000000000000];\n.entry k() {\n.reg .b32 %r<4294967295>;\n\
        mov.b32 %r4294967294, 1; mov.b32 %r0, %r4294967294; ret; }";
    let module = compile_text(text).module.unwrap();
    let body = module.entries().next().unwrap().1.body.as_ref().unwrap();
    assert_eq!(body.registers.len(), 2);
    assert_eq!(module.text(body.registers[0].name), "%r4294967294");
    for text in [
        ".global .u8 a[2][4000000000] = {{1},{2}};",
        ".global .u64 a[4000000000][4000000000];",
        ".shared .u32 a<4000000000>;",
        ".func f(){ L: t: .branchtargets L<4000000000>; }",
    ] {
        let text = format!(".version 9.0\n.target sm_90\n{text}");
        assert!(compile_text(&text).module.is_none(), "{text}");
    }
}

#[test]
fn findings_are_bounded() {
    let names: String = (0..100_000).map(|i| format!("mov.u32 r, x{i};\n")).collect();
    let text = format!(".version 9.0\n.target sm_90\n.entry k() {{ .reg .u32 r;\n{names} }}");
    assert!(compile_text(&text).diagnostics.len() <= 1001);
}
