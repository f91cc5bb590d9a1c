//! `cargo xtask measure`: micro-benchmarks of a real GPU, from which the parameters of the cycle model come.
//!
//! | file | what it knows |
//! | --- | --- |
//! | `probe` | what a micro-benchmark is |
//! | `pipes`, `beside`, `memory`, `cluster`, `wavefronts`, `requests`, `launch` | the micro-benchmarks, by what they ask |
//! | `facts` | pairs of micro-benchmarks, each pair for one fact |
//! | `placed` | one in a memory |
//! | `silicon`, `model` | one on a GPU, and in the model |
//! | `errors` | how far the model is off, for people |
//! | `set` | kernels that the model is compared with, half of them kept aside |
//! | `validation` | those on a GPU |
//! | `tuned` | codes that the compiler makes of them with other numbers than it guesses |
//!
//! Kernels are assembled by our own assembler. What a GPU answered goes to text files as it is: clocks' differences, a line a launch and
//! round. The parameters in `crates/sim/devices` name the file that they were read from. `--model` runs the same probes and kernels in the
//! model, and compares.

mod atomics;
mod beside;
mod cluster;
mod errors;
mod facts;
mod launch;
mod memory;
mod model;
mod pipes;
mod placed;
mod probe;
mod requests;
mod set;
mod silicon;
mod tuned;
mod validation;
mod wavefronts;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use model::Wanted;
use placed::Left;
use probe::{Probe, ROUNDS};
use real_gpu::Gpu;
use silicon::OnGpu;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// What is measured.
#[derive(clap::Args)]
pub(crate) struct Choice {
    /// Where the tables go.
    folder: PathBuf,
    /// What to measure; without it everything.
    #[arg(long, value_enum)]
    only: Vec<Family>,
    /// Begins with the micro-benchmark of this number: behind one that has killed the context.
    #[arg(long, default_value_t = 0)]
    from: usize,
    /// The cubins of the kernels to validate with.
    #[arg(long)]
    kernels: Option<PathBuf>,
    /// Makes those cubins, and measures nothing.
    #[arg(long, requires = "kernels")]
    prepare: bool,
    /// The compiler of their sources.
    #[arg(long, default_value = "clang-22")]
    compiler: PathBuf,
    /// Tunes the kernels in the model, puts all codes that were tried beside their cubins, and measures nothing.
    #[arg(long, requires_all = ["kernels", "model"])]
    tune: bool,
    /// Launches each kernel a single time, for a profiler that looks on.
    #[arg(long)]
    once: bool,
    /// Runs it in the model of this device instead, or of a file like that of one, and compares with the tables in the folder.
    #[arg(long, conflicts_with = "once")]
    model: Option<String>,
    /// Changes numbers of the model's device.
    #[arg(long, requires = "model")]
    set: Vec<String>,
    /// Only these kernels of the validation.
    #[arg(long, requires = "model")]
    kernel: Vec<String>,
    /// Only that half of them.
    #[arg(long, requires = "model")]
    half: Option<Half>,
    /// Streaming multiprocessors of the device.
    #[arg(long, default_value_t = 132)]
    sms: u32,
}

/// A half of the kernels of the validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Half {
    /// Those that the model is changed by.
    Seen,
    /// Those that are kept aside.
    Aside,
}

/// Micro-benchmarks that go to one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Family {
    /// How often pipes take instructions.
    Issue,
    /// How long results take; barriers, branches, fetching.
    Latency,
    /// Shared memory and its banks.
    Shared,
    /// Chases of pointers through the levels of memory.
    Chase,
    /// Bytes a cycle from each level.
    Throughput,
    /// Loads under way at once.
    Depth,
    /// Atomic operations, also in clusters, and fences behind them.
    Atomics,
    /// Copies in bulk, barriers of shared memory, products of four warps, fences.
    Beside,
    /// Barriers of clusters.
    Cluster,
    /// Lanes' places in shared memory, by the width of accesses.
    Wavefronts,
    /// What becomes one request to the L2.
    Requests,
    /// Which SM a CTA goes to.
    Placement,
    /// The SM's clock.
    Clock,
    /// An empty kernel.
    Launch,
    /// Pairs of kernels, each for a fact of the hardware.
    Facts,
    /// Kernels that the model is compared with.
    Validation,
    /// Codes of them that the compiler makes with other numbers than it guesses, from `--tune`.
    Tuned,
}

/// The table that says of which code the measurements of the validation are.
const CODES: &str = "codes.csv";

/// Launches of a micro-benchmark.
const LAUNCHES: usize = 2;

impl Choice {
    fn families(&self) -> impl Iterator<Item = Family> {
        Family::value_variants()
            .iter()
            .copied()
            .filter(|family| self.only.is_empty() || self.only.contains(family))
    }
}

impl Family {
    /// The name of its table.
    fn file(self) -> String {
        format!("{self:?}.csv").to_lowercase()
    }

