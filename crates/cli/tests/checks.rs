//! `warploom exec --check` from end to end: a C program, our driver below it, and what the command says of both.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder with the driver, as this build has it, and names of what the program here does not use.
fn libraries(folder: &Path) {
    let test = std::env::current_exe().unwrap();
    let built = test.parent().unwrap().join("libcuda.so");
    assert!(built.exists(), "{} is not built", built.display());
    for name in ["libcuda.so", "libcuda.so.1"] {
        std::os::unix::fs::symlink(&built, folder.join(name)).unwrap();
    }
    for name in ["libcudart.so.12", "libcudart.so.13"] {
        std::fs::write(folder.join(name), "").unwrap();
    }
}

fn program(folder: &Path) -> PathBuf {
    let program = folder.join("program");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/checks/program.c");
    // Functions of the driver are found by name, and called without a prototype.
    let arguments = ["-std=gnu11", "-w", "-O1", "-o"];
    let compiled = Command::new("cc").args(arguments).args([&program, &source]).arg("-ldl").status().unwrap();
    assert!(compiled.success());
    program
}

/// What is checked, more options, what the program does, its exit code, and lines that the command says.
type Case<'a> = (&'a str, &'a [&'a str], &'a str, i32, &'a [&'a str]);

/// What is told of programs with these checks, with these options, which do so: the exit code, and the begins of lines of what the
/// command says, in their order, of which the last one is the last line.
#[test]
fn options_do_what_they_say() {
    let folder = tempfile::tempdir().unwrap();
    libraries(folder.path());
    let program = program(folder.path());
    let bad = ["out-of-bounds: illegal address: store of 4 bytes", "    at ptx:8: st.global.u32 [%d+64], 1;"];
    let second =
        ["out-of-bounds: illegal address: store of 4 bytes", "    at ptx:9: st.global.u32 [%d+128], 2;"];
    let cut = "not checked to the end: kernel bad was stopped: illegal address";
    let (one, two) = ("the checks found 1 problem", "the checks found 2 problems");
    let nothing = "the checks found nothing";
    let error = "api-error: cuMemFree_v2 returned CUDA_ERROR_INVALID_VALUE";
    let written = "write of 4 bytes and earlier write of global memory";
    let predicted = format!("predicted-race: {written}");
    let undisciplined = format!("lock-discipline: {written}");
    let by_thumb = "  missing: a lock for both: the later one holds no lock, the earlier one holds the lock";
    let cases: [Case<'_>; 17] = [
        // The program, which looks at what its calls return, ends with 3 if its kernel is stopped.
        ("memory", &[], "bad", 3, &[bad[0], bad[1], cut, one]),
        ("memory", &["--keep-going"], "bad", 1, &[bad[0], bad[1], second[0], second[1], two]),
        ("memory", &["--keep-going=2"], "bad", 1, &[bad[0], bad[1], second[0], second[1], two]),
        ("memory", &["--keep-going=1"], "bad", 3, &[bad[0], bad[1], second[0], second[1], cut, two]),
        ("memory", &["--keep-going", "--error-exitcode", "9"], "bad", 9, &[two]),
        // What a GPU does not notice is found by the check of memory alone.
        ("race", &["--keep-going"], "bad", 0, &[nothing]),
        ("race", &[], "error", 0, &[nothing]),
        ("race", &["--api-errors"], "error", 1, &[error, one]),
        ("all", &["--api-errors", "--keep-going"], "nothing", 0, &[nothing]),
        ("all", &[], "sections", 0, &[nothing]),
        ("all,predict", &[], "sections", 1, &[&predicted, "  predicted from what was seen in this run", one]),
        ("all,locks", &[], "sections", 0, &[nothing]),
        ("all", &[], "lock", 0, &[nothing]),
        ("predict", &[], "lock", 1, &[&predicted, one]),
        ("locks", &[], "lock", 1, &[&undisciplined, by_thumb, one]),
        ("all,predict,locks", &[], "locked", 0, &[nothing]),
        ("all,predict,locks", &["--api-errors"], "nothing", 0, &[nothing]),
    ];
    for (checks, options, what, code, lines) in cases {
        let output = Command::new(env!("CARGO_BIN_EXE_warploom"))
            .args(["exec", "--check", checks])
            .args(options)
            .arg("--")
            .arg(&program)
            .arg(what)
            .env("WARPLOOM_LIB", folder.path())
            .env("XDG_CACHE_HOME", folder.path().join("cache"))
            .env_remove("LD_LIBRARY_PATH")
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let told = format!("--check {checks} {options:?} {what}:\n{said}");
        assert_eq!(output.status.code(), Some(code), "{told}");
        let mut rest = said.lines();
        for line in lines {
            assert!(rest.any(|told| told.starts_with(line)), "`{line}` is missing: {told}");
        }
        assert_eq!(rest.next(), None, "{told}");
        let reports =
            said.lines().filter(|line| line.starts_with(char::is_alphabetic) && line.contains(": "));
        let other = ["warploom: ", "not checked", "cuCtx"];
        let reports = reports.filter(|line| !other.iter().any(|begin| line.starts_with(begin))).count();
        let last = *lines.last().unwrap();
        let count = if last == one {
            1
        } else if last == two {
            2
        } else {
            0
        };
        assert_eq!(reports, count, "{told}");
    }
}
