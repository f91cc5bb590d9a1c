//! Liveness, and with it the graph and the accesses, against their definitions on random functions.

use ir::live_ranges::LiveRanges;
use ir::{BlockId, Cfg, Function, Interval, Liveness, allocate_slots};
use ptx::module::{FuncId, RegId, Register};
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

const REGISTERS: u64 = 6;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// An instruction of a random function, by what it means.
#[derive(Default)]
struct Line {
    text: String,
    guard: Option<u64>,
    reads: Vec<String>,
    writes: Vec<String>,
    /// Where it may go.
    next: Vec<usize>,
}

/// A function whose only result is `%r0` and whose only parameter is `%r1`.
struct Program {
    lines: Vec<Line>,
    /// Whether control may leave at the line, and the caller then reads the result.
    returns: BTreeSet<usize>,
}

fn line(random: &mut Random, index: usize, count: usize, returns: &mut BTreeSet<usize>) -> Line {
    let mut line = Line { next: vec![index + 1], ..Line::default() };
    let guard = (random.below(3) == 0).then(|| random.below(2));
    let mut register = || format!("%r{}", random.below(REGISTERS));
    let (a, b, c) = (register(), register(), register());
    let target = random.below(count as u64 + 1) as usize;
    match random.below(9) {
        0 | 1 => {
            line.text = format!("add.u32 {a}, {b}, {c}");
            (line.reads, line.writes) = (vec![b, c], vec![a]);
        }
        2 => {
            line.text = format!("mov.u32 {a}, 7");
            line.writes = vec![a];
        }
        3 => {
            let p = format!("%p{}", random.below(2));
            line.text = format!("setp.lt.u32 {p}, {a}, {b}");
            (line.reads, line.writes) = (vec![a, b], vec![p]);
        }
        4 => {
            line.text = format!("shf.l.wrap.b32 {a}, {a}, {b}, {c}");
            (line.reads, line.writes) = (vec![a.clone(), b, c], vec![a]);
        }
        5 => {
            line.text = format!("st.local.v2.b32 [buffer], {{{a}, {b}}}");
            line.reads = vec![a, b];
        }
        6 | 7 => {
            line.text = format!("bra L{target}");
            line.next = vec![target];
        }
        _ => {
            line.text = "ret".to_owned();
            line.next = vec![];
            returns.insert(index);
        }
    }
    if let Some(p) = guard {
        line.guard = Some(p);
        line.text = format!("@%p{p} {}", line.text);
        line.reads.push(format!("%p{p}"));
        // Where the guard fails, the old value stays.
        line.reads.extend(line.writes.clone());
        if !line.next.contains(&(index + 1)) {
            line.next.push(index + 1);
        }
    }
    line
}

fn program(random: &mut Random) -> Program {
    let count = 1 + random.below(24) as usize;
    let mut returns = BTreeSet::from([count]);
    let lines = (0..count).map(|index| line(random, index, count, &mut returns)).collect();
    Program { lines, returns }
}

impl Program {
    fn text(&self) -> String {
        let mut text = String::from(".func (.reg .u32 %r0) f(.reg .u32 %r1)\n{\n.local .b64 buffer;\n");
        text.push_str(".reg .u32 %r2, %r3, %r4, %r5;\n.reg .pred %p<2>;\n");
        for (index, line) in self.lines.iter().enumerate() {
            let _ = writeln!(text, "L{index}: {};", line.text);
        }
        let _ = writeln!(text, "L{}:\n}}", self.lines.len());
        text
    }

    /// Where the instruction at `index` may go; nowhere from the end.
    fn next(&self, index: usize) -> &[usize] {
        self.lines.get(index).map_or(&[], |line| &line.next)
    }

    fn reachable(&self) -> BTreeSet<usize> {
        let mut reached = BTreeSet::new();
        let mut pending = vec![0];
        while let Some(index) = pending.pop() {
            if reached.insert(index) {
                pending.extend(self.next(index));
            }
        }
        reached
    }

    /// Whether some path from before `start` reads the register before it is written.
    fn is_live(&self, register: &str, start: usize) -> bool {
        let mut seen = BTreeSet::new();
        let mut pending = vec![start];
        while let Some(index) = pending.pop() {
            if !seen.insert(index) {
                continue;
            }
            let line = self.lines.get(index);
            if line.is_some_and(|line| line.reads.iter().any(|read| read == register)) {
                return true;
            }
            if line.is_some_and(|line| line.guard.is_none() && line.writes.iter().any(|w| w == register)) {
                continue;
            }
            if register == "%r0" && self.returns.contains(&index) {
                return true;
            }
            pending.extend(self.next(index));
        }
        false
    }

    /// The interval of a register by its definition.
    fn interval(&self, register: &str, reachable: &BTreeSet<usize>) -> Option<Interval> {
        let named = |&index: &usize| {
            let names = self.lines.get(index).map(|line| line.reads.iter().chain(&line.writes));
            names.into_iter().flatten().any(|name| name == register)
                // The caller writes the parameter and reads the result.
                || (register == "%r1" && index == 0)
        };
        let live = |&index: &usize| {
            reachable.contains(&index)
                && (self.is_live(register, index)
                    || self.next(index).iter().any(|&next| self.is_live(register, next))
                    || (register == "%r0" && self.returns.contains(&index)))
        };
        let covered: Vec<usize> =
            (0..=self.lines.len()).filter(|index| named(index) || live(index)).collect();
        Some(Interval { start: *covered.first()? as u32, end: *covered.last()? as u32 })
    }
}

