//! The judge: every file test on this engine. What is compiled must give what the file expects; what is refused is counted by
//! its reason. Without LLVM the test says that it was skipped.

use filetest::schedule::Schedule;
use filetest::{case, directive, execute, judge};
use jit::{Effort, Jit};
use machine::SchedulerKind;
use machine::compiled::{Background, Code, Engine, EngineId, Source};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use walkdir::WalkDir;

/// The engine, with notes of what it did.
struct Noted {
    jit: Jit,
    compiled: Mutex<usize>,
    declined: Mutex<BTreeMap<String, usize>>,
}

impl Engine for Noted {
    fn id(&self) -> EngineId {
        self.jit.id()
    }

    fn background(&self) -> Option<&dyn Background> {
        self.jit.background()
    }

    fn compile(&self, source: &Source<'_>) -> Result<Arc<dyn Code>, String> {
        let code = self.jit.compile(source);
        if code.is_ok() {
            *self.compiled.lock().unwrap() += 1;
        }
        code
    }

    fn declined(&self, _kernel: &str, why: &str) {
        *self.declined.lock().unwrap().entry(why.to_owned()).or_default() += 1;
    }
}

fn files(root: &Path) -> Vec<PathBuf> {
    let chosen = std::env::var("WARPLOOM_FILES").unwrap_or_default();
    let entries = WalkDir::new(root.join("tests/run")).sort_by_file_name().into_iter().filter_map(Result::ok);
    let paths = entries.map(walkdir::DirEntry::into_path);
    paths
        .filter(|path| path.extension().is_some_and(|e| e == "ptx"))
        .filter(|path| path.to_string_lossy().contains(&chosen))
        .collect()
}

/// What the cases of a file give that it does not expect.
fn differences(engine: &Noted, root: &Path, file: &Path) -> Vec<String> {
    let program = directive::Program::read(file, file).expect("a readable file");
    // A kernel is compiled anew for each run of a case, which takes most of the time.
    let schedule = Schedule::new(SchedulerKind::RoundRobin, 2);
    let mut wrong = Vec::new();
    for case in case::parse(&program).expect("a correct file") {
        let outcome = execute::run_by(engine, &program, &case, schedule).expect("a correct file");
        let differences = judge::judge(&case, &outcome);
        if !differences.is_empty() {
            let name = file.strip_prefix(root).unwrap_or(file).display();
            wrong.push(format!("{name}:{} {}: {}", case.line, case.kernel, differences.join("\n  ")));
        }
    }
    wrong
}

#[test]
fn every_file_test_gives_what_it_expects() {
    every_file(Effort::Full);
}

#[test]
fn every_file_test_gives_it_compiled_quickly() {
    every_file(Effort::Quick);
}

fn every_file(effort: Effort) {
    let jit = match Jit::find() {
        Ok(jit) => jit.always(effort),
        Err(why) => return eprintln!("skipped: {why}"),
    };
    let engine = Noted { jit, compiled: Mutex::default(), declined: Mutex::default() };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = Mutex::new(files(&root).into_iter());
    let wrong = Mutex::new(Vec::new());
    let next = || files.lock().unwrap().next();
    let work = || {
        while let Some(file) = next() {
            let found = differences(&engine, &root, &file);
            wrong.lock().unwrap().extend(found);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, std::num::NonZero::get) {
            scope.spawn(work);
        }
    });
    let wrong = wrong.into_inner().unwrap();
    let declined = engine.declined.into_inner().unwrap();
    eprintln!(
        "{} kernels compiled; launches interpreted: {}",
        engine.compiled.into_inner().unwrap(),
        declined.values().sum::<usize>()
    );
    for (why, times) in &declined {
        eprintln!("{times:6}  {why}");
    }
    // What is refused is refused before LLVM sees it.
    assert!(!declined.keys().any(|why| why.starts_with("LLVM")), "a text that LLVM does not take");
    assert!(wrong.is_empty(), "{} cases differ:\n{}", wrong.len(), wrong.join("\n"));
}
