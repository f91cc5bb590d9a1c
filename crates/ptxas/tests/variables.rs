//! Where a cubin says that variables are, against what they are: its code runs on the machine for SASS, and wherever an instruction of PTX
//! begins, what a debugger would find there is compared with what the interpreter of PTX has in front of that instruction.

#[path = "variables/cubin.rs"]
mod cubin_file;

use cubin_file::{CONSTANTS, Cubin, Place};
use debug_info::ScopeKind;
use debug_info::machine_code::variables::Hardware;
use debugger::{Grid, Program, Scene, Symbols, Where};
use machine::inspect::Extent;
use machine::memory::{LOCAL_WINDOW, SHARED_WINDOW, WINDOW_SIZE};
use machine::observe::{Issue, Observer};
use machine::{Device, DeviceOptions, LaunchOptions, Masks, Profile};
use ptx::module::{FuncId, Module};
use ptx::source::Source;
use ptxas::{Level, Options};
use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

/// Where parameters begin in constant bank 0.
const PARAMETERS: u64 = 0x210;
const R1: u8 = 1;

/// A sample, its kernel, and what that is given.
struct Sample {
    text: &'static str,
    kernel: &'static str,
    /// Numbers; of buffers how many words they have, which count up from 1.
    params: &'static [Param],
}

#[derive(Clone, Copy)]
enum Param {
    Words(u32),
    Int(u32),
}

/// The function and the instruction of each activation of a thread, the innermost first.
type Path = Vec<(FuncId, u32)>;

/// A variable of an activation: its name, and its bytes if it has some.
type Known = (String, Option<Vec<u8>>);

/// What a thread has come by: the instruction, and the variables of its activations.
type Step = (Path, Vec<Known>);

/// A thread: its CTA, and its number there.
type Thread = ([u32; 3], u32);

/// Notes what threads have wherever they come by.
struct Watch<'a> {
    program: &'a Program,
    symbols: &'a Symbols,
    grid: Grid,
    noted: Mutex<Noted>,
}

/// What threads have come by, and where they are now.
#[derive(Default)]
struct Noted {
    steps: HashMap<Thread, Vec<Step>>,
    activations: HashMap<Thread, Vec<Activation>>,
}

/// A function that a thread is in. What is in memory that others had before means nothing until it changes.
struct Activation {
    function: FuncId,
    site: Option<(FuncId, u32)>,
    /// What was in its variables first, until there was something else.
    first: HashMap<usize, Option<Vec<u8>>>,
}

impl Activation {
    /// Whether a variable has been written since the function began, as far as can be seen.
    fn is_set(&mut self, number: usize, bytes: Option<&Vec<u8>>) -> bool {
        let first = self.first.entry(number).or_insert_with(|| bytes.cloned());
        if first.as_ref() != bytes {
            *first = None;
        }
        first.is_none()
    }
}

impl Observer for Watch<'_> {
    fn issue(&self, issue: &Issue<'_>) {
        let snapshot = issue.state.snapshot(Extent::Cta);
        let Noted { steps, activations } = &mut *self.noted.lock().expect("nobody has panicked");
        for (number, &active) in (issue.first_warp..).zip(issue.active) {
            for lane in (0..32).filter(|lane| active >> lane & 1 == 1) {
                let scene = Scene::innermost(self.program, self.symbols, &self.grid, &snapshot, number, lane);
                let all: Vec<Scene<'_>> = std::iter::successors(scene, Scene::caller).collect();
                let path: Path = all.iter().map(|scene| scene.place).collect();
                let thread = (issue.block, number * 32 + lane as u32);
                let of = steps.entry(thread).or_default();
                // Who waits comes by again and again.
                if of.last().is_some_and(|(last, _)| *last == path) {
                    continue;
                }
                let info = &self.symbols.info;
                let running = activations.entry(thread).or_default();
                let mut known: Vec<Vec<Known>> = Vec::new();
                for (depth, scene) in all.iter().rev().enumerate() {
                    // An activation is another one where its caller has been elsewhere since.
                    let site = depth.checked_sub(1).map(|outer| path[path.len() - 1 - outer]);
                    if running.get(depth).is_none_or(|it| (it.function, it.site) != (scene.place.0, site)) {
                        running.truncate(depth);
                        running.push(Activation { function: scene.place.0, site, first: HashMap::new() });
                    }
                    if info.function(scene.place.0).is_none() {
                        continue;
                    }
                    // Those of the unit are in sight once.
                    let mine = scene
                        .variables()
                        .filter(|(scope, _)| depth == 0 || info.scope(*scope).kind != ScopeKind::Unit);
                    let all = mine.enumerate().map(|(number, (scope, variable))| {
                        let value = scene.variable(scope, variable);
                        let bytes = scene.bytes(&value).ok();
                        let local = matches!(value.place, Where::Memory(at) if at & !(WINDOW_SIZE - 1) == LOCAL_WINDOW);
                        let is_set = depth == 0 || !local || running[depth].is_set(number, bytes.as_ref());
                        (variable.name.clone(), bytes.filter(|_| is_set))
                    });
                    known.push(all.collect());
                }
                running.truncate(all.len());
                of.push((path, known.into_iter().rev().flatten().collect()));
            }
        }
    }
}

