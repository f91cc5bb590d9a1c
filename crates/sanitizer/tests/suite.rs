//! The kernels of `tests/sanitizer`: racy ones and their clean twins, each under several schedulers. A directive names
//! every report that is expected:
//!
//! ```text
//! //: report race read missing=warp-sync at=READ,WRITE
//! ```
//!
//! The kind, what is missing, and the lines of the accesses, the later one first, as marks; a `|` between two marks
//! allows both orders, where the program has no order of its own, and one between two kinds either of them. A case without such a directive is clean. What `may`
//! be reported depends on the schedule: on which values are read, or on which of several races of one cause comes first.
//! The litmus test that comes with a report has a race by the axioms, and its repaired twin has none.
//! `fresh INDEX BYTES` says that nobody has written the buffer of a parameter; `keep-going N` lets kernels go on after bad
//! accesses at so many instructions.

mod patterns;
mod schedulers;

use filetest::case::{self, Case};
use filetest::directive::{Directive, Program};
use filetest::execute::{Outcome, run_watched};
use filetest::schedule::Schedule;
use machine::SchedulerKind;
use memory_model::answer::{Options, Question};
use memory_model::from_ptx;
use memory_model::model::{Family, Model};
use sanitizer::{Checks, Report, Sanitizer, Shape, Suppressions};
use schedulers::SCHEDULERS;
use std::path::{Path, PathBuf};

/// A test file: PTX, or the source beside it.
struct File {
    program: Program,
    /// What clang compiled, if marks are lines of that.
    source: Option<String>,
}

impl File {
    fn read(directives: &Path, ptx: &Path) -> Result<Self, String> {
        if directives == ptx {
            return Ok(Self { program: Program::read(ptx, ptx)?, source: None });
        }
        let (program, source) = patterns::read(directives, ptx)?;
        Ok(Self { program, source: Some(source) })
    }

    fn marked_line(&self, mark: &str, directive: &Directive) -> Option<u32> {
        match &self.source {
            Some(source) => patterns::marked_line(source, mark, directive.line),
            None => self.program.marked_line(mark),
        }
    }
}

/// A report that a file expects.
#[derive(Debug)]
struct Expected {
    kind: String,
    missing: Option<String>,
    /// Lines of the accesses; `unordered` if either may be the later one.
    lines: Vec<u32>,
    unordered: bool,
    /// Whether they are lines of what was compiled.
    in_source: bool,
}

impl Expected {
    fn parse(file: &File, directive: &Directive) -> Result<Self, String> {
        let mut words = directive.text.split_whitespace();
        let kind = words.next().ok_or("a kind of report")?.to_owned();
        let in_source = file.source.is_some();
        let mut expected = Self { kind, missing: None, lines: Vec::new(), unordered: false, in_source };
        for word in words {
            match word.split_once('=').ok_or_else(|| format!("`{word}`?"))? {
                ("missing", name) => expected.missing = Some(name.to_owned()),
                ("at", marks) => {
                    expected.unordered = marks.contains('|');
                    for mark in marks.split([',', '|']) {
                        let line = file.marked_line(mark, directive);
                        expected.lines.push(line.ok_or_else(|| format!("no line is marked {mark}"))?);
                    }
                }
                (other, _) => return Err(format!("`{other}`?")),
            }
        }
        Ok(expected)
    }

    fn is(&self, report: &Report) -> bool {
        // That of the outermost call: what is inlined here is CUDA's headers.
        let source = |actor: &sanitizer::Actor| {
            let outermost = actor.location.inlined.last().map(|call| &call.at);
            Some(outermost.or(actor.location.source.as_ref())?.line)
        };
        let mut lines = match self.in_source {
            true => report.actors.iter().filter_map(source).collect(),
            false => report.lines(),
        };
        let mut wanted = self.lines.clone();
        if self.unordered {
            lines.sort_unstable();
            wanted.sort_unstable();
        }
        self.kind.split('|').any(|kind| kind == report.kind)
            && (wanted.is_empty() || wanted == lines)
            && (self.missing.is_none()
                || self.missing.as_deref() == report.missing.as_ref().map(|(name, _)| *name))
    }
}

/// A directive for the sanitizer, with the line of the `run` that it belongs to.
fn own(program: &mut Program) -> Vec<(u32, Directive)> {
    let mut run = 0;
    let mut own = Vec::new();
    for directive in std::mem::take(&mut program.directives) {
        match directive.name.as_str() {
            "report" | "may" | "fresh" | "keep-going" => own.push((run, directive)),
            name => {
                if name == "run" {
                    run = directive.line;
                }
                program.directives.push(directive);
            }
        }
    }
    own
}

