//! `cargo xtask record forms`: what a real GPU computes for every form of the instruction table.

use crate::root;
use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, Subcommand};
use conformance::engine::{Assembled, Failure, Machine, Module, RealGpu};
use conformance::inputs::Made;
use conformance::recording::{Entry, Recording, Whole};
use conformance::{Absent, Case};
use ptx::isa::FormId;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Cases in a module.
const TOGETHER: usize = 64;

/// What is kept of a case that the machine does not execute: rows, and words.
const KEPT_ROWS: usize = 1024;
const KEPT_WORDS: usize = 1 << 14;

#[derive(Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Runs cases on the GPU and writes the recording.
    Run(Run),
    /// Counts the cases of every form; with ptxas, says which it refuses.
    List(List),
    /// Runs recorded cases on the machine and says which differ.
    Check(Check),
    /// Shows the lanes in which the machine differs from whole results.
    Diff(Diff),
}

#[derive(Args)]
struct Run {
    /// The assembler.
    #[arg(long, env = "WARPLOOM_PTXAS", default_value = "ptxas")]
    ptxas: PathBuf,
    /// The recording to write; what it has of other cases is kept.
    #[arg(long)]
    to: Option<PathBuf>,
    /// A folder for the whole results of cases that the machine does not execute, or computes otherwise.
    #[arg(long)]
    whole: Option<PathBuf>,
    /// The first case, counted in the order of `list`: where a run that a fault stopped goes on.
    #[arg(long, default_value_t = 0)]
    from: usize,
    /// No cases whose names contain this.
    #[arg(long)]
    without: Vec<String>,
    /// Only cases whose names contain one of these.
    only: Vec<String>,
}

#[derive(Args)]
struct List {
    /// The assembler.
    #[arg(long, env = "WARPLOOM_PTXAS")]
    ptxas: Option<PathBuf>,
    /// Prints every case.
    #[arg(long)]
    cases: bool,
    /// Runs every case on the machine, and prints which it does not run, and why.
    #[arg(long)]
    run: bool,
    /// Prints the text of every case's kernel.
    #[arg(long)]
    kernels: bool,
    /// Only cases whose names contain one of these.
    only: Vec<String>,
}

#[derive(Args)]
struct Check {
    /// The recording to compare with.
    #[arg(long)]
    with: Option<PathBuf>,
    /// Only cases whose names contain one of these.
    only: Vec<String>,
}

#[derive(Args)]
struct Diff {
    /// The folder with the whole results.
    #[arg(long)]
    whole: Option<PathBuf>,
    /// How many lanes of a case are shown.
    #[arg(long, default_value_t = 8)]
    lanes: usize,
    /// Only cases whose names contain one of these.
    only: Vec<String>,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.task {
        Task::Run(run) => record(run),
        Task::List(list) => count(list),
        Task::Check(arguments) => check(arguments),
        Task::Diff(diff) => show(diff),
    }
}

fn recording_path(given: &Option<PathBuf>) -> PathBuf {
    given.clone().unwrap_or_else(|| root().join(Recording::PATH))
}

fn whole_folder(given: &Option<PathBuf>) -> PathBuf {
    given.clone().unwrap_or_else(|| root().join("target/recordings"))
}

fn is_wanted(name: &str, only: &[String]) -> bool {
    only.is_empty() || only.iter().any(|part| name.contains(part))
}

/// Every case, in the order of the table.
fn cases(only: &[String]) -> Vec<Case> {
    let all = FormId::all().flat_map(|form| conformance::case::cases(form).unwrap_or_default());
    all.filter(|case| is_wanted(&case.name, only)).collect()
}

/// Does something for every item, on all cores; what comes of it, in order.
fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(usize, &T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, std::num::NonZero::get) {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(i) else { break };
                    let result = work(i, item);
                    done.lock().unwrap_or_else(PoisonError::into_inner).insert(i, result);
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

fn assemble<'a>(cases: &'a [Case], ptxas: &Path) -> Vec<Result<Assembled<'a>, String>> {
    let folder = std::env::temp_dir().join(format!("warploom-record-{}", std::process::id()));
    let modules: Vec<Vec<&Case>> = cases.chunks(TOGETHER).map(|cases| cases.iter().collect()).collect();
    let assembled = in_parallel(&modules, |i, cases| {
        Module::new(cases.clone()).assemble(ptxas, &folder.join(i.to_string()))
    });
    let _ = std::fs::remove_dir_all(folder);
    assembled
}