/// Runs a sample on both machines. Of several threads nobody knows what others have done to memory that they share.
fn compare(sample: &Sample, level: Level, grid: u32, threads: u32) -> Compared {
    let device = Device::new(Profile::default(), DeviceOptions::default()).expect("a device");
    // clang declares variables of the device that nobody uses.
    let used = |line: &&str| !line.starts_with(".extern");
    let text: String = sample.text.lines().filter(used).flat_map(|line| [line, "\n"]).collect();
    let module = ptx::compile(&Source::new("sample.ptx", text.as_str())).module.expect("it is right");
    let options = Options { level, lines: true, variables: true, ..Options::default() };
    let compiled = ptxas::compile_entries(&module, options, |name| name == sample.kernel)
        .unwrap_or_else(|errors| panic!("{errors:?}"));
    let loaded = device.load(module).expect("it loads");
    let mut params: Vec<u8> = Vec::new();
    let mut buffers = Vec::new();
    for param in sample.params {
        match *param {
            Param::Words(count) => {
                let address = device.memory().allocate(u64::from(count) * 4).expect("memory");
                buffers.push((address, (1..=count).flat_map(u32::to_le_bytes).collect::<Vec<u8>>()));
                params.resize(params.len().next_multiple_of(8), 0);
                params.extend(address.to_le_bytes());
            }
            Param::Int(value) => params.extend(value.to_le_bytes()),
        }
    }
    let fill = || buffers.iter().for_each(|(at, bytes)| device.memory().write(*at, bytes).expect("memory"));
    fill();
    let program = Program {
        device: device.clone(),
        loaded: std::sync::Arc::new(loaded),
        kernel: sample.kernel.to_owned(),
        grid: [grid, 1, 1],
        block: [threads, 1, 1],
        cluster: None,
        nonportable_cluster: false,
        dynamic_shared: 0,
        params: params.clone(),
        scheduler: machine::SchedulerKind::default(),
        budget: None,
        checks: None,
    };
    let steps = interpret(&program, grid, threads);
    fill();
    let module: &Module = program.module();
    let variables: BTreeMap<String, u64> = module
        .variables
        .iter()
        .filter_map(|variable| Some((variable.name.clone(), program.loaded.variable(&variable.name)?.0)))
        .collect();
    for variable in module.variables.iter().filter(|variable| variables.contains_key(&variable.name)) {
        let mut bytes = variable.init.clone();
        bytes.resize(variable.size as usize, 0);
        device.memory().write(variables[&variable.name], &bytes).expect("memory");
    }
    let seen = Cubin::load(&compiled.cubin, |name| variables.get(name).copied());
    let image = sass_machine::Program::read(&compiled.cubin, false).expect("our own");
    let code = sass_machine::Loaded::with_variables(&image, device.memory(), variables).expect("it loads");
    let launch = sass_machine::Launch {
        kernel: sample.kernel,
        grid: [grid, 1, 1],
        block: [threads, 1, 1],
        cluster: 1,
        dynamic_shared: 0,
        params: &params,
        budget: 1 << 30,
        timed: false,
    };
    let machine = Machine { seen: &seen, kernel: sample.kernel, params: &params, device: &device };
    let usage = &compiled.kernels[0];
    let told = usage.variables.as_ref().expect("it was asked for");
    let outer = |place: &(u32, u32)| told.calls[place.0 as usize].site;
    let path = |here: (u32, u32)| -> Path {
        let all = std::iter::successors(Some(here), outer);
        all.map(|(call, instruction)| (told.calls[call as usize].function, instruction)).collect()
    };
    let mut compared = Compared {
        is_alone: grid * threads == 1,
        optimised: level == Level::Overlapped,
        ..Compared::default()
    };
    let mut arrivals = Arrivals::default();
    // What is seen in front of each instruction of the machine, time after time.
    let mut sights: HashMap<(Thread, usize), Vec<Vec<Seen>>> = HashMap::new();
    let chosen = code.choose(&launch).expect("the kernel").expect("it fits");
    for number in 0..chosen.count() {
        let mut cta = chosen.begin(number);
        let mut touched = sass_machine::Touched::default();
        while (0..cta.warps()).any(|warp| !cta.has_exited(warp)) {
            let mut moved = false;
            for warp in 0..cta.warps() {
                let Some(next) = cta.next(warp) else { continue };
                moved = true;
                let made = usage.instructions.get(next);
                let standing = (0..32).filter(|lane| cta.standing(warp) >> lane & 1 == 1);
                for lane in standing {
                    let thread = (cta.block(), (warp * 32 + lane) as u32);
                    let Some(origin) = made.and_then(|made| made.origin) else { continue };
                    let here = (origin.call, origin.instruction);
                    match level {
                        Level::Serial => {
                            if let Some(known) = arrivals.next(thread, here, &steps, &outer, &path) {
                                compared.all(&machine.look(next, &cta, warp, lane), known, thread, next);
                            }
                        }
                        Level::Overlapped => {
                            let times = sights.entry((thread, next)).or_default();
                            times.push(machine.look(next, &cta, warp, lane));
                        }
                    }
                }
                chosen.step(&mut cta, warp, 0, 0, &mut touched).expect("no fault");
            }
            assert!(moved, "a deadlock");
        }
    }
    let mut comings: HashMap<(Thread, Path), Vec<&Vec<Known>>> = HashMap::new();
    for (thread, steps) in &steps {
        steps
            .iter()
            .for_each(|(path, known)| comings.entry((*thread, path.clone())).or_default().push(known));
    }
    for ((thread, next), times) in &sights {
        let origin = usage.instructions[*next].origin.expect("it has one");
        let known = comings.get(&(*thread, path((origin.call, origin.instruction))));
        // What goes on within one instruction of PTX is not what that has each time.
        match known.filter(|known| known.len() == times.len()) {
            Some(known) => {
                for (seen, known) in times.iter().zip(known) {
                    compared.all(seen, known, *thread, *next);
                }
            }
            None => compared.apart += times.len() as u64,
        }
    }
    compared
}