fn check(
    program: &Program,
    case: &Case,
    own: &[&Directive],
    checks: Checks,
    scheduler: SchedulerKind,
) -> Result<(Vec<Report>, Outcome), String> {
    let most = own.iter().find(|directive| directive.name == "keep-going");
    let most =
        most.map_or(Ok(0), |most| most.text.trim().parse()).map_err(|why| format!("keep-going: {why}"))?;
    let mut sanitizer = Sanitizer::new(checks, Suppressions::default()).keeping_going(most);
    // It is all the same on which thread.
    if matches!(scheduler, SchedulerKind::Random { seed: 2 } | SchedulerKind::Adversarial) {
        sanitizer = sanitizer.in_background();
    }
    let schedule = Schedule::new(scheduler, 1);
    let outcome = run_watched(program, case, schedule, &mut |launch, run| {
        let parameters = launch.kernel.parameters();
        for directive in own.iter().filter(|directive| directive.name == "fresh") {
            let mut words = directive.text.split_whitespace().map(|word| word.parse::<u64>().unwrap());
            let (index, bytes) = (words.next().unwrap() as usize, words.next().unwrap());
            let at = parameters[index].offset as usize;
            let address = u64::from_le_bytes(launch.params[at..at + 8].try_into().unwrap());
            sanitizer.allocated(address, bytes);
        }
        let shape = Shape {
            kernel: launch.kernel.name(),
            grid: launch.grid,
            block: launch.block,
            cluster: launch.cluster.unwrap_or([1; 3]),
        };
        let watch = sanitizer.begin(launch.kernel.module().shared_module(), shape);
        let fault = run(Some(&watch));
        watch.end();
        if let Some(fault) = &fault {
            sanitizer.fault(fault);
        }
        for directive in own.iter().filter(|directive| directive.name == "fresh") {
            let at = parameters[directive.text.split(' ').next().unwrap().parse::<usize>().unwrap()].offset;
            let bytes = &launch.params[at as usize..at as usize + 8];
            sanitizer.freed(u64::from_le_bytes(bytes.try_into().unwrap()));
        }
        sanitizer.finish();
        fault
    })?;
    Ok((sanitizer.reports(), outcome))
}

/// Whether a litmus test that a report comes with has a race, by the axioms.
fn has_race(text: &str) -> Result<bool, String> {
    let (module, _) = ptx::compile(&ptx::source::Source::new("race.ptx", text))
        .into_result()
        .map_err(|why| format!("{why:?}"))?;
    let test = from_ptx::parse(&module).map_err(|why| why.to_string())?;
    let model = Model::new(Family::Isa, test.version).ok_or("no model")?;
    let question = Question::new(&test.program, &model, Options::default());
    Ok(question.race().map_err(|why| why.to_string())?.is_some())
}

/// What is wrong with a file, by its cases.
fn judge((directives, ptx): &Compiled) -> Vec<String> {
    let read = File::read(directives, ptx).and_then(|mut file| {
        let own = own(&mut file.program);
        let cases = case::parse(&file.program)?;
        Ok((file, own, cases))
    });
    let (file, own, cases) = match read {
        Ok(read) => read,
        Err(why) => return vec![why],
    };
    // What is clean in this run must not seem otherwise in another one, but by a rule of thumb.
    let name = ptx.to_string_lossy();
    let others = match name.contains("/locks/") || name.ends_with("-clean.ptx") {
        true => ",locks,predict",
        false => "",
    };
    let judged = cases.iter().map(|case| {
        let own = own.iter().filter(|(line, _)| *line == case.line).map(|(_, directive)| directive);
        judge_case(&file, case, &own.collect::<Vec<_>>(), others)
    });
    judged.filter_map(Result::err).collect()
}

