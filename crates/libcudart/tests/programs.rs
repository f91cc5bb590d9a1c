//! Programs on the runtime, made here: what a compiler's output calls is called by C.
//!
//! The libraries are linked as `cargo xtask libraries` links them, from what cargo has built for these tests.

use library_build::libraries::LIBRARIES;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// A folder with all libraries under the names that programs look for.
fn libraries() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let test = std::env::current_exe().unwrap();
        let deps = test.parent().unwrap();
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("runtime");
        std::fs::create_dir_all(&folder).unwrap();
        let archive = deps.join("libcudart.a");
        for library in LIBRARIES.iter().filter(|library| library.package == env!("CARGO_PKG_NAME")) {
            library.put(&Path::new(CRATE).join("../.."), deps, &folder).unwrap();
        }
        std::fs::copy(&archive, folder.join("libcudart_static.a")).unwrap();
        std::fs::copy(deps.join("libcuda.so"), folder.join("libcuda.so.1")).unwrap();
        folder
    })
}

fn cudart_libraries() -> [library_build::link::Named; 2] {
    library_build::link::runtimes(Path::new(CRATE))
}

fn run(name: &str, library: &str, version: u32, environment: &[(&str, &str)]) -> Output {
    let folder = libraries();
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{library}"));
    let compiled = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Werror", "-O1", &format!("-DVERSION={version}"), "-o"])
        .arg(&program)
        .arg(Path::new(CRATE).join(format!("tests/c/{name}.c")))
        .arg("-L")
        .arg(folder)
        .args([&format!("-l:{library}"), "-ldl", "-lpthread", "-lm"])
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let mut command = Command::new(&program);
    command.env("LD_LIBRARY_PATH", folder).envs(environment.iter().copied());
    let output = command.output().unwrap();
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{:?}\n{said}{errors}", output.status);
    assert_eq!(said, format!("{name}: passed\n"), "{errors}");
    output
}

#[test]
fn launches_with_the_runtime_of_13() {
    let output = run("launch", "libcudart.so.13", 13000, &[]);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn launches_with_the_runtime_of_12() {
    let output = run("launch", "libcudart.so.12", 12090, &[]);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn launches_with_the_static_runtime() {
    run("launch", "libcudart_static.a", 13000, &[]);
}

#[test]
fn calls_at_the_end_of_threads_and_programs() {
    let output = run("last", "libcudart.so.13", 13000, &[]);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn code_without_ptx_is_refused_with_a_reason() {
    let output = run("sass_only", "libcudart.so.13", 13000, &[("WARPLOOM_DEVICES", "h200:2,t4")]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors.lines().count(), 1, "{errors}");
    assert!(errors.contains("the image holds SASS only"), "{errors}");
}

#[test]
fn a_missing_driver_is_an_error() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-driver");
    std::fs::create_dir_all(&folder).unwrap();
    // Found first, so that the test says the same where there is a driver of NVIDIA's.
    std::fs::write(
        folder.join("libcuda.so.1"),
        "no library at all, but long enough to look like a file of some kind",
    )
    .unwrap();
    let path = format!("{}:{}", folder.display(), libraries().display());
    let output = run("no_driver", "libcudart.so.13", 13000, &[("LD_LIBRARY_PATH", &path)]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors.matches("there is no CUDA driver").count(), 1, "{errors}");
}

#[test]
fn answers_are_those_of_an_h200() {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    replay::answers::replay(&libraries().join("libcudart.so.13"), libraries(), "runtime", scratch);
}

/// Every symbol has the version that programs ask for, and there are no others.
#[test]
fn symbols_are_those_of_cuda() {
    for (name, symbols, _) in cudart_libraries() {
        let listed =
            Command::new("nm").args(["-D", "--defined-only"]).arg(libraries().join(name)).output().unwrap();
        assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
        let listed = String::from_utf8(listed.stdout).unwrap();
        let mut found: Vec<&str> =
            listed.lines().filter_map(|line| line.split_once(" T ")).map(|(_, symbol)| symbol).collect();
        let mut expected: Vec<String> = symbols.iter().map(|symbol| format!("{symbol}@@{name}")).collect();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
}
