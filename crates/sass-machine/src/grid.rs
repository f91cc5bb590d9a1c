//! A program in a device's memory, and its launches.

use crate::cluster::{self, Begun};
use crate::cta::{Cta, Stopped};
use crate::decode::{self, WORD};
use crate::fault::{Fault, FaultKind};
use crate::image::{Half, Program, Refused};
use crate::memory::LOCAL;
use crate::registers::{Banks, LANES};
use crate::step::{Access, Action, Step};
use crate::system::{Function, System};
use crate::timing::Schedule;
use crate::warp::Around;
use machine::memory::{Buffers, LOCAL_WINDOW, SHARED_WINDOW};
use machine::output::Output;
use machine::texture::Unit;
use sass::device::Device;
use sass::effects::Effects;
use sass::hazards::Issue;
use std::collections::BTreeMap;
use std::sync::Arc;

/// CTAs that run at the same time; the others wait until one has ended.
const RESIDENT: usize = 32;
/// Threads of a CTA, at most.
const THREADS: u32 = 1024;
/// Bytes of shared memory that there are, the system's among them.
const SHARED: u64 = 228 << 10;
/// Bytes of shared memory are given in multiples of this.
const SHARED_UNIT: u64 = 128;

/// A kernel whose instructions are ready.
pub(crate) struct Kernel {
    device: &'static Device,
    steps: Vec<Step>,
    pub(crate) words: Vec<u128>,
    /// How many registers a lane has.
    pub(crate) registers: usize,
    shared: u64,
}

/// A program whose variables have addresses.
pub struct Loaded<'a> {
    memory: &'a (dyn Buffers + Sync),
    device: &'static Device,
    kernels: BTreeMap<String, Kernel>,
    variables: BTreeMap<String, u64>,
    constants: Vec<u8>,
    /// Where a copy of the constants lies, which generic addresses lead to.
    constants_at: u64,
    textures: Option<&'a Unit<'a>>,
    system: System,
}

/// A launch.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    /// The kernel's name.
    pub kernel: &'a str,
    /// CTAs along each axis.
    pub grid: [u32; 3],
    /// Threads of a CTA along each axis.
    pub block: [u32; 3],
    /// CTAs of a cluster, along x; 1 where there are none.
    pub cluster: u32,
    /// Bytes of shared memory beside what the kernel declares.
    pub dynamic_shared: u32,
    /// The parameters, each where it lies.
    pub params: &'a [u8],
    /// Warp instructions that the launch may execute.
    pub budget: u64,
    /// Whether control codes are honoured: a result is there after its latency, or when its scoreboard has been waited for.
    pub timed: bool,
}

/// A dependence that a control code breaks, where a warp came by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The instruction that comes too early, in bytes from the kernel's beginning.
    pub address: u64,
    /// The one that it depends on.
    pub on: u64,
    /// Which register, and what is missing.
    pub message: String,
    /// The first CTA in which it was met.
    pub block: [u32; 3],
}

/// What a launch came to.
#[derive(Debug, Default)]
pub struct Outcome {
    /// How it ended, if not well.
    pub fault: Option<Fault>,
    /// Warp instructions that were executed.
    pub instructions: u64,
    /// Broken dependences that warps met, each once, if control codes were honoured.
    pub hazards: Vec<Broken>,
}

impl<'a> Loaded<'a> {
    /// Gives a program's variables places in a memory that nothing has been freed in.
    ///
    /// # Errors
    /// If there is not enough.
    pub fn new(program: &Program, memory: &'a (dyn Buffers + Sync)) -> Result<Self, Refused> {
        let mut variables = BTreeMap::new();
        for (name, variable) in &program.variables {
            let none = |_| Refused::Memory(name.clone());
            let address = memory.allocate(variable.size.max(1)).map_err(none)?;
            // What follows is zero, as all memory is that is allocated for the first time.
            memory.write(address, &variable.initial).map_err(none)?;
            variables.insert(name.clone(), address);
        }
        Self::with_variables(program, memory, variables)
    }