/// What is wrong with a case, whose checks are all, and others.
fn judge_case(file: &File, case: &Case, own: &[&Directive], others: &str) -> Result<(), String> {
    let program = &file.program;
    let (mut expected, mut allowed) = (Vec::new(), Vec::new());
    for directive in own.iter().filter(|directive| matches!(&*directive.name, "report" | "may")) {
        let one = Expected::parse(file, directive)
            .map_err(|why| format!("{}:{}: {why}", program.name, directive.line))?;
        if directive.name == "report" { expected.push(one) } else { allowed.push(one) }
    }
    for scheduler in SCHEDULERS {
        // Recording what litmus tests need changes nothing else.
        let recorded = matches!(scheduler, SchedulerKind::RoundRobin | SchedulerKind::Random { seed: 1 });
        let checks = if recorded { "all,litmus" } else { "all" }.to_owned() + others;
        let (reports, outcome) = check(program, case, own, checks.parse()?, scheduler)?;
        let wrong = filetest::judge::judge(case, &outcome);
        if !wrong.is_empty() {
            let all = wrong.join("\n");
            return Err(format!("{}:{} under {scheduler}: the result:\n{all}", program.name, case.line));
        }
        for (racy, repaired) in reports.iter().filter_map(|report| report.litmus.as_ref()) {
            for (test, expected) in [(racy, true), (repaired, false)] {
                let found = has_race(test).map_err(|why| format!("{why}\n{test}"))?;
                if found != expected {
                    return Err(format!("{}:{}: race: {found}, in\n{test}", program.name, case.line));
                }
            }
        }
        let is_found = |expected: &&Expected| reports.iter().any(|report| expected.is(report));
        let missed = expected.iter().find(|expected| !is_found(expected));
        let known = |report: &&Report| !expected.iter().chain(&allowed).any(|expected| expected.is(report));
        let extra = reports.iter().find(known);
        let at = format!("{}:{} under {scheduler}", program.name, case.line);
        let all = || reports.iter().map(Report::text).collect::<Vec<_>>().join("\n");
        if let Some(missed) = missed {
            return Err(format!("{at}: a miss: {missed:?}\n{}", all()));
        }
        if let Some(extra) = extra {
            return Err(format!("{at}: a false alarm: {}", extra.text()));
        }
    }
    Ok(())
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .collect();
    files.sort();
    files
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn racy_kernels_and_their_clean_twins() {
    let filter = std::env::var("SANITIZER_FILES").unwrap_or_default();
    let chosen = |(file, _): &Compiled| file.to_string_lossy().contains(&filter);
    let folders = ["tests/sanitizer", "tests/run/async"];
    let written = folders.iter().flat_map(|folder| files(&root().join(folder))).map(beside);
    let files: Vec<_> = written.chain(by_nvcc("tests/sanitizer/nvcc")).filter(chosen).collect();
    assert!(!files.is_empty(), "there are no files");
    let failures: Vec<String> = files.iter().flat_map(judge).collect();
    assert!(failures.is_empty(), "{} cases:\n{}", failures.len(), failures.join("\n\n"));
}

/// A program in PTX, and the file that has its directives.
type Compiled = (PathBuf, PathBuf);

/// What clang, nvcc and Triton made of programs that nobody wrote for the sanitizer.
fn compiled() -> Vec<Compiled> {
    let folders = ["tests/clang", "tests/run/triton"];
    let mut all: Vec<_> = folders.iter().flat_map(|folder| files(&root().join(folder))).map(beside).collect();
    all.extend(by_nvcc("tests/nvcc"));
    all
}

/// A program whose directives are in the source beside it, if there is one.
fn beside(ptx: PathBuf) -> Compiled {
    let source = ptx.with_extension("cu");
    (if source.exists() { source } else { ptx.clone() }, ptx)
}

/// The sources of a folder whose PTX is never committed, if it has been made.
fn by_nvcc(folder: &str) -> Vec<Compiled> {
    let corpus = root().join("target/corpus/nvcc");
    let sources = std::fs::read_dir(root().join(folder)).into_iter().flatten().flatten();
    let sources =
        sources.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "cu"));
    let compiled = sources.filter_map(|source| {
        let ptx = corpus.join(source.file_name().unwrap_or_default()).with_extension("ptx");
        if !ptx.exists() {
            eprintln!("SKIPPED: {}: `cargo xtask corpus --nvcc PATH` makes it", ptx.display());
        }
        ptx.exists().then_some((source, ptx))
    });
    compiled.collect()
}

/// Calls for every report of the cases that end well, under two schedulers. How many ran.
fn each_report(
    (directives, ptx): &Compiled,
    checks: Checks,
    mut act: impl FnMut(String, &Report),
) -> Result<usize, String> {
    let program = Program::read(directives, ptx)?;
    let mut ran = 0;
    for case in case::parse(&program)?.iter().filter(|case| case.end == case::End::Finished) {
        for scheduler in [SchedulerKind::RoundRobin, SchedulerKind::Adversarial] {
            let (reports, _) = check(&program, case, &[], checks, scheduler)?;
            reports
                .iter()
                .for_each(|report| act(format!("{}:{} {scheduler}", program.name, case.line), report));
            ran += 1;
        }
    }
    Ok(ran)
}

#[test]
fn compiled_programs_are_clean() {
    let mut found = Vec::new();
    let mut ran = 0;
    for program in compiled() {
        let tell = |at: String, report: &Report| found.push(format!("{at}\n{}", report.text()));
        ran += each_report(&program, "all".parse().unwrap(), tell).unwrap();
    }
    assert!(found.is_empty(), "{} reports:\n{}", found.len(), found.join("\n\n"));
    assert!(ran > 50, "only {ran} runs");
}

/// The tests of instructions, in some of which lanes of one instruction write to one word: to look at.
#[test]
#[ignore = "prints what is found, by hand"]
fn other_programs() {
    let filter = std::env::var("SANITIZER_FILES").unwrap_or_default();
    let checks: Checks =
        std::env::var("SANITIZER_CHECKS").unwrap_or_else(|_| "all".to_owned()).parse().unwrap();
    let folders = std::env::var("SANITIZER_FOLDERS").unwrap_or_else(|_| "tests/run".to_owned());
    let all = folders.split(',').flat_map(|folder| files(&root().join(folder)));
    for file in all.filter(|file| file.to_string_lossy().contains(&filter)) {
        let tell = |at: String, report: &Report| println!("{at}\n{}\n", report.text());
        if let Err(why) = each_report(&(file.clone(), file), checks, tell) {
            println!("{why}");
        }
    }
}
