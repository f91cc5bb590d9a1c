//! What is predicted of a run is judged by all orders that there are.
//!
//! Random programs of two or three threads take locks, read, write, and go by what they have read. The virtual machine runs
//! each as a kernel under several schedulers, watched by the sanitizer; and all interleavings are tried here, with clocks
//! for what program order and locks order, and nothing else of the sanitizer's. Whatever is predicted must be a race of two
//! instructions in one of them. What keeps no discipline must be accesses of which one is under a lock and that have none in common.

mod schedulers;

use machine::{Device, DeviceOptions, Launch, LaunchOptions, Profile, SchedulerKind};
use sanitizer::{Report, Sanitizer, Shape, Suppressions};
use schedulers::SCHEDULERS;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Take(usize),
    Give(usize),
    Read(usize),
    Write(usize),
    /// What follows is done only if the last read has found what somebody wrote.
    IfRead,
}

const LOCKS: usize = 2;
const WORDS: usize = 2;

type Program = Vec<Vec<Step>>;

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }
}

/// A program of so few steps that all interleavings can be tried.
fn random(numbers: &mut Random) -> Program {
    loop {
        let program = any(numbers);
        let steps: usize = program.iter().map(Vec::len).sum();
        if steps <= if program.len() == 2 { 16 } else { 12 } {
            return program;
        }
    }
}

fn any(random: &mut Random) -> Program {
    let threads = 2 + random.below(2);
    let sections = if threads == 2 { 2 } else { 1 };
    let accesses = |steps: &mut Vec<Step>, random: &mut Random, most: usize| {
        for _ in 0..random.below(most + 1) {
            let word = random.below(WORDS);
            steps.push(if random.below(3) == 0 { Step::Read(word) } else { Step::Write(word) });
        }
    };
    let thread = |random: &mut Random| {
        let mut steps = Vec::new();
        for _ in 0..1 + random.below(sections) {
            accesses(&mut steps, random, 1);
            let lock = random.below(LOCKS);
            steps.push(Step::Take(lock));
            accesses(&mut steps, random, 2);
            steps.push(Step::Give(lock));
        }
        if random.below(3) == 0 && steps.iter().any(|step| matches!(step, Step::Read(_))) {
            steps.push(Step::IfRead);
        }
        accesses(&mut steps, random, 1);
        steps
    };
    (0..threads).map(|_| thread(random)).collect()
}

/// The text of a kernel, and the line of each step.
fn kernel(program: &Program) -> (String, Vec<Vec<u32>>) {
    let mut text = String::from(
        ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n\
         .reg .pred %p<4>;\n.reg .b32 %r<9>;\n.reg .u64 %out;\nld.param.u64 %out, [out];\n\
         mov.u32 %r0, %ctaid.x;\nmov.u32 %r1, 0;\n",
    );
    let mut lines = Vec::new();
    for (number, steps) in program.iter().enumerate() {
        let _ = writeln!(text, "setp.ne.u32 %p0, %r0, {number};\n@%p0 bra next{number};");
        let mut of_thread = Vec::new();
        for (place, step) in steps.iter().enumerate() {
            of_thread.push(text.lines().count() as u32 + 1);
            let value = number * 16 + place + 1;
            let _ = match step {
                Step::Take(lock) => writeln!(
                    text,
                    "take{number}_{place}: atom.acquire.gpu.global.cas.b32 %r2, [%out+{}], 0, 1;\n\
                     setp.ne.u32 %p1, %r2, 0;\n@%p1 bra take{number}_{place};",
                    4 * lock
                ),
                Step::Give(lock) => writeln!(text, "st.release.gpu.global.u32 [%out+{}], 0;", 4 * lock),
                Step::Read(word) => writeln!(text, "ld.global.u32 %r1, [%out+{}];", 16 + 4 * word),
                Step::Write(word) => writeln!(text, "st.global.u32 [%out+{}], {value};", 16 + 4 * word),
                Step::IfRead => writeln!(text, "setp.eq.u32 %p2, %r1, 0;\n@%p2 bra next{number};"),
            };
        }
        lines.push(of_thread);
        let _ = writeln!(text, "next{number}:");
    }
    (text + "ret;\n}\n", lines)
}

/// A thread in some interleaving.
#[derive(Clone, Default)]
struct Thread {
    at: usize,
    read: usize,
    /// Up to which step it knows each thread.
    clock: [usize; 3],
}

#[derive(Clone)]
struct State {
    threads: Vec<Thread>,
    words: [usize; WORDS],
    held: [bool; LOCKS],
    released: [[usize; 3]; LOCKS],
    /// Accesses so far: thread, step, word, whether it writes.
    accesses: Vec<(usize, usize, usize, bool)>,
}

/// Pairs of steps that race in some interleaving.
fn races(program: &Program) -> BTreeSet<[(usize, usize); 2]> {
    let threads = vec![Thread::default(); program.len()];
    let (words, held, released) = ([0; WORDS], [false; LOCKS], [[0; 3]; LOCKS]);
    let mut found = BTreeSet::new();
    interleave(program, State { threads, words, held, released, accesses: Vec::new() }, &mut found);
    found
}

