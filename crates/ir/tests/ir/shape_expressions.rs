//! What is claimed of the registers of random straight-line code holds of the values that the code computes, by an
//! evaluator of its own.

use ir::{Cfg, Function, LaneOrder, Shape, Shapes};
use ptx::module::{FuncId, RegId};
use std::fmt::Write;

const WARP: usize = 32;
const WARPS: usize = 3;

/// The values of a register in all threads of a CTA.
type Threads = [u64; WARP * WARPS];

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn choose<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// A number that is small, near the ends of the range, a mask, or anything.
    fn number(&mut self) -> u64 {
        match self.below(5) {
            0 | 1 => self.below(40),
            2 => self.choose(&[0x7fff_fff0, 0xffff_fff0, 0x8000_0000]) + self.below(16),
            3 => self.choose(&[31, 127, 0xffff_ffe0, 0x3fc, 16, 32, 1024]),
            _ => self.next() & 0xffff_ffff,
        }
    }
}

/// A register: its name, width and values.
#[derive(Clone)]
struct Value {
    name: String,
    width: u32,
    threads: Threads,
}

struct Program {
    code: String,
    values: Vec<Value>,
}

fn mask(width: u32) -> u64 {
    if width == 64 { u64::MAX } else { (1 << width) - 1 }
}

fn signed(value: u64, width: u32) -> i64 {
    ((value << (64 - width)) as i64) >> (64 - width)
}

impl Program {
    fn define(&mut self, width: u32, instruction: &str, operands: &str, value: impl Fn(usize) -> u64) {
        let prefix = if width == 64 { "%rd" } else { "%r" };
        let name = format!("{prefix}{}", self.values.len());
        let _ = writeln!(self.code, "{instruction} {name}, {operands};");
        let threads = std::array::from_fn(|thread| value(thread) & mask(width));
        self.values.push(Value { name, width, threads });
    }

    /// A register of that width, or a constant.
    fn operand(&self, random: &mut Random, width: u32) -> (String, Threads) {
        let registers: Vec<&Value> = self.values.iter().filter(|value| value.width == width).collect();
        if random.below(3) == 0 || registers.is_empty() {
            let number = random.number();
            return (number.to_string(), [number; WARP * WARPS]);
        }
        // Recent ones more often, so that chains grow.
        let from_end =
            random.below(registers.len() as u64).min(random.below(registers.len() as u64)) as usize;
        let value = registers[registers.len() - 1 - from_end];
        (value.name.clone(), value.threads)
    }

    fn step(&mut self, random: &mut Random) {
        let width = random.choose(&[32, 32, 32, 64]);
        let sign = random.choose(&['u', 's']);
        let (a, va) = self.operand(random, width);
        let (b, vb) = self.operand(random, width);
        let ab = format!("{a}, {b}");
        let number = |value: u64, width: u32| match sign {
            's' => signed(value, width) as i128,
            _ => i128::from(value & mask(width)),
        };
        match random.below(14) {
            0 | 1 => self.define(width, &format!("add.{sign}{width}"), &ab, |t| va[t].wrapping_add(vb[t])),
            2 => self.define(width, &format!("sub.{sign}{width}"), &ab, |t| va[t].wrapping_sub(vb[t])),
            3 => self.define(width, &format!("mul.lo.{sign}{width}"), &ab, |t| va[t].wrapping_mul(vb[t])),
            4 => {
                let (c, vc) = self.operand(random, width);
                self.define(width, &format!("mad.lo.{sign}{width}"), &format!("{ab}, {c}"), |t| {
                    va[t].wrapping_mul(vb[t]).wrapping_add(vc[t])
                });
            }
            5 | 6 if width == 32 => {
                self.define(64, &format!("mul.wide.{sign}32"), &ab, |t| {
                    (number(va[t], 32) * number(vb[t], 32)) as u64
                });
            }
            7 => {
                let by = random.below(u64::from(width) + 2);
                let shift = format!("{a}, {by}");
                self.define(width, &format!("shl.b{width}"), &shift, |t| {
                    if by < u64::from(width) { va[t] << by } else { 0 }
                });
            }
            8 => {
                let by = random.below(u64::from(width) + 2);
                let shift = format!("{a}, {by}");
                self.define(width, &format!("shr.{sign}{width}"), &shift, |t| {
                    (number(va[t], width) >> by.min(u64::from(width))) as u64
                });
            }
            9 => {
                let (name, op): (_, fn(u64, u64) -> u64) = random.choose(&[
                    ("and", (|a, b| a & b) as fn(u64, u64) -> u64),
                    ("or", |a, b| a | b),
                    ("xor", |a, b| a ^ b),
                ]);
                self.define(width, &format!("{name}.b{width}"), &ab, |t| op(va[t], vb[t]));
            }
            10 => {
                let divisor = random.choose(&[1, 3, 32, 64, 1 << 20]);
                let (name, op): (_, fn(i128, i128) -> i128) = random
                    .choose(&[("div", (|a, b| a / b) as fn(i128, i128) -> i128), ("rem", |a, b| a % b)]);
                self.define(width, &format!("{name}.{sign}{width}"), &format!("{a}, {divisor}"), |t| {
                    op(number(va[t], width), divisor) as u64
                });
            }
            11 if width == 32 => {
                let (first, length) = (random.below(32), random.below(33));
                self.define(32, "bfe.u32", &format!("{a}, {first}, {length}"), |t| {
                    va[t] >> first & mask(length as u32)
                });
            }
            12 if width == 32 => {
                self.define(64, &format!("cvt.{sign}64.{sign}32"), &a, |t| number(va[t], 32) as u64)
            }
            12 => self.define(32, &format!("cvt.u32.{sign}64"), &a, |t| va[t]),
            _ => self.define(width, &format!("not.b{width}"), &a, |t| !va[t]),
        }
    }
}

