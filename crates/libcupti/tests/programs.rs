//! Programs that ask for a profiler, linked with the libraries as `cargo xtask libraries` links them.

use library_build::link::{Shared, profilers};
use std::path::Path;
use std::process::Command;

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// Runs the C program with a library; what it says to standard error.
fn run(library: &str, version: u32) -> String {
    let test = std::env::current_exe().unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(library);
    std::fs::create_dir_all(&folder).unwrap();
    let found = profilers(Path::new(CRATE)).into_iter().find(|(name, ..)| *name == library);
    let (name, symbols, aliases) = found.unwrap();
    let symbols: Vec<&str> = symbols.iter().map(String::as_str).collect();
    let aliases: Vec<(&str, &str)> = aliases.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let archive = test.parent().unwrap().join("libcupti.a");
    Shared { name, symbols: &symbols, aliases: &aliases }.link(&archive, &folder).unwrap();
    let program = folder.join("profile");
    let compiled = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Werror", &format!("-DVERSION={version}"), "-o"])
        .arg(&program)
        .arg(Path::new(CRATE).join("tests/c/profile.c"))
        .arg("-L")
        .arg(&folder)
        .arg(format!("-l:{library}"))
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let output = Command::new(&program).env("LD_LIBRARY_PATH", &folder).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "profile: passed\n");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn versions_are_told_and_the_rest_is_refused_by_name_once() {
    for (library, version) in [("libcupti.so.13", 130_000), ("libcupti.so.12", 27)] {
        let said = run(library, version);
        assert_eq!(said.matches("cuptiActivityEnable is not supported").count(), 1, "{said}");
        assert_eq!(said.matches("cuptiSubscribe is not supported").count(), 1, "{said}");
    }
}