fn interleave(program: &Program, state: State, found: &mut BTreeSet<[(usize, usize); 2]>) {
    for number in 0..program.len() {
        let mut state = state.clone();
        let me = &mut state.threads[number];
        let Some(&step) = program[number].get(me.at) else { continue };
        let here = (number, me.at);
        me.at += 1;
        me.clock[number] = me.at;
        match step {
            Step::Take(lock) => {
                if state.held[lock] {
                    continue;
                }
                state.held[lock] = true;
                for (known, released) in me.clock.iter_mut().zip(state.released[lock]) {
                    *known = released.max(*known);
                }
            }
            Step::Give(lock) => (state.held[lock], state.released[lock]) = (false, me.clock),
            Step::IfRead => {
                if me.read == 0 {
                    me.at = program[number].len();
                }
            }
            Step::Read(word) | Step::Write(word) => {
                let writes = matches!(step, Step::Write(_));
                for &(other, at, of, wrote) in &state.accesses {
                    if other != number && of == word && (writes || wrote) && me.clock[other] <= at {
                        let mut pair = [(other, at), here];
                        pair.sort_unstable();
                        found.insert(pair);
                    }
                }
                match writes {
                    true => state.words[word] = number * 16 + here.1 + 1,
                    false => me.read = state.words[word],
                }
                state.accesses.push((number, here.1, word, writes));
            }
        }
        interleave(program, state, found);
    }
}

/// The lock that a step is under.
fn lock_of(steps: &[Step], at: usize) -> Option<usize> {
    steps[..at].iter().fold(None, |held, step| match step {
        Step::Take(lock) => Some(*lock),
        Step::Give(_) => None,
        Step::Read(_) | Step::Write(_) | Step::IfRead => held,
    })
}

fn run(
    device: &Arc<Device>,
    memory: u64,
    text: &str,
    threads: usize,
    scheduler: SchedulerKind,
) -> Vec<Report> {
    device.memory().write(memory, &[0; 64]).expect("it is memory");
    let source = ptx::source::Source::new("k.ptx", text);
    let (module, _) = ptx::compile(&source).into_result().unwrap_or_else(|why| panic!("{why:?}\n{text}"));
    let module = device.load(module).expect("it loads");
    let checks = "race,predict,locks".parse().expect("checks");
    let sanitizer = Sanitizer::new(checks, Suppressions::default());
    let (grid, block) = ([threads as u32, 1, 1], [1; 3]);
    let watch = sanitizer.begin(module.shared_module(), Shape { kernel: "k", grid, block, cluster: [1; 3] });
    let launch = Launch {
        kernel: module.kernel("k").expect("the kernel"),
        grid,
        block,
        cluster: None,
        nonportable_cluster: false,
        dynamic_shared: 0,
        params: memory.to_le_bytes().to_vec(),
    };
    let options = LaunchOptions { threads: 1, scheduler, observer: Some(&watch), ..LaunchOptions::default() };
    device.launch(&launch, &options).expect("no fault");
    watch.end();
    sanitizer.reports()
}

#[test]
fn what_is_predicted_happens_in_some_order() {
    let options = DeviceOptions { memory_limit: Some(1 << 20), ..DeviceOptions::default() };
    let device = Device::new(Profile::default(), options).expect("a device");
    let memory = device.memory().allocate(64).expect("memory");
    let mut numbers = Random(0x9e37_79b9_7f4a_7c15);
    let [mut seen, mut predicted, mut undisciplined, mut only_predicted] = [0; 4];
    for _ in 0..600 {
        let program = random(&mut numbers);
        let (text, lines) = kernel(&program);
        let races = races(&program);
        let step = |line: u32| {
            let at = |steps: &Vec<u32>| steps.iter().position(|of| *of == line);
            lines.iter().enumerate().find_map(|(thread, steps)| Some((thread, at(steps)?))).expect("a step")
        };
        let mut found = BTreeSet::new();
        for scheduler in SCHEDULERS {
            for report in run(&device, memory, &text, program.len(), scheduler) {
                let lines = report.lines();
                let mut pair = [step(lines[0]), step(lines[1])];
                pair.sort_unstable();
                let what =
                    || format!("{scheduler}: {}\n{program:?}\n{text}\nraces: {races:?}", report.text());
                match report.kind {
                    "race" => {
                        seen += 1;
                        assert!(races.contains(&pair), "no race: {}", what());
                        found.insert(true);
                    }
                    "predicted-race" => {
                        predicted += 1;
                        assert!(races.contains(&pair), "no race of any order: {}", what());
                        found.insert(false);
                    }
                    "lock-discipline" => {
                        undisciplined += 1;
                        let [a, b] = pair.map(|(thread, at)| lock_of(&program[thread], at));
                        assert!(a != b, "locks in common, or none: {}", what());
                    }
                    other => panic!("{other}"),
                }
            }
        }
        only_predicted += usize::from(found.iter().eq([&false]));
    }
    println!(
        "seen {seen}, predicted {predicted}, in {only_predicted} programs alone; no discipline {undisciplined}"
    );
    assert!(seen > 500 && predicted > 100 && undisciplined > 50, "{seen} {predicted} {undisciplined}");
}
