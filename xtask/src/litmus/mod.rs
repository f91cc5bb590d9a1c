//! `cargo xtask litmus-silicon`: what a real GPU does with litmus tests, against what the memory model allows.
//!
//! `run` needs a GPU, and ptxas for speed; like `record` it stands alone where there is no cargo. It goes through the
//! whole catalogue again and again, each time in other places, with other delays, traffic and layouts of memory, until
//! the time is up. `judge` asks the model about what was seen, anywhere.

mod engine;
mod report;
mod table;

use crate::root;
use anyhow::{Context, Result, anyhow, ensure};
use clap::{Args, Subcommand};
use engine::{Engine, Extents, Module};
use fastrand::Rng;
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use memory_model::catalogue::{self, Columns, ThreadPosition};
use memory_model::histogram::{Histograms, Seen};
use memory_model::kernel::{self, Arguments, Count, HEADER, MAX_LOCATIONS, MAX_TERMS, STRESS_WORDS};
use memory_model::program::{Program, Term};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, process};
use table::{CTAS, THREADS};

/// Programs of a module.
const TOGETHER: usize = 50;
/// Tables for each choice of places.
const TABLES: usize = 6;
/// Launches of a test in each round.
const LAUNCHES: usize = 4;

#[derive(Args)]
pub(crate) struct Choice {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Runs the catalogue and writes what was seen.
    Run(Run),
    /// Asks the model whether all that was seen is allowed.
    Judge(Judge),
    /// Writes the page about what was seen.
    Report(Judge),
}

#[derive(Args)]
struct Run {
    /// What runs the kernels: `gpu`, or `machine` to try the command itself.
    #[arg(long, default_value = "gpu")]
    engine: String,
    /// The assembler. Without it the driver assembles, which is slow.
    #[arg(long, env = "WARPLOOM_PTXAS")]
    ptxas: Option<PathBuf>,
    /// The file to write.
    #[arg(long)]
    to: Option<PathBuf>,
    /// Clusters of a launch, each of four CTAs.
    #[arg(long, default_value_t = 128)]
    clusters: usize,
    /// Steps of a kernel.
    #[arg(long, default_value_t = 4)]
    steps: u32,
    /// When the last round ends, in seconds since the command began.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The most rounds.
    #[arg(long)]
    rounds: Option<usize>,
    /// Where random choices begin.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only every so many programs.
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// Only programs that contain one of these texts.
    only: Vec<String>,
}

#[derive(Args)]
struct Judge {
    /// The file to read.
    #[arg(long)]
    of: Option<PathBuf>,
}

fn recording(given: &Option<PathBuf>) -> PathBuf {
    given.clone().unwrap_or_else(|| root().join("crates/memory-model/tests/silicon/sm_90.txt.gz"))
}

pub(crate) fn run(choice: &Choice) -> Result<()> {
    match &choice.task {
        Task::Run(run) => observe(run),
        Task::Judge(judge) => compare(&recording(&judge.of)),
        Task::Report(judge) => report::write(&read(&recording(&judge.of))?),
    }
}

/// A program with the places that it runs in.
struct Test {
    columns: Columns,
    places: Vec<Vec<ThreadPosition>>,
    program: Program,
    terms: Vec<Term>,
    barriers: bool,
}

impl Test {
    fn new((columns, places): (Columns, Vec<Vec<ThreadPosition>>)) -> Result<Self> {
        let program =
            catalogue::program("test", &columns, &places[0]).map_err(|problem| anyhow!("{problem}"))?;
        let terms = kernel::terms(&program);
        let barriers = catalogue::barrier_scope(&columns).is_some();
        Ok(Self { columns, places, program, terms, barriers })
    }
}

/// A table on the device: its address, and its instances.
type Placed = (u64, u32);

/// What does not change from test to test.
struct Bench<'a> {
    engine: &'a Engine,
    counting: Module<'a>,
    tables: BTreeMap<(Vec<ThreadPosition>, bool), Vec<Placed>>,
    memory: u64,
    results: u64,
    stress: u64,
    counters: u64,
    bits: u32,
    clusters: usize,
    steps: u32,
}

