//! The project's PTX, and lists of what of it is refused.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "ptx") {
            found.push(path);
        }
    }
}

/// All files with their names.
pub(crate) fn all(root: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for folder in ["examples", "tests/clang", "tests/run", "tests/sanitizer"] {
        files(&root.join(folder), &mut found);
    }
    let named = |path: PathBuf| {
        let text = fs::read_to_string(&path).ok()?;
        Some((path.strip_prefix(root).unwrap_or(&path).display().to_string(), text))
    };
    found.into_iter().filter_map(named).collect()
}

/// What is refused without the modifiers of its opcode and without the names of a file: `add: this instruction is not ...`.
pub(crate) fn reason(diagnostic: &ptx::diagnostic::Diagnostic) -> String {
    let mut quoted = diagnostic.message.split('`');
    let (Some(before), Some(name), Some(after)) = (quoted.next(), quoted.next(), quoted.next()) else {
        return diagnostic.message.clone();
    };
    if diagnostic.code != ptxas::codes::INSTRUCTION {
        return format!("{before}...{after}");
    }
    let opcode = name.split('.').next().unwrap_or(name);
    // A label may quote a function's name.
    let label: Vec<&str> = diagnostic
        .label
        .split('`')
        .enumerate()
        .map(|(i, part)| if i % 2 == 1 { "..." } else { part })
        .collect();
    format!("{opcode}: {}", label.concat())
}

/// That exactly what is listed in a file of `tests` is refused.
pub(crate) fn compare(list: &str, refused: &BTreeSet<String>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(list);
    if std::env::var_os("BLESS").is_some() {
        let lines: Vec<&str> = refused.iter().map(String::as_str).collect();
        fs::write(&path, lines.join("\n") + "\n").expect("the list");
    }
    let listed = fs::read_to_string(&path).unwrap_or_default();
    let listed: BTreeSet<String> = listed.lines().map(str::to_string).collect();
    let unlisted: Vec<_> = refused.difference(&listed).collect();
    let no_longer: Vec<_> = listed.difference(refused).collect();
    assert!(
        unlisted.is_empty() && no_longer.is_empty(),
        "run with BLESS=1 and read the difference\nnot listed: {unlisted:#?}\nno longer refused: {no_longer:#?}"
    );
}