/// A variable that is seen: its function and name, what the cubin says of its place, and what is there, if that is somewhere.
type Seen = (String, String, Place, Option<Vec<u8>>);

/// The machine for SASS, seen through the cubin.
struct Machine<'a> {
    seen: &'a Cubin,
    kernel: &'a str,
    params: &'a [u8],
    device: &'a Device,
}

impl Machine<'_> {
    fn look(&self, next: usize, cta: &sass_machine::Resident, warp: usize, lane: usize) -> Vec<Seen> {
        let offset = next as u64 * 16;
        let all = self.seen.in_sight(self.kernel, offset).into_iter().map(|(function, variable)| {
            let bytes = self.read(offset, &variable, cta, warp, lane);
            (function, variable.name, variable.place, bytes)
        });
        all.collect()
    }

    /// What is where the cubin says that a variable is.
    fn read(
        &self,
        offset: u64,
        variable: &cubin_file::Variable,
        cta: &sass_machine::Resident,
        warp: usize,
        lane: usize,
    ) -> Option<Vec<u8>> {
        let size = variable.size? as usize;
        let part = |memory: &[u8], at: u64| memory[at as usize..at as usize + size].to_vec();
        let stack = u64::from(cta.register(warp, lane, R1));
        match &variable.place {
            Place::Nowhere => None,
            Place::Value(value) => Some(value.to_le_bytes()[..size].to_vec()),
            Place::Pieces(pieces) => {
                let pieces = pieces.iter().map(|(place, bytes)| {
                    let part = cubin_file::Variable {
                        name: String::new(),
                        size: Some(*bytes),
                        place: place.clone(),
                    };
                    self.read(offset, &part, cta, warp, lane)
                });
                Some(pieces.collect::<Option<Vec<_>>>()?.concat())
            }
            Place::Register(name) => {
                let mut bytes = Vec::new();
                for places in self.seen.parts(self.kernel, offset, name)? {
                    let words = places.iter().map(|entry| match entry.place {
                        Hardware::General(number) => cta.register(warp, lane, number as u8),
                        Hardware::Uniform(number) => cta.uniform(warp, number as u8),
                        Hardware::Predicate(number) => cta.predicate(warp, lane, number as u8).into(),
                        Hardware::Frame(at) => {
                            let bytes = cta.local(warp, lane, stack + u64::from(at), 4);
                            u32::from_le_bytes(bytes.try_into().expect("four bytes"))
                        }
                    });
                    let words: Vec<u32> = words.collect();
                    assert!(words.iter().all(|word| *word == words[0]), "{name}: {words:x?}");
                    bytes.extend(words[0].to_le_bytes());
                }
                bytes.truncate(size);
                Some(bytes)
            }
            Place::Memory(address, Some(7)) => Some(part(self.params, address - PARAMETERS)),
            Place::Memory(address, Some(8)) => Some(part(cta.shared(), *address)),
            Place::Memory(address, _) if (CONSTANTS..CONSTANTS + 0x10000).contains(address) => {
                Some(part(&self.seen.constants, address - CONSTANTS))
            }
            Place::Memory(address, _) => {
                let mut bytes = vec![0; size];
                // Before DWARF 4 a constant looks like an address.
                self.device.read(*address, &mut bytes).then_some(bytes)
            }
            Place::Frame(at) => {
                let begin = stack + self.seen.frame(self.kernel, offset);
                Some(cta.local(warp, lane, begin.wrapping_add_signed(*at), size))
            }
        }
    }
}

