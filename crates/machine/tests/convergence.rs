//! What [`ir::Converged`] says of values, held against the values: random structured kernels run on the interpreter, which
//! knows nothing of that analysis, and write down what every instruction computes and in which rounds of the loops around
//! it. Among the threads whose rounds have the same numbers every claim must hold: which threads have the same value, how
//! it advances from lane to lane and with the components of `%tid`, which low bits are zero, and where branches go one way.

#[path = "convergence/kernel.rs"]
mod kernel;

use ir::shape::converged::Fact;
use ir::{Cfg, Converged, Function, Group, LaneOrder, Liveness, Shape, Ssa};
use kernel::{Kernel, RECORD, RECORDS};
use machine::{Device, DeviceOptions, Launch, LaunchOptions, Profile};
use ptx::module::{Checked, FuncId, Module};
use ptx::source::Source;
use rand_pcg::Pcg64;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Kernels, and about how many statements each has.
const KERNELS: u64 = 240;
const STATEMENTS: u32 = 40;

const BLOCKS: [[u32; 3]; 5] = [[64, 1, 1], [16, 4, 1], [8, 4, 2], [32, 2, 1], [24, 3, 1]];
const GRID: [u32; 3] = [2, 2, 1];

/// A value of a thread.
#[derive(Clone, Copy)]
struct Recorded {
    /// The number of the thread in its CTA, and of the CTA in the grid.
    thread: u32,
    cta: u32,
    value: u64,
}

/// What was written down, by instruction and rounds.
type Records = BTreeMap<(u32, u32), Vec<Recorded>>;

fn compile(text: &str) -> Checked<Module> {
    let source = Source::new("k.ptx", text);
    match ptx::compile(&source).into_result() {
        Ok((module, _)) => module,
        Err(wrong) => {
            let (line, _) = source.line_column(wrong[0].span.start);
            panic!("line {line}: {}\n{text}", wrong[0].message)
        }
    }
}

fn run(device: &Arc<Device>, kernel: &Kernel, block: [u32; 3]) -> Records {
    let threads: u32 = block.iter().product();
    let ctas: u32 = GRID.iter().product();
    let loaded = device.load(compile(&kernel.recording)).unwrap();
    let mut log = vec![0; (threads * ctas) as usize * RECORDS * RECORD];
    let memory = device.memory();
    let address = memory.allocate(log.len() as u64).unwrap();
    memory.write(address, &log).unwrap();
    let mut params = address.to_le_bytes().to_vec();
    params.extend(5_u64.to_le_bytes());
    params.extend(0x7_ffff_fff8_u64.to_le_bytes());
    let launch = Launch {
        kernel: loaded.kernel("k").unwrap(),
        grid: GRID,
        block,
        cluster: None,
        nonportable_cluster: false,
        dynamic_shared: 0,
        params,
    };
    let options = LaunchOptions { threads: 1, budget: Some(100_000_000), ..LaunchOptions::default() };
    device.launch(&launch, &options).unwrap_or_else(|error| panic!("{error}\n{}", kernel.recording));
    memory.read(address, &mut log).unwrap();
    memory.free(address).unwrap();
    let mut records = Records::new();
    for (number, of_thread) in (0..).zip(log.chunks(RECORDS * RECORD)) {
        for record in of_thread.chunks(RECORD) {
            let word = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().unwrap());
            let (site, value) = (word(0), word(8));
            if site == 0 {
                break;
            }
            let recorded = Recorded { thread: number % threads, cta: number / threads, value };
            let key = ((site >> 32) as u32 - 1, site as u32);
            records.entry(key).or_default().push(recorded);
        }
    }
    records
}

/// The threads of a group, as what they have in common.
fn group_of(group: Group, recorded: &Recorded) -> (u32, u32) {
    match group {
        Group::Warp => (recorded.cta, recorded.thread / 32),
        Group::Cta => (recorded.cta, 0),
        Group::Grid => (0, 0),
    }
}

/// Whether records have one value in each of the parts that `part` makes of them.
fn alike(
    records: &[Recorded],
    part: impl Fn(&Recorded) -> (u32, u32),
    value: impl Fn(&Recorded) -> u64,
) -> bool {
    let mut parts = BTreeMap::new();
    records.iter().all(|one| *parts.entry(part(one)).or_insert_with(|| value(one)) == value(one))
}