fn count(list: &List) -> Result<()> {
    let mut absent: HashMap<&str, usize> = HashMap::new();
    for form in FormId::all() {
        match conformance::case::cases(form) {
            Err(why) => {
                *absent.entry(why.text()).or_default() += 1;
                if why != Absent::Target && list.only.is_empty() {
                    println!("-\t{}\t{}", why.text(), form.data().template);
                }
            }
            Ok(cases) => {
                let cases: Vec<_> = cases.iter().filter(|case| is_wanted(&case.name, &list.only)).collect();
                if cases.is_empty() {
                    continue;
                }
                println!("{}\t{}", cases.len(), form.data().template);
                for case in cases {
                    if list.cases {
                        println!("\t{}", case.name);
                    }
                    if list.kernels {
                        println!("{}", Module::new(vec![case]).text);
                    }
                }
            }
        }
    }
    println!("forms without cases: {absent:?}");
    let cases = cases(&list.only);
    println!("{} cases", cases.len());
    if list.run {
        let made = Made::default();
        let failures = in_parallel(&cases, |_, case| {
            let rows = made.rows(&case.inputs);
            Machine::new().map_err(Failure::Failed).and_then(|machine| machine.run(case, &rows)).err()
        });
        for (case, failure) in cases.iter().zip(failures) {
            if let Some(failure) = failure {
                println!("not run: {}: {failure:?}", case.name);
            }
        }
    }
    if let Some(ptxas) = &list.ptxas {
        let mut bytes = 0;
        for module in assemble(&cases, ptxas) {
            let Assembled { cubin, refused, .. } = module.map_err(|error| anyhow!(error))?;
            bytes += cubin.len();
            for (case, why) in refused {
                println!("refused: {}: {why}", case.name);
            }
        }
        println!("{bytes} bytes of cubins");
    }
    Ok(())
}

/// Records. A fault ends what a process can do with the GPU, so the next one goes on behind the case at fault.
fn record(run: &Run) -> Result<()> {
    let mut all = cases(&run.only);
    all.retain(|case| run.without.is_empty() || !is_wanted(&case.name, &run.without));
    let cases = &all[run.from.min(all.len())..];
    println!("{} cases", cases.len());
    let modules = assemble(cases, &run.ptxas);
    let mut silicon = RealGpu::open()?;
    println!("assembled; recording on {}", silicon.description());
    let mut results = Vec::new();
    let mut not_taken = Vec::new();
    let mut next = None;
    for module in modules {
        let Assembled { module, cubin, refused } = module.map_err(|error| anyhow!(error))?;
        for (case, why) in refused {
            println!("refused: {}: {why}", case.name);
            not_taken.push(case.name.clone());
        }
        if module.cases.is_empty() {
            continue;
        }
        let done = silicon.run(&module, &cubin, |case, result| match result {
            Ok(words) => results.push((case, words)),
            Err(failure) => println!("failed: {}: {failure:?}", case.name),
        });
        if let Err(why) = done {
            println!("stopped: {why}");
            let at_fault = all.iter().position(|case| why.starts_with(&format!("{}: ", case.name)));
            next = at_fault.map(|at| at + 1).filter(|&next| next < all.len());
            break;
        }
    }
    keep(run, &silicon.description(), &results, not_taken)?;
    let Some(next) = next else { return Ok(()) };
    drop(silicon);
    let mut again = Command::new(std::env::current_exe()?);
    again.args(["record", "forms", "run", "--from"]).arg(next.to_string()).arg("--ptxas").arg(&run.ptxas);
    for (option, path) in [("--to", &run.to), ("--whole", &run.whole)] {
        again.args(path.iter().flat_map(|path| [OsStr::new(option), path.as_os_str()]));
    }
    again.args(run.without.iter().flat_map(|part| ["--without", part]));
    match again.args(&run.only).status()?.success() {
        true => Ok(()),
        false => bail!("the recording is not complete"),
    }
}