fn observe(run: &Run) -> Result<()> {
    let begin = Instant::now();
    let wanted = |columns: &Columns| {
        let text = columns.join(" | ");
        run.only.is_empty() || run.only.iter().any(|part| text.contains(part))
    };
    let programs = catalogue::all().into_iter().filter(|(columns, _)| wanted(columns));
    let tests: Result<Vec<Test>> = programs.step_by(run.every.max(1)).map(Test::new).collect();
    let tests = tests?;
    let modules: Result<Vec<(String, Option<Vec<u8>>)>> =
        tests.par_chunks(TOGETHER).enumerate().map(|(i, tests)| module(i, tests, run)).collect();
    let modules = modules?;
    println!("{} programs assembled after {:.1} s", tests.len(), begin.elapsed().as_secs_f64());
    let engine = if run.engine == "gpu" { Engine::gpu()? } else { Engine::machine()? };
    let loaded: Result<Vec<Module>> =
        modules.iter().map(|(text, cubin)| engine.load(text, cubin.as_deref())).collect();
    let loaded = loaded?;
    let mut random = Rng::with_seed(run.seed);
    let bench = Bench::new(&engine, run, &tests, &mut random)?;
    println!("{} loaded after {:.1} s", engine.description(), begin.elapsed().as_secs_f64());
    let mut seen = Histograms::default();
    let mut round = 0;
    while run.rounds.is_none_or(|rounds| round < rounds) && begin.elapsed() < Duration::from_secs(run.seconds)
    {
        for (i, test) in tests.iter().enumerate() {
            // A first round is finished in any case.
            if round > 0 && begin.elapsed() >= Duration::from_secs(run.seconds) {
                break;
            }
            for places in &test.places {
                let of =
                    seen.tests.entry(test.columns.clone()).or_default().entry(places.clone()).or_default();
                bench.test(
                    &loaded[i / TOGETHER],
                    &format!("t{}", i % TOGETHER),
                    test,
                    places,
                    of,
                    &mut random,
                )?;
            }
            if round == 0 && test.barriers && !tests[i.saturating_sub(1)].barriers {
                // Should a barrier not complete, this much is kept.
                seen.keep(run, &engine)?;
            }
        }
        round += 1;
        seen.keep(run, &engine)?;
        println!("round {round} after {:.1} s", begin.elapsed().as_secs_f64());
    }
    Ok(())
}

trait Keep {
    fn keep(&mut self, run: &Run, engine: &Engine) -> Result<()>;
}

impl Keep for Histograms {
    fn keep(&mut self, run: &Run, engine: &Engine) -> Result<()> {
        let all: u64 = self.tests.values().flat_map(BTreeMap::values).map(Seen::instances).sum();
        let least = self.tests.values().flat_map(BTreeMap::values).map(Seen::instances).min().unwrap_or(0);
        self.remarks = vec![engine.description(), format!("{all} instances, at least {least} of a test")];
        let path = recording(&run.to);
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(self.to_string().as_bytes())?;
        fs::write(&path, packed.finish()?).with_context(|| path.display().to_string())
    }
}

/// The module of some tests, assembled if there is an assembler.
fn module(number: usize, tests: &[Test], run: &Run) -> Result<(String, Option<Vec<u8>>)> {
    let mut text = HEADER.to_owned();
    for (i, test) in tests.iter().enumerate() {
        text += &kernel::entry(&test.program, &format!("t{i}"))
            .map_err(|error| anyhow!("{:?}: {error}", test.columns))?;
    }
    let Some(ptxas) = &run.ptxas else { return Ok((text, None)) };
    let folder = std::env::temp_dir().join(format!("warploom-litmus-{}-{number}", process::id()));
    fs::create_dir_all(&folder)?;
    let cubin = assemble(ptxas, &folder.join("module.ptx"), &text);
    fs::remove_dir_all(folder)?;
    Ok((text, Some(cubin?)))
}

fn assemble(ptxas: &Path, file: &Path, text: &str) -> Result<Vec<u8>> {
    fs::write(file, text)?;
    let out = file.with_extension("cubin");
    let done = Command::new(ptxas).arg("-arch=sm_90").arg("-o").arg(&out).arg(file).output()?;
    ensure!(done.status.success(), "{}: {}", file.display(), String::from_utf8_lossy(&done.stderr));
    Ok(fs::read(out)?)
}