fn registers<'a>(function: &Function<'a>) -> HashMap<&'a str, RegId> {
    let named = |(id, register): (RegId, &'a Register)| (function.module.text(register.name), id);
    (0..).map(RegId).zip(&function.body.registers).map(named).collect()
}

#[test]
fn agrees_with_the_definition_on_random_functions() {
    let mut random = Random(1);
    let mut whole = 0;
    for _ in 0..1500 {
        let program = program(&mut random);
        let text = program.text();
        let module = crate::compile::module(&text);
        let function = Function::lower(&module, FuncId(0)).unwrap();
        let cfg = Cfg::new(&function);
        let liveness = Liveness::new(&function, &cfg);
        let intervals = liveness.intervals();
        let ranges = LiveRanges::new(&function, &cfg, &liveness).unwrap();
        let pressure = ranges.pressure(&function);
        let reachable = program.reachable();
        let end = program.lines.len();

        for (id, block) in (0..).map(BlockId).zip(&cfg.blocks) {
            let (first, last) = (block.first as usize, (block.end as usize).saturating_sub(1));
            assert_eq!(cfg.is_reachable(id), reachable.contains(&first), "{text}");
            if block.first == block.end {
                assert_eq!((first, &block.successors), (end, &vec![]), "{text}");
                continue;
            }
            for index in first..last {
                assert_eq!(program.next(index), [index + 1], "{text}");
            }
            let to: Vec<usize> =
                block.successors.iter().map(|to| cfg.blocks[to.index()].first as usize).collect();
            assert_eq!(to, program.next(last), "{text}");
        }

        let names = registers(&function);
        for index in (0..end).filter(|index| reachable.contains(index)) {
            let live: Vec<_> = names.iter().filter(|(name, _)| program.is_live(name, index)).collect();
            for (name, id) in &names {
                let expected = live.iter().any(|(live, _)| *live == name);
                assert_eq!(ranges.is_live(*id, index as u32), expected, "{name} before {index}\n{text}");
            }
            let predicates = live.iter().filter(|(name, _)| name.starts_with("%p")).count() as u32;
            let words = live.len() as u32 - predicates;
            assert_eq!(
                (pressure[index].bits, pressure[index].predicates),
                (32 * words, predicates),
                "{text}"
            );
        }
        for (name, id) in names {
            for (block, bounds) in (0..).map(BlockId).zip(&cfg.blocks) {
                if cfg.is_reachable(block) {
                    let found = liveness.live_in(block).any(|register| register == id);
                    assert_eq!(
                        found,
                        program.is_live(name, bounds.first as usize),
                        "{name} {block:?}\n{text}"
                    );
                }
            }
            let expected = program.interval(name, &reachable);
            if (0..end).all(|index| reachable.contains(&index)) {
                whole += 1;
                assert_eq!(intervals[id.index()], expected, "{name}\n{text}");
            } else if let Some(expected) = expected {
                let found = intervals[id.index()].unwrap();
                assert!(found.start <= expected.start && expected.end <= found.end, "{name}\n{text}");
            }
        }
    }
    assert!(whole > 1000, "too few functions without unreachable code: {whole}");
}

#[test]
fn a_value_for_the_next_round_is_live_to_the_end_of_the_loop() {
    let module = crate::compile::module(
        ".func f() { .reg .pred %p; .reg .u32 %kept, %temporary;
         mov.u32 %kept, 1;
         LOOP: add.u32 %temporary, %kept, 1;
         setp.lt.u32 %p, %temporary, 9;
         @%p bra LOOP;
         ret; }",
    );
    let function = Function::lower(&module, FuncId(0)).unwrap();
    let cfg = Cfg::new(&function);
    let intervals = Liveness::new(&function, &cfg).intervals();
    let names = registers(&function);
    assert_eq!(intervals[names["%kept"].index()], Some(Interval { start: 0, end: 3 }));
    assert_eq!(intervals[names["%temporary"].index()], Some(Interval { start: 1, end: 2 }));

    let slots = allocate_slots(function.body, &intervals, |r| (r != names["%p"]).then_some(0), 1);
    assert_eq!(slots.counts, [2]);
    assert_eq!(slots.slot[names["%p"].index()], None);
}

#[test]
fn large_functions_are_near_linear() {
    // Registers that are live across everything, and as many blocks: each pair would be 2.5e9 steps.
    let count = 50_000;
    let mut text = format!(".func f() {{ .reg .pred %p<2>; .reg .u32 %r<{count}>;\n");
    (0..count).for_each(|i| writeln!(text, "mov.u32 %r{i}, {i};").unwrap());
    (0..count).for_each(|_| text.push_str("@%p0 bra END;\n"));
    (1..count).for_each(|i| writeln!(text, "add.u32 %r0, %r0, %r{i};").unwrap());
    text.push_str("END: ret; }");
    let module = crate::compile::module(&text);
    let function = Function::lower(&module, FuncId(0)).unwrap();
    let cfg = Cfg::new(&function);
    assert_eq!(cfg.reconvergence().iter().flatten().count(), cfg.blocks.len() - 1);
    let liveness = Liveness::new(&function, &cfg);
    let r7 = registers(&function)["%r7"];
    assert_eq!(liveness.intervals()[r7.index()], Some(Interval { start: 7, end: 2 * count + 6 }));
    // There are too many pairs to be exact, but a live register is never left out.
    for block in cfg.blocks.iter().filter(|block| 0 < block.first && block.first <= 2 * count) {
        assert!(liveness.live_in(cfg.block_of(block.first)).any(|register| register == r7));
    }
}