    /// Takes a program whose variables are in memory already, by their addresses.
    ///
    /// # Errors
    /// If code names a variable that is not among them.
    pub fn with_variables(
        program: &Program,
        memory: &'a (dyn Buffers + Sync),
        variables: BTreeMap<String, u64>,
    ) -> Result<Self, Refused> {
        let mut kernels = BTreeMap::new();
        for (name, image) in &program.kernels {
            let mut code = image.code.clone();
            // Functions of the system stand behind the kernel's code, an instruction each.
            let mut functions = Vec::new();
            for reference in &image.references {
                let system = || {
                    let function = Function::from_name(&reference.symbol)?;
                    let place = functions.iter().position(|&it| it == function);
                    let place = place.unwrap_or_else(|| {
                        functions.push(function);
                        functions.len() - 1
                    });
                    Some(((image.code.len() / WORD + place) * WORD) as u64)
                };
                let address = variables.get(&reference.symbol).copied().or_else(system);
                let address = address.ok_or_else(|| Refused::Symbol(reference.symbol.clone()))?;
                let value = address.wrapping_add(reference.addend);
                let half = match reference.half {
                    Half::Low => value as u32,
                    Half::High => (value >> 32) as u32,
                };
                if let Some(word) = code.get_mut(reference.at + 4..reference.at + 8) {
                    word.copy_from_slice(&half.to_le_bytes());
                }
            }
            let (words, _) = code.as_chunks::<WORD>();
            let steps = (0..).step_by(WORD).zip(words);
            let steps =
                steps.map(|(at, word)| decode::step(program.device.arch, u128::from_le_bytes(*word), at));
            let functions = functions.into_iter().map(Action::System);
            let steps = steps.chain(functions.map(|action| Step { guard: None, action })).collect();
            let words: Vec<u128> = words.iter().map(|word| u128::from_le_bytes(*word)).collect();
            let registers = words.iter().filter_map(|&word| {
                let effects = Effects::of(&sass::decode(program.device.arch, word)?);
                Some(effects.reads.union(effects.writes).vector_count() as usize)
            });
            let registers = registers.max().unwrap_or(0);
            kernels.insert(
                name.clone(),
                Kernel { device: program.device, steps, words, registers, shared: image.shared },
            );
        }
        let constants = program.constants.clone();
        let mut constants_at = 0;
        if !constants.is_empty() {
            let none = |_| Refused::Memory("constants".to_owned());
            constants_at = memory.allocate(constants.len() as u64).map_err(none)?;
            memory.write(constants_at, &constants).map_err(none)?;
        }
        Ok(Self {
            memory,
            device: program.device,
            kernels,
            variables,
            constants,
            constants_at,
            textures: None,
            system: System::default(),
        })
    }

    /// What device code prints goes there, in place of the process's standard output.
    #[must_use]
    pub fn printing_to(self, output: Output) -> Self {
        Self { system: System::new(output), ..self }
    }

    /// Handles are those of textures and surfaces of this unit.
    #[must_use]
    pub fn with_textures(self, textures: &'a Unit<'a>) -> Self {
        Self { textures: Some(textures), ..self }
    }

