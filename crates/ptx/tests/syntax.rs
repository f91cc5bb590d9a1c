//! The grammar by example: `tests/syntax/accepted` is read without a diagnostic and survives printing, and each file
//! of `tests/syntax/errors` holds its diagnostics as comments under the offending tokens:
//!
//! ```text
//!     add.s32 %r1, %r2 %r3;
//! //                   ^^^ P0001 expected `;` or `,`, found `%r3`
//! ```
//!
//! `BLESS=1` rewrites those comments, and the printed texts beside the accepted ones; read what changed.

mod annotations;

use annotations::{annotate, bare};
use ptx::print::print;
use ptx::source::Source;
use ptx::syntax::{codes, parse};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/syntax").join(folder);
    let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|e| e == "ptx")).collect();
    files.sort();
    assert!(!files.is_empty(), "no tests in {}", folder.display());
    files
}

fn bless() -> bool {
    std::env::var_os("BLESS").is_some()
}

/// Compares with a file, or writes it.
fn expect(path: &Path, found: &str) {
    if bless() {
        std::fs::write(path, found).unwrap();
    } else {
        let expected = std::fs::read_to_string(path).unwrap_or_default();
        assert!(expected == found, "{} differs; found:\n{found}", path.display());
    }
}

#[test]
fn errors() {
    for path in files("errors") {
        let text = std::fs::read_to_string(&path).unwrap();
        let bare = bare(&text);
        let source = Source::new("test", bare);
        let parsed = parse(&source);
        let found = annotate(&source, &parsed.diagnostics);
        expect(&path, &found);
        // Whatever was left out, what is left is whole.
        let again = parse(&Source::new("printed", print(&parsed.module)));
        let rest: Vec<_> =
            again.diagnostics.iter().filter(|d| d.code != codes::UNKNOWN_INSTRUCTION).collect();
        assert!(rest.is_empty(), "{}: the rest does not parse: {rest:?}", path.display());
    }
}

#[test]
fn every_code_has_a_test() {
    let texts: Vec<_> = files("errors").iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let tested = |code: &str| texts.iter().any(|text| text.contains(&format!("^ {code} ")));
    let untested: BTreeSet<_> =
        codes::CATALOGUE.iter().map(|(code, _)| *code).filter(|code| !tested(code)).collect();
    // 4 GiB of text and 1000 errors are too much for a file.
    assert_eq!(untested, BTreeSet::from([codes::SOURCE_TOO_LARGE, codes::TOO_MANY_ERRORS]));
}

#[test]
fn accepted() {
    for path in files("accepted") {
        let text = std::fs::read_to_string(&path).unwrap();
        let parsed = parse(&Source::new("test", text));
        assert_eq!(parsed.diagnostics, [], "{}", path.display());
        let printed = print(&parsed.module);
        expect(&path.with_extension("printed"), &printed);
        let again = parse(&Source::new("printed", printed));
        assert_eq!(again.diagnostics, [], "{} (printed)", path.display());
        assert!(parsed.module == again.module, "{} changes when printed", path.display());
    }
}

#[test]
fn errors_are_bounded() {
    let text = format!(".version 8.0\n.target sm_80\n.entry k() {{\n{}}}", "?;\n".repeat(100_000));
    let diagnostics = parse(&Source::new("test", text)).diagnostics;
    assert_eq!(diagnostics.len(), 1001);
    assert!(diagnostics.iter().any(|d| d.code == codes::TOO_MANY_ERRORS));
}

#[test]
fn depth_is_bounded() {
    let deep = |open: &str, close: &str| format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
    let variable = |initialiser: String| format!(".global .u64 x = {initialiser};");
    let instruction = |operand: String| format!(".entry k() {{ call {operand}; }}");
    let texts = [
        variable(deep("(", ")")),
        variable(deep("{", "}")),
        variable(deep("- ", "")),
        variable(deep("(.s64)", "")),
        variable(deep("1+", "")),
        variable(deep("1*(1+", ")")),
        variable(deep("1?", ":1")),
        variable(deep("1?1:", "")),
        instruction(deep("{", "}")),
        instruction(deep("[", "]")),
        instruction(deep("(", ")")),
        instruction(deep("a[", "]")),
        format!(".entry k() {{ {} {} }}", "{".repeat(100_000), "}".repeat(100_000)),
    ];
    for text in texts {
        let start = text[..60].to_string();
        let parsed = parse(&Source::new("test", text));
        assert!(
            parsed.diagnostics.iter().any(|d| d.code == codes::TOO_DEEP),
            "{start}: {:?}",
            parsed.diagnostics
        );
        print(&parsed.module);
    }
}
