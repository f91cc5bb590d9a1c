//! Asking ptxas about many instructions at once.
//!
//! It goes on after most errors and names their lines, so that a module with one kernel a line holds hundreds of
//! questions. What has an error is put aside and the rest asked again, until all of it compiles: a syntax error hides
//! what follows, and what code generation refuses shows only when everything before is right. A refusal without line
//! is found by asking ever smaller parts.

use anyhow::{Context, Result};
use replay::verdicts;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

/// `version/target` and text.
pub(crate) type Question = (String, String);

/// Questions of one module.
const BATCH: usize = 600;

pub(crate) struct Ptxas<'a> {
    pub(crate) program: &'a Path,
    pub(crate) folder: PathBuf,
}

impl Ptxas<'_> {
    /// What it says to each question; those whose target it does not know are left out.
    pub(crate) fn ask(&self, questions: &BTreeSet<Question>) -> Result<BTreeMap<Question, bool>> {
        let mut by_header: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (header, text) in questions {
            by_header.entry(header).or_default().push(text);
        }
        let mut batches = Vec::new();
        for (header, texts) in &by_header {
            if architecture(header).is_none() {
                continue;
            }
            let (modules, instructions): (Vec<&str>, Vec<&str>) = texts.iter().partition(|text| alone(text));
            batches.extend(modules.into_iter().map(|text| (*header, vec![text])));
            batches.extend(instructions.chunks(BATCH).map(|texts| (*header, texts.to_vec())));
        }
        fs::create_dir_all(&self.folder)?;
        let next = AtomicUsize::new(0);
        let answers = Mutex::new(BTreeMap::new());
        let workers = thread::available_parallelism().map_or(2, |n| n.get());
        let work = |worker: usize| -> Result<()> {
            let file = self.folder.join(format!("{worker}.ptx"));
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                let Some((header, texts)) = batches.get(i) else { return Ok(()) };
                let said = self.judge(&file, header, texts)?;
                let mut answers = answers.lock().expect("no thread panicked");
                let question = |text: &str| ((*header).to_owned(), text.to_owned());
                answers.extend(said.into_iter().map(|(text, accepted)| (question(text), accepted)));
            }
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (0..workers).map(|worker| scope.spawn(move || work(worker))).collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("no thread panicked"))
        })?;
        fs::remove_dir_all(&self.folder)?;
        Ok(answers.into_inner().expect("no thread panicked"))
    }

    /// What it says to the questions of one module, those left out at which it crashes.
    fn judge<'t>(&self, file: &Path, header: &str, texts: &[&'t str]) -> Result<BTreeMap<&'t str, bool>> {
        let arch = architecture(header).context("a known target")?;
        let mut answers = BTreeMap::new();
        // Parsing alone first: it is much faster.
        let mut work = vec![(texts.to_vec(), true)];
        while let Some((texts, parse)) = work.pop() {
            if texts.is_empty() {
                continue;
            }
            let (text, lines) = module(header, &texts);
            fs::write(file, text)?;
            let target = if parse { arch.replace("sm_", "compute_") } else { arch.clone() };
            // Some operands and some sizes of arrays take it minutes and gigabytes.
            let output = Command::new("timeout")
                .arg("6")
                .arg(self.program)
                .args(["-O0", "-w", "-arch", &target, "-o", "/dev/null"])
                .arg(file)
                .output()
                .with_context(|| self.program.display().to_string())?;
            if output.status.success() {
                match parse {
                    true => work.push((texts, false)),
                    false => answers.extend(texts.iter().map(|text| (*text, true))),
                }
                continue;
            }
            let said = String::from_utf8_lossy(&output.stderr);
            let wrong: BTreeSet<usize> = said.lines().filter_map(line).collect();
            // An error in the first lines is one of all.
            if wrong.iter().any(|line| *line < 4) {
                answers.extend(texts.iter().map(|text| (*text, false)));
                continue;
            }
            let fatal = said.lines().filter(|line| line.contains("fatal")).find_map(line);
            let good = |from: usize, to: usize| -> Vec<&'t str> {
                let texts = texts.iter().zip(&lines);
                texts.filter(|(_, l)| (from..to).contains(l) && !wrong.contains(l)).map(|(t, _)| *t).collect()
            };
            if let Some(fatal) = fatal.filter(|_| parse && lines[0] != usize::MAX) {
                // All before it was read.
                let read =
                    texts.iter().zip(&lines).filter(|(_, line)| **line <= fatal && wrong.contains(line));
                answers.extend(read.map(|(text, _)| (*text, false)));
                work.push((good(0, fatal), false));
                work.push((good(fatal, usize::MAX), parse));
                continue;
            }
            let complains = said.contains("error") || said.contains("fatal");
            match texts[..] {
                [only] if complains => drop(answers.insert(only, false)),
                // It crashed or ran out of time.
                [_] => {}
                _ if wrong.is_empty() || !lines.iter().any(|line| wrong.contains(line)) => {
                    let parts = texts.chunks(texts.len().div_ceil(16));
                    work.extend(parts.map(|part| (part.to_vec(), parse)));
                }
                _ if parse => {
                    work.push((good(0, usize::MAX), parse));
                    let bad = texts.iter().zip(&lines).filter(|(_, line)| wrong.contains(line));
                    answers.extend(bad.map(|(text, _)| (*text, false)));
                }
                // Code generation can blame another line: each of them alone.
                _ => {
                    work.push((good(0, usize::MAX), parse));
                    let bad = texts.iter().zip(&lines).filter(|(_, line)| wrong.contains(line));
                    work.extend(bad.map(|(text, _)| (vec![*text], parse)));
                }
            }
        }
        Ok(answers)
    }
}

/// Whether a text is a module of its own.
fn alone(text: &str) -> bool {
    text.starts_with("module ") || text.starts_with("file ")
}

/// A module with a kernel for each instruction, and their lines.
fn module(header: &str, texts: &[&str]) -> (String, Vec<usize>) {
    if let [only] = texts
        && alone(only)
    {
        return (verdicts::module(header, only), vec![usize::MAX]);
    }
    let mut text = verdicts::header(header);
    let globals: BTreeSet<&str> = texts.iter().flat_map(|text| verdicts::globals(text)).collect();
    for declaration in globals {
        text.push_str(declaration);
        text.push('\n');
    }
    let first = text.lines().count() + 1;
    for (i, instruction) in texts.iter().enumerate() {
        text.push_str(&verdicts::kernel(&format!("k{i}"), instruction));
        text.push('\n');
    }
    (text, (first..first + texts.len()).collect())
}

/// The line of an error message.
fn line(message: &str) -> Option<usize> {
    let (place, said) = message.split_once(';')?;
    let said = said.trim_start();
    if !said.starts_with("error") && !said.starts_with("fatal") {
        return None;
    }
    // What it expands an instruction to has lines of its own.
    if place.contains("<builtin>") {
        return None;
    }
    place.rsplit_once("line ")?.1.trim().parse().ok()
}

/// What to compile for: the target, or the oldest that this ptxas knows.
fn architecture(header: &str) -> Option<String> {
    let (_, target) = header.split_once('/')?;
    let target = target.split(',').next()?;
    let digits = target.strip_prefix("sm_")?.trim_end_matches(['a', 'f']);
    let suffix = &target[3 + digits.len()..];
    let sm: u16 = digits.parse().ok()?;
    match (sm, suffix) {
        (..75, "") => Some("sm_75".to_owned()),
        (101, "") => Some("sm_103".to_owned()),
        (101, _) => None,
        _ => Some(target.to_owned()),
    }
}