    /// The address of a variable in global memory.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<u64> {
        self.variables.get(name).copied()
    }

    /// What of a kernel's code this machine does not execute, each text once.
    #[must_use]
    pub fn not_executed(&self, kernel: &str) -> Vec<String> {
        let steps = self.kernels.get(kernel).map_or(&[][..], |kernel| &kernel.steps);
        let mut texts: Vec<_> = steps
            .iter()
            .filter_map(|step| match &step.action {
                Action::NotExecuted(text) => Some(text.clone()),
                _ => None,
            })
            .collect();
        texts.sort();
        texts.dedup();
        texts
    }

    /// Executes a launch. A kernel that is not there does nothing.
    #[must_use]
    pub fn launch(&self, launch: &Launch<'_>) -> Outcome {
        let mut outcome = Outcome::default();
        if let Some(kernel) = self.kernels.get(launch.kernel) {
            let mut found = BTreeMap::new();
            outcome.fault = self.execute(kernel, launch, &mut outcome.instructions, &mut found).err();
            outcome.hazards = found.into_values().collect();
        }
        outcome
    }

    /// A launch, made ready.
    ///
    /// # Errors
    /// If its CTAs cannot be.
    pub(crate) fn prepare<'l>(
        &'l self,
        kernel: &'l Kernel,
        launch: &Launch<'_>,
    ) -> Result<Prepared<'l>, Fault> {
        let fault =
            |kind| Fault { kind, kernel: launch.kernel.to_owned(), address: 0, block: [0; 3], warp: 0 };
        let threads = launch.block.iter().try_fold(1_u32, |all, &count| all.checked_mul(count.max(1)));
        let threads = threads.filter(|&count| count <= THREADS);
        let threads = threads.ok_or_else(|| fault(FaultKind::Block(launch.block)))?;
        let fits =
            (1..=cluster::MOST).contains(&launch.cluster) && launch.grid[0].is_multiple_of(launch.cluster);
        if !fits {
            return Err(fault(FaultKind::Cluster(launch.cluster)));
        }
        let reserved = u64::from(self.device.system_shared);
        let shared = kernel.shared.max(reserved).saturating_add(u64::from(launch.dynamic_shared));
        if shared > SHARED {
            return Err(fault(FaultKind::Shared(shared - reserved)));
        }
        // Dynamic memory may be aligned to more than what stands before it ends at.
        let shared = shared.next_multiple_of(SHARED_UNIT);
        let parameters = match kernel.asks_for_parameters() {
            true => Some(Parameters::new(self.memory, launch.params).map_err(fault)?),
            false => None,
        };
        let at = parameters.as_ref().map_or(0, |parameters| parameters.at);
        Ok(Prepared {
            kernel,
            name: launch.kernel.to_owned(),
            memory: self.memory,
            banks: Banks {
                launch: bank(self.device, launch, self.constants_at, at),
                module: self.constants.clone(),
            },
            _parameters: parameters,
            grid: launch.grid,
            block: launch.block.map(|it| it.max(1)),
            threads,
            shared,
            schedule: launch.timed.then(|| kernel.schedule()).flatten(),
            system: &self.system,
            textures: self.textures,
            cluster: launch.cluster,
            begun: Begun::default(),
        })
    }

    pub(crate) fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.get(name)
    }

    fn execute(
        &self,
        kernel: &Kernel,
        launch: &Launch<'_>,
        instructions: &mut u64,
        found: &mut BTreeMap<(u64, u64, String), Broken>,
    ) -> Result<(), Fault> {
        let prepared = self.prepare(kernel, launch)?;
        let mut around = prepared.around();
        let mut next = 0..prepared.count();
        let mut running: Vec<Cta> = Vec::new();
        let mut budget = launch.budget;
        loop {
            let room = RESIDENT - running.len();
            running.extend(next.by_ref().take(room).map(|number| prepared.cta(number)));
            if running.is_empty() {
                return Ok(());
            }
            let mut moved = false;
            for cta in &mut running {
                let block = cta.block;
                let ended = cta.turn(&mut around, self.memory, &mut budget);
                *instructions = launch.budget - budget;
                if ended.is_err() || cta.has_exited() {
                    for (offset, on, message) in cta.hazards() {
                        let broken = Broken { address: offset, on, message: message.clone(), block };
                        found.entry((offset, on, message)).or_insert(broken);
                    }
                }
                moved |= ended.map_err(|stopped| prepared.fault(block, stopped))?;
            }
            if let (false, Some(first)) = (moved, running.first()) {
                return Err(prepared.fault(first.block, first.deadlock()));
            }
            running.retain(|cta| !cta.has_exited());
        }
    }
}

/// A launch that is ready: what all of its CTAs have in common.
pub(crate) struct Prepared<'a> {
    pub(crate) kernel: &'a Kernel,
    name: String,
    pub(crate) memory: &'a (dyn Buffers + Sync),
    banks: Banks,
    /// For as long as the launch lasts.
    _parameters: Option<Parameters<'a>>,
    pub(crate) grid: [u32; 3],
    block: [u32; 3],
    /// Threads of a CTA.
    pub(crate) threads: u32,
    /// Bytes of shared memory of a CTA, the system's among them.
    pub(crate) shared: u64,
    schedule: Option<Arc<Schedule>>,
    system: &'a System,
    textures: Option<&'a Unit<'a>>,
    /// CTAs of a cluster, and the clusters that have begun.
    pub(crate) cluster: u32,
    begun: Begun,
}

/// A copy of a launch's parameters in global memory, which generic addresses lead to.
struct Parameters<'a> {
    memory: &'a (dyn Buffers + Sync),
    at: u64,
}

impl<'a> Parameters<'a> {
    fn new(memory: &'a (dyn Buffers + Sync), bytes: &[u8]) -> Result<Self, FaultKind> {
        let size = bytes.len().max(1);
        let none = |_| FaultKind::Address { space: "global", address: 0, bytes: size as u32 };
        let at = memory.allocate(size as u64).map_err(none)?;
        let own = Self { memory, at };
        memory.write(at, bytes).map_err(none)?;
        Ok(own)
    }
}

impl Drop for Parameters<'_> {
    fn drop(&mut self) {
        // It was allocated, so that it can be freed.
        let _ = self.memory.free(self.at);
    }
}

