//! The interpreter with the sanitizer and without: the machine's own benchmark kernels, and kernels of the file tests
//! that sort, scan and reduce, CTAs that wait for one another, reads here and there. With the sanitizer and without a launch is measured on one host thread and on all, as far as it can have them.
//!
//! Each round runs a kernel in all three ways, one after the other, so that whatever else the host does strikes all of
//! them; medians of the rounds, and of their ratios. What one thread does is measured in its processor time, which a busy
//! host distorts less, where the host tells it (Linux); the rest by the clock. Words on the command line choose kernels;
//! with `profile` among them launches are only made with checks, with `spread` so on all host threads, with `predict` with those that look into
//! locks; with `share` CTAs that wait for one another have several host threads, too; `threads=16` is so many instead of all.

use bench_kernels::{Bench, Case};
use machine::observe::Observer;
use sanitizer::{Sanitizer, Shape, Suppressions};
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Rounds of a kernel, and how long one way of running it is repeated in a round.
const ROUNDS: usize = 15;
const TIME: Duration = Duration::from_millis(40);

/// A text of the file tests, and what makes a launch of it: memory by bytes, then numbers, in the order of parameters.
struct Program {
    kernel: &'static str,
    text: &'static str,
    grid: [u32; 3],
    block: [u32; 3],
    parameters: &'static [Parameter],
}

enum Parameter {
    Memory(u64),
    /// Words that are as told at the begin of each launch: zeros, their numbers, or so many.
    Zeros(u64),
    Range(u64),
    Word(u32),
    Number(u32),
}

use Parameter::{Memory, Number, Range, Word, Zeros};

const PROGRAMS: [Program; 13] = [
    Program {
        kernel: "reduce",
        text: include_str!("../../../tests/clang/reduction.ptx"),
        grid: [16, 1, 1],
        block: [256, 1, 1],
        parameters: &[Memory(1 << 20), Number(1 << 18), Memory(4), Memory(8)],
    },
    Program {
        kernel: "scan_shared",
        text: include_str!("../../../tests/clang/scan.ptx"),
        grid: [64, 1, 1],
        block: [256, 1, 1],
        parameters: &[Memory(1 << 16), Memory(1 << 16)],
    },
    Program {
        kernel: "scan_shuffled",
        text: include_str!("../../../tests/clang/scan.ptx"),
        grid: [64, 1, 1],
        block: [256, 1, 1],
        parameters: &[Memory(1 << 16), Memory(1 << 16)],
    },
    Program {
        kernel: "bitonic",
        text: include_str!("../../../tests/clang/sort.ptx"),
        grid: [1, 1, 1],
        block: [256, 1, 1],
        parameters: &[Memory(2048)],
    },
    Program {
        kernel: "sort_rows",
        text: include_str!("../../../tests/clang/sort.ptx"),
        grid: [16, 1, 1],
        block: [128, 1, 1],
        parameters: &[Memory(16 * 128 * 80)],
    },
    Program {
        kernel: "transpose",
        text: include_str!("../../../tests/clang/transpose.ptx"),
        grid: [32, 32, 1],
        block: [16, 16, 1],
        parameters: &[Memory(1 << 20), Memory(1 << 20), Number(512), Number(512)],
    },
    Program {
        kernel: "histogram",
        text: include_str!("../../../tests/clang/histogram.ptx"),
        grid: [16, 1, 1],
        block: [256, 1, 1],
        parameters: &[Memory(1 << 16), Number(1 << 16), Memory(64)],
    },
    Program {
        kernel: "nbody",
        text: include_str!("../../../tests/clang/nbody.ptx"),
        grid: [1, 1, 1],
        block: [64, 1, 1],
        parameters: &[Memory(64 * 16), Memory(64 * 12)],
    },
    Program {
        kernel: "grid_barrier",
        text: include_str!("waiting.ptx"),
        grid: [64, 1, 1],
        block: [64, 1, 1],
        parameters: &[Zeros(4096), Zeros(1), Number(20)],
    },
    Program {
        kernel: "chain",
        text: include_str!("waiting.ptx"),
        grid: [64, 1, 1],
        block: [64, 1, 1],
        parameters: &[Zeros(64), Zeros(64)],
    },
    Program {
        kernel: "steal",
        text: include_str!("waiting.ptx"),
        grid: [64, 1, 1],
        block: [64, 1, 1],
        parameters: &[Zeros(64), Range(64), Word(63 * 64 / 2), Zeros(4096), Number(100)],
    },
    Program {
        kernel: "gather",
        text: include_str!("scattered.ptx"),
        grid: [64, 1, 1],
        block: [256, 1, 1],
        parameters: &[Memory(1 << 18), Memory(1 << 16), Number(0xffff), Number(64)],
    },
    Program {
        kernel: "graph",
        text: include_str!("scattered.ptx"),
        grid: [64, 1, 1],
        block: [256, 1, 1],
        parameters: &[Memory(1 << 21), Memory(1 << 18), Memory(1 << 16), Number(0xffff)],
    },
];