/// Code whose threads form rows of `row`, of which a CTA has any number.
fn program(random: &mut Random, row: usize) -> Program {
    let mut program = Program { code: String::new(), values: vec![] };
    let (ctaid, parameter, wide) = (random.below(1 << 16), random.number(), random.next());
    program.define(32, "mov.u32", "%tid.x", |t| (t % row) as u64);
    program.define(32, "mov.u32", "%tid.y", |t| (t / row) as u64);
    program.define(32, "mov.u32", "%laneid", |t| (t % WARP) as u64);
    program.define(32, "mov.u32", "%ctaid.x", |_| ctaid);
    program.define(32, "mov.u32", "%ntid.x", |_| row as u64);
    program.define(32, "ld.param.u32", "[p]", |_| parameter);
    program.define(64, "ld.param.u64", "[q]", |_| wide);
    for _ in 0..20 {
        program.step(random);
    }
    program
}

#[test]
fn claims_hold_of_computed_values() {
    let mut random = Random(0x6a09_e667_f3bc_c908);
    let (mut invariant, mut affine, mut rows) = (0, 0, 0);
    for _ in 0..1500 {
        let row = random.choose(&[4, 16, 24, 32, 96]);
        let program = program(&mut random, row);
        let text = format!(
            ".entry k(.param .u32 p, .param .u64 q) {{ .reg .b32 %r<40>; .reg .b64 %rd<40>;\n{}ret; }}",
            program.code
        );
        let module = crate::compile::module(&text);
        let function = Function::lower(&module, FuncId(0)).unwrap();
        let body = function.body;
        let cfg = Cfg::new(&function);
        let order = LaneOrder::of_block([row as u32, (WARP * WARPS / row) as u32, 1]);
        let shapes = Shapes::new(&function, &cfg, order);

        for value in &program.values {
            let register = body.registers.iter().position(|r| module.text(r.name) == value.name).unwrap();
            let register = RegId(register as u32);
            let context = || format!("{} {:?} {:?}\n{text}", value.name, shapes.of(register), value.threads);
            match shapes.of(register) {
                Shape::Invariant => {
                    invariant += 1;
                    assert!(value.threads.iter().all(|&v| v == value.threads[0]), "{}", context());
                }
                Shape::Affine { stride } => {
                    let lanes = shapes.lanes(register) as usize;
                    (affine, rows) = (affine + usize::from(stride != 0), rows + usize::from(lanes < WARP));
                    for group in value.threads.chunks(lanes) {
                        let expected = |lane: usize| {
                            group[0].wrapping_add((stride as u64).wrapping_mul(lane as u64))
                                & mask(value.width)
                        };
                        // After widening it is a hint that the last lane confirms or refutes.
                        if stride == 0 || group[lanes - 1] == expected(lanes - 1) {
                            (0..lanes)
                                .for_each(|lane| assert_eq!(group[lane], expected(lane), "{}", context()));
                        } else {
                            assert_eq!(value.width, 64, "{}", context());
                        }
                    }
                }
                Shape::Varying => {}
            }
        }
    }
    assert!(invariant > 3000 && affine > 3000 && rows > 2000, "{invariant} {affine} {rows}");
}
