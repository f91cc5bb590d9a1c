//! Who runs kernels: plain C++ and OpenCL as processes, our engines in this one.

use super::compile;
use super::inputs::Input;
use super::kernels::{KERNELS, Kernel};
use anyhow::{Context, Result, anyhow};
use cpu_time::ProcessTime;
use jit::Jit;
use machine::compiled::Engine;
use machine::{Device, DeviceOptions, Launch, LaunchOptions, LoadedModule, Profile};
use ptx::source::Source;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

/// Whose results and times the others are compared with.
pub(super) const REFERENCE: &str = "C++";

/// A kernel with a size and a block.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) n: u32,
    pub(super) block: [u32; 2],
}

impl Task<'_> {
    fn grid(&self) -> [u32; 2] {
        (self.kernel.grid)(self.n, self.block)
    }

    fn bytes(&self) -> usize {
        self.kernel.bytes(self.n)
    }
}

/// How long something took, in milliseconds.
#[derive(Clone, Copy)]
pub(super) struct Took {
    pub(super) wall: f64,
    /// Of the processor, by all threads.
    pub(super) processor: f64,
}

/// Who runs kernels.
pub(super) trait Peer {
    /// Runs a kernel on a cleared output.
    fn run(&mut self, task: &Task<'_>) -> Result<Took>;
    /// What the last run has written.
    fn result(&mut self, task: &Task<'_>) -> Result<Vec<u8>>;
    /// Why the last run was interpreted though it should not have been.
    fn remark(&self) -> Option<&str>;
}

/// What peers are made of; compiled once.
pub(super) struct Workshop {
    folder: PathBuf,
    native: Result<PathBuf>,
    opencl: Result<PathBuf>,
    ptx: HashMap<&'static str, String>,
}

/// Peers by name, the reference first, and who is not among them and why.
pub(super) struct Peers {
    pub(super) all: Vec<(&'static str, Box<dyn Peer>)>,
    pub(super) skipped: Vec<String>,
}

impl Workshop {
    pub(super) fn open(folder: &Path, compiler: &Path, kernels: &[&'static Kernel]) -> Result<Self> {
        let texts = compile::ptx(compiler, kernels, folder).context(
            "the kernels are not compiled to PTX; a distribution's clang can, such as Debian's package clang-22 (--compiler)",
        )?;
        let inputs: HashSet<Input> = kernels.iter().map(|kernel| kernel.input).collect();
        inputs.into_iter().try_for_each(|input| input.make(folder))?;
        Ok(Self {
            folder: folder.to_owned(),
            native: compile::native(kernels, folder),
            opencl: compile::opencl(folder),
            ptx: kernels.iter().map(|kernel| kernel.name).zip(texts).collect(),
        })
    }

    /// All peers that this host has, with so many host threads each.
    pub(super) fn peers(&self, threads: usize) -> Result<Peers> {
        let room = KERNELS.iter().map(|kernel| kernel.bytes(kernel.n)).max().unwrap_or(0);
        let start = |program: &Result<PathBuf>, argument: Option<PathBuf>| {
            let program = program.as_ref().map_err(|why| anyhow!("{why:#}"))?;
            let mut command = Command::new(program);
            command.arg(room.to_string()).args(argument);
            command.env("OMP_NUM_THREADS", threads.to_string());
            // A thread that waits takes no processor time, also from the other peers.
            command.env("OMP_WAIT_POLICY", "passive");
            command.env("POCL_MAX_PTHREAD_COUNT", threads.to_string());
            Process::start(&mut command, &self.folder)
        };
        let mut peers = Peers { all: Vec::new(), skipped: Vec::new() };
        let sources = Some(compile::sources());
        for (name, program, argument) in [(REFERENCE, &self.native, None), ("PoCL", &self.opencl, sources)] {
            match start(program, argument) {
                Ok(process) => peers.all.push((name, Box::new(process))),
                Err(why) => peers.skipped.push(format!("{name}: {why:#}")),
            }
        }
        peers.skipped.push("ISPC: no kernel is written in its language".to_owned());
        peers.all.push(("interp", Box::new(Warploom::new(self, None, room, threads)?)));
        match Jit::find() {
            Ok(jit) => peers.all.push(("jit", Box::new(Warploom::new(self, Some(jit), room, threads)?))),
            Err(why) => peers.skipped.push(format!("jit: {why}")),
        }
        Ok(peers)
    }
}

/// A process that is asked as `frame/protocol.h` says.
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

    fn ask(&mut self, line: &str) -> Result<Took> {
        writeln!(self.requests, "{line}")?;
        self.requests.flush()?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        let mut numbers = answer.split_whitespace().map(|word| word.parse::<f64>().ok());
        let mut milliseconds = || Some(numbers.next()?? / 1e6);
        let took = milliseconds().zip(milliseconds()).map(|(wall, processor)| Took { wall, processor });
        took.with_context(|| format!("no answer to `{line}`"))
    }
}

impl Peer for Process {
    fn run(&mut self, task: &Task<'_>) -> Result<Took> {
        let input = task.kernel.input.file(&self.folder);
        let (name, n, bytes) = (task.kernel.name, task.n, task.bytes());
        let ([gx, gy], [bx, by]) = (task.grid(), task.block);
        self.ask(&format!("run {name} {} {n} {bytes} {gx} {gy} {bx} {by}", input.display()))
    }

    fn result(&mut self, _: &Task<'_>) -> Result<Vec<u8>> {
        let path = self.folder.join(format!("{}.result", self.child.id()));
        self.ask(&format!("save {}", path.display()))?;
        let result = fs::read(&path)?;
        fs::remove_file(path)?;
        Ok(result)
    }

    fn remark(&self) -> Option<&str> {
        None
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
    modules: HashMap<&'static str, LoadedModule>,
    inputs: HashMap<Input, u64>,
    output: u64,
    jit: Option<Jit>,
    threads: usize,
    remark: Option<String>,
    folder: PathBuf,
}

impl Warploom {
    fn new(workshop: &Workshop, jit: Option<Jit>, room: usize, threads: usize) -> Result<Self> {
        let device = Device::new(Profile::default(), DeviceOptions::default())?;
        let mut modules = HashMap::new();
        for (name, text) in &workshop.ptx {
            let compiled = ptx::compile(&Source::new(format!("{name}.ptx"), text.clone())).into_result();
            let (module, _) = compiled.map_err(|wrong| anyhow!("{name}: {}", wrong[0].message))?;
            modules.insert(*name, device.load(module)?);
        }
        let output = device.memory().allocate(room as u64)?;
        let (inputs, folder) = (HashMap::new(), workshop.folder.clone());
        Ok(Self { device, modules, inputs, output, jit, threads, remark: None, folder })
    }

    fn input(&mut self, input: Input) -> Result<u64> {
        if let Some(place) = self.inputs.get(&input) {
            return Ok(*place);
        }
        let bytes = fs::read(input.file(&self.folder))?;
        let place = self.device.memory().allocate(bytes.len() as u64)?;
        self.device.memory().write(place, &bytes)?;
        self.inputs.insert(input, place);
        Ok(place)
    }
}

impl Peer for Warploom {
    fn run(&mut self, task: &Task<'_>) -> Result<Took> {
        let input = self.input(task.kernel.input)?;
        self.device.memory().write(self.output, &vec![0; task.bytes()])?;
        let ([gx, gy], [bx, by], name) = (task.grid(), task.block, task.kernel.name);
        let launch = Launch {
            kernel: self.modules.get(name).and_then(|module| module.kernel(name)).context(name)?,
            grid: [gx, gy, 1],
            block: [bx, by, 1],
            cluster: None,
            nonportable_cluster: false,
            dynamic_shared: 0,
            params: task.kernel.params(input, self.output, task.n),
        };
        let engine = self.jit.as_ref().map(|jit| jit as &dyn Engine);
        let options = LaunchOptions { threads: self.threads, engine, ..LaunchOptions::default() };
        let (begun, before) = (Instant::now(), ProcessTime::now());
        let report = self.device.launch(&launch, &options)?;
        let (wall, processor) = (begun.elapsed(), before.elapsed());
        self.remark = report.compiled.and_then(Result::err);
        Ok(Took { wall: wall.as_secs_f64() * 1e3, processor: processor.as_secs_f64() * 1e3 })
    }

    fn result(&mut self, task: &Task<'_>) -> Result<Vec<u8>> {
        let mut bytes = vec![0; task.bytes()];
        self.device.memory().read(self.output, &mut bytes)?;
        Ok(bytes)
    }

    fn remark(&self) -> Option<&str> {
        self.remark.as_deref()
    }
}
