//! `warploom sim sweep`, `warploom sim merge`: the points of a plan, or of one shard of it, as a Parquet file.
//!
//! | file | what it knows |
//! | --- | --- |
//! | `plan` | what the points are |
//! | `journal` | those that are done, when a process is killed |
//! | `table` | Parquet |
//!
//! Points are independent of one another, and their order in the file is that of their numbers. So whoever runs them, and how often it was
//! killed, the file is the same.

mod journal;
mod plan;
mod table;

use super::launch::Stopped;
use crate::failure::{Exit, Failure};
use crate::run::progress;
use crate::run::request::Extents;
use crate::terminal::{self, thousands};
use journal::{Cells, Journal};
use plan::{Plan, Point};
use sass_machine::{Fault, FaultKind};
use serde_json::json;
use sim::{Device, Report};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use table::{Cell, Of, Table};

/// Model every point of a plan, and write what comes of them as a Parquet file
///
/// A plan names kernels with their sizes, devices, and values of their parameters; docs/sim.md has an example. A point that is done stays done: the same command goes on where it was killed.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The plan, TOML
    plan: PathBuf,
    /// Only the points of one shard of so many: 1/8 to 8/8
    #[arg(long, value_name = "I/N", default_value = "1/1")]
    shard: Shard,
    /// The Parquet file
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// Points at once; 0 is one for each core
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
    /// Print one JSON object: how many points there are, which failed, and where the file is
    #[arg(long)]
    json: bool,
}

/// Make the one file of a plan of those of its shards
#[derive(Debug, clap::Args)]
pub(super) struct Merge {
    /// The files of all shards
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The Parquet file of all points
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// One shard of so many.
#[derive(Clone, Copy, Debug)]
struct Shard {
    index: u64,
    count: u64,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts =
            text.split_once('/').and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
        match parts {
            Some((index, count)) if 0 < index && index <= count => Ok(Self { index, count }),
            _ => Err("a shard is one of so many, as 1/8".to_owned()),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl Shard {
    /// Every so-manieth point, so that shards take about as long.
    fn points(self, of: u64) -> impl Iterator<Item = u64> {
        (self.index - 1..of).step_by(usize::try_from(self.count).unwrap_or(usize::MAX))
    }
}

/// Notes of a file: of which plan, and how many points that has.
const PLAN: &str = "plan";
const POINTS: &str = "points";
/// The names of what a point is, in front of its sizes and parameters; of an error behind them.
const WHAT: [&str; 6] = ["point", "file", "kernel", "device", "grid", "block"];
const ERROR: &str = "error";

pub(super) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    let plan = Plan::read(&arguments.plan)?;
    let out = &arguments.out;
    let mine: Vec<u64> = arguments.shard.points(plan.points).collect();
    if out.exists() {
        let found = read(out)?;
        let numbers = found.rows.iter().map(|row| row.first().cloned());
        let is_it = found.note(PLAN) == Some(&plan.digest)
            && numbers.eq(mine.iter().map(|&point| Some(Cell::Number(point as i64))));
        return match is_it {
            true => said(arguments.json, out, &found),
            false => Err(Failure::usage(format!("{} is of another plan or shard", out.display()))
                .hint("remove it, or write to another file")),
        };
    }
    let journal = Journal::open(out, &plan.digest, &arguments.shard.to_string())?;
    let left: Vec<u64> = mine.iter().copied().filter(|point| !journal.done.contains_key(point)).collect();
    let already = mine.len() - left.len();
    if already > 0 {
        terminal::note(&format!("{already} of {} points are done already", mine.len()));
    }
    let journal = Mutex::new(journal);
    let threads = match arguments.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        some => some,
    };
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(None);
    progress::watch(mine.len() as u64, ("points", "sweep"), |report| {
        let work = || {
            while let Some(&number) = left.get(next.fetch_add(1, Relaxed)) {
                let done = cells(&plan, number).and_then(|cells| {
                    let mut journal = journal.lock().unwrap_or_else(PoisonError::into_inner);
                    journal.add(number, cells).map_err(|error| written(out, &error))?;
                    Ok(journal.done.len() as u64)
                });
                match done {
                    Ok(done) => {
                        report.into_iter().for_each(|report| report(done));
                    }
                    Err(why) => {
                        next.store(left.len(), Relaxed);
                        failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
                    }
                }
            }
        };
        std::thread::scope(|scope| (0..threads.min(left.len())).for_each(|_| drop(scope.spawn(work))));
    });
    if let Some(why) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(why);
    }
    let journal = journal.into_inner().unwrap_or_else(PoisonError::into_inner);
    let table = table(&plan, &journal)?;
    let bytes = table.bytes().map_err(|error| Failure::usage(error.to_string()))?;
    journal.finish(out, &bytes).map_err(|error| written(out, &error))?;
    said(arguments.json, out, &table)
}