    fn probes(self, sms: u32) -> Vec<Probe> {
        match self {
            Self::Issue => pipes::issue(),
            Self::Latency => pipes::latency(),
            Self::Shared => pipes::shared(),
            Self::Chase => memory::chase(),
            Self::Throughput => memory::throughput(sms),
            Self::Depth => memory::depth(),
            Self::Atomics => atomics::atomics(sms),
            Self::Beside => beside::beside(),
            Self::Cluster => cluster::cluster(),
            Self::Wavefronts => wavefronts::wavefronts(),
            Self::Requests => requests::requests(sms),
            Self::Placement => launch::placement(sms),
            Self::Clock => launch::clock(sms),
            Self::Launch => [1, sms / 2, sms, 8 * sms, 32 * sms, 256 * sms]
                .into_iter()
                .flat_map(|grid| [32, 256, 1024].map(|block| launch::empty().grid(grid).block(block)))
                .collect(),
            Self::Facts => facts::all(sms).into_iter().flat_map(|fact| [fact.base, fact.other]).collect(),
            Self::Validation | Self::Tuned => Vec::new(),
        }
    }

    fn head(self) -> &'static str {
        match self {
            Self::Placement => "probe,of_an_sm,cta,sm,nanoseconds,begin,end\n",
            Self::Launch => "grid,block,repeat,launches,nanoseconds\n",
            Self::Clock => "probe,grid,cta,cycles,nanoseconds\n",
            Self::Validation | Self::Tuned => "",
            Self::Issue
            | Self::Latency
            | Self::Shared
            | Self::Chase
            | Self::Throughput
            | Self::Depth
            | Self::Atomics
            | Self::Beside
            | Self::Cluster
            | Self::Wavefronts
            | Self::Requests
            | Self::Facts => "probe,variable,grid,block,count,launch,round,span,least,most\n",
        }
    }

    /// The lines of a probe.
    fn lines(self, placed: &OnGpu<'_>, probe: &Probe) -> Result<String> {
        let mut lines = String::new();
        let Probe { name, variable, grid, block, count, .. } = probe;
        match self {
            Self::Placement => {
                let warps = probe.block.div_ceil(32) as usize;
                for (cta, left) in placed.run()?.iter().step_by(warps).enumerate() {
                    let (begin, end) = (left.rounds[0].0, left.rounds[ROUNDS - 1].1);
                    writeln!(lines, "{name},{variable},{cta},{},{},{begin},{end}", left.sm, left.own)?;
                }
            }
            Self::Clock => {
                for (cta, left) in placed.run()?.iter().enumerate() {
                    let (begin, end) = left.rounds[ROUNDS - 1];
                    writeln!(lines, "{name},{grid},{cta},{},{}", end.wrapping_sub(begin), left.own)?;
                }
            }
            Self::Launch => {
                placed.time(10)?;
                for repeat in 0..5 {
                    for launches in [1, 100] {
                        writeln!(lines, "{grid},{block},{repeat},{launches},{:.0}", placed.time(launches)?)?;
                    }
                }
            }
            Self::Issue
            | Self::Latency
            | Self::Shared
            | Self::Chase
            | Self::Throughput
            | Self::Depth
            | Self::Atomics
            | Self::Beside
            | Self::Cluster
            | Self::Wavefronts
            | Self::Requests
            | Self::Facts
            | Self::Validation
            | Self::Tuned => {
                for launch in 0..LAUNCHES {
                    let left = placed.run()?;
                    let mut line = |round: &str, rounds| {
                        let Cycles { span, least, most } = cycles(&left, rounds);
                        writeln!(
                            lines,
                            "{name},{variable},{grid},{block},{count},{launch},{round},{span},{least},{most}"
                        )
                    };
                    for round in 0..ROUNDS {
                        line(&round.to_string(), round..=round)?;
                    }
                    if self == Self::Facts {
                        line("all", facts::ALL)?;
                    }
                }
            }
        }
        Ok(lines)
    }
}

/// What rounds took: on the SM that took longest from its first warp's beginning to its last one's end, and the warps by themselves.
struct Cycles {
    span: u32,
    least: u32,
    most: u32,
}

fn cycles(left: &[Left], rounds: RangeInclusive<usize>) -> Cycles {
    let mut of_sm: BTreeMap<u32, (u32, i32, i32)> = BTreeMap::new();
    let (mut least, mut most) = (u32::MAX, 0);
    for warp in left {
        let (begin, end) = (warp.rounds[*rounds.start()].0, warp.rounds[*rounds.end()].1);
        let taken = end.wrapping_sub(begin);
        (least, most) = (least.min(taken), most.max(taken));
        // Clocks go around; differences to one of them do not.
        let (origin, first, last) = of_sm.entry(warp.sm).or_insert((begin, 0, i32::MIN));
        *first = (*first).min(begin.wrapping_sub(*origin) as i32);
        *last = (*last).max(end.wrapping_sub(*origin) as i32);
    }
    let spans = of_sm.values().map(|(_, first, last)| last.wrapping_sub(*first) as u32);
    Cycles { span: spans.max().unwrap_or(0), least, most }
}

