//! `cargo xtask bench-peers`: the same kernels on Warploom, on PoCL and as plain C++ with OpenMP, in one run.
//!
//! `benches/peers/kernels.txt` lists them. A peer is a process that runs a kernel when a line asks it to and answers how long
//! it took (`protocol.h`); Warploom runs in this process. All read one input. Each result is compared with that of plain C++ before anything
//! is timed, and repetitions of all peers take turns, so that what else the host does meets all of them. A peer that cannot be built or
//! started is left out by name.

use crate::root;
use anyhow::{Context, Result, anyhow, ensure};
use jit::Jit;
use machine::compiled::Engine;
use machine::{Device, DeviceOptions, Launch, LaunchOptions, LoadedModule, Profile};
use ptx::source::Source;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

/// What is measured.
#[derive(Debug, clap::Args)]
pub(crate) struct Choice {
    /// Only kernels whose names contain one of these.
    #[arg(long, value_delimiter = ',')]
    kernels: Vec<String>,
    /// How often each peer runs each kernel; the median counts.
    #[arg(long, default_value_t = 7)]
    repetitions: usize,
    /// Host threads of all peers; 0 for one a core.
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// A file for the times, in milliseconds.
    #[arg(long)]
    json: Option<PathBuf>,
}

/// Floats of the input.
const FLOATS: usize = 1 << 24;
/// The most bytes that a kernel writes.
const OUTPUT: u64 = 64 << 20;
/// Whose results and times the others are compared with.
const REFERENCE: &str = "C++";

/// A line of the list.
struct Kernel {
    name: String,
    bytes: usize,
    grid: [u32; 2],
    block: [u32; 2],
    tolerance: f32,
    about: String,
}

impl Kernel {
    fn parse(line: &str) -> Option<Self> {
        let mut cells = line.split('|').map(str::trim);
        let extents = |cell: Option<&str>| {
            let mut numbers = cell?.split_whitespace().map(|word| word.parse().ok());
            Some([numbers.next()??, numbers.next()??])
        };
        Some(Self {
            name: cells.next()?.to_owned(),
            bytes: cells.next()?.parse().ok()?,
            grid: extents(cells.next())?,
            block: extents(cells.next())?,
            tolerance: cells.next()?.parse().ok()?,
            about: cells.next()?.to_owned(),
        })
    }
}

/// Who runs kernels.
trait Peer {
    /// Runs a kernel on a cleared output; milliseconds.
    fn run(&mut self, kernel: &Kernel) -> Result<f64>;
    /// What it has written.
    fn result(&mut self, kernel: &Kernel) -> Result<Vec<u8>>;
    /// What is to be said about how it ran the last kernel.
    fn remark(&self) -> Option<String> {
        None
    }
}

/// A process.
struct Process {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    folder: PathBuf,
}

impl Process {
    fn start(command: &mut Command, folder: &Path) -> Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let requests = child.stdin.take().context("its input")?;
        let answers = BufReader::new(child.stdout.take().context("its output")?);
        Ok(Self { child, requests, answers, folder: folder.to_owned() })
    }

    fn ask(&mut self, line: &str) -> Result<u64> {
        writeln!(self.requests, "{line}")?;
        self.requests.flush()?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        answer.trim().parse().with_context(|| format!("no answer to `{line}`"))
    }
}

impl Peer for Process {
    fn run(&mut self, kernel: &Kernel) -> Result<f64> {
        let Kernel { name, bytes, grid: [gx, gy], block: [bx, by], .. } = kernel;
        let nanoseconds = self.ask(&format!("{name} {bytes} {gx} {gy} {bx} {by}"))?;
        Ok(nanoseconds as f64 / 1e6)
    }

