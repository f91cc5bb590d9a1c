//! Programs with the auditor: C programs made here, that are linked with one library and find another of the same name.

use object::elf::{DT_NEEDED, PT_TLS};
use object::read::elf::{Dyn, ElfFile64, ProgramHeader};
use object::{Endianness, Object};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The auditor's file, in a folder that is to hold what is redirected.
fn auditor(folder: &Path) -> PathBuf {
    std::fs::create_dir_all(folder).unwrap();
    let test = std::env::current_exe().unwrap();
    library_build::link::auditor(&test.parent().unwrap().join("libredirect.a"), folder).unwrap()
}

fn compile(arguments: &[&str]) {
    let output = Command::new("cc").args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A library whose function returns a word.
fn library(folder: &Path, name: &str, function: &str, word: &str) -> String {
    std::fs::create_dir_all(folder).unwrap();
    let (source, file) = (folder.join("library.c"), folder.join(name).display().to_string());
    std::fs::write(&source, format!("const char *{function}(void) {{ return \"{word}\"; }}\n")).unwrap();
    let soname = format!("-Wl,-soname,{name}");
    compile(&["-shared", "-fPIC", "-o", &file, &source.display().to_string(), &soname]);
    file
}

/// A program that looks for libraries in `theirs` before anywhere else, where there are `liblinked.so.1`, which it is linked
/// with, and `libloaded.so.1`; and a folder `ours` with the auditor.
struct Scene {
    folder: TempDir,
    program: String,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (theirs, program) =
            (folder.path().join("theirs"), folder.path().join("which").display().to_string());
        let linked = library(&theirs, "liblinked.so.1", "linked", "theirs, linked");
        library(&theirs, "libloaded.so.1", "loaded", "theirs, loaded");
        let source = format!("{}/tests/c/which.c", env!("CARGO_MANIFEST_DIR"));
        let rpath = format!("-Wl,--disable-new-dtags,-rpath,{}", theirs.display());
        compile(&["-o", &program, &source, &linked, &rpath, "-ldl"]);
        Self { folder, program }
    }

    fn path(&self, rest: &str) -> String {
        self.folder.path().join(rest).display().to_string()
    }

    /// What the program says with this `LD_AUDIT`, if it loads the second library by these names.
    fn run(&self, audit: &str, names: &[&str]) -> Vec<String> {
        let output = Command::new(&self.program)
            .args(names)
            .env("LD_AUDIT", audit)
            .env("LD_LIBRARY_PATH", self.path("ours"))
            .output()
            .unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }
}

#[test]
fn libraries_of_the_folder_go_before_every_other_path() {
    let scene = Scene::new();
    let ours = scene.folder.path().join("ours");
    let audit = auditor(&ours).display().to_string();
    library(&ours, "liblinked.so.1", "linked", "ours, linked");
    library(&ours, "libloaded.so.1", "loaded", "ours, loaded");
    let full = scene.path("theirs/libloaded.so.1");
    assert_eq!(scene.run("", &["libloaded.so.1"]), ["theirs, linked", "theirs, loaded"]);
    assert_eq!(scene.run(&audit, &["libloaded.so.1"]), ["ours, linked", "ours, loaded"]);
    assert_eq!(scene.run(&audit, &[&full]), ["ours, linked", "ours, loaded"]);
    // In a list of auditors it finds itself.
    let list = format!("{audit}:{audit}");
    assert_eq!(scene.run(&list, &[&full]), ["ours, linked", "ours, loaded"]);
}

#[test]
fn what_the_folder_lacks_is_found_as_ever() {
    let scene = Scene::new();
    let ours = scene.folder.path().join("ours");
    let audit = auditor(&ours).display().to_string();
    library(&ours, "libloaded.so.1", "loaded", "ours, loaded");
    assert_eq!(scene.run(&audit, &["libloaded.so.1"]), ["theirs, linked", "ours, loaded"]);
    // A name of 5,000 bytes is not cut to another one.
    let long = format!("{}/libloaded.so.1{}", scene.path("theirs"), "x".repeat(5000));
    let said = scene.run(&audit, &[&long]);
    assert!(said[1].contains("too long"), "{said:?}");
}

/// Without its path in the variable it does not know its folder, and goes.
#[test]
fn an_auditor_without_a_path_changes_nothing() {
    let scene = Scene::new();
    let ours = scene.folder.path().join("ours");
    auditor(&ours);
    library(&ours, "liblinked.so.1", "linked", "ours, linked");
    assert_eq!(scene.run("libwarploom_redirect.so", &[]), ["theirs, linked"]);
}

/// Its namespace has no C library and little thread-local storage.
#[test]
fn it_needs_no_library_and_no_thread_local_storage() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = std::fs::read(auditor(folder.path())).unwrap();
    let elf = ElfFile64::<Endianness>::parse(&*bytes).unwrap();
    let endian = elf.endian();
    let segments = elf.elf_program_headers();
    assert!(segments.iter().all(|segment| segment.p_type(endian) != PT_TLS));
    let dynamic = segments.iter().find_map(|segment| segment.dynamic(endian, &*bytes).unwrap()).unwrap();
    assert!(dynamic.iter().all(|entry| entry.tag32(endian).map(i64::from) != Some(DT_NEEDED)));
    let mut names: Vec<&[u8]> = elf.exports().unwrap().iter().map(object::Export::name).collect();
    names.sort_unstable();
    assert_eq!(names, [b"la_objsearch".as_slice(), b"la_version"]);
}
