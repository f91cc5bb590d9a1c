//! `cargo xtask fuzz-engines`: random kernels on all engines.
//!
//! The interpreter and another engine run the same kernels. That is the compiled engine; with `--engine sass` our ptxas and the machine
//! for SASS; with `--engine cuda-sass` our ptxas at both levels and a GPU; with `--engine cuda` the compiled engine, and a GPU with what
//! NVIDIA's ptxas makes at two levels. For the last two this command needs no cargo: it can be carried to where the GPU is.
//!
//! What differs is minimised and written as a file, which belongs into `crates/kernel-fuzz/tests/findings`. Before a kernel runs, its
//! file is where `--findings` says, so that one that ends the process is not lost. Our own machine code runs in processes of their own,
//! so that one that a GPU stops, or that does not end, ends nothing else.

use anyhow::{Context, Result, anyhow, ensure};
use indicatif::{ParallelProgressIterator, ProgressBar, ProgressStyle};
use kernel_fuzz::{
    Case, Engines, FEWEST, Kernel, Outcome, Remote, STATEMENTS, engine, generate, minimise, remote, sass,
    silicon,
};
use ptxas::{Level, Options, Target, Tuning};
use rayon::prelude::*;
use real_gpu::Gpu;
use std::collections::BTreeMap;
use std::fs;
use std::io::{stdin, stdout};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Kernels that are assembled before the GPU runs them.
const BATCH: usize = 512;

/// How long a finding is made smaller. What does not end takes its time at each attempt.
const MINIMISING: Duration = Duration::from_secs(60);

/// Who runs kernels beside the interpreter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Engine {
    /// The compiled engine.
    Jit,
    /// The machine for SASS, what our ptxas makes of them.
    Sass,
    /// A GPU, what NVIDIA's ptxas makes of them; and the compiled engine.
    Cuda,
    /// A GPU, what our ptxas makes of them.
    CudaSass,
}

/// What is run.
#[derive(Debug, clap::Args)]
pub(crate) struct Choice {
    /// Kernels.
    #[arg(long, default_value_t = 1000)]
    count: u64,
    /// The first kernel's seed; the next have the next.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// After how many seconds no further kernel is begun.
    #[arg(long)]
    seconds: Option<u64>,
    /// Statements of a kernel, at most; with few of them more kernels are run in a time.
    #[arg(long, default_value_t = STATEMENTS, value_parser = clap::value_parser!(u32).range(i64::from(FEWEST)..))]
    statements: u32,
    /// Host threads; 0 for one a core.
    #[arg(long, default_value_t = 0)]
    jobs: usize,
    /// Who runs them beside the interpreter.
    #[arg(long, default_value = "jit", value_enum)]
    engine: Engine,
    /// What our ptxas shall use in place of what it guesses, as `rounds=8,warps=1`.
    #[arg(long, default_value_t)]
    tuning: Tuning,
    /// The device that our ptxas makes code for.
    #[arg(long, default_value_t)]
    arch: Target,
    /// NVIDIA's assembler.
    #[arg(long, env = "WARPLOOM_PTXAS", default_value = "ptxas")]
    ptxas: PathBuf,
    /// Where findings are written.
    #[arg(long, default_value = "target/fuzz-engines")]
    findings: PathBuf,
    /// Prints the kernel of the first seed, and runs nothing.
    #[arg(long)]
    print: bool,
    /// Runs what comes through standard input on a GPU.
    #[arg(long, hide = true)]
    serve: bool,
}

impl Choice {
    fn kernel(&self, seed: u64) -> Kernel {
        generate(seed, self.statements)
    }
}

/// What became of kernels.
#[derive(Default)]
struct Tally {
    run: u64,
    compiled: u64,
    /// Kernels by why they were not compiled.
    declined: BTreeMap<String, u64>,
    /// Seeds, and what differed.
    findings: Vec<(u64, String)>,
    /// Kernels that the GPU judged, and those on which the levels of ptxas differ.
    judged: u64,
    levels_differ: Vec<u64>,
}

impl Tally {
    fn with(mut self, other: Self) -> Self {
        self.run += other.run;
        self.compiled += other.compiled;
        for (why, times) in other.declined {
            *self.declined.entry(why).or_default() += times;
        }
        self.findings.extend(other.findings);
        self.judged += other.judged;
        self.levels_differ.extend(other.levels_differ);
        self
    }
}