/// Adds results to the recording, and those that the machine does not have to the whole ones.
fn keep(run: &Run, remark: &str, results: &[(&Case, Vec<u64>)], refused: Vec<String>) -> Result<()> {
    let path = recording_path(&run.to);
    let mut recording = match path.exists() {
        true => Recording::read(&path).with_context(|| path.display().to_string())?,
        false => Recording::default(),
    };
    recording.remarks = vec![remark.to_owned()];
    recording.refused.extend(refused);
    let made = Made::default();
    let judged = in_parallel(results, |_, (case, words)| {
        let rows = made.rows(&case.inputs);
        let on_machine = Machine::new().map_err(Failure::Failed).and_then(|machine| machine.run(case, &rows));
        (Entry::new(case, &rows, words), on_machine)
    });
    let mut whole = run.whole.as_ref().map(|folder| Whole::to(folder));
    let (mut missing, mut different) = (0, 0);
    for ((case, words), (entry, on_machine)) in results.iter().zip(judged) {
        recording.entries.insert(case.name.clone(), entry);
        let kept = match on_machine {
            Ok(same) if same == *words => continue,
            Ok(_) => {
                different += 1;
                words.len()
            }
            Err(_) => {
                missing += 1;
                words.len().min(KEPT_ROWS * case.kernel.results()).min(KEPT_WORDS)
            }
        };
        if let Some(whole) = &mut whole {
            whole.add(&case.name, &words[..kept])?;
        }
    }
    whole.map_or(Ok(()), Whole::finish)?;
    recording.write(&path).with_context(|| path.display().to_string())?;
    println!(
        "{} cases recorded; the machine has no result for {missing}, another for {different}",
        results.len()
    );
    Ok(())
}

/// What the machine makes of a recorded case.
enum Verdict {
    Same,
    Different,
    Unsupported,
    Failed(String),
    Outdated,
}

fn judge(case: &Case, entry: &Entry, made: &Made) -> Verdict {
    let rows = made.rows(&case.inputs);
    let Ok(machine) = Machine::new() else { return Verdict::Failed("no machine".into()) };
    match machine.run(case, &rows) {
        Ok(words) => match Entry::new(case, &rows, &words) {
            now if now == *entry => Verdict::Same,
            now if now.inputs != entry.inputs => Verdict::Outdated,
            _ => Verdict::Different,
        },
        Err(Failure::Unsupported(_)) => Verdict::Unsupported,
        Err(Failure::Failed(why)) => Verdict::Failed(why),
    }
}

fn check(check: &Check) -> Result<()> {
    let recording = Recording::read(&recording_path(&check.with))?;
    let cases = cases(&check.only);
    let found: Vec<_> =
        cases.iter().filter_map(|case| Some((case, recording.entries.get(&case.name)?))).collect();
    let made = Made::default();
    let verdicts = in_parallel(&found, |_, (case, entry)| judge(case, entry, &made));
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut unsupported: BTreeMap<&str, usize> = BTreeMap::new();
    for ((case, _), verdict) in found.iter().zip(&verdicts) {
        let kind = match verdict {
            Verdict::Same => "same",
            Verdict::Different => "different",
            Verdict::Unsupported => "not executed",
            Verdict::Failed(_) => "failed",
            Verdict::Outdated => "outdated",
        };
        *counts.entry(kind).or_default() += 1;
        match verdict {
            Verdict::Same => {}
            Verdict::Unsupported => *unsupported.entry(case.opcode.data().template).or_default() += 1,
            Verdict::Failed(why) => println!("failed: {}: {why}", case.name),
            Verdict::Different | Verdict::Outdated => println!("{kind}: {}", case.name),
        }
    }
    for (form, count) in unsupported {
        println!("not executed: {count} of {form}");
    }
    println!("{} cases, {} recorded: {counts:?}", cases.len(), found.len());
    Ok(())
}

fn show(diff: &Diff) -> Result<()> {
    let folder = whole_folder(&diff.whole);
    let whole = Whole::read(&folder, |name| is_wanted(name, &diff.only))?;
    if whole.is_empty() {
        bail!("{} has no whole results of such cases", folder.display());
    }
    let cases = cases(&diff.only);
    let machine = Machine::new().map_err(|error| anyhow!(error))?;
    for (name, words) in whole {
        let Some(case) = cases.iter().find(|case| case.name == name) else {
            println!("{name}: no such case any more");
            continue;
        };
        let rows = case.inputs.rows();
        let got = match machine.run(case, &rows) {
            Ok(got) => got,
            Err(failure) => {
                println!("{name}: {failure:?}");
                continue;
            }
        };
        let (width, inputs) = (case.kernel.results(), case.inputs.words());
        let pairs = words.chunks(width).zip(got.chunks(width)).enumerate();
        let wrong: Vec<_> = pairs.filter(|(_, (want, got))| want != got).collect();
        println!("{name}: {} of {} lanes differ", wrong.len(), words.len() / width);
        for (lane, (want, got)) in wrong.into_iter().take(diff.lanes) {
            let operands = &rows[lane * inputs..][..inputs];
            println!("  lane {lane}: {operands:x?}\n    silicon {want:x?}\n    machine {got:x?}");
        }
    }
    Ok(())
}
