//! What variables of the environment change, seen from a program that is compiled here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of one test's own with the library under its soname.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let built = std::env::current_exe().unwrap().with_file_name("libcuda.so");
    for name in ["libcuda.so", "libcuda.so.1"] {
        std::os::unix::fs::symlink(&built, folder.join(name)).unwrap();
    }
    folder
}

/// Compiles and runs a program of `tests/programs`.
fn run(folder: &Path, source: &str, environment: &[(&str, &str)]) -> Output {
    let program = folder.join("program");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(source);
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-Wall", "-Werror", "-o"])
        .args([&program, &source])
        .arg("-L")
        .arg(folder)
        .args(["-lcuda", "-ldl"]);
    assert!(cc.status().unwrap().success());
    let mut command = Command::new(&program);
    command.env("LD_LIBRARY_PATH", folder).envs(environment.iter().copied());
    command.output().unwrap()
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_log_goes_to_a_file_and_is_continued() {
    let folder = folder("log");
    let log = folder.join("log.txt");
    let wish = format!("debug:{}", log.display());
    for times in 1..=2 {
        let output = run(&folder, "vector.c", &[("WARPLOOM_LOG", &wish)]);
        assert!(output.status.success(), "{}", errors(&output));
        let text = fs::read_to_string(&log).unwrap();
        assert_eq!(text.matches(" info devices: h200\n").count(), times, "{text}");
        assert!(text.contains(" debug kernel "), "{text}");
        assert!(!errors(&output).contains("kernel"), "{}", errors(&output));
    }
}

#[test]
fn a_level_that_does_not_exist_is_told() {
    let output = run(&folder("level"), "devices.c", &[("WARPLOOM_LOG", "loud")]);
    assert!(errors(&output).contains("`loud` is not a level"), "{}", errors(&output));
}

#[test]
fn visible_devices_are_chosen_and_ordered() {
    let folder = folder("visible");
    let seen = |visible: &str| {
        let output = run(
            &folder,
            "devices.c",
            &[("WARPLOOM_DEVICES", "h200,t4,l40s"), ("CUDA_VISIBLE_DEVICES", visible)],
        );
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(seen("0,1,2"), "NVIDIA H200\nTesla T4\nNVIDIA L40S\n");
    assert_eq!(seen("2,0"), "NVIDIA L40S\nNVIDIA H200\n");
    assert_eq!(seen("1,7,0"), "Tesla T4\n");
    assert_eq!(seen(""), "CUDA_ERROR_NO_DEVICE\n");
}

#[test]
fn without_execution_results_are_wrong() {
    let output = run(&folder("stub"), "vector.c", &[("WARPLOOM_STUB", "1")]);
    assert!(!output.status.success());
    assert!(errors(&output).contains("kernels are not executed"), "{}", errors(&output));
}