pub(crate) fn run(choice: &Choice) -> Result<()> {
    if choice.print {
        print!("{}", Case::of(&choice.kernel(choice.seed)).file());
        return Ok(());
    }
    if choice.serve {
        return Ok(remote::serve(stdin().lock(), stdout().lock())?);
    }
    fs::create_dir_all(&choice.findings)?;
    let begun = Instant::now();
    let bar = ProgressBar::new(choice.count);
    bar.set_style(ProgressStyle::with_template("{wide_bar} {pos}/{len} {per_sec} {eta}")?);
    let in_time = |_: &u64| choice.seconds.is_none_or(|most| begun.elapsed().as_secs() < most);
    let seeds = (choice.seed..choice.seed + choice.count).take_while(in_time);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(choice.jobs).build()?;
    let tally = match choice.engine {
        Engine::Cuda => on_silicon(choice, &pool, seeds, &bar)?,
        Engine::Jit | Engine::Sass => pool.install(|| one_by_one(choice, seeds, &bar))?,
        Engine::CudaSass => {
            if let Err(why) = Gpus::default().with(Remote::begin)? {
                eprintln!("SKIPPED: all kernels: {why}");
                return Ok(());
            }
            pool.install(|| one_by_one(choice, seeds, &bar))?
        }
    };
    bar.finish_and_clear();
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "{} kernels in {seconds:.1} s, {} of them compiled: {} differ",
        tally.run,
        tally.compiled,
        tally.findings.len()
    );
    for (why, times) in &tally.declined {
        println!("  {times} not compiled: {why}");
    }
    if choice.engine == Engine::Cuda {
        println!("{} judged by the GPU", tally.judged);
        println!("{} on which ptxas's levels differ: {:?}", tally.levels_differ.len(), tally.levels_differ);
    }
    for (seed, what) in &tally.findings {
        println!("seed {seed}: {what}");
    }
    ensure!(tally.findings.is_empty(), "findings are in {}", choice.findings.display());
    Ok(())
}

fn engines() -> Result<Engines> {
    Engines::find().map_err(|why| anyhow!(why))
}

/// Processes with a GPU that nobody uses just now: as many as threads have ever asked at once.
#[derive(Default)]
struct Gpus {
    idle: Mutex<Vec<Remote>>,
}

impl Gpus {
    fn with<T>(&self, use_it: impl FnOnce(&mut Remote) -> T) -> Result<T> {
        let poisoned = || anyhow!("a thread has ended in between");
        let idle = self.idle.lock().map_err(|_| poisoned())?.pop();
        let mut gpu = match idle {
            Some(gpu) => gpu,
            None => {
                let mut command = Command::new(std::env::current_exe()?);
                command.args(["fuzz-engines", "--serve"]);
                Remote::new(command)
            }
        };
        let result = use_it(&mut gpu);
        self.idle.lock().map_err(|_| poisoned())?.push(gpu);
        Ok(result)
    }
}

/// All kernels, each on the interpreter and on another engine.
fn one_by_one(choice: &Choice, seeds: impl Iterator<Item = u64> + Send, bar: &ProgressBar) -> Result<Tally> {
    let (probe, gpus) = (engines()?, Gpus::default());
    if choice.engine == Engine::Jit
        && let Some(why) = probe.without_jit()
    {
        eprintln!("SKIPPED: the compiled engine: {why}");
    }
    let tallies = seeds.par_bridge().progress_with(bar.clone()).map_init(engines, |engines, seed| {
        let engines = engines.as_ref().map_err(|error| anyhow!("{error}"))?;
        one(choice, engines, &gpus, seed).map(|(tally, _)| tally)
    });
    tallies.try_reduce(Tally::default, |one, other| Ok(one.with(other)))
}

/// How our ptxas compiles.
fn options(choice: &Choice, level: Level) -> Options {
    Options { target: choice.arch, tuning: choice.tuning, ..level.into() }
}

/// What the other engine makes of a case, by how it was compiled.
fn others(
    choice: &Choice,
    engines: &Engines,
    gpus: &Gpus,
    case: &Case,
) -> Result<Vec<(&'static str, Outcome)>> {
    Ok(match choice.engine {
        Engine::Jit | Engine::Cuda => engines.compile(case),
        Engine::Sass => vec![("", sass::run(case, options(choice, Level::Overlapped)))],
        Engine::CudaSass => {
            let mut outcomes = Vec::new();
            for (name, level) in [("-O0: ", Level::Serial), ("-O3: ", Level::Overlapped)] {
                let options = options(choice, level);
                let outcome = match sass::compile(case, options) {
                    Ok(cubin) => gpus.with(|gpu| gpu.run(case, &cubin))?,
                    Err(outcome) => outcome,
                };
                outcomes.push((name, outcome));
            }
            outcomes
        }
    })
}