/// Where threads are in what they come by.
#[derive(Default)]
struct Arrivals(HashMap<Thread, Arrival>);

/// A call, and an instruction of its function.
type Position = (u32, u32);

/// Where a thread is, and how many steps it has come by.
type Arrival = (Option<Position>, usize);

impl Arrivals {
    /// What a thread has as the code of an instruction of PTX begins; nothing in the midst of it.
    fn next<'s>(
        &mut self,
        thread: Thread,
        here: Position,
        steps: &'s HashMap<Thread, Vec<Step>>,
        outer: &dyn Fn(&Position) -> Option<Position>,
        path: &dyn Fn(Position) -> Path,
    ) -> Option<&'s Vec<Known>> {
        let (site, done) = self.0.entry(thread).or_default();
        let before = site.replace(here);
        // Behind a call its instruction goes on.
        if std::iter::successors(before, outer).any(|place| place == here) {
            return None;
        }
        // Some instructions of PTX have no code.
        let path = path(here);
        let skipped = steps[&thread][*done..].iter().position(|(known, _)| *known == path);
        *done += skipped.unwrap_or_else(|| panic!("{path:?} is nowhere")) + 1;
        Some(&steps[&thread][*done - 1].1)
    }
}

/// How often variables were compared, by name, and how often the cubin did not say where one is that PTX has.
#[derive(Debug, Default)]
struct Compared {
    same: BTreeMap<String, u64>,
    absent: BTreeMap<String, u64>,
    /// Times at places that are not those at which an instruction of PTX begins.
    apart: u64,
    /// Nobody else writes memory.
    is_alone: bool,
    optimised: bool,
}

impl Compared {
    fn counts(&self) -> (u64, u64) {
        (self.same.values().sum(), self.absent.values().sum())
    }

    fn all(&mut self, seen: &[Seen], known: &[Known], thread: Thread, next: usize) {
        assert_eq!(seen.len(), known.len(), "{seen:?} {known:?}");
        for ((function, name, place, found), (same, value)) in seen.iter().zip(known) {
            assert_eq!(name, same);
            let shared = matches!(place, Place::Memory(_, class) if !matches!(class, Some(4 | 7)));
            // Global memory may be written earlier or later by optimised code, whoever has the variable.
            let early = self.optimised && shared && !matches!(place, Place::Memory(_, Some(8)));
            let comparable = !early && (self.is_alone || !shared);
            let Some(value) = value.as_ref().filter(|_| comparable) else { continue };
            let label = format!("{function}::{name}");
            let Some(found) = found else {
                *self.absent.entry(label).or_default() += 1;
                continue;
            };
            assert!(
                found == value || same_in_window(found, value),
                "{label} of {thread:?} at {:#x}: {found:x?}, but it is {value:x?}, {place:?}",
                next * 16,
            );
            *self.same.entry(label).or_default() += 1;
        }
    }
}