/// How often each kind of claim was judged.
#[derive(Debug, Default)]
struct Judged {
    groups: [usize; 3],
    strides: usize,
    threads: usize,
    zero_bits: usize,
    branches: usize,
}

impl Judged {
    /// The claim about a value that its records refute.
    fn refuted(&mut self, fact: &Fact, bits: u32, block: [u32; 3], records: &[Recorded]) -> Option<String> {
        let mask = u64::MAX >> (64 - bits);
        if let Some(group) = fact.group {
            self.groups[group as usize] += 1;
            if !alike(records, |one| group_of(group, one), |one| one.value) {
                return Some(format!("is not the same in the {group}"));
            }
        }
        if let (Shape::Affine { stride }, false) = (fact.shape, fact.hint) {
            self.strides += 1;
            let part = |one: &Recorded| (one.cta, one.thread / fact.lanes);
            let base = |one: &Recorded| {
                one.value.wrapping_sub((stride as u64).wrapping_mul(u64::from(one.thread % 32))) & mask
            };
            if !alike(records, part, base) {
                return Some(format!("does not advance by {stride} in {} lanes", fact.lanes));
            }
        }
        if let Some(threads) = fact.threads.filter(|threads| threads.exact) {
            self.threads += 1;
            let base = |one: &Recorded| {
                let [x, y] = [block[0], block[1]];
                let tid = [one.thread % x, one.thread / x % y, one.thread / x / y];
                let terms = tid.iter().zip(threads.steps);
                let sum = terms.fold(0_u64, |sum, (&tid, step)| {
                    sum.wrapping_add(u64::from(tid).wrapping_mul(step as u64))
                });
                one.value.wrapping_sub(sum) & mask
            };
            if !alike(records, |one| group_of(threads.of, one), base) {
                return Some(format!("is not {threads:?}"));
            }
        }
        let low = (1_u64 << fact.zero_bits.min(63)) - 1;
        self.zero_bits += usize::from(low != 0);
        let odd = records.iter().find(|one| one.value & low & mask != 0);
        odd.map(|one| format!("is {:#x} where {} bits are zero", one.value, fact.zero_bits))
    }
}

#[test]
fn claims_of_the_analysis_hold() {
    let options = DeviceOptions { memory_limit: Some(1 << 30), ..DeviceOptions::default() };
    let device = Device::new(Profile::default(), options).unwrap();
    let mut judged = Judged::default();
    for number in 0..KERNELS {
        let kernel = kernel::generate(Pcg64::new(number.into(), 11), STATEMENTS);
        let block = BLOCKS[number as usize % BLOCKS.len()];
        let module = compile(&kernel.plain);
        let function = Function::lower(&module, FuncId(0)).unwrap();
        let cfg = Cfg::new(&function);
        let ssa = Ssa::new(&function, cfg.clone(), &Liveness::new(&function, &cfg)).unwrap();
        let facts = Converged::new(&ssa, LaneOrder::of_block(block));
        let records = run(&device, &kernel, block);
        assert!(records.len() > 20, "kernel {number} runs {} instructions", records.len());
        for id in ssa.order() {
            let instructions = &ssa.blocks[id.index()].instructions;
            for instruction in instructions {
                let origin = instruction.origin;
                let of_instruction = records.range((origin, 0)..(origin + 1, 0));
                let mut written = None;
                instruction.writes(&mut |value| written = written.or(Some(value)));
                for ((_, rounds), records) in of_instruction {
                    let wrong = match written {
                        Some(value) => {
                            let bits = ssa.values[value.index()].ty.bits();
                            judged.refuted(&facts.of(value), bits, block, records)
                        }
                        None => facts.branch(id).and_then(|group| {
                            judged.branches += 1;
                            let one_way = alike(records, |one| group_of(group, one), |one| one.value);
                            (!one_way).then(|| format!("does not go one way in the {group}"))
                        }),
                    };
                    if let Some(wrong) = wrong {
                        let line = function.source_line(origin);
                        panic!(
                            "kernel {number}, block {block:?}, rounds {rounds:#x}: `{line}` {wrong}\n{}",
                            kernel.plain
                        );
                    }
                }
            }
        }
    }
    // A test that judges nothing cannot fail.
    let Judged { groups, strides, threads, zero_bits, branches } = &judged;
    let all = groups.iter().chain([strides, threads, zero_bits, branches]);
    assert!(all.clone().all(|count| *count > 500), "{judged:?}");
}