/// A kernel on both engines, and what the interpreter made of it.
fn one(choice: &Choice, engines: &Engines, gpus: &Gpus, seed: u64) -> Result<(Tally, Outcome)> {
    let kernel = choice.kernel(seed);
    let case = Case::of(&kernel);
    let running = choice.findings.join(format!("running-{seed}.ptx"));
    fs::write(&running, case.file())?;
    let (interpreted, compiled) = (engines.interpret(&case), others(choice, engines, gpus, &case)?);
    let mut tally = Tally { run: 1, ..Tally::default() };
    let declined = compiled.iter().find_map(|(_, outcome)| match outcome {
        Outcome::Declined(why) => Some(why),
        Outcome::Memory(_) | Outcome::Stopped(_) => None,
    });
    match declined {
        None => tally.compiled += 1,
        // Forms of an instruction are counted together.
        Some(why) => {
            let why = why.split('.').next().unwrap_or_default().to_owned();
            *tally.declined.entry(why).or_default() += 1;
        }
    }
    if let Some(what) = engine::differences(&interpreted, &compiled) {
        let begun = Instant::now();
        let small = minimise(&kernel, &mut |kernel| {
            let case = Case::of(kernel);
            begun.elapsed() < MINIMISING
                && others(choice, engines, gpus, &case)
                    .is_ok_and(|others| engine::differences(&engines.interpret(&case), &others).is_some())
        });
        keep(&choice.findings, seed, &Case::of(&small))?;
        tally.findings.push((seed, what));
    }
    fs::remove_file(&running)?;
    Ok((tally, interpreted))
}

fn keep(folder: &Path, seed: u64, case: &Case) -> Result<()> {
    let path = folder.join(format!("seed-{seed}.ptx"));
    fs::write(&path, case.file()).with_context(|| path.display().to_string())
}

/// A kernel that waits for the GPU.
struct Waiting {
    seed: u64,
    case: Case,
    interpreted: Outcome,
    cubins: [Vec<u8>; 2],
}

/// All kernels on the machine and on a GPU.
fn on_silicon(
    choice: &Choice,
    pool: &rayon::ThreadPool,
    mut seeds: impl Iterator<Item = u64>,
    bar: &ProgressBar,
) -> Result<Tally> {
    let gpu = Gpu::open()?;
    let gpus = Gpus::default();
    let mut tally = Tally::default();
    loop {
        let batch: Vec<u64> = seeds.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            return Ok(tally);
        }
        let prepared: Result<Vec<(Tally, Waiting)>> = pool.install(|| {
            let prepare = |engines: &mut Result<Engines>, seed: u64| {
                let engines = engines.as_ref().map_err(|error| anyhow!("{error}"))?;
                let (tally, interpreted) = one(choice, engines, &gpus, seed)?;
                let case = Case::of(&choice.kernel(seed));
                let cubins = silicon::assemble(&choice.ptxas, &case, seed);
                let cubins = cubins.map_err(|why| anyhow!("seed {seed}: {why}"))?;
                Ok((tally, Waiting { seed, case, interpreted, cubins }))
            };
            batch.into_par_iter().map_init(engines, prepare).collect()
        });
        for (of_machine, waiting) in prepared? {
            tally = tally.with(of_machine).with(judge(choice, &gpu, &waiting)?);
            bar.inc(1);
        }
    }
}

/// What a GPU says to what the interpreter made of a kernel.
fn judge(choice: &Choice, gpu: &Gpu, waiting: &Waiting) -> Result<Tally> {
    let Waiting { seed, case, interpreted, cubins } = waiting;
    let [lowest, highest] = cubins.each_ref().map(|cubin| silicon::run(gpu, case, cubin));
    let mut tally = Tally::default();
    if let Outcome::Stopped(why) = &lowest {
        // The driver is of no more use to this process.
        keep(&choice.findings, *seed, case)?;
        return Err(anyhow!("seed {seed}: {why}"));
    }
    if lowest != highest {
        tally.levels_differ.push(*seed);
        return Ok(tally);
    }
    tally.judged += 1;
    if let Some(what) = engine::difference(interpreted, &lowest) {
        keep(&choice.findings, *seed, case)?;
        tally.findings.push((*seed, format!("silicon: {what}")));
    }
    Ok(tally)
}
