//! How good the model is as a judge of code: kernels of the set, compiled with the numbers that it finds best and with all others that it
//! was asked about, and what a GPU says of the same code.

use super::model::report;
use super::set::{Case, Set, is_aside};
use super::validation::{Texts, time_one};
use anyhow::{Context, Result, anyhow, bail, ensure};
use ptxas::tuning::{Cost, Tuning, descend};
use ptxas::{Level, Options};
use real_gpu::Gpu;
use sim::{Device, profiles};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Warp instructions of a launch that is tuned, at most: it is modelled some twenty times.
const MOST: u64 = 2_000_000;
/// The table beside the codes. `same`: it writes what the code does that the compiler makes by itself.
const TABLE: &str = "tuned.csv";
const HEAD: &str = "kernel,n,aside,code,tuning,registers,model,same";

/// Tunes each kernel at its largest size that is not too large, and puts all codes in a folder, the one first that the compiler makes by
/// itself.
pub(crate) fn tune(compiler: &Path, folder: &Path, device: &Device, wanted: &[String]) -> Result<()> {
    let set = Set::read()?;
    let texts = Texts::new(&set, compiler, folder)?;
    let mut of_kernels: Vec<Vec<Case<'_>>> = Vec::new();
    for case in
        set.cases()?.into_iter().filter(|it| wanted.is_empty() || wanted.iter().any(|name| name == it.name))
    {
        match of_kernels.last_mut().filter(|sizes| sizes[0].name == case.name) {
            Some(sizes) => sizes.push(case),
            None => of_kernels.push(vec![case]),
        }
    }
    let next = AtomicUsize::new(0);
    // What there is stays, though the rest may take too long.
    let found: Mutex<BTreeMap<usize, String>> = Mutex::default();
    let table = |found: &BTreeMap<usize, String>| {
        let lines: Vec<&str> = found.values().map(String::as_str).collect();
        fs::write(folder.join(TABLE), format!("{HEAD}\n{}", lines.concat()))
    };
    let work = || -> Result<()> {
        loop {
            let at = next.fetch_add(1, Relaxed);
            let Some(sizes) = of_kernels.get(at) else { return Ok(()) };
            let lines = sizes.iter().rev().find_map(|case| one(case, &texts, folder, device).transpose());
            match lines {
                Some(Ok(lines)) => {
                    println!("{}: {} codes", sizes[0].name, lines.lines().count());
                    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                    found.insert(at, lines);
                    table(&found)?;
                }
                Some(Err(error)) => println!("{}: {error:#}", sizes[0].name),
                None => println!("{}: too large", sizes[0].name),
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        all.into_iter().try_for_each(|one| one.join().map_err(|_| anyhow!("a thread has panicked"))?)
    })
}

/// The lines of a kernel at a size; none if that is too large.
fn one(case: &Case<'_>, texts: &Texts, folder: &Path, device: &Device) -> Result<Option<String>> {
    let module = texts.module(case)?;
    let mut tried: Vec<(Vec<u8>, Option<Cost>)> = Vec::new();
    let (mut lines, mut wrote, mut is_small) = (String::new(), None, true);
    descend(|tuning| -> Result<Option<Cost>> {
        let how = Options { tuning, ..Level::Overlapped.into() };
        let compiled = match ptxas::compile_entries(&module, how, |name| name == case.entry) {
            Ok(compiled) => compiled,
            Err(why) => {
                ensure!(!tried.is_empty(), "{}", why.first().map_or("", |it| &it.message));
                return Ok(None);
            }
        };
        if let Some((_, cost)) = tried.iter().find(|(cubin, _)| *cubin == compiled.cubin) {
            return Ok(*cost);
        }
        let (report, left) = report(case, &compiled.cubin, device, NonZeroUsize::MIN)?;
        if tried.is_empty() && report.counters.instructions > MOST {
            is_small = false;
            return Ok(None);
        }
        let registers = compiled.kernels.first().map_or(0, |usage| usage.registers);
        let cost = Cost { cycles: report.cycles, registers };
        let is_same = *wrote.get_or_insert_with(|| left.clone()) == left;
        let code = tried.len();
        fs::write(cubin(folder, case.name, code), &compiled.cubin)?;
        writeln!(
            lines,
            "{},{},{},{code},{},{registers},{},{is_same}",
            case.name,
            case.n,
            is_aside(case.name),
            text(tuning),
            cost.cycles,
        )?;
        let cost = is_same.then_some(cost);
        tried.push((compiled.cubin, cost));
        Ok(cost)
    })?;
    Ok(is_small.then_some(lines))
}

/// A tuning in a table with commas.
fn text(tuning: Tuning) -> String {
    tuning.to_string().replace(',', " ")
}

fn cubin(folder: &Path, kernel: &str, code: usize) -> PathBuf {
    folder.join(format!("{kernel}.{code}.cubin"))
}

/// A line of the table.
struct Line<'t> {
    text: &'t str,
    kernel: &'t str,
    n: u32,
    code: usize,
}

fn lines(table: &str) -> Result<Vec<Line<'_>>> {
    let line = |text| {
        let cells: Vec<&str> = str::split(text, ',').collect();
        let [kernel, n, _, code, ..] = cells[..] else { bail!("`{text}`") };
        Ok(Line { text, kernel, n: n.parse()?, code: code.parse()? })
    };
    table.lines().skip(1).map(line).collect()
}

/// Times all codes of a folder; with `once` each is launched a single time, for a profiler that looks on.
pub(crate) fn time(gpu: &Gpu, folder: &Path, once: bool) -> Result<String> {
    let set = Set::read()?;
    let cases = set.cases()?;
    let mut times = String::from("kernel,n,grid,block,repeat,launches,nanoseconds,output\n");
    for line in lines(&fs::read_to_string(folder.join(TABLE))?)? {
        let case = cases
            .iter()
            .find(|case| (case.name, case.n) == (line.kernel, line.n))
            .context(line.kernel.to_owned())?;
        println!("{} {} {}", line.kernel, line.n, line.code);
        time_one(gpu, case, &fs::read(cubin(folder, line.kernel, line.code))?, once, &mut times)?;
    }
    Ok(times)
}

/// The table with what a profiler said of each code, in its order.
pub(crate) fn compare(folder: &Path, profile: &str) -> Result<String> {
    let table = fs::read_to_string(folder.join(TABLE))?;
    let (lines, silicon) = (lines(&table)?, profiles(profile));
    ensure!(lines.len() == silicon.len(), "{} codes, {} profiles", lines.len(), silicon.len());
    let mut text = format!("{HEAD},gpu\n");
    for (line, profile) in lines.iter().zip(&silicon) {
        let gpu = profile.metrics.get("sm__cycles_elapsed.max").context("cycles")?;
        writeln!(text, "{},{gpu}", line.text)?;
    }
    Ok(text)
}
