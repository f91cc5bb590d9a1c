//! A program that uses the library as frameworks do, linked as `cargo xtask libraries` links it.

use library_build::link::{Shared, networks};
use std::path::Path;
use std::process::Command;

#[test]
fn handles_and_versions_work_and_the_rest_is_refused_by_name() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let test = std::env::current_exe().unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (name, symbols, _) = networks(root);
    let symbols: Vec<&str> = symbols.iter().map(String::as_str).collect();
    let archive = test.parent().unwrap().join("libcudnn.a");
    Shared { name, symbols: &symbols, aliases: &[] }.link(&archive, folder).unwrap();
    let program = folder.join("handles");
    let compiled = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Werror", "-o"])
        .args([&program, &root.join("tests/c/handles.c")])
        .arg("-L")
        .arg(folder)
        .arg(format!("-l:{name}"))
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let output = Command::new(&program).env("LD_LIBRARY_PATH", folder).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "handles: passed\n");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.matches("cudnnBackendExecute is not supported").count(), 1, "{said}");
}
