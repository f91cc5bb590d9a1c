//! A C program that asks about files, with the library preloaded.

use std::path::Path;
use std::process::Command;

/// What the program says of some paths; a line of five answers for each.
fn ask(preload: &Path, paths: &[&str]) -> Vec<String> {
    let output =
        Command::new(preload.with_file_name("ask")).args(paths).env("LD_PRELOAD", preload).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn the_files_are_there_for_questions_alone() {
    let test = std::env::current_exe().unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let library =
        library_build::link::device_files(&test.parent().unwrap().join("libdevice_files.a"), folder).unwrap();
    let source = format!("{}/tests/c/ask.c", env!("CARGO_MANIFEST_DIR"));
    let compiled = Command::new("cc").arg("-o").arg(folder.join("ask")).arg(source).status().unwrap();
    assert!(compiled.success());
    let paths =
        ["/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia00", "/dev/nvidia", "/dev/zero", "/etc/passwd"];
    let expected = match Path::new("/dev/nvidiactl").exists() {
        // A host with a GPU.
        true => return,
        false => ["11110", "11110", "00000", "00000", "11111"],
    };
    assert_eq!(ask(&library, &paths)[..5], expected);
    // A file that is none of a device stays what it is.
    assert_eq!(ask(&library, &paths)[5][..3], *"000");
}