impl Prepared<'_> {
    /// CTAs in all.
    pub(crate) fn count(&self) -> u64 {
        self.grid.iter().fold(1, |all: u64, &extent| all.saturating_mul(u64::from(extent)))
    }

    /// The CTA of a number, by x first.
    pub(crate) fn cta(&self, number: u64) -> Cta {
        let [x, y, _] = self.grid.map(u64::from);
        let block = [number % x, number / x % y, number / (x * y)].map(|it| it as u32);
        let warps = self.threads.div_ceil(LANES as u32) as usize;
        let member = (self.cluster > 1).then(|| self.begun.member(number, self.cluster, warps, self.shared));
        Cta::new(block, self.threads, self.shared, self.kernel.registers, self.schedule.as_ref(), member)
    }

    /// What warps need to know.
    pub(crate) fn around(&self) -> Around<'_> {
        let (steps, banks) = (&self.kernel.steps[..], &self.banks);
        let (block, threads, system) = ([0; 3], self.block, self.system);
        let textures = self.textures;
        Around { steps, banks, block, threads, clock: 0, sm: 0, textures, member: None, system }
    }

    /// The fault that a CTA has met.
    pub(crate) fn fault(&self, block: [u32; 3], Stopped { warp, place, kind }: Stopped) -> Fault {
        Fault { kind, kernel: self.name.clone(), address: (place * WORD) as u64, block, warp }
    }
}

impl Kernel {
    /// Whether it reads where its parameters have generic addresses.
    fn asks_for_parameters(&self) -> bool {
        let window = self.device.parameter_window.0;
        let asked = [window, self.device.parameters_end.unwrap_or(window)];
        let is = |step: &Step| match &step.action {
            Action::Access(Access::Constant { bank: 0, offset, .. }) => asked.contains(&(*offset as u32)),
            _ => false,
        };
        self.steps.iter().any(is)
    }

    /// The instruction of a number.
    pub(crate) fn step(&self, number: usize) -> Option<&Step> {
        self.steps.get(number)
    }

    /// When the instructions' results are there; none where nobody has measured that.
    fn schedule(&self) -> Option<Arc<Schedule>> {
        let latencies = sass::latency::table(self.device.arch.number())?;
        let issues = self.words.iter().enumerate().map(|(index, &word)| {
            let instruction = sass::decode(self.device.arch, word)?;
            Some(Issue::of(&instruction, (index * WORD) as u64, latencies).into())
        });
        Some(Arc::new(Schedule { issues: issues.collect(), latencies }))
    }
}

/// Constant bank 0 of a device: its words that code asks for, and the parameters. Where there are no clusters, each has one CTA.
fn bank(device: &Device, launch: &Launch<'_>, constants: u64, parameters: u64) -> Vec<u8> {
    let mut bank = vec![0; device.parameters as usize];
    let mut put = |at: u32, bytes: &[u8]| bank[at as usize..][..bytes.len()].copy_from_slice(bytes);
    let ctas = launch.cluster.max(1);
    for (axis, (threads, blocks)) in (0..).zip(launch.block.iter().zip(launch.grid)) {
        put(device.block + 4 * axis, &threads.to_le_bytes());
        put(device.grid + 4 * axis, &blocks.to_le_bytes());
        let cluster = if axis == 0 { ctas } else { 1 };
        if let Some(clusters) = &device.clusters {
            put(clusters.size + 4 * axis, &cluster.to_le_bytes());
            put(clusters.inverse + 4 * axis, &(1.0 / cluster as f32).to_le_bytes());
            put(clusters.count + 4 * axis, &(blocks / cluster).to_le_bytes());
        }
    }
    if let Some(clusters) = &device.clusters {
        put(clusters.kind, &u32::from(launch.cluster > 1).to_le_bytes());
        put(clusters.ctas, &ctas.to_le_bytes());
    }
    put(device.constants, &constants.to_le_bytes());
    let (window, before) = device.parameter_window;
    put(window, &parameters.wrapping_sub(before.into()).to_le_bytes());
    if let Some(end) = device.parameters_end {
        put(end, &parameters.wrapping_add(launch.params.len() as u64).to_le_bytes());
    }
    put(device.local_window, &LOCAL_WINDOW.to_le_bytes());
    if let Some(window) = device.shared_window {
        put(window, &SHARED_WINDOW.to_le_bytes());
    }
    put(device.stack, &(LOCAL as u32).to_le_bytes());
    put(device.dynamic_shared, &launch.dynamic_shared.to_le_bytes());
    bank.extend(launch.params);
    bank
}