/// Whether CTAs that wait for one another are judged on several host threads.
static SHARES: AtomicBool = AtomicBool::new(false);

/// A launch, and what memory has when it begins.
struct Prepared {
    case: Case,
    contents: Vec<(u64, Vec<u8>)>,
}

impl Prepared {
    fn of(case: Case) -> Self {
        Self { case, contents: Vec::new() }
    }

    fn begin(&self, bench: &Bench) -> &Case {
        self.contents.iter().for_each(|(address, bytes)| bench.fill(*address, bytes));
        &self.case
    }
}

impl Program {
    fn prepare(&self, bench: &Bench) -> Prepared {
        let (mut params, mut contents) = (Vec::new(), Vec::new());
        let mut memory = |params: &mut Vec<u8>, words: Vec<u32>| {
            params.resize(params.len().next_multiple_of(8), 0);
            let address = bench.buffer(4 * words.len() as u64);
            params.extend(address.to_le_bytes());
            contents.push((address, words.into_iter().flat_map(u32::to_le_bytes).collect()));
        };
        for parameter in self.parameters {
            match parameter {
                Memory(bytes) => {
                    params.resize(params.len().next_multiple_of(8), 0);
                    let address = bench.buffer(*bytes);
                    // Words of all sizes, always the same ones.
                    let words = (0..bytes / 4).map(|i| (i as u32).wrapping_mul(0x9e37_79b9) >> (i % 32));
                    bench.fill(address, &words.flat_map(u32::to_le_bytes).collect::<Vec<_>>());
                    params.extend(address.to_le_bytes());
                }
                Zeros(count) => memory(&mut params, (0..*count).map(|_| 0).collect()),
                Range(count) => memory(&mut params, (0..*count as u32).collect()),
                Word(word) => memory(&mut params, vec![*word]),
                Number(number) => params.extend(number.to_le_bytes()),
            }
        }
        let case = Case { kernel: self.kernel, grid: self.grid, block: self.block, params };
        Prepared { case, contents }
    }
}

/// A launch with all checks, on one host thread or on as many as it can have; what they find must be nothing, at the first try.
fn checked(bench: &Bench, case: &Case, checks: &str, threads: usize) {
    let checks = checks.parse().expect("names of checks");
    let mut sanitizer = Sanitizer::new(checks, Suppressions::default());
    if threads > 1 {
        sanitizer = sanitizer.in_background();
    }
    if SHARES.load(Ordering::Relaxed) {
        sanitizer = sanitizer.sharing();
    }
    let &Case { kernel, grid, block, .. } = case;
    let shape = Shape { kernel, grid, block, cluster: [1; 3] };
    let watch = sanitizer.begin(bench.module.shared_module(), shape);
    let mut tries = 0;
    let run = |observer: &dyn Observer, threads| {
        tries += 1;
        Ok::<_, Infallible>(bench.run_on(threads, case, Some(observer)))
    };
    watch.run(bench.device(), threads, run).unwrap_or_else(|never| match never {});
    watch.end();
    assert_eq!(tries, 1, "{kernel} is run once");
    assert!(sanitizer.reports().is_empty(), "{}", sanitizer.reports()[0].text());
}

/// Seconds that this thread has run, if the host tells.
fn processor_time() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = text.split_whitespace().next()?.parse().ok()?;
    Some(nanoseconds / 1e9)
}

