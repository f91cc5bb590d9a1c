//! What is claimed of registers in random code with branches holds whatever way each thread takes.
//!
//! Threads run one by one, and every guard holds or fails by chance. A claim about what an instruction reads covers all
//! times at which any thread comes by.

use ir::{Cfg, Function, LaneOrder, Shape, Shapes};
use ptx::module::{FuncId, RegId};
use std::collections::BTreeMap;
use std::fmt::Write;

const WARP: usize = 32;
const THREADS: usize = 2 * WARP;
const REGISTERS: usize = 5;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % limit as u64) as usize
    }
}

enum Operation {
    /// A source and its value in each thread.
    Move(&'static str, fn(usize) -> u32),
    Add(usize, usize),
    Shift(usize),
    Branch(usize),
}

struct Line {
    guarded: bool,
    destination: usize,
    operation: Operation,
}

impl Line {
    fn random(random: &mut Random, count: usize) -> Self {
        let mut register = || random.below(REGISTERS);
        let (destination, a, b) = (register(), register(), register());
        let operation = match random.below(10) {
            0 => Operation::Move("%tid.x", |thread| thread as u32),
            1 => Operation::Move("%laneid", |thread| (thread % WARP) as u32),
            2 => Operation::Move("%ctaid.x", |_| 9),
            3 => Operation::Move("5", |_| 5),
            4 | 5 => Operation::Add(a, b),
            6 => Operation::Shift(a),
            _ => Operation::Branch(random.below(count + 1)),
        };
        Self { guarded: random.below(4) == 0, destination, operation }
    }

    fn reads(&self) -> Vec<usize> {
        match self.operation {
            Operation::Move(..) | Operation::Branch(_) => vec![],
            Operation::Add(a, b) => vec![a, b],
            Operation::Shift(a) => vec![a],
        }
    }

    fn text(&self) -> String {
        let d = self.destination;
        let guard = if self.guarded { "@%p " } else { "" };
        match self.operation {
            Operation::Move(source, _) => format!("{guard}mov.u32 %r{d}, {source}"),
            Operation::Add(a, b) => format!("{guard}add.u32 %r{d}, %r{a}, %r{b}"),
            Operation::Shift(a) => format!("{guard}shl.b32 %r{d}, %r{a}, 2"),
            Operation::Branch(target) => format!("{guard}bra L{target}"),
        }
    }
}

/// For each thing that was observed the values that each thread had there.
type Seen<Key> = BTreeMap<Key, Vec<Vec<u32>>>;

fn observe<Key: Ord>(seen: &mut Seen<Key>, key: Key, thread: usize, value: u32) {
    let values = &mut seen.entry(key).or_insert_with(|| vec![vec![]; THREADS])[thread];
    if !values.contains(&value) {
        values.push(value);
    }
}

/// Runs a thread for a while. What it reads goes to `reads` by instruction and register, what it writes to `writes`.
fn run(
    lines: &[Line],
    thread: usize,
    random: &mut Random,
    reads: &mut Seen<(usize, usize)>,
    writes: &mut Seen<usize>,
) {
    let mut registers: [u32; REGISTERS] = std::array::from_fn(|_| random.below(1 << 20) as u32);
    let mut at = 0;
    for _ in 0..60 {
        let Some(line) = lines.get(at) else { return };
        for register in line.reads() {
            observe(reads, (at, register), thread, registers[register]);
        }
        at += 1;
        if line.guarded && random.below(2) == 0 {
            continue;
        }
        let value = match line.operation {
            Operation::Branch(target) => {
                at = target;
                continue;
            }
            Operation::Move(_, value) => value(thread),
            Operation::Add(a, b) => registers[a].wrapping_add(registers[b]),
            Operation::Shift(a) => registers[a] << 2,
        };
        registers[line.destination] = value;
        observe(writes, line.destination, thread, value);
    }
}

/// Asserts that all values fit a shape.
fn check(shape: Shape, seen: &[Vec<u32>], context: &dyn Fn() -> String) {
    if shape == Shape::Varying {
        return;
    }
    assert!(seen.iter().all(|values| values.len() <= 1), "{}", context());
    let value = |thread: usize| seen[thread].first().copied();
    for warp in (0..THREADS).step_by(WARP) {
        // Threads that came by, with what lane 0 would have had.
        let bases: Vec<u32> = (warp..warp + WARP)
            .filter_map(|thread| {
                let stride = if let Shape::Affine { stride } = shape { stride } else { 0 };
                Some(value(thread)?.wrapping_sub((stride as u32).wrapping_mul((thread % WARP) as u32)))
            })
            .collect();
        assert!(bases.windows(2).all(|pair| pair[0] == pair[1]), "{}", context());
    }
    if shape == Shape::Invariant {
        let all: Vec<u32> = (0..THREADS).filter_map(value).collect();
        assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "{}", context());
    }
}

#[test]
fn claims_hold_on_every_path() {
    let mut random = Random(7);
    let (mut of_reads, mut of_registers) = (0, 0);
    for _ in 0..6000 {
        let count = 2 + random.below(16);
        let lines: Vec<Line> = (0..count).map(|_| Line::random(&mut random, count)).collect();
        let mut text = format!(".entry k() {{ .reg .pred %p; .reg .b32 %r<{REGISTERS}>;\n");
        for (index, line) in lines.iter().enumerate() {
            let _ = writeln!(text, "L{index}: {};", line.text());
        }
        let _ = writeln!(text, "L{count}: ret; }}");
        let module = crate::compile::module(&text);
        let function = Function::lower(&module, FuncId(0)).unwrap();
        let body = function.body;
        let cfg = Cfg::new(&function);
        let shapes = Shapes::new(&function, &cfg, LaneOrder::ConsecutiveX);
        let id = |register: usize| {
            let name = format!("%r{register}");
            RegId(body.registers.iter().position(|r| module.text(r.name) == name).unwrap() as u32)
        };

        let (mut reads, mut writes) = (Seen::new(), Seen::new());
        for thread in 0..THREADS {
            run(&lines, thread, &mut random, &mut reads, &mut writes);
        }
        for ((at, register), seen) in &reads {
            let (shape, lanes) = shapes.at(*at as u32, id(*register));
            let whole = shapes.of(id(*register));
            assert_eq!(lanes as usize, WARP);
            check(shape, seen, &|| format!("%r{register} read at L{at}: {shape:?} {seen:?}\n{text}"));
            check(whole, seen, &|| format!("%r{register} read at L{at}: whole {whole:?} {seen:?}\n{text}"));
            of_reads += usize::from(shape != Shape::Varying && whole == Shape::Varying);
        }
        for (register, seen) in &writes {
            let shape = shapes.of(id(*register));
            check(shape, seen, &|| format!("%r{register}: {shape:?} {seen:?}\n{text}"));
            of_registers += usize::from(shape != Shape::Varying);
        }
    }
    assert!(of_reads > 1000 && of_registers > 2000, "{of_reads} {of_registers}");
}