/// What threads come by, as the interpreter of PTX executes them.
fn interpret(program: &Program, grid: u32, threads: u32) -> HashMap<Thread, Vec<Step>> {
    let symbols = Symbols::new(program);
    assert_eq!(symbols.info.problems, []);
    let kernel = program.kernel().expect("the kernel");
    let shape = Grid {
        number: 0,
        kernel: kernel.id(),
        extent: [grid, 1, 1],
        block: [threads, 1, 1],
        cluster: [1; 3],
    };
    let watch = Watch { program, symbols: &symbols, grid: shape, noted: Mutex::default() };
    let launch = machine::Launch {
        kernel,
        grid: [grid, 1, 1],
        block: [threads, 1, 1],
        cluster: None,
        nonportable_cluster: false,
        dynamic_shared: 0,
        params: program.params.clone(),
    };
    let options = LaunchOptions {
        threads: 1,
        observer: Some(&watch),
        debug: true,
        masks: Masks::Exact,
        ..LaunchOptions::default()
    };
    program.device.launch(&launch, &options).expect("no fault");
    watch.noted.into_inner().expect("nobody has panicked").steps
}

/// Whether both are generic addresses in one window: each machine has its own places there.
fn same_in_window(a: &[u8], b: &[u8]) -> bool {
    let window = |bytes: &[u8]| Some(u64::from_le_bytes(bytes.try_into().ok()?) & !(WINDOW_SIZE - 1));
    window(a) == window(b) && matches!(window(a), Some(LOCAL_WINDOW | SHARED_WINDOW))
}

const SMOOTH: &str = "_Z6smoothIfEvPT_PKfi";

/// What compilers wrote, with and without optimisation, and with calls that are inlined.
const SAMPLES: [Sample; 5] = [
    Sample {
        text: include_str!("../../debug-info/tests/samples/nvcc-G.ptx"),
        kernel: SMOOTH,
        params: &[Param::Words(128), Param::Words(128), Param::Int(90)],
    },
    Sample {
        text: include_str!("../../debug-info/tests/samples/clang-O0.ptx"),
        kernel: SMOOTH,
        params: &[Param::Words(128), Param::Words(128), Param::Int(90)],
    },
    Sample {
        text: include_str!("../../debug-info/tests/samples/clang-O2.ptx"),
        kernel: SMOOTH,
        params: &[Param::Words(128), Param::Words(128), Param::Int(90)],
    },
    Sample {
        text: include_str!("../../cli/tests/debug/weighted.ptx"),
        kernel: "_Z5scalePiPKiii",
        params: &[Param::Words(128), Param::Words(128), Param::Int(3), Param::Int(90)],
    },
    Sample {
        text: include_str!("../../cli/tests/debug/weighted.ptx"),
        kernel: "_Z3sumPiPKii",
        params: &[Param::Words(128), Param::Words(128), Param::Int(90)],
    },
];

#[test]
fn what_is_said_of_variables_is_so() {
    for level in [Level::Serial, Level::Overlapped] {
        for sample in &SAMPLES {
            for (grid, threads) in [(1, 1), (2, 48)] {
                let compared = compare(sample, level, grid, threads);
                println!("{} {level:?} {grid} x {threads}: {compared:#?}", sample.kernel);
                let (same, absent) = compared.counts();
                // What nobody reads any more is nowhere.
                assert!(4 * same > absent, "{same} {absent}");
            }
        }
    }
}

/// The entries that NVIDIA's ptxas 13.0 writes of the same PTX, as `outline` shows them.
const OF_PTXAS: &str = include_str!("variables/ptxas-13.0.txt");

#[test]
fn entries_are_those_that_ptxas_writes() {
    let module = ptx::compile(&Source::new("sample.ptx", SAMPLES[0].text)).module.expect("it is right");
    let options = Options { level: Level::Serial, lines: true, variables: true, ..Options::default() };
    let compiled = ptxas::compile_entries(&module, options, |_| true).expect("it is compiled");
    let seen = Cubin::load(&compiled.cubin, |_| Some(1 << 50));
    assert_eq!(seen.outline(), OF_PTXAS);
    let text = cuasm::disassemble(&compiled.cubin).expect("text");
    let again = cuasm::assemble(&Source::new("again.cuasm", text)).expect("a cubin");
    assert!(again.bytes == compiled.cubin, "a cubin with variables comes back from text");
}