fn written(out: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("cannot write {}: {error}", out.display()))
}

fn read(file: &Path) -> Result<Table, Failure> {
    let wrong = |why: String| Failure::usage(format!("{}: {why}", file.display()));
    let bytes = std::fs::read(file).map_err(|error| wrong(error.to_string()))?;
    Table::read(bytes).map_err(|error| wrong(error.to_string()))
}

/// What comes of a point: an error, or the metrics. That a plan makes no sense ends the sweep.
fn cells(plan: &Plan, number: u64) -> Result<Cells, Failure> {
    let Point { kernel, shape, arguments, code, changed, .. } = plan.point(number)?;
    match code.model(kernel, shape, &arguments, &changed) {
        Ok(modelled) if modelled.bound.buffers.iter().any(|buffer| !buffer.tasks.is_empty()) => {
            Err(Failure::usage("buffers of a sweep's kernels are not printed, written or compared"))
        }
        Ok(modelled) => {
            let metrics = modelled.report.metrics(&changed);
            Ok(std::iter::once(Cell::Empty)
                .chain(metrics.into_iter().map(|it| Cell::Real(it.value)))
                .collect())
        }
        Err(Stopped { failure, .. }) if failure.exit == Exit::Usage => Err(failure),
        Err(Stopped { failure, fault }) => {
            let why = fault.map_or_else(|| failure.text(), |fault| anywhere(&fault));
            let metrics = Report::metric_names(&changed).into_iter().map(|_| Cell::Empty);
            Ok(std::iter::once(Cell::Text(why)).chain(metrics).collect())
        }
    }
}

/// A fault without addresses of global memory, which are others in another process.
fn anywhere(fault: &Fault) -> String {
    let what = match &fault.kind {
        FaultKind::Address { .. } => "an access to what is no memory".to_owned(),
        FaultKind::Misaligned { .. } => "a misaligned access".to_owned(),
        FaultKind::Block(_)
        | FaultKind::Cluster(_)
        | FaultKind::Shared(_)
        | FaultKind::Trap
        | FaultKind::Assert(_)
        | FaultKind::Object(_)
        | FaultKind::NoInstruction(_)
        | FaultKind::NotExecuted(_)
        | FaultKind::OutsideOfCode
        | FaultKind::Deadlock
        | FaultKind::Budget => fault.kind.to_string(),
    };
    format!("{what}, in block {}, at {:#06x}", Extents(fault.block), fault.address)
}