pub(crate) fn run(choice: &Choice) -> Result<()> {
    if let (true, Some(kernels)) = (choice.prepare, &choice.kernels) {
        // What cannot be assembled is better known before a GPU is there.
        let probes = Family::value_variants().iter().flat_map(|family| family.probes(choice.sms));
        let wrong: Vec<String> = probes
            .filter_map(|probe| placed::assemble(&probe).err())
            .map(|error| error.to_string())
            .collect();
        ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
        validation::prepare(&choice.compiler, kernels)?;
        // What of the folder's measurements is not of today's code any more.
        if let Ok(measured) = fs::read_to_string(choice.folder.join(CODES)) {
            for kernel in validation::of_other_code(&measured, &validation::codes(kernels)?) {
                println!("{kernel}: other code was measured");
            }
        }
        return Ok(());
    }
    if let Some(name) = &choice.model {
        return in_model(choice, name);
    }
    fs::create_dir_all(&choice.folder)?;
    let gpu = Gpu::open()?;
    let (major, minor) = gpu.driver_version();
    fs::write(choice.folder.join("device.txt"), format!("{}, driver of CUDA {major}.{minor}\n", gpu.name()))?;
    for family in choice.families() {
        let path = choice.folder.join(family.file());
        if !matches!(family, Family::Validation | Family::Tuned) {
            micro(choice, &gpu, family, &path)?;
        } else if let Some(kernels) = &choice.kernels {
            let time = if family == Family::Tuned { tuned::time } else { validation::time };
            let times = time(&gpu, kernels, choice.once)?;
            if !choice.once {
                fs::write(path, times)?;
            }
            if family == Family::Validation {
                fs::write(choice.folder.join(CODES), validation::codes(kernels)?)?;
            }
        }
    }
    Ok(())
}

/// Runs the micro-benchmarks of a table.
fn micro(choice: &Choice, gpu: &Gpu, family: Family, path: &Path) -> Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    if choice.from == 0 {
        file.write_all(family.head().as_bytes())?;
    }
    for (number, probe) in family.probes(choice.sms).iter().enumerate().skip(choice.from) {
        // Whoever starts this anew behind a fault reads the last number.
        println!("{number} {} {}", probe.name, probe.variable);
        let placed = OnGpu::new(gpu, probe)?;
        if choice.once {
            placed.time(1)?;
            continue;
        }
        file.write_all(family.lines(&placed, probe)?.as_bytes())?;
    }
    Ok(())
}

/// Compares the model with a GPU's tables.
fn in_model(choice: &Choice, name: &str) -> Result<()> {
    let mut device = match name.ends_with(".toml") {
        true => sim::Device::read(&fs::read_to_string(name)?)?,
        false => sim::Device::named(name)?,
    };
    choice.set.iter().try_for_each(|change| device.set(change))?;
    if let (true, Some(kernels)) = (choice.tune, &choice.kernels) {
        return tuned::tune(&choice.compiler, kernels, &device, &choice.kernel);
    }
    for family in choice.families() {
        let table =
            |file: &str| fs::read_to_string(choice.folder.join(file)).with_context(|| file.to_owned());
        let compared = match family {
            Family::Validation => match &choice.kernels {
                Some(kernels) => {
                    let aside = choice.half.map(|half| half == Half::Aside);
                    let wanted = Wanted { names: &choice.kernel, aside };
                    let compared =
                        model::kernels(kernels, &table("ncu.csv")?, &table(CODES)?, &device, &wanted)?;
                    fs::write(choice.folder.join("model-validation.md"), errors::markdown(&compared)?)?;
                    compared
                }
                None => continue,
            },
            Family::Tuned => match &choice.kernels {
                Some(kernels) => tuned::compare(kernels, &table("ncu-tuned.csv")?)?,
                None => continue,
            },
            Family::Placement | Family::Clock | Family::Launch => continue,
            Family::Facts => facts::table(&facts::compare(&table(&family.file())?, &device, choice.sms)?),
            Family::Issue
            | Family::Latency
            | Family::Shared
            | Family::Chase
            | Family::Throughput
            | Family::Depth
            | Family::Atomics
            | Family::Beside
            | Family::Cluster
            | Family::Wavefronts
            | Family::Requests => {
                let probes = family.probes(choice.sms);
                // What a profiler has counted, if one has.
                let counted = format!("ncu-{}", family.file());
                if let Ok(profile) = table(&counted) {
                    let counts = model::counts(&probes, &profile, &device)?;
                    fs::write(choice.folder.join(format!("model-{counted}")), counts)?;
                }
                model::probes(family, &probes, &table(&family.file())?, &device)?
            }
        };
        fs::write(choice.folder.join(format!("model-{}", family.file())), compared)?;
    }
    Ok(())
}