/// Seconds that something takes, by the clock and of this thread, as the mean of as many repetitions as fit.
fn time(mut act: impl FnMut()) -> (f64, f64) {
    let (start, before) = (Instant::now(), processor_time());
    let mut count = 0;
    while count == 0 || start.elapsed() < TIME {
        act();
        count += 1;
    }
    let clock = start.elapsed().as_secs_f64() / f64::from(count);
    let own =
        processor_time().zip(before).map_or(clock, |(after, before)| (after - before) / f64::from(count));
    (clock, own)
}

/// Seconds that all threads of this process have run, to the hundredth, if the host tells.
fn time_of_all() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / 100.0)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Seconds: of one thread without and with checks, and with checks and of all threads without by the clock.
struct Round {
    alone: f64,
    checked: f64,
    checked_by_clock: f64,
    all: f64,
}

/// Launches with checks alone, for profilers; on one host thread by its processor time.
fn profile(bench: &Bench, prepared: &Prepared, checks: &str, threads: usize) {
    let mut launches = 0_u32;
    let mut run = || {
        launches += 1;
        checked(bench, prepared.begin(bench), checks, threads);
    };
    let before = time_of_all();
    let (clocks, own): (Vec<f64>, Vec<f64>) = (0..ROUNDS).map(|_| time(&mut run)).unzip();
    let of_all = time_of_all().zip(before).map_or(f64::NAN, |(after, before)| after - before);
    let took = median(if threads > 1 { clocks } else { own });
    let of_all = of_all / f64::from(launches) * 1e3;
    println!(
        "{}: {:.3} ms, of all threads {of_all:.3}, checked for {checks}",
        prepared.case.kernel,
        took * 1e3
    );
}

fn measure(bench: &Bench, prepared: &Prepared, threads: usize) {
    let rounds: Vec<Round> = (0..ROUNDS)
        .map(|_| {
            let (_, alone) = time(|| _ = bench.run(prepared.begin(bench), None));
            let (_, own) = time(|| checked(bench, prepared.begin(bench), "all", 1));
            let (checked_by_clock, _) = time(|| checked(bench, prepared.begin(bench), "all", threads));
            let (all, _) = time(|| _ = bench.run_on(threads, prepared.begin(bench), None));
            Round { alone, checked: own, checked_by_clock, all }
        })
        .collect();
    let of = |number: fn(&Round) -> f64| median(rounds.iter().map(number).collect());
    println!(
        "| {} | {:.3} | {:.3} | {:.1} | {:.3} | {:.3} | {:.1} |",
        prepared.case.kernel,
        of(|r| r.alone) * 1e3,
        of(|r| r.checked) * 1e3,
        of(|r| r.checked / r.alone),
        of(|r| r.all) * 1e3,
        of(|r| r.checked_by_clock) * 1e3,
        of(|r| r.checked_by_clock / r.all),
    );
}

fn main() {
    let mut chosen: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let mut told = |word: &str| {
        let all = chosen.len();
        chosen.retain(|chosen| chosen != word);
        chosen.len() < all
    };
    SHARES.store(told("share"), Ordering::Relaxed);
    let only_checked = match (told("profile"), told("spread"), told("predict")) {
        (_, _, true) => Some(("locks,predict", false)),
        (_, true, false) => Some(("all", true)),
        (true, false, false) => Some(("all", false)),
        (false, false, false) => None,
    };
    let measure = |bench: &Bench, prepared: &Prepared, threads| match only_checked {
        Some((checks, spread)) => profile(bench, prepared, checks, if spread { threads } else { 1 }),
        None => measure(bench, prepared, threads),
    };
    let given = chosen.iter().find_map(|word| word.strip_prefix("threads=")?.parse().ok());
    chosen.retain(|word| !word.starts_with("threads="));
    let wanted = |kernel: &str| chosen.is_empty() || chosen.iter().any(|word| word == kernel);
    let threads = given.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    println!(
        "| kernel | ms, 1 thread | ms, checked | slower | ms, {threads} threads | ms, checked | slower |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    let bench = Bench::new();
    for case in bench.cases().into_iter().filter(|case| wanted(case.kernel)) {
        measure(&bench, &Prepared::of(case), threads);
    }
    for program in PROGRAMS.iter().filter(|program| wanted(program.kernel)) {
        let bench = Bench::of(program.text);
        measure(&bench, &program.prepare(&bench), threads);
    }
}