/// The table of all points that are done.
fn table(plan: &Plan, journal: &Journal) -> Result<Table, Failure> {
    let texts = WHAT[1..].iter().map(|name| ((*name).to_owned(), Of::Texts));
    let mut columns = vec![(WHAT[0].to_owned(), Of::Numbers)];
    columns.extend(texts);
    columns.extend(plan.sizes.iter().map(|name| (format!("size.{name}"), Of::Numbers)));
    columns.extend(plan.changes().map(|name| (format!("set.{name}"), Of::Numbers)));
    columns.push((ERROR.to_owned(), Of::Texts));
    let device = Device::named("h100").map_err(|error| Failure::usage(error.to_string()))?;
    columns.extend(Report::metric_names(&device).into_iter().map(|name| (name, Of::Reals)));
    let mut rows = Vec::new();
    for (&number, cells) in &journal.done {
        let point = plan.point(number)?;
        let extents = |[x, y, z]: [u32; 3]| format!("{x},{y},{z}");
        let texts = [
            point.file.to_owned(),
            point.kernel.to_owned(),
            point.device.to_owned(),
            extents(point.shape.grid),
            extents(point.shape.block),
        ];
        let mut row = vec![Cell::Number(number as i64)];
        row.extend(texts.map(Cell::Text));
        row.extend(plan.sizes.iter().map(|name| {
            point.sizes.get(name.as_str()).map_or(Cell::Empty, |&size| Cell::Number(size as i64))
        }));
        row.extend(point.set.iter().map(|&value| Cell::Number(value as i64)));
        row.extend(cells.iter().cloned());
        rows.push(row);
    }
    let notes = [(PLAN, plan.digest.clone()), (POINTS, plan.points.to_string())];
    Ok(Table { columns, rows, notes: notes.map(|(name, text)| (name.to_owned(), text)).to_vec() })
}

pub(super) fn merge(arguments: &Merge) -> Result<Exit, Failure> {
    let mut merged: Option<Table> = None;
    for file in &arguments.files {
        let found = read(file)?;
        match &mut merged {
            None => merged = Some(found),
            Some(all) if (&all.columns, &all.notes) == (&found.columns, &found.notes) => {
                all.rows.extend(found.rows);
            }
            Some(_) => return Err(Failure::usage(format!("{} is of another plan", file.display()))),
        }
    }
    let mut merged = merged.ok_or_else(|| Failure::usage("there is no file"))?;
    let number = |row: &Vec<Cell>| match row.first() {
        Some(Cell::Number(number)) => *number,
        _ => -1,
    };
    merged.rows.sort_by_key(number);
    let points = merged.note(POINTS).and_then(|points| points.parse::<i64>().ok()).unwrap_or(0);
    let numbers: Vec<i64> = merged.rows.iter().map(number).collect();
    if let Some(wrong) =
        (0..points).zip(numbers.iter().copied().chain([points])).find(|(at, found)| at != found)
    {
        let (point, found) = wrong;
        let what = if found < point { "is there twice" } else { "is missing" };
        return Err(Failure::usage(format!("point {} of {points} {what}", point.min(found))));
    }
    if numbers.len() as i64 != points {
        return Err(Failure::usage(format!("there are more than the plan's {points} points")));
    }
    let bytes = merged.bytes().map_err(|error| Failure::usage(error.to_string()))?;
    journal::write(&arguments.out, &bytes).map_err(|error| written(&arguments.out, &error))?;
    said(arguments.json, &arguments.out, &merged)
}

/// What a sweep came to.
fn said(is_json: bool, out: &Path, table: &Table) -> Result<Exit, Failure> {
    let error = table.columns.iter().position(|(name, _)| name == ERROR);
    let errors = table.rows.iter().filter_map(|row| match (row.first()?, row.get(error?)?) {
        (Cell::Number(point), Cell::Text(why)) => Some((*point, why.as_str())),
        _ => None,
    });
    let errors: Vec<_> = errors.collect();
    if is_json {
        let failed = errors.iter().map(|(point, why)| json!({ "point": point, "error": why }));
        terminal::json(&json!({
            "file": out.display().to_string(),
            "points": table.rows.len(),
            "plan": table.note(PLAN),
            "failed": failed.collect::<Vec<_>>(),
        }))?;
    } else {
        terminal::result(&format!(
            "{}: {} points, of which {} failed\n",
            out.display(),
            thousands(table.rows.len() as u64),
            errors.len()
        ))?;
        errors.iter().for_each(|(point, why)| terminal::note(&format!("point {point}: {why}")));
    }
    Ok(if errors.is_empty() { Exit::Ok } else { Exit::Unsupported })
}