    fn result(&mut self, kernel: &Kernel) -> Result<Vec<u8>> {
        let path = self.folder.join(format!("{}-{}.result", kernel.name, self.child.id()));
        self.ask(&format!("save {}", path.display()))?;
        let result = fs::read(&path)?;
        fs::remove_file(path)?;
        Ok(result)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Warploom with one of its engines.
struct Warploom {
    device: Arc<Device>,
    module: LoadedModule,
    input: u64,
    output: u64,
    jit: Option<Jit>,
    threads: usize,
    remark: Option<String>,
}

impl Warploom {
    fn new(jit: Option<Jit>, input: &[u8], threads: usize) -> Result<Self> {
        let text = fs::read_to_string(root().join("benches/peers/cuda/kernels.ptx"))?;
        let compiled = ptx::compile(&Source::new("kernels.ptx", text)).into_result();
        let (module, _) = compiled.map_err(|wrong| anyhow!("{}", wrong[0].message))?;
        let device = Device::new(Profile::default(), DeviceOptions::default())?;
        let module = device.load(module)?;
        let place = device.memory().allocate(input.len() as u64)?;
        device.memory().write(place, input)?;
        let output = device.memory().allocate(OUTPUT)?;
        Ok(Self { device, module, input: place, output, jit, threads, remark: None })
    }
}

impl Peer for Warploom {
    fn run(&mut self, kernel: &Kernel) -> Result<f64> {
        self.device.memory().write(self.output, &vec![0; kernel.bytes])?;
        let ([gx, gy], [bx, by]) = (kernel.grid, kernel.block);
        let launch = Launch {
            kernel: self.module.kernel(&kernel.name).with_context(|| kernel.name.clone())?,
            grid: [gx, gy, 1],
            block: [bx, by, 1],
            cluster: None,
            nonportable_cluster: false,
            dynamic_shared: 0,
            params: [self.input.to_le_bytes(), self.output.to_le_bytes()].concat(),
        };
        let engine = self.jit.as_ref().map(|jit| jit as &dyn Engine);
        let options = LaunchOptions { threads: self.threads, engine, ..LaunchOptions::default() };
        let begun = Instant::now();
        let report = self.device.launch(&launch, &options)?;
        let took = begun.elapsed();
        self.remark = report.compiled.and_then(Result::err);
        Ok(took.as_secs_f64() * 1e3)
    }

    fn result(&mut self, kernel: &Kernel) -> Result<Vec<u8>> {
        let mut bytes = vec![0; kernel.bytes];
        self.device.memory().read(self.output, &mut bytes)?;
        Ok(bytes)
    }

    fn remark(&self) -> Option<String> {
        self.remark.as_ref().map(|why| format!("interpreted: {why}"))
    }
}

/// The peers of this host, plain C++ first.
fn peers(choice: &Choice, input: &Path, folder: &Path) -> Result<Vec<(&'static str, Box<dyn Peer>)>> {
    let sources = root().join("benches/peers");
    let bytes = fs::read(input)?;
    let threads =
        if choice.threads == 0 { std::thread::available_parallelism()?.get() } else { choice.threads };
    let build = |compiler: &str, arguments: &[&str], source: &str, program: &str, libraries: &[&str]| {
        let path = folder.join(program);
        let mut command = Command::new(compiler);
        command.args(arguments).arg(sources.join(source)).arg("-o").arg(&path).args(libraries);
        let built = command.output().with_context(|| compiler.to_owned())?;
        ensure!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let mut command = Command::new(path);
        command.arg(input).env("OMP_NUM_THREADS", threads.to_string());
        command.env("POCL_MAX_PTHREAD_COUNT", threads.to_string());
        anyhow::Ok(command)
    };
    let flags = ["-O3", "-march=native", "-fopenmp", "-ffp-contract=off"];
    let native = build("g++", &flags, "cpp/peer.cpp", "cpp", &[]);
    let pocl = build("gcc", &["-O2"], "opencl/peer.c", "opencl", &["-lOpenCL"]).map(|mut command| {
        command.arg(sources.join("opencl/kernels.cl")).arg(&sources);
        command
    });
    let mut found: Vec<(&'static str, Box<dyn Peer>)> = Vec::new();
    for (name, command) in [(REFERENCE, native), ("PoCL", pocl)] {
        match command.and_then(|mut command| Process::start(&mut command, folder)) {
            Ok(process) => found.push((name, Box::new(process))),
            Err(why) => eprintln!("SKIPPED: {name}: {why:#}"),
        }
    }
    found.push(("interp", Box::new(Warploom::new(None, &bytes, threads)?)));
    match Jit::find() {
        Ok(jit) => found.push(("jit", Box::new(Warploom::new(Some(jit), &bytes, threads)?))),
        Err(why) => eprintln!("SKIPPED: jit: {why}"),
    }
    Ok(found)
}

/// Floats in [0, 1), the same everywhere.
fn input() -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(1);
    (0..FLOATS).flat_map(|_| ((random.u32(..) >> 8) as f32 / (1 << 24) as f32).to_le_bytes()).collect()
}

/// What is wrong with a result.
fn wrong(kernel: &Kernel, expected: &[u8], found: &[u8]) -> Option<String> {
    if kernel.tolerance == 0.0 || expected.len() != found.len() {
        let at = expected.iter().zip(found).position(|(e, f)| e != f);
        return at.map(|at| format!("differs at byte {at}"));
    }
    let floats = |bytes: &[u8]| -> Vec<f32> {
        bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    };
    let (expected, found) = (floats(expected), floats(found));
    let largest = expected.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
    let limit = largest * kernel.tolerance;
    // What is no number is not within the limit either.
    let within = |(e, f): (&f32, &f32)| (e - f).abs() <= limit;
    let at = expected.iter().zip(&found).position(|pair| !within(pair))?;
    Some(format!("element {at} is {} instead of {}", found[at], expected[at]))
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A kernel's times.
#[derive(Serialize)]
struct Measured {
    kernel: String,
    about: String,
    milliseconds: BTreeMap<&'static str, f64>,
    remarks: BTreeMap<&'static str, String>,
}

/// Compares results, then lets all peers run in turn.
fn measure(
    kernel: &Kernel,
    peers: &mut [(&'static str, Box<dyn Peer>)],
    repetitions: usize,
) -> Result<Measured> {
    let mut remarks = BTreeMap::new();
    let mut expected: Option<Vec<u8>> = None;
    let mut able = Vec::new();
    for (place, (name, peer)) in peers.iter_mut().enumerate() {
        let judged = peer.run(kernel).and_then(|_| peer.result(kernel)).map(|result| {
            let wrong = expected.as_ref().and_then(|expected| wrong(kernel, expected, &result));
            expected.get_or_insert(result);
            wrong
        });
        match judged {
            Ok(None) => able.push((place, Vec::new())),
            Ok(Some(wrong)) => drop(remarks.insert(*name, format!("wrong: {wrong}"))),
            Err(error) => drop(remarks.insert(*name, format!("failed: {error:#}"))),
        }
        if let Some(remark) = peer.remark() {
            remarks.insert(*name, remark);
        }
    }
    for _ in 0..repetitions {
        for (place, times) in &mut able {
            times.push(peers[*place].1.run(kernel)?);
        }
    }
    let milliseconds = able.into_iter().map(|(place, times)| (peers[place].0, median(times))).collect();
    Ok(Measured { kernel: kernel.name.clone(), about: kernel.about.clone(), milliseconds, remarks })
}

pub(crate) fn run(choice: &Choice) -> Result<()> {
    let folder = root().join("target/peers");
    fs::create_dir_all(&folder)?;
    let path = folder.join("input");
    fs::write(&path, input())?;
    let list = fs::read_to_string(root().join("benches/peers/kernels.txt"))?;
    let lines = list.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let kernels: Option<Vec<Kernel>> = lines.map(Kernel::parse).collect();
    let mut kernels = kernels.context("a line of kernels.txt is not understood")?;
    kernels.retain(|kernel| {
        choice.kernels.is_empty() || choice.kernels.iter().any(|part| kernel.name.contains(part))
    });
    ensure!(!kernels.is_empty(), "no kernel has such a name");
    let mut peers = peers(choice, &path, &folder)?;
    let mut all = Vec::new();
    for kernel in &kernels {
        all.push(measure(kernel, &mut peers, choice.repetitions)?);
    }
    let names: Vec<&'static str> = peers.iter().map(|(name, _)| *name).collect();
    print!("{}", table(&names, &all));
    if let Some(path) = &choice.json {
        fs::write(path, serde_json::to_string_pretty(&all)?)?;
    }
    let wrong: Vec<&str> = all
        .iter()
        .filter(|measured| measured.remarks.values().any(|remark| remark.starts_with("wrong")))
        .map(|measured| measured.kernel.as_str())
        .collect();
    ensure!(wrong.is_empty(), "wrong results: {}", wrong.join(", "));
    Ok(())
}

/// Milliseconds, and how many times slower than plain C++; the last line is the ratios' geometric means.
fn table(names: &[&'static str], all: &[Measured]) -> String {
    let mut text = format!("| kernel | {} |\n|{}\n", names.join(" | "), " --- |".repeat(names.len() + 1));
    let mut logarithms: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for measured in all {
        let reference = measured.milliseconds.get(REFERENCE);
        let cells = names.iter().map(|name| {
            let Some(time) = measured.milliseconds.get(name) else { return "-".to_owned() };
            let Some(reference) = reference else { return format!("{time:.2} ms") };
            let ratio = time / reference;
            logarithms.entry(name).or_default().push(ratio.ln());
            format!("{time:.2} ms ({ratio:.2})")
        });
        let cells: Vec<String> = cells.collect();
        text += &format!("| `{}`: {} | {} |\n", measured.kernel, measured.about, cells.join(" | "));
    }
    let means = names.iter().map(|name| match logarithms.get(name) {
        Some(all) => format!("({:.2})", (all.iter().sum::<f64>() / all.len() as f64).exp()),
        None => "-".to_owned(),
    });
    text += &format!("| geometric mean | {} |\n", means.collect::<Vec<_>>().join(" | "));
    for measured in all {
        for (name, remark) in &measured.remarks {
            text += &format!("\n`{}`, {name}: {remark}", measured.kernel);
        }
    }
    text + "\n"
}
