//! What compilers really write is read and checked without a diagnostic and survives printing.
//!
//! The PTX is made on the spot: by clang from `tests/sources/`, where clang is installed, and taken from the folder
//! that `WARPLOOM_PTX_CORPUS` names, where it is set.

use ptx::ast::Module;
use ptx::diagnostic::Diagnostic;
use ptx::print::print;
use ptx::source::Source;
use ptx::syntax::parse;
use std::path::{Path, PathBuf};
use std::process::Command;

fn describe(source: &Source, diagnostics: &[Diagnostic]) -> String {
    let lines = diagnostics.iter().take(20).map(|d| {
        let (line, column) = source.line_column(d.span.start);
        format!("{}:{line}:{column}: {} {}\n", source.name(), d.code, d.message)
    });
    lines.collect()
}

/// Reads a text that has nothing wrong.
fn read(name: &str, text: &str) -> Module {
    let source = Source::new(name, text);
    let parsed = parse(&source);
    assert!(parsed.diagnostics.is_empty(), "{}", describe(&source, &parsed.diagnostics));
    parsed.module
}

fn check(name: &str, text: &str) {
    let module = read(name, text);
    assert!(!module.items.is_empty(), "{name} is empty");
    let printed = print(&module);
    let again = read(&format!("{name} (printed)"), &printed);
    assert!(module == again, "{name} changes when printed");
    assert_eq!(printed, print(&again), "{name}: printing is not stable");
    let source = Source::new(name, text);
    let compiled = ptx::compile(&source);
    assert!(compiled.diagnostics.is_empty(), "{}", describe(&source, &compiled.diagnostics));
    assert!(compiled.module.is_some());
}

fn clang(arguments: &[&str]) -> Option<String> {
    let output = Command::new("clang-22").args(arguments).args(["-S", "-o", "-"]).output().ok()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "clang {arguments:?}: {errors}");
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn clang_output() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sources/features.c");
    let file = file.to_str().unwrap();
    for (arch, version) in
        [("-march=sm_70", "+ptx74"), ("-march=sm_90a", "+ptx80"), ("-march=sm_100a", "+ptx86")]
    {
        for options in
            [&["-O0"][..], &["-O2"], &["-O3", "-gline-tables-only"], &["-O0", "-g"], &["-O2", "-g"]]
        {
            let target = [
                "--target=nvptx64-nvidia-cuda",
                arch,
                "-Xclang",
                "-target-feature",
                "-Xclang",
                version,
                file,
            ];
            let arguments = [&target[..], options].concat();
            let Some(text) = clang(&arguments) else {
                eprintln!("SKIPPED: clang-22 is not installed");
                return;
            };
            check(&format!("clang {arch} {}", options.join(" ")), &text);
        }
    }
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|e| e == "ptx") {
            found.push(path);
        }
    }
}

#[test]
fn corpus() {
    let Some(folder) = std::env::var_os("WARPLOOM_PTX_CORPUS") else {
        eprintln!("SKIPPED: WARPLOOM_PTX_CORPUS is not set");
        return;
    };
    let mut files = Vec::new();
    collect(Path::new(&folder), &mut files);
    files.sort();
    assert!(!files.is_empty(), "no .ptx in {}", folder.display());
    for file in &files {
        let text = std::fs::read(file).unwrap();
        check(&file.display().to_string(), &String::from_utf8_lossy(&text));
    }
    eprintln!("{} files", files.len());
}