impl<'a> Bench<'a> {
    fn new(engine: &'a Engine, run: &Run, tests: &[Test], random: &mut Rng) -> Result<Self> {
        let sizes: BTreeSet<(usize, usize)> = tests.iter().map(size).collect();
        let entries: String =
            sizes.iter().map(|&(registers, locations)| kernel::count_entry(registers, locations)).collect();
        let counting = engine.load(&(HEADER.to_owned() + &entries), None)?;
        let mut tables: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for test in tests {
            for places in &test.places {
                let key = (places.clone(), test.barriers);
                if tables.contains_key(&key) {
                    continue;
                }
                for _ in 0..TABLES {
                    let table = table::table(places, run.clusters, test.barriers, random);
                    let address = engine.allocate(table.slots.len() * 4)?;
                    let bytes: Vec<u8> = table.slots.iter().flat_map(|slot| slot.to_le_bytes()).collect();
                    engine.write(address, &bytes)?;
                    tables.entry(key.clone()).or_default().push((address, table.instances));
                }
            }
        }
        let most = tables.values().flatten().map(|(_, instances)| *instances).max().unwrap_or(1);
        let bits = (most * run.steps).next_power_of_two().ilog2();
        let array = 8 << bits;
        let threads = run.clusters * CTAS * THREADS;
        Ok(Self {
            engine,
            counting,
            tables,
            memory: engine.allocate(MAX_LOCATIONS * array)?,
            results: engine.allocate(MAX_TERMS * array)?,
            stress: engine.allocate((STRESS_WORDS as usize + threads) * 4)?,
            counters: engine.allocate(4 * ((1 << (3 * MAX_TERMS)) + 1))?,
            bits,
            clusters: run.clusters,
            steps: run.steps,
        })
    }

    /// Launches a test some times, and notes what was seen.
    fn test(
        &self,
        module: &Module,
        name: &str,
        test: &Test,
        places: &[ThreadPosition],
        seen: &mut Seen,
        random: &mut Rng,
    ) -> Result<()> {
        let engine = self.engine;
        let bytes = 4 * kernel::counters(&test.terms);
        let (registers, locations) = size(test);
        engine.clear(self.counters, bytes)?;
        let tables = self.tables.get(&(places.to_vec(), test.barriers)).context("a table")?;
        for _ in 0..LAUNCHES {
            engine.clear(self.memory, locations * (8 << self.bits))?;
            let (table, instances) = tables[random.usize(..tables.len())];
            let mut spread = [1; MAX_LOCATIONS];
            if random.bool() {
                spread.fill_with(|| random.u32(..) | 1);
            } else if random.bool() {
                spread.fill_with(|| [1, 5, 33][random.usize(..3)]);
            }
            let arguments = Arguments {
                table,
                memory: self.memory,
                results: self.results,
                stress: self.stress,
                instances,
                bits: self.bits,
                steps: self.steps,
                seed: random.u32(..),
                delay: [0, 0, 15, 63, 255, 1023][random.usize(..6)],
                traffic: [0, 16, 64][random.usize(..3)],
                spread,
                touch: [0, 0, 1, 3][random.usize(..4)],
            };
            let extents = Extents {
                ctas: (self.clusters * CTAS) as u32,
                threads: THREADS as u32,
                cluster: Some(CTAS as u32),
            };
            module.launch(name, extents, &arguments.bytes())?;
            let count = Count {
                memory: self.memory,
                results: self.results,
                counters: self.counters,
                instances: instances * self.steps,
                bits: self.bits,
                spread,
            };
            let name = kernel::count_name(registers, locations);
            self.counting.launch(&name, Extents { cluster: None, ..extents }, &count.bytes())?;
        }
        let mut counters = vec![0; bytes];
        engine.read(self.counters, &mut counters)?;
        for (counter, word) in counters.chunks_exact(4).enumerate() {
            let count = word.iter().rev().fold(0, |count, &byte| count << 8 | u64::from(byte));
            if count > 0 {
                seen.add(kernel::values(&test.terms, counter), count);
            }
        }
        Ok(())
    }
}

/// How many registers and locations a test observes.
fn size(test: &Test) -> (usize, usize) {
    let locations = test.terms.iter().filter(|term| matches!(term, Term::Memory(_))).count();
    (test.terms.len() - locations, locations)
}

fn read(path: &Path) -> Result<Histograms> {
    let bytes = fs::read(path).with_context(|| path.display().to_string())?;
    let mut text = String::new();
    GzDecoder::new(&bytes[..]).read_to_string(&mut text).with_context(|| path.display().to_string())?;
    Histograms::parse(&text).map_err(|error| anyhow!(error))
}

fn compare(path: &Path) -> Result<()> {
    let judged = report::judge(&read(path)?)?;
    let forbidden: Vec<&String> = judged.values().flat_map(|test| &test.forbidden).collect();
    forbidden.iter().for_each(|text| println!("forbidden: {text}"));
    println!("{} tests, {} outcomes that are forbidden", judged.len(), forbidden.len());
    ensure!(forbidden.is_empty(), "the GPU does what the model forbids");
    Ok(())
}
